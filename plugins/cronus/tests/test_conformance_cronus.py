"""The public kit's laws, on the cascade and on its single stage."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from costframe.testing import parametrize_algorithm
from costframe_cronus import CronusClassifier


@parametrize_algorithm("cronus")
def test_laws_of_the_cascade(check):
    check()


@parametrize_algorithm("reweighted")
def test_laws_of_the_single_stage(check):
    check()


@parametrize_with_checks([CronusClassifier(n_estimators=10, n_stages=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)
