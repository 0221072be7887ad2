"""CEGB for rankings: what it learns, pays and refuses."""

import numpy as np
import pytest

import costframe as cf
from costframe_cegb import CEGBRanker

COSTS = {"features": {"a": 1.0, "b": {"cost": 0.5, "needs": ["r"]}, "c": 0.2}, "resources": {"r": 2.0}}
OBJECTIVES = ["lambdarank", "pairwise", "squared"]


def table(seed, n_queries=30, size=20):
    """Grades 0 to 4 from two features; queries shift what is comparable, and do not lie together."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    qid = rng.permutation(np.repeat(np.arange(n_queries), size))
    X = rng.standard_normal((n, 3))
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n) + 1.5), 0, 4)
    return X, y, qid


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_ranks_well_and_believes_what_is_paid(objective):
    X, y, qid = table(0)
    fresh, y_fresh, qid_fresh = table(1)
    model = CEGBRanker(COSTS, 1e-3, objective=objective, n_estimators=60, max_leaves=8).fit(X, y, qid=qid)
    assert model.score(fresh, y_fresh, qid_fresh) > 0.9
    assert model.believed_cost_ == pytest.approx(model.cost(X).mean, rel=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_early_stopping_and_the_path_watch_rankings(objective):
    X, y, qid = table(0)
    X_val, y_val, qid_val = table(1, 10)
    valid = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    settings = {"objective": objective, "n_estimators": 40, "max_leaves": 4}
    plain = CEGBRanker(COSTS, 1e-3, n_iter_no_change=5, **settings).fit(X, y, qid=qid, **valid)
    assert 0 < plain.n_iter_ <= 40
    named = CEGBRanker(COSTS, 1e-3, scoring="ndcg@5", **settings).fit(X, y, qid=qid, **valid)
    assert named.score(X_val, y_val, qid_val) > 0.85
    path = CEGBRanker(COSTS, 1e-3, **settings).fit_path(X, y, qid=qid, **valid)
    cheap, best = path.within(0.5), path.within(10.0)
    assert cheap.loss > 1.2 * best.loss
    assert path.predictor(best).cost(X_val).mean == pytest.approx(best.cost)


def test_missing_queries_are_named():
    X, y, qid = table(0)
    with pytest.raises(cf.CostframeError, match="qid: expected the query of each row, got None"):
        CEGBRanker(COSTS).fit(X, y)
    with pytest.raises(cf.CostframeError, match="qid_val: expected the query of each row, got None"):
        CEGBRanker(COSTS).fit(X, y, qid=qid, X_val=X, y_val=y)
    with pytest.raises(cf.CostframeError, match="objective: expected None, 'lambdarank', 'pairwise' or 'squared'"):
        CEGBRanker(COSTS, objective="listwise").fit(X, y, qid=qid)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_queries_without_pairs_make_a_constant_or_no_harm(objective):
    X, _, qid = table(0)
    model = CEGBRanker(COSTS, 0.0, objective=objective, n_estimators=5).fit(X, np.full(len(X), 100.0), qid=qid)
    assert model.n_iter_ == 0
    assert np.unique(model.predict(X)).size == 1
    y = np.random.default_rng(0).integers(0, 101, len(X))
    assert np.isfinite(CEGBRanker(COSTS, objective=objective, n_estimators=5).fit(X, y, qid=qid).predict(X)).all()
    alone = CEGBRanker(COSTS, 0.0, objective="pairwise", n_estimators=5).fit(X, y, qid=np.arange(len(X)))
    assert alone.n_iter_ == 0


def test_validation_queries_without_an_order_are_refused():
    X, y, qid = table(0)
    with pytest.raises(cf.CostframeError, match="y_val: expected a query with two different grades"):
        CEGBRanker(COSTS, n_estimators=5).fit(X, y, qid=qid, X_val=X[:4], y_val=[0, 1, 2, 2], qid_val=[1, 2, 3, 3])
