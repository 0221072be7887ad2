"""Banks of boosted trees that pay for what they read, the first ones most: cheap trees come before dear ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.bank import WeakLearnerBank
from costframe.core.threads import thread_count
from costframe.core.training import check_number, given_or

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.price_arrays import PriceArrays
    from costframe.core.training import Rows
    from costframe.trees.finish import GrownTree

__all__ = ["train_priced_bank"]

_FIRST, _LAST = 30.0, 0.1  # times the tradeoff: what the first and the last tree pay
_FEW = 2000.0  # rows, counted by their weights
_MOST = 1e150  # products with prices and weights are numbers


def train_priced_bank(
    rows: Rows,
    prices: PriceArrays,
    n_classes: int,
    tradeoff: float,
    *,
    n_estimators: int | None = None,
    learning_rate: float = 0.1,
    max_depth: int = 4,
    min_samples_leaf: int = 1,
    l2_regularization: float = 1.0,
    max_bins: int = 255,
    column_share: float = 1.0,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> WeakLearnerBank:
    """Boost trees whose splits pay row by row, as those of CEGB, while the tradeoff falls from 30 times to a tenth.

    The loss is the cross-entropy of classes (one tree a class and round, if they are more than two), and else the
    square. Outputs carry the learning rate, constants are left out.

    Parameters
    ----------
    rows : Rows
        Labels are class codes, or numbers.
    prices : PriceArrays
        Of the columns.
    n_classes : int
        0 for numbers.
    tradeoff : float
        lambda; 0 makes plain trees.
    n_estimators : int, optional
        Rounds: 200 by default, or 100 where there are more than two classes, or fewer than 2,000 rows.
    learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins, column_share, random_state, n_jobs
        As for `train_bank`.

    Raises
    ------
    ParameterError
        If a setting is out of its range.
    """
    from costframe.core.tree_table import TreeTable
    from costframe.trees.binning import BinMapper
    from costframe.trees.boosting import boost
    from costframe.trees.draws import draw_columns
    from costframe.trees.grow import grow_tree
    from costframe.trees.lazy_prices import LazyPrices
    from costframe.trees.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

    width = n_classes if n_classes > 2 else 1
    few = width > 1 or max(float(len(rows)), rows.total_weight) < _FEW
    n_rounds = given_or("n_estimators", n_estimators, 100 if few else 200, low=1, whole=True)
    step = check_number("learning_rate", learning_rate, strict=True, high=1)
    share = check_number("column_share", column_share, strict=True, high=1)
    limits: dict[str, Any] = {
        "max_depth": check_number("max_depth", max_depth, low=1, whole=True),
        "min_samples_leaf": check_number("min_samples_leaf", min_samples_leaf, low=1, whole=True),
        "l2": check_number("l2_regularization", l2_regularization),
        "n_threads": thread_count(n_jobs),
    }
    bins = check_number("max_bins", max_bins, low=2, high=255, whole=True)
    random = np.random.default_rng(check_number("random_state", random_state, whole=True))
    mapper = BinMapper.fit(rows.X, max_bins=bins, sample_weight=rows.weight, n_threads=limits["n_threads"])
    binned = mapper.transform(rows.X, n_threads=limits["n_threads"])
    paid = LazyPrices(prices, 0.0, len(rows), rows.uneven_weight)
    falling = iter(np.repeat(_falling(tradeoff, n_rounds), width).tolist())

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
        paid.tradeoff = next(falling)
        features = draw_columns(random, rows.X.shape[1], share)
        counts = rows.counts
        plain = counts is None and bool((hessians == 1).all())
        return grow_tree(
            binned,
            gradients,
            None if plain else hessians,
            counts=counts,
            features=features,
            prices=paid,
            growth="breadth",
            **limits,
        )

    loss = SoftmaxLoss(n_classes) if n_classes > 2 else LogisticLoss() if n_classes else SquaredLoss()
    ensemble, _ = boost(
        rows, loss, grow, n_rounds=n_rounds, step=step, end_when_idle=False, n_threads=limits["n_threads"]
    )
    table = TreeTable.concatenate(ensemble.tables)
    return WeakLearnerBank.from_trees(evolve(table, values=table.values * step), prices.names)


def _falling(tradeoff: float, n_rounds: int) -> NDArray[np.float64]:
    if not tradeoff > 0:
        return np.zeros(n_rounds)
    high = min(_FIRST * tradeoff, _MOST)
    return np.geomspace(high, high * _LAST / _FIRST, n_rounds)
