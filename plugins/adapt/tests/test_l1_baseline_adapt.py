"""The l1 baseline of Adapt's paper: columns, then a cheap model, then a gate; and what it does not find."""

import numpy as np
import pytest
from adapt_groups import priced
from naive_adapt_linear import parts
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import costframe as cf
from costframe_adapt import AdaptClassifier
from costframe_adapt.linear import fit_linear, refit
from costframe_adapt.linear_stages import fit_gate_to_errors
from costframe_adapt.objective import Problem

EQUAL = (0.25, 0.25, 0.25, 0.25)


@pytest.fixture(scope="module", params=[EQUAL, (0.26, 0.26, 0.24, 0.24)], ids=str)
def islands(request):
    data = cf.datasets.make_islands(shares=request.param, n_test=10_000)
    train, svm = data.part("train"), CalibratedClassifierCV(SVC(C=10), ensemble=False)
    proba = cross_val_predict(svm, train.X, train.y, method="predict_proba")
    return data, svm.fit(train.X, train.y), proba, request.param


def measured(islands, tradeoff, **asked):
    """Fit, and return accuracy and mean cost on test rows."""
    data, svm, proba, _ = islands
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    model = AdaptClassifier(data.costs, tradeoff, expensive=svm, **asked)
    model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y, expensive_proba=proba)
    return np.mean(model.predict(test.X) == test.y), model.cost(test.X).mean


def least(islands, **asked):
    """Return the least cost at full accuracy."""
    points = [
        measured(islands, tradeoff, full_share=share, **asked)
        for tradeoff in (0.005, 0.02, 0.1)
        for share in (0.55, 0.8, None)
    ]
    return min(cost for accuracy, cost in points if accuracy >= 0.995)


def test_on_synthetic_2_it_stays_at_the_feature_that_tells_one_cluster_apart_and_lin_does_not(islands):
    p1, p2, *_ = islands[3]
    assert least(islands, variant="l1") == pytest.approx(2 - p1, abs=0.02)
    assert least(islands, variant="lin") == pytest.approx(1 + p1 + p2, abs=0.02)


def table(n=400, n_classes=2, seed=0):
    """Draw five columns of which two tell the class, and weights."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 5))
    y = np.argmax(2 * H[:, :1] * np.arange(n_classes) + H[:, 1:2] ** 2 + rng.gumbel(size=(n, n_classes)), axis=1)
    return H, y, rng.integers(1, 4, n).astype(float)


def problem_of(y, n_classes, weight):
    return Problem(y, n_classes, weight / weight.mean(), np.zeros(len(y)), 0.0)


def chosen(H, problem, price):
    """Fit logistic regression with a penalty of these prices, and again on its columns."""
    groups = priced([((c,), price) for c in range(H.shape[1])], H.shape[1])
    model = fit_linear(H, problem, groups)
    return refit(H, problem, model)


def test_columns_are_those_of_l1_logistic_regression():
    H, y, weight = table()
    price = 0.05
    peer = LogisticRegression(l1_ratio=1, C=1 / (price * weight.sum()), solver="saga", tol=1e-8, max_iter=10_000)
    kept = peer.fit(H, y, sample_weight=weight).coef_[0] != 0
    model = chosen(H, problem_of(y, 2, weight), price)
    assert 0 < kept.sum() < 5
    assert ((parts(model).cheap[:, 0] != 0) == kept).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gate_is_logistic_regression_of_where_the_cheap_model_is_wrong(n_classes):
    H, y, weight = table(n_classes=n_classes)
    problem = problem_of(y, n_classes, weight)
    cheap = chosen(H, problem, 0.05)
    model = fit_gate_to_errors(H, problem, cheap)
    used = np.flatnonzero((parts(cheap).cheap != 0).any(axis=1))
    assert 0 < len(used) < 5
    assert set(np.flatnonzero(parts(model).gate)) == set(used)
    peers = LogisticRegression(C=1e4, tol=1e-8).fit(H[:, used], y, sample_weight=weight)
    wrong = peers.predict(H[:, used]) != y
    gate = LogisticRegression(C=1e4, tol=1e-8).fit(H[:, used], wrong, sample_weight=weight)
    assert parts(model).gate[used] == pytest.approx(gate.coef_[0], abs=0.02)
    assert parts(model).gate_intercept == pytest.approx(gate.intercept_[0], abs=0.02)
    assert (parts(model).cheap == parts(cheap).cheap).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_of_weight_two_is_two_rows(n_classes):
    H, y, weight = table(n_classes=n_classes, seed=1)
    once = problem_of(y, n_classes, weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    often = problem_of(y[rows], n_classes, np.ones(len(rows)))
    one = fit_gate_to_errors(H, once, chosen(H, once, 0.05))
    other = fit_gate_to_errors(H[rows], often, chosen(H[rows], often, 0.05))
    assert one.weights == pytest.approx(other.weights, abs=1e-6)
    assert parts(one).gate.any()


@pytest.mark.parametrize("flip", [False, True])
def test_without_rows_of_both_kinds_there_is_no_gate(flip):
    H = np.random.default_rng(0).normal(size=(100, 2))
    y = (H[:, 0] > 0).astype(np.int64)
    cheap = chosen(H, problem_of(y, 2, np.ones(100)), 1e-3)
    gated = fit_gate_to_errors(H, problem_of(1 - y if flip else y, 2, np.ones(100)), cheap)
    assert not parts(gated).gate.any()
    assert parts(gated).gate_intercept == 0


def test_what_nothing_tells_apart_goes_one_way():
    H = np.random.default_rng(0).normal(size=(400, 2))
    y = (H[:, 0] > 0).astype(np.int64)
    H[:, 0] += 2 * y - 1
    model = AdaptClassifier(None, 0.01, variant="l1", expensive=LogisticRegression(), recipe="paper").fit(H, y)
    assert len(model.predictor_.stages) == 1
    assert model.cost(H).mean == 1
    assert np.mean(model.predict(H) == y) == 1


def test_at_zero_the_gate_sends_what_is_more_likely_wrong_than_right():
    rng = np.random.default_rng(3)
    H = rng.uniform(-1, 1, size=(2000, 3))
    y = np.where(H[:, 0] > 0.2, rng.integers(0, 2, 2000) ^ (H[:, 1] > 0), H[:, 0] < -0.4).astype(np.int64)
    asked = {
        "expensive": CalibratedClassifierCV(SVC(C=10), ensemble=False),
        "variant": "l1",
        "recipe": "paper",
    }
    model = AdaptClassifier(None, 0.001, **asked).fit(H, y)
    assert model.n_iter_ == 1
    route = model.predictor_.stages[0]
    assert isinstance(route, cf.Route)
    assert route.threshold == 0


def test_alone_it_is_not_shrunk():
    H, y, weight = table()
    model = AdaptClassifier(None, 0.05, variant="l1", full_share=0).fit(H, y, sample_weight=weight)
    answer = model.predictor_.stages[0]
    assert answer.weights[:, 0] == pytest.approx(
        parts(chosen(H, problem_of(y, 2, weight), 0.05)).cheap[model.predictor_.bank.F.indices, 0], rel=1e-6
    )
