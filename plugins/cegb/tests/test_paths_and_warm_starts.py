"""Annealed fits, whose points are models of the loss and cost that they say, and continued ones, which are one fit."""

import pickle

import numpy as np
import pytest
from attrs import evolve
from sklearn.metrics import log_loss

import costframe as cf
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

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
    return X, (filled[:, 0] + filled[:, 1] * filled[:, 2] + 0.3 * rng.standard_normal(600) > 0).astype(int)


def fitted(rows, tradeoff=0.01, tradeoffs=None, **settings):
    X, y = rows
    model = CEGBClassifier(COSTS, tradeoff, **{"max_leaves": 8, "n_estimators": 25} | settings)
    more = {} if tradeoffs is None else {"tradeoffs": tradeoffs}
    return model, model.fit_path(X[:400], y[:400], X_val=X[400:], y_val=y[400:], **more)


def test_every_point_costs_and_loses_what_the_path_says_and_is_chosen_by_tradeoff_and_by_budget(rows):
    X, y = rows
    model, path = fitted(rows)
    assert len(path.points) > 50
    for point in path.points[::5]:
        predictor = path.predictor(point)
        assert predictor.cost(X[400:]).mean == pytest.approx(point.cost, rel=1e-12)
        assert log_loss(y[400:], predictor.predict(X[400:])) == pytest.approx(point.loss, rel=1e-9)
        assert point.score == -point.loss
    assert (path.points[0].n_rounds, path.points[0].cost) == (0, 0.0)  # the constant
    best = path.at(0.01)
    assert model.n_iter_ == best.n_rounds
    assert model.cost(X[400:]).mean == pytest.approx(best.cost)
    assert all(best.loss + 0.01 * best.cost <= point.loss + 0.01 * point.cost for point in path.points)
    affordable = path.within(3.0)
    assert affordable.cost <= 3.0
    assert affordable.score == max(point.score for point in path.points if point.cost <= 3.0)
    with pytest.raises(cf.CostframeError, match=r"no model costs -1.0 or less, the cheapest costs 0"):
        path.within(-1.0)
    with pytest.raises(cf.CostframeError, match="point: expected one of this path's"):
        path.predictor(evolve(path.points[0], key=len(path.branches)))


def test_the_best_model_of_every_line_is_a_point_at_given_tradeoffs(rows):
    X, y = rows[0], np.where(np.random.default_rng(1).random(600) < 0.3, 1 - rows[1], rows[1])
    usual = {"max_leaves": 20, "min_samples_leaf": 1, "n_estimators": 12, "subsample": 0.6, "random_state": 3}
    _, path = fitted((X, y), 0.02, (0.02, 0.02), **usual)
    assert fitted((X, y), 0.02, (0.02, 0.02), n_jobs=2, **usual)[1].points == path.points
    assert {point.tradeoff for point in path.points} == {0.0, 0.02}  # and of the line that knows no prices
    for branch, ensemble in enumerate(path.branches):
        tradeoff, values = 0.0 if branch in path.unpriced else 0.02, []
        for n_rounds in range(1 + len(ensemble.rounds)):
            report = path.predictor(evolve(path.points[0], key=branch, n_rounds=n_rounds)).cost(X[400:])
            values.append(log_loss(y[400:], report.predictions) + tradeoff * report.mean)
        assert any(point.loss + tradeoff * point.cost == pytest.approx(min(values)) for point in path.points)


