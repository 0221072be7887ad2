"""scikit-learn's conventions, on the shell of all boosted estimators, of each task."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe.core.errors import CostframeError
from costframe_miser import MiserClassifier, MiserRanker, MiserRegressor

EXPECTED = {
    "MiserClassifier": {
        "check_class_weight_classifiers": "sets n_iter_no_change without validation data; here that is an error"
    }
}
KINDS = (MiserClassifier, MiserRegressor, MiserRanker)


@parametrize_with_checks(
    [kind(n_estimators=20) for kind in KINDS],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :6], y.to_numpy()
    costs = cf.CostModel.from_dict({"features": {name: 1.0 + i for i, name in enumerate(X.columns)}})
    return X, y, costs


def test_class_weights_are_sample_weights(cancer):
    X, y, costs = cancer
    weighted = MiserClassifier(costs, n_estimators=5, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    repeated = MiserClassifier(costs, n_estimators=5).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize("weights", [{0: 0.0, 1: 1.0}, {0: -1.0, 1: 1.0}, {7: 1.0}, "uneven"])
def test_bad_class_weights_are_named(cancer, weights):
    X, y, costs = cancer
    with pytest.raises(CostframeError, match="class_weight: "):
        MiserClassifier(costs, class_weight=weights).fit(X, y)


@pytest.mark.parametrize("qid", [[0, 0, 1], [1], np.zeros((60, 1))])
def test_a_ranker_checks_queries_and_grades(qid):
    X, grades = np.arange(60.0).reshape(-1, 1), np.arange(60) % 3
    model = MiserRanker(n_estimators=2).fit(X, grades, qid=np.repeat(np.arange(6), 10))
    with pytest.raises(CostframeError, match="qid: expected one query a row"):
        model.score(X, grades, qid=qid)
    for wrong in (grades - 1, grades + 1000):
        with pytest.raises(CostframeError, match="y: expected grades from 0 to 100"):
            model.fit(X, wrong)
