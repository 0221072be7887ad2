"""The public kit's laws, and scikit-learn's checks, on the tree."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from costframe.testing import parametrize_algorithm
from costframe_cstc import CSTCClassifier, CSTCRegressor


@parametrize_algorithm("cstc")
def test_laws(check):
    check()


@parametrize_with_checks([CSTCClassifier(n_estimators=10), CSTCRegressor(n_estimators=10)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)