def test_a_dear_resource_is_bought_when_its_features_together_repay_it():
    """Ten features behind one dear report, each of little use alone; one cheap feature of its own."""
    rng, tradeoff = np.random.default_rng(0), 0.004  # the report costs 0.08 of loss: more than any one split gains
    X = rng.standard_normal((1500, 11))
    y = (X[:, 0] + 0.8 * X[:, 1:].sum(axis=1) + 0.3 * rng.standard_normal(1500) > 0).astype(int)
    bureau = {
        "features": {"cheap": 1.0} | {f"report{f}": {"cost": 0.0, "needs": ["bureau"]} for f in range(10)},
        "resources": {"bureau": 20.0},
    }
    given = {"X": X[:1000], "y": y[:1000], "X_val": X[1000:], "y_val": y[1000:]}
    greedy, ahead = (CEGBClassifier(bureau, tradeoff, max_leaves=4, min_samples_leaf=5) for _ in range(2))
    assert greedy.fit(**given).cost(X).mean <= 1.0
    path, blind = (ahead.fit_path(**given, tradeoffs=(0.1, tradeoff), look_ahead=way) for way in (True, False))
    priced = [point for point in path.points if point.tradeoff >= tradeoff]  # without the line that knows no prices
    best = min(priced, key=lambda point: point.loss + tradeoff * point.cost)
    assert best.cost == pytest.approx(21.0)
    assert all(point.cost < 5.0 for point in blind.points if point.tradeoff >= tradeoff)  # for a few rows at most
    value = log_loss(y[1000:], greedy.predictor_.predict(X[1000:])) + tradeoff * greedy.cost(X[1000:]).mean
    assert best.loss + tradeoff * best.cost < 0.6 * value


def test_a_path_leaves_nothing_of_an_earlier_fit(rows):
    """Neither what that believed to pay, nor trees that a warm start would go on from."""
    X = np.nan_to_num(rows[0][:60])
    model = CEGBRegressor(tradeoff=1e-3, warm_start=True, n_estimators=3).fit(X, X[:, 0])
    model.set_params(warm_start=False, n_estimators=2).fit_path(X, X[:, 0], X_val=X, y_val=X[:, 0])
    assert not {"n_grown_", "believed_cost_", "believed_fixed_"} & set(vars(model))
    model.set_params(warm_start=True, n_estimators=1).fit(X, X[:, 0])  # of three rounds it would refuse to keep one
    assert model.n_grown_ == 1
    assert model.believed_cost_ == pytest.approx(model.cost(X).mean)


@pytest.mark.parametrize(
    ("settings", "keywords", "message"),
    [
        ({"n_iter_no_change": 5}, {}, "n_iter_no_change: has no effect on a path"),
        ({"warm_start": True}, {}, "warm_start: has no effect on a path"),
        ({}, {"tradeoffs": (0.1, 0.2)}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"tradeoffs": (1, "a")}, "tradeoffs: expected two falling numbers > 0"),
        ({}, {"scoring": 3}, "scoring: expected the name of a score"),
        ({}, {"X_val": None, "y_val": None}, "X_val: a path needs validation data"),
        ({}, {"weight_val": None}, "weight_val: no argument of CEGBClassifier's training"),
    ],
)
def test_bad_settings_are_named(rows, settings, keywords, message):
    X, y = rows
    with pytest.raises(cf.CostframeError, match=message):
        CEGBClassifier(COSTS, **settings).fit_path(X, y, **{"X_val": X, "y_val": y} | keywords)


# --- warm starts -------------------------------------------------------------------------------------------------

KINDS = {"two": CEGBClassifier, "three": CEGBClassifier, "number": CEGBRegressor, "ranking": CEGBRanker}


