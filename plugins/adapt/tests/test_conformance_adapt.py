"""The public kit's laws, and scikit-learn's checks, on Adapt, with a small expensive model."""

from functools import partial

import pytest
from kit_cases import parametrize_laws
from sklearn.utils.estimator_checks import parametrize_with_checks

from costframe.gates import expensive
from costframe.testing import laws_of_cost, laws_of_training
from costframe.testing.check import checks
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

QUICK = {"n_estimators": 8}
LINEAR = {"variant": "lin", "n_estimators": None}


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    monkeypatch.setattr(expensive, "boost_without_prices", partial(expensive.boost_without_prices, n_rounds=5))


@parametrize_laws("adapt", settings=QUICK)
def test_laws(check):
    check()


OF_TRAINING = {laws_of_cost.__name__, laws_of_training.__name__}  # the shell is the same for both variants


@pytest.mark.parametrize(
    "check",
    [
        each
        for each in checks("adapt", settings=LINEAR)
        if each.law.check.__module__ in OF_TRAINING and each.case.title == "classifier-2"
    ],
    ids=lambda check: check.title,
)
def test_laws_of_linear_models(check):
    check()


@parametrize_with_checks(
    [AdaptClassifier(**QUICK)],
    expected_failed_checks=lambda _estimator: {
        "check_sample_weight_equivalence_on_dense_data": "its 15 rows are too few for probabilities out of fold"
    },
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)
