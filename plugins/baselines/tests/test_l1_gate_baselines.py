"""The l1 baseline of Adapt's paper: columns, then a cheap model, then a gate; and what it does not find."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import costframe as cf
from costframe.gates import PenalizedObjective, fit_logistic
from costframe.plugin import PricedGroups
from costframe_baselines import L1GateClassifier
from costframe_baselines.l1_gate import choose_columns, fit_gate


def test_on_synthetic_2_it_stays_at_the_feature_that_tells_one_cluster_apart():
    shares = (0.26, 0.26, 0.24, 0.24)
    data = cf.datasets.make_islands(shares=shares, n_test=2_000)
    (train, valid, test), svm = map(data.part, ("train", "valid", "test")), CalibratedClassifierCV(SVC(C=10))
    given = {"X_val": valid.X, "y_val": valid.y}
    given["expensive_proba"] = cross_val_predict(svm, train.X, train.y, method="predict_proba")
    svm.fit(train.X, train.y)
    points = []
    for tradeoff, share in itertools.product((0.02, 0.1), (0.55, None)):
        model = L1GateClassifier(data.costs, tradeoff, expensive=svm, full_share=share).fit(train.X, train.y, **given)
        points.append((np.mean(model.predict(test.X) == test.y), model.cost(test.X).mean))
    least = 2 - shares[0]
    assert min(cost for accuracy, cost in points if accuracy >= 0.995) == pytest.approx(least, abs=0.03)
    path = L1GateClassifier(data.costs, 0.02, expensive=svm).fit_path(
        train.X, train.y, **given, full_shares=(0.8, None), scoring="accuracy"
    )
    for point in path.points:
        found = path.predictor(point)
        assert point.cost == pytest.approx(found.cost(valid.X).mean, rel=1e-12)
        assert point.score == np.mean(np.where(found.predict(valid.X) > 0.5, 1, -1) == valid.y)
    assert min(point.cost for point in path.points if point.score >= 0.995) == pytest.approx(least, abs=0.03)


def table(n=400, n_classes=2, seed=0):
    """Draw five columns of which two tell the class, and weights."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 5))
    y = np.argmax(2 * H[:, :1] * np.arange(n_classes) + H[:, 1:2] ** 2 + rng.gumbel(size=(n, n_classes)), axis=1)
    return H, y, rng.integers(1, 4, n).astype(float)


def priced(*prices):
    return PricedGroups(sparse.csr_array(np.eye(len(prices))), np.array(prices, float))


def test_columns_are_those_of_l1_logistic_regression():
    H, y, weight = table()
    price = 0.05
    peer = LogisticRegression(l1_ratio=1, C=1 / (price * weight.sum()), solver="saga", tol=1e-8, max_iter=10_000)
    peer.fit(H, y, sample_weight=weight)
    kept = np.flatnonzero(peer.coef_[0])
    assert 0 < len(kept) < 5
    assert choose_columns(H, y, 2, weight, priced(*[price] * 5)).tolist() == kept.tolist()
    found = fit_logistic(H, y, 2, weight, priced(*[price] * 5))
    assert found[0, :-1] == pytest.approx(peer.coef_[0], abs=1e-4)
    assert found[0, -1] == pytest.approx(peer.intercept_[0], abs=1e-4)
    assert choose_columns(H, y, 2, weight, priced(0, 9, 9, 0, 9)).tolist() == [0, 3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gate_is_logistic_regression_of_where_the_cheap_model_is_wrong(n_classes):
    H, y, weight = table(n_classes=n_classes)
    peer = LogisticRegression(C=1e4, tol=1e-8).fit(H[:, :2], y, sample_weight=weight)
    wrong = peer.predict(H[:, :2]) != y
    cheap = fit_logistic(H[:, :2], y, n_classes, weight)
    gate = LogisticRegression(C=1e4, tol=1e-8).fit(H[:, :2], wrong, sample_weight=weight)
    found = fit_gate(H[:, :2], y, weight, PenalizedObjective.scores_of(H[:, :2], cheap))
    assert found[0, :-1] == pytest.approx(gate.coef_[0], abs=0.02)
    assert found[0, -1] == pytest.approx(gate.intercept_[0], abs=0.02)


def test_as_printed_the_gate_divides_at_zero():
    rng = np.random.default_rng(3)
    H = rng.uniform(-1, 1, size=(600, 3))
    y = np.where(H[:, 0] > 0.2, rng.integers(0, 2, 600) ^ (H[:, 1] > 0), H[:, 0] < -0.4).astype(np.int64)
    asked = L1GateClassifier(None, 0.001, expensive=CalibratedClassifierCV(SVC(C=10), ensemble=False), recipe="paper")
    assert asked.fit(H, y).predictor_.stages[0].threshold == 0
