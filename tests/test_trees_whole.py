"""Trees grown in one call are those that are grown step by step, and pay the same."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from costframe.core.prices.costs import CostModel
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing import grow
from costframe.trees.growing.lazy_prices import LazyPrices
from costframe.trees.growing.prices import once_prices

COSTS = CostModel.from_dict(
    {
        "features": {
            "a": 1.0,
            "b": {"cost": 0.5, "needs": ["r"]},
            "c": {"cost": 2.0, "needs": ["r"], "once": 3.0},
            "e": 0.1,
        },
        "resources": {"r": 4.0},
        "split": 0.01,
        "learner": 0.02,
        "reuse": 0.005,
    }
)
PRICES, N = COSTS.select(("a", "b", "c", "e")), 400
SETTINGS = [(8, None, 1), (31, None, 5), (2, None, 3), (31, 3, 1), (16, 1, 2), (31, None, 150), (8, None, 300)]


def table():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((N, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return BinMapper.fit(X).transform(X)


def prices_of(kind, weight):
    if kind == "rows":
        prices = LazyPrices(PRICES, 0.0, N, weight)
        prices.mark_paid(np.array([False, False, True, False]), np.array([False]))
        return prices
    return once_prices(PRICES, SimpleNamespace(total_weight=float(N), uneven_weight=weight))


def grown(kind, weight, share):
    """Grow trees one after another, at prices that fall; return them and what is paid."""
    rng, data, prices, trees = np.random.default_rng(1), table(), prices_of(kind, weight), []
    for number, (leaves, depth, rows) in enumerate(SETTINGS * 3):
        prices.tradeoff = (0.01, 0.003, 0.0005, 0.0)[number % 4]
        drawn = None if share == 1 else np.sort(rng.permutation(N)[: int(share * N)])
        tree = grow.grow_tree(
            data,
            rng.standard_normal(N),
            rng.random(N) if number % 2 else None,
            rows=drawn,
            prices=prices,
            max_leaves=leaves,
            max_depth=depth,
            min_samples_leaf=rows,
            l2=1.0,
        )
        trees.append(tree)
    return trees, prices


@pytest.mark.parametrize("kind", ["rows", "model"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [1, 0.7])
def test_trees_in_one_call_are_those_of_the_grower(monkeypatch, kind, weighted, share):
    weight = np.random.default_rng(2).integers(1, 4, N).astype(np.float64) if weighted else None
    calls, real = [], grow.grow_in_room
    monkeypatch.setattr(grow, "grow_in_room", lambda *asked: calls.append(real(*asked)) or calls[-1])
    quick, paid = grown(kind, weight, share)
    assert calls
    assert all(made is not None for made in calls)
    monkeypatch.setattr(grow, "grow_in_room", lambda *_: None)
    slow, owed = grown(kind, weight, share)
    assert len({tree.n_leaves for tree in slow}) >= 4
    for ours, theirs in zip(quick, slow, strict=True):
        for name in ("feature", "threshold", "missing_left", "left", "right", "outputs", "leaf_of_row"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    if kind == "rows":
        assert (paid.spent, paid.fixed) == (pytest.approx(owed.spent), owed.fixed)
        assert owed.fixed == 3.0


def test_trees_of_categories_many_leaves_or_nothing_to_split_are_left_to_the_grower():
    data, g = table(), np.random.default_rng(0).standard_normal(N)
    one = grow.grow_tree(data, g, prices=prices_of("rows", None), max_leaves=8, min_samples_leaf=N)
    assert one.n_leaves == 1
    many = grow.grow_tree(data, g, prices=prices_of("rows", None), max_leaves=200)
    assert many.n_leaves > 64
