"""Continued training: two fits are one, what is paid stays paid, and other rows have paid for the trees so far."""

import pickle

import numpy as np
import pytest

import costframe as cf
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

COSTS = {
    "features": {"a": 1.0, "b": {"cost": 0.5, "needs": ["r"]}, "c": {"cost": 2.0, "needs": ["r"], "once": 3.0}},
    "resources": {"r": 4.0},
    "split": 0.01,
    "learner": 0.02,
    "reuse": 0.005,
}
KINDS = {"two": CEGBClassifier, "three": CEGBClassifier, "number": CEGBRegressor, "ranking": CEGBRanker}


def table(kind, seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X) @ [1.0, 0.5, 2.0] + 0.3 * rng.standard_normal(n)
    y = {"two": signal > 0, "three": np.digitize(signal, [-1, 1]), "number": signal}.get(
        kind, np.digitize(signal, [-1, 0, 1])
    )
    return (
        X,
        np.asarray(y, float if kind == "number" else int),
        {"qid": np.arange(n) // 10} if kind == "ranking" else {},
    )


def same(one, other):
    for name in ("feature", "threshold", "missing_left", "left", "right", "values"):
        np.testing.assert_array_equal(getattr(one.bank_.trees, name), getattr(other.bank_.trees, name))
    assert one.believed_cost_ == other.believed_cost_
    assert one.believed_fixed_ == other.believed_fixed_
    assert (one.n_iter_, one.n_grown_) == (other.n_iter_, other.n_grown_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("subsample", "weighted"), [(1.0, True), (0.5, False)])
def test_rounds_in_two_fits_are_those_of_one(kind, subsample, weighted):
    X, y, more = table(kind)
    weight = np.random.default_rng(1).integers(1, 3, len(X)) if weighted else None
    settings = {"subsample": subsample, "max_features": subsample, "max_leaves": 6, "random_state": 3}
    whole = KINDS[kind](COSTS, 1e-3, n_estimators=12, **settings).fit(X, y, weight, **more)
    parts = KINDS[kind](COSTS, 1e-3, n_estimators=5, warm_start=True, **settings).fit(X, y, weight, **more)
    assert parts.n_iter_ == 5
    early = parts.predict(X)
    parts = pickle.loads(pickle.dumps(parts))  # noqa: S301 - our own bytes
    parts.set_params(n_estimators=12).fit(X, y, weight, **more)
    same(parts, whole)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    if kind == "number":
        assert not np.array_equal(early, whole.predict(X))
    again = parts.fit(X, y, weight, **more)  # no more rounds: as it was
    same(again, whole)
    assert whole.believed_cost_ == pytest.approx(whole.cost(X, sample_weight=weight).mean)


def test_paid_features_are_not_charged_again():
    """A dear feature that one fit bought is free for the rows that have it, as in one fit."""
    X, y, _ = table("number")
    costs = {"features": {"a": 0.0, "b": 0.0, "c": {"cost": 1.0, "once": 30.0}}}
    settings = {"tradeoff": 0.5, "learning_rate": 1.0, "max_leaves": 4}
    model = CEGBRegressor(costs, n_estimators=1, warm_start=True, **settings).fit(X, y)
    assert 2 in model.bank_.trees.feature
    before = model.believed_cost_, model.believed_fixed_
    model.set_params(n_estimators=5).fit(X, y)
    assert (model.bank_.trees.feature == 2).sum() > 1
    assert (model.believed_cost_, model.believed_fixed_) == before == (pytest.approx(model.cost(X).mean), 30.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tradeoff", [1e-3, 0.1])
def test_other_rows_have_paid_for_the_trees_so_far(kind, tradeoff):
    X, y, more = table(kind)
    other, y_other, more_other = table(kind, 5, 200)
    model = KINDS[kind](COSTS, tradeoff, n_estimators=4, max_leaves=5, warm_start=True).fit(X, y, **more)
    first = model.predictor_.decision_function(other)
    report = model.cost(other)
    model.fit(other, y_other, **more_other)  # no more rounds, but other rows that pay
    assert model.believed_cost_ == pytest.approx(report.mean)
    assert model.believed_fixed_ == pytest.approx(report.fixed)
    np.testing.assert_array_equal(model.predictor_.decision_function(other), first)
    model.set_params(n_estimators=10).fit(other, y_other, **more_other)
    assert model.n_iter_ == 10 or tradeoff == 0.1
    report = model.cost(other)
    assert model.believed_cost_ == pytest.approx(report.mean)
    assert model.believed_fixed_ == pytest.approx(report.fixed)


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


def test_without_warm_start_a_fit_begins_anew():
    X, y, _ = table("number")
    model = CEGBRegressor(COSTS, 1e-3, n_estimators=3, warm_start=True).fit(X, y)
    plain = CEGBRegressor(COSTS, 1e-3, n_estimators=2).fit(X, y)
    same(model.set_params(n_estimators=2, warm_start=False).fit(X, y), plain)
    same(model.set_params(warm_start=True).fit(X, y), plain)  # what was not to be continued is forgotten


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": 2}, "n_estimators: expected at least 3 with warm_start"),
        ({"learning_rate": 0.2}, "learning_rate: expected 0.1 as before with warm_start, got 0.2"),
        ({"max_bins": 20}, "max_bins: expected 255 as before"),
        ({"random_state": 1}, "random_state: expected 0 as before"),
        ({"costs": COSTS | {"split": 0.02}}, "costs: expected the same prices as before"),
        ({"warm_start": "yes"}, "warm_start: expected True or False"),
    ],
)
def test_what_must_not_change_is_named(change, message):
    X, y, _ = table("two")
    model = CEGBClassifier(COSTS, 1e-3, n_estimators=3, warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(cf.CostframeError, match=message):
        model.set_params(**change).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_other_features_classes_and_objectives_are_refused():
    X, y, _ = table("three")
    model = CEGBClassifier(COSTS, 1e-3, n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(cf.CostframeError, match=r"y: expected the classes \[0, 1, 2\] as before with warm_start"):
        model.fit(X, y + 1)
    with pytest.raises(cf.CostframeError, match="y: expected the classes"):
        model.fit(X, y > 0)
    with pytest.raises(cf.CostframeError, match="X: expected the features"):
        CEGBRegressor(n_estimators=1, warm_start=True).fit(X, y).fit(X[:, :2], y)
    X, y, more = table("ranking")
    ranker = CEGBRanker(COSTS, n_estimators=3, warm_start=True).fit(X, y, **more)
    with pytest.raises(cf.CostframeError, match=r"objective: expected LambdaRankLoss.* as before with warm_start"):
        ranker.set_params(objective="pairwise").fit(X, y, **more)
    with pytest.raises(cf.CostframeError, match="warm_start: has no effect on a path"):
        ranker.fit_path(X, y, **more, X_val=X, y_val=y, qid_val=more["qid"])