def table(kind, seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X) @ [1.0, 0.5, 2.0] + 0.3 * rng.standard_normal(n)
    y = {"two": (signal > 0).astype(int), "number": signal}.get(kind, np.digitize(signal, [-1, 1]))
    return X, y, {"qid": np.arange(n) // 10} if kind == "ranking" else {}


def same(one, other):
    for name in ("feature", "threshold", "missing_left", "left", "right", "values"):
        np.testing.assert_array_equal(getattr(one.bank_.trees, name), getattr(other.bank_.trees, name))
    for name in ("believed_cost_", "believed_fixed_", "n_iter_", "n_grown_"):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_in_two_fits_are_those_of_one(kind):
    X, y, more = table(kind)
    for subsample, weight in ((1.0, np.random.default_rng(1).integers(1, 3, len(X))), (0.5, None)):
        settings = {"subsample": subsample, "max_features": subsample, "max_leaves": 6, "random_state": 3}
        whole = KINDS[kind](COSTS, 1e-3, n_estimators=12, **settings).fit(X, y, weight, **more)
        parts = KINDS[kind](COSTS, 1e-3, n_estimators=5, warm_start=True, **settings).fit(X, y, weight, **more)
        parts = pickle.loads(pickle.dumps(parts))  # noqa: S301 - our own bytes
        parts.set_params(n_estimators=12).fit(X, y, weight, **more)
        same(parts, whole)
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
        same(parts.fit(X, y, weight, **more), whole)  # no more rounds: as it was
        assert whole.believed_cost_ == pytest.approx(whole.cost(X, sample_weight=weight).mean)


@pytest.mark.parametrize("kind", ["three", "number", "ranking"])
def test_other_rows_have_paid_for_the_trees_so_far(kind):
    X, y, more = table(kind)
    other, y_other, more_other = table(kind, 5, 200)
    model = KINDS[kind](COSTS, 1e-3, n_estimators=4, max_leaves=5, warm_start=True).fit(X, y, **more)
    first = model.predictor_.decision_function(other)
    for rounds in (4, 10):  # no more rounds, but other rows that pay
        model.set_params(n_estimators=rounds).fit(other, y_other, **more_other)
        report = model.cost(other)
        assert model.n_iter_ == rounds
        assert model.believed_cost_ == pytest.approx(report.mean)
        assert model.believed_fixed_ == pytest.approx(report.fixed)
        assert np.array_equal(model.predictor_.decision_function(other), first) == (rounds == 4)


def test_early_stopping_is_that_of_one_fit():
    X, y, _ = table("two")
    valid = {"X_val": X[200:], "y_val": y[200:]}
    settings = {"n_iter_no_change": 3, "max_leaves": 8, "min_samples_leaf": 2, "learning_rate": 0.5}
    whole = CEGBClassifier(COSTS, 1e-3, n_estimators=60, **settings).fit(X[:200], y[:200], **valid)
    assert whole.n_grown_ < 60
    parts = CEGBClassifier(COSTS, 1e-3, warm_start=True, **settings)
    for rounds in (2, whole.n_grown_ - 1, whole.n_grown_, 60, 60):  # also across the best round, and past the end
        parts.set_params(n_estimators=rounds).fit(X[:200], y[:200], **valid)
        assert parts.n_grown_ == min(rounds, whole.n_grown_)
    same(parts, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": 2}, "n_estimators: expected at least 3 with warm_start"),
        ({"learning_rate": 0.2}, "learning_rate: expected 0.1 as before with warm_start, got 0.2"),
        ({"costs": COSTS | {"split": 0.02}}, "costs: expected the same prices as before"),
        ({"objective": "pairwise"}, r"objective: expected LambdaRankLoss.* as before with warm_start"),
    ],
)
def test_what_must_not_change_is_named_and_the_model_stays(change, message):
    X, y, more = table("ranking")
    model = CEGBRanker(COSTS, 1e-3, n_estimators=3, warm_start=True).fit(X, y, **more)
    before = model.predict(X)
    with pytest.raises(cf.CostframeError, match=message):
        model.set_params(**change).fit(X, y, **more)
    np.testing.assert_array_equal(model.predict(X), before)
    model = CEGBClassifier(n_estimators=1, warm_start=True).fit(X, y)
    with pytest.raises(cf.CostframeError, match=r"y: expected the classes \[0, 1, 2\] as before with warm_start"):
        model.fit(X, y + 1)
    with pytest.raises(cf.CostframeError, match="X: expected the features"):
        model.fit(X[:, :2], y)
