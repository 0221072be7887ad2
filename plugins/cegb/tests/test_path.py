"""One annealed fit: every prefix is a model, and its loss and cost are exactly what the path says."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import costframe as cf
from costframe_cegb import CEGBClassifier, CEGBRegressor

COSTS = {
    "features": {"a": 1.0, "b": {"cost": 0.5, "needs": ["r"]}, "c": {"cost": 2.0, "needs": ["r"], "once": 3.0}},
    "resources": {"r": 4.0},
    "split": 0.01,
    "learner": 0.02,
    "reuse": 0.005,
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.nan_to_num(X)
    y = (filled[:, 0] + filled[:, 1] * filled[:, 2] + 0.3 * rng.standard_normal(600) > 0).astype(int)
    return X, y


def fitted(rows, **settings):
    X, y = rows
    model = CEGBClassifier(COSTS, 0.01, n_estimators=40, max_leaves=8, **settings)
    return model, model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:])


def test_every_prefix_costs_and_loses_what_the_path_says(rows):
    X, y = rows
    _, path = fitted(rows)
    assert len(path.points) == 41
    for point in path.points[::5]:
        model = path.predictor(point.n_rounds)
        assert model.cost(X[400:]).mean == pytest.approx(point.cost, rel=1e-12)
        assert log_loss(y[400:], model.predict(X[400:])) == pytest.approx(point.loss, rel=1e-9)
    assert path.points[0].cost == 0.0
    tradeoffs = [point.tradeoff for point in path.points[1:]]
    assert tradeoffs == sorted(tradeoffs, reverse=True)
    assert path.points[-1].cost > 5 > path.points[1].cost  # from hardly anything to nearly all


def test_the_frontier_is_what_nothing_beats(rows):
    _, path = fitted(rows)
    front = path.frontier()
    assert [point.cost for point in front] == sorted(point.cost for point in front)
    for point in path.points:
        assert any(kept.cost <= point.cost and kept.loss <= point.loss for kept in front)
    for kept in front:
        assert not any(other.cost <= kept.cost and other.loss < kept.loss for other in path.points)


def test_points_are_chosen_by_tradeoff_and_by_budget(rows):
    X, _ = rows
    model, path = fitted(rows)
    best = path.at(0.01)
    assert model.n_iter_ == best.n_rounds
    assert model.cost(X[400:]).mean == pytest.approx(best.cost)
    assert all(best.loss + 0.01 * best.cost <= point.loss + 0.01 * point.cost for point in path.points)
    affordable = path.within(3.0)
    assert affordable.cost <= 3.0
    assert affordable.loss == min(point.loss for point in path.points if point.cost <= 3.0)
    with pytest.raises(cf.CostframeError, match=r"no prefix costs -1.0 or less, the cheapest costs 0"):
        path.within(-1.0)


def test_a_fall_from_one_tradeoff_to_the_same_is_a_plain_fit(rows):
    X, y = rows
    _, path = fitted(rows)
    X_val, y_val = X[400:], y[400:]
    model = CEGBClassifier(COSTS, 0.5, n_estimators=15, max_leaves=8)  # its own tradeoff chooses, but does not train
    path = model.fit_path(X[:400], y[:400], X_val=X_val, y_val=y_val, tradeoffs=(0.02, 0.02))
    plain = CEGBClassifier(COSTS, 0.02, n_estimators=15, max_leaves=8).fit(X[:400], y[:400])
    np.testing.assert_array_equal(path.predictor(15).predict(X), plain.predictor_.predict(X))


def test_each_round_is_trained_at_its_own_tradeoff(rows):
    X, y = rows
    model = CEGBClassifier(COSTS, 0.5, n_estimators=2, max_leaves=8)
    path = model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:], tradeoffs=(0.02, 1e-5))
    costs = []
    for tradeoff in (0.02, 1e-5):
        plain = CEGBClassifier(COSTS, tradeoff, n_estimators=1, max_leaves=8).fit(X[:400], y[:400])
        costs.append(plain.cost(X[400:]).mean)
    assert path.points[1].cost == pytest.approx(costs[0])
    assert path.points[2].cost >= costs[1] > costs[0]


def test_free_features_and_constant_labels_make_flat_paths(rows):
    X, _ = rows
    free = {"features": dict.fromkeys("abc", 0.0)}
    path = CEGBRegressor(free, n_estimators=5).fit_path(X, X[:, 0] > 0, X_val=X, y_val=X[:, 0] > 0)
    assert {point.cost for point in path.points} == {0.0}
    path = CEGBRegressor(COSTS, n_estimators=5).fit_path(X, np.ones(600), X_val=X, y_val=np.ones(600))
    assert {(point.cost, point.loss) for point in path.points} == {(0.0, 0.0)}


@pytest.mark.parametrize(
    ("settings", "keywords", "message"),
    [
        ({"n_iter_no_change": 5}, {}, "n_iter_no_change: has no effect on a path"),
        ({"scoring": "loss"}, {}, "scoring: has no effect on a path"),
        ({}, {"tradeoffs": (0.1, 0.2)}, "tradeoffs: expected two numbers"),
        ({}, {"tradeoffs": (0.1, 0.0)}, "tradeoffs: expected two numbers"),
        ({}, {"X_val": None, "y_val": None}, "X_val: a path needs validation data"),
    ],
)
def test_bad_settings_are_named(rows, settings, keywords, message):
    X, y = rows
    with pytest.raises(cf.CostframeError, match=message):
        CEGBClassifier(COSTS, **settings).fit_path(X, y, **{"X_val": X, "y_val": y} | keywords)
    _, path = fitted(rows)
    with pytest.raises(cf.CostframeError, match="n_rounds: expected a number from 0 to 40"):
        path.predictor(41)
