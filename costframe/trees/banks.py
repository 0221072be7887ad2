"""Banks of boosted trees, plain or priced; the first priced trees pay most, so that cheap trees come first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import B1, F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.price_arrays import PriceArrays
from costframe.training.data import Rows
from costframe.training.losses import Loss, loss_for
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.boosting_run import BoostingRun, Derivatives
from costframe.trees.growing import tree_grower
from costframe.trees.paid_by_row import LazyPrices
from costframe.trees.prices import NoPrices, SplitPrices
from costframe.trees.room import GrownTree
from costframe.trees.settings import TreeSettings

USUAL = TreeSettings(growth="breadth", max_depth=4, l2_regularization=1.0)
_FIRST, _LAST = 30.0, 0.1  # times the tradeoff: prices of the first and the last tree
_FEW = 2000.0  # rows, counted by their weights
_MOST_TREES, _FEWEST_ROUNDS = 1000, 5  # of a default bank for many classes
_MOST = 1e150  # products with prices and weights stay finite


def boost_trees(
    rows: Rows,
    settings: TreeSettings,
    loss: Loss,
    prices: SplitPrices | None = None,
    tradeoffs: Iterable[float] = (),
    categorical: B1 | None = None,
) -> TreeTable:
    """Boost with the built-in engine; outputs include the learning rate.

    Each tree has prices at one of the tradeoffs; columns in `categorical`, bool (d,), are split by categories.
    """
    random, falling = np.random.default_rng(settings.random_state), iter(tradeoffs)
    grow, paid = tree_grower(rows, BinnedData.of(rows, settings, categorical), settings), prices or NoPrices()
    run = BoostingRun.begin(rows, loss, settings)
    run.counts_idle = settings.draws or prices is not None

    def grow_next(gradients: Derivatives, hessians: Derivatives) -> GrownTree:
        paid.tradeoff = next(falling, 0.0)
        return grow(gradients, hessians, paid, random)

    for _ in run.rounds(settings):
        run.add_round(grow_next)
    table = TreeTable.concatenate(run.ensemble.tables)
    return evolve(table, values=table.values * settings.learning_rate)


def train_priced_bank(
    rows: Rows, prices: PriceArrays, n_classes: int, tradeoff: float, *, n_jobs: int | None = None,
    categorical: B1 | None = None, **given: Any,
) -> WeakLearnerBank:  # fmt: skip
    """Boost trees at row-by-row prices, as in CEGB, while the tradeoff falls from 30 times to a tenth.

    A tradeoff of 0 makes plain trees. The loss is cross-entropy for classes (one tree per class and round for more than
    two), else, with `n_classes` 0, squared loss. Outputs include the learning rate; the bank has no constants. Columns
    in `categorical`, bool (d,), are split by categories. Of the settings `given`, `n_estimators` is 200 by default, or
    100 for fewer than 2,000 rows; for more than two classes 100, or as many as make 1,000 trees, at least 5; the rest
    as for `train_bank`. A ParameterError refuses a setting that is out of its range.
    """
    width = n_classes if n_classes > 2 else 1
    settings = evolve(USUAL, n_estimators=usual_rounds(rows, n_classes)).replaced(n_jobs=n_jobs, **given)
    unpaid = LazyPrices(prices, 0.0, len(rows), rows.uneven_weight, rows.workers)
    falling = np.repeat(_falling(tradeoff, settings.n_estimators), width)
    trees = boost_trees(rows, settings, loss_for(n_classes), unpaid, falling.tolist(), categorical)
    return WeakLearnerBank.from_trees(trees, prices.names)


def usual_rounds(rows: Rows, n_classes: int) -> int:
    """Return the default rounds of a bank: at most about 1,000 trees, for weights on a bank take its cube in time."""
    if n_classes > 2:
        return max(_FEWEST_ROUNDS, min(100, _MOST_TREES // n_classes))
    return 100 if max(float(rows.total_rows), rows.total_weight) < _FEW else 200


def _falling(tradeoff: float, n_rounds: int) -> F8:
    high = min(_FIRST * tradeoff, _MOST)
    low = high * _LAST / _FIRST
    return np.geomspace(high, low, n_rounds) if low > 0 else np.zeros(n_rounds)
