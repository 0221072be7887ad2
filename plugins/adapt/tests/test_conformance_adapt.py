"""The laws that every algorithm keeps, for Adapt."""

from costframe.testing import parametrize_algorithm

QUICK = {"n_estimators": 15, "max_rounds": 2, "cv": 3}


@parametrize_algorithm("adapt", settings=QUICK)
def test_laws(check):
    check()


@parametrize_algorithm(
    "adapt", settings={"variant": "lin", "cv": 3, "max_rounds": 5, "n_estimators": None, "min_samples_leaf": None}
)
def test_laws_of_linear_models(check):
    check()
