"""An annealed fit: every point is a model, and its loss and cost are exactly what the path says."""

import numpy as np
import pytest
from attrs import evolve
from sklearn.metrics import log_loss

import costframe as cf
from costframe_cegb import CEGBClassifier

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


def fitted(rows, scoring=None, **settings):
    X, y = rows
    model = CEGBClassifier(COSTS, 0.01, **{"max_leaves": 8, "n_estimators": 60} | settings)
    return model, model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:], scoring=scoring)


@pytest.fixture(scope="module")
def path(rows):
    return fitted(rows)[1]


def some(path):
    return path.points[:: max(1, len(path.points) // 40)]


def test_every_point_costs_and_loses_what_the_path_says(rows, path):
    X, y = rows
    assert len(path.points) > 100
    for point in some(path):
        model = path.predictor(point)
        assert model.cost(X[400:]).mean == pytest.approx(point.cost, rel=1e-12)
        assert log_loss(y[400:], model.predict(X[400:])) == pytest.approx(point.loss, rel=1e-9)
        assert point.score == -point.loss
    constant = path.points[0]
    assert (constant.n_rounds, constant.cost) == (0, 0.0)


def test_the_best_model_of_every_line_is_a_point(rows):
    X, y = rows[0], np.where(np.random.default_rng(1).random(600) < 0.3, 1 - rows[1], rows[1])
    model = CEGBClassifier(COSTS, 0.02, n_estimators=25, max_leaves=40, min_samples_leaf=1)
    path = model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:], tradeoffs=(0.02, 0.02))
    for branch, ensemble in enumerate(path.branches):
        tradeoff, values = 0.0 if branch in path.unpriced else 0.02, []
        for n_rounds in range(1 + len(ensemble.rounds)):
            report = path.predictor(evolve(path.points[0], branch=branch, n_rounds=n_rounds)).cost(X[400:])
            values.append(log_loss(y[400:], report.predictions) + tradeoff * report.mean)
        assert any(point.loss + tradeoff * point.cost == pytest.approx(min(values)) for point in path.points)


def test_subsamples_are_drawn_anew_by_every_fork(rows):
    X, _ = rows
    _, path = fitted(rows, subsample=0.6, random_state=3, n_estimators=25)
    _, again = fitted(rows, subsample=0.6, random_state=3, n_estimators=25, n_jobs=2)
    assert path.points == again.points
    assert max(point.n_rounds for point in path.points) == 25
    for point in some(path):
        assert path.predictor(point).cost(X[400:]).mean == pytest.approx(point.cost, rel=1e-12)


def test_points_are_chosen_by_tradeoff_and_by_budget(rows):
    X, _ = rows
    model, path = fitted(rows, n_estimators=20)
    best = path.at(0.01)
    assert model.n_iter_ == best.n_rounds
    assert model.cost(X[400:]).mean == pytest.approx(best.cost)
    assert all(best.loss + 0.01 * best.cost <= point.loss + 0.01 * point.cost for point in path.points)
    affordable = path.within(3.0)
    assert affordable.cost <= 3.0
    assert affordable.score == max(point.score for point in path.points if point.cost <= 3.0)
    with pytest.raises(cf.CostframeError, match=r"no model costs -1.0 or less, the cheapest costs 0"):
        path.within(-1.0)


def test_given_tradeoffs_are_kept_to(rows):
    X, y = rows
    model = CEGBClassifier(COSTS, 0.02, n_estimators=15, max_leaves=8)
    path = model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:], tradeoffs=(0.02, 0.02))
    assert {point.tradeoff for point in path.points} == {0.0, 0.02}  # and of the line that knows no prices
    priced = [point for point in path.points if point.tradeoff == 0.02]
    first = path.predictor(evolve(priced[0], branch=2, n_rounds=1))  # of the line after those that know no prices
    settings = {"n_estimators": 1, "l2_regularization": 1.0, "max_bins": 63}
    trees = [CEGBClassifier(COSTS, 0.02, max_leaves=leaves, **settings).fit(X[:400], y[:400]) for leaves in (4, 8)]
    cost = first.cost(X[400:]).mean
    assert any(cost == pytest.approx(tree.cost(X[400:]).mean) for tree in trees)


def bureau(seed, n=1500):
    """Ten features behind one dear report, each of little use alone; one cheap feature of its own."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 11))
    y = X[:, 0] + 0.8 * X[:, 1:].sum(axis=1) + 0.3 * rng.standard_normal(n)
    return X, (y > 0).astype(int)


BUREAU = {
    "features": {"cheap": 1.0} | {f"report{f}": {"cost": 0.0, "needs": ["bureau"]} for f in range(10)},
    "resources": {"bureau": 20.0},
}


def test_a_dear_resource_is_bought_when_its_features_together_repay_it():
    X, y = bureau(0)
    tradeoff = 0.004  # the report costs 0.08 of loss: more than any one split gains by it, less than all together do
    train, valid = {"X": X[:1000], "y": y[:1000]}, {"X_val": X[1000:], "y_val": y[1000:]}
    greedy = CEGBClassifier(BUREAU, tradeoff, max_leaves=4, min_samples_leaf=5).fit(**train, **valid)
    assert greedy.cost(X).mean <= 1.0
    ahead = CEGBClassifier(BUREAU, tradeoff, max_leaves=4, min_samples_leaf=5)
    path = ahead.fit_path(**train, **valid, tradeoffs=(0.1, tradeoff))
    priced = [point for point in path.points if point.tradeoff >= tradeoff]  # without the line that knows no prices
    best = min(priced, key=lambda point: point.loss + tradeoff * point.cost)
    assert best.cost == pytest.approx(21.0)
    blind = ahead.fit_path(**train, **valid, tradeoffs=(0.1, tradeoff), look_ahead=False)
    assert all(point.cost < 5.0 for point in blind.points if point.tradeoff >= tradeoff)  # for a few rows at most
    value = log_loss(y[1000:], greedy.predictor_.predict(X[1000:])) + tradeoff * greedy.cost(X[1000:]).mean
    assert best.loss + tradeoff * best.cost < 0.6 * value


@pytest.mark.parametrize(
    ("settings", "keywords", "message"),
    [
        ({"n_iter_no_change": 5}, {}, "n_iter_no_change: has no effect on a path"),
        ({"scoring": "loss"}, {}, "scoring: has no effect on a path"),
        ({"warm_start": True}, {}, "warm_start: has no effect on a path"),
        ({}, {"tradeoffs": (0.1, 0.2)}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"tradeoffs": (0.1, 0.0)}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"tradeoffs": 5}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"tradeoffs": (1, "a")}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"tradeoffs": (1.0, 0.1, 0.01)}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"scoring": 3}, "scoring: expected the name of a score"),
        ({}, {"X_val": None, "y_val": None}, "X_val: a path needs validation data"),
    ],
)
def test_bad_settings_are_named(rows, settings, keywords, message):
    X, y = rows
    with pytest.raises(cf.CostframeError, match=message):
        CEGBClassifier(COSTS, **settings).fit_path(X, y, **{"X_val": X, "y_val": y} | keywords)


def test_points_of_elsewhere_are_refused(path):
    from costframe.trees.annealing.path import AnnealedPoint

    for branch, n_rounds in ((len(path.branches), 0), (-1, 0), (0, 10**6)):
        with pytest.raises(cf.CostframeError, match="point: expected one of this path's"):
            path.predictor(AnnealedPoint(branch, n_rounds, 0.0, 0.0, 0.0, 0.0))
