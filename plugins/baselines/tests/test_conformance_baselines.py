"""The public kit's laws on all baselines, and scikit-learn's checks on the shell of gated classifiers."""

import pytest
from few_rounds import few_rounds
from kit_cases import parametrize_laws
from sklearn.utils.estimator_checks import parametrize_with_checks

from costframe_baselines import L1GateClassifier

FEW = {"n_estimators": 9, "learning_rate": 0.3, "max_leaves": 8}


@parametrize_laws("boosting", settings=FEW)
def test_laws_of_boosting(check):
    check()


@parametrize_laws("affordable", settings=FEW)
def test_laws_of_affordable(check):
    check()


@parametrize_laws("linear")
def test_laws_of_linear(check):
    check()


@parametrize_laws("priced-tree")
def test_laws_of_priced_tree(check):
    check()


@parametrize_laws("soft-cascade", settings={"n_estimators": 9})
def test_laws_of_soft_cascade(check):
    check()


@parametrize_laws("and-or", settings={"n_estimators": 9})
def test_laws_of_and_or(check):
    check()


@parametrize_laws("early-exit", settings=FEW | {"n_trees_per_exit": 3})
def test_laws_of_early_exit(check):
    check()


@pytest.fixture
def _few_rounds():
    with few_rounds():
        yield


@parametrize_laws("l1-gate")
@pytest.mark.usefixtures("_few_rounds")
def test_laws_of_l1_gate(check):
    check()


@parametrize_with_checks(
    [L1GateClassifier()],
    expected_failed_checks=lambda _estimator: {
        "check_sample_weight_equivalence_on_dense_data": "its 15 rows are too few for probabilities out of fold"
    },
)
@pytest.mark.usefixtures("_few_rounds")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)
