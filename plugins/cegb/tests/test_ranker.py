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
    return X, np.clip(np.round(X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n) + 1.5), 0, 4), qid


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_ranks_well_and_early_stopping_and_the_path_watch_rankings(objective):
    X, y, qid = table(0)
    X_val, y_val, qid_val = table(1, 10)
    valid = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    settings = {"objective": objective, "n_estimators": 40, "max_leaves": 4}
    plain = CEGBRanker(COSTS, 1e-3, n_iter_no_change=5, **settings).fit(X, y, qid=qid, **valid)
    assert 0 < plain.n_iter_ <= 40
    assert plain.score(X_val, y_val, qid_val) > 0.85
    path = CEGBRanker(COSTS, 1e-3, **settings).fit_path(X, y, qid=qid, **valid)
    cheap, best = path.within(0.5), path.within(10.0)
    assert cheap.loss > 1.2 * best.loss
    assert path.predictor(best).cost(X_val).mean == pytest.approx(best.cost)


def test_missing_queries_and_those_without_an_order_are_named():
    X, y, qid = table(0)
    for more, words in (
        ({"qid": None}, "qid: expected the query of each row, got None"),
        ({"X_val": X, "y_val": y}, "qid_val: expected the query of each row, got None"),
        ({"X_val": X[:3], "y_val": [0, 2, 2], "qid_val": [1, 3, 3]}, "y_val: expected a query with two different"),
    ):
        with pytest.raises(cf.CostframeError, match=words):
            CEGBRanker(COSTS, n_estimators=5).fit(X, y, **{"qid": qid} | more)
