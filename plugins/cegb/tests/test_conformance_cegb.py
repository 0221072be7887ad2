"""The public kit's laws and scikit-learn's checks, on CEGB."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from costframe.testing import parametrize_algorithm
from costframe_cegb import CEGBClassifier, CEGBRegressor

NO_EFFECT = "sets n_iter_no_change without validation data; here that is an error"


@parametrize_algorithm("cegb")
def test_laws(check):
    check()


@parametrize_with_checks(
    [CEGBClassifier(n_estimators=20, min_samples_leaf=1), CEGBRegressor(n_estimators=20, min_samples_leaf=1)],
    expected_failed_checks=lambda estimator: (
        {"check_class_weight_classifiers": NO_EFFECT} if isinstance(estimator, CEGBClassifier) else {}
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)
