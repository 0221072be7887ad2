"""The public kit's laws on all baselines."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("boosting")
def test_laws_of_boosting(check):
    check()


@parametrize_algorithm("affordable", settings={"n_estimators": 10})
def test_laws_of_affordable(check):
    check()


@parametrize_algorithm("early-exit", settings={"n_trees_per_exit": 3})
def test_laws_of_early_exit(check):
    check()
