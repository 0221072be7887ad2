"""Boosting the trees of a bank by the built-in engine, plain or at prices; and the settings that all engines have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import evolve, frozen

from costframe.core.checks import check_number
from costframe.core.threads import thread_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.training.data import Rows
    from costframe.trees.annealing.line import LinePrices
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.growing.finish import GrownTree

__all__ = ["BankSettings", "PaidTrees", "boost_trees"]


@frozen
class BankSettings:
    """How trees of a bank are boosted; see `train_bank`."""

    n_estimators: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    column_share: float
    random_state: int
    n_threads: int

    @classmethod
    def checked(
        cls,
        *,
        n_estimators: Any,
        learning_rate: Any,
        max_depth: Any,
        min_samples_leaf: Any,
        l2_regularization: Any,
        max_bins: Any,
        column_share: Any,
        random_state: Any,
        n_jobs: Any,
    ) -> Self:
        """Refuse by name what is out of its range."""
        return cls(
            check_number("n_estimators", n_estimators, low=1, whole=True),
            check_number("learning_rate", learning_rate, strict=True, high=1),
            check_number("max_depth", max_depth, low=1, whole=True),
            check_number("min_samples_leaf", min_samples_leaf, low=1, whole=True),
            check_number("l2_regularization", l2_regularization),
            check_number("max_bins", max_bins, low=2, high=255, whole=True),
            check_number("column_share", column_share, strict=True, high=1),
            check_number("random_state", random_state, whole=True),
            thread_count(n_jobs),
        )


@frozen(eq=False)
class PaidTrees:
    """Prices that splits pay, and the tradeoff of one tree after another."""

    prices: LinePrices
    tradeoffs: Iterable[float]


def boost_trees(rows: Rows, settings: BankSettings, loss: Loss, paid: PaidTrees | None = None) -> TreeTable:
    """Boost by the built-in engine; values carry the learning rate."""
    from costframe.core.learners.tree_table import TreeTable
    from costframe.trees.binning.bin_mapper import BinMapper
    from costframe.trees.boosting.boost import boost
    from costframe.trees.growing.draws import draw_columns
    from costframe.trees.growing.grow import grow_tree

    random, n_threads = np.random.default_rng(settings.random_state), settings.n_threads
    mapper = BinMapper.fit(rows.X, max_bins=settings.max_bins, sample_weight=rows.weight, n_threads=n_threads)
    binned = mapper.transform(rows.X, n_threads=n_threads)
    prices, counts = (None, None) if paid is None else (paid.prices, rows.counts)
    tradeoffs = iter(() if paid is None else paid.tradeoffs)

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
        if prices is not None:
            prices.tradeoff = next(tradeoffs)
        plain = counts is None and bool((hessians == 1).all())  # counts alone are quicker
        return grow_tree(
            binned,
            gradients,
            None if plain else hessians,
            counts=counts,
            features=draw_columns(random, rows.X.shape[1], settings.column_share),
            prices=prices,
            growth="breadth",
            max_depth=settings.max_depth,
            min_samples_leaf=settings.min_samples_leaf,
            l2=settings.l2_regularization,
            n_threads=n_threads,
        )

    ensemble, _ = boost(
        rows,
        loss,
        grow,
        n_rounds=settings.n_estimators,
        step=settings.learning_rate,
        end_when_idle=paid is None and settings.column_share == 1,
        n_threads=n_threads,
    )
    table = TreeTable.concatenate(ensemble.tables)
    return evolve(table, values=table.values * settings.learning_rate)
