"""Banks of boosted trees that pay for what they read, the first ones most: cheap trees come before dear ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.learners.bank import WeakLearnerBank
from costframe.trees.boosting.cart_banks import BankSettings, PaidTrees, boost_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows

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
    from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
    from costframe.trees.growing.lazy_prices import LazyPrices

    width = n_classes if n_classes > 2 else 1
    few = width > 1 or max(float(len(rows)), rows.total_weight) < _FEW
    usual = 100 if few else 200
    settings = BankSettings.checked(
        n_estimators=usual if n_estimators is None else n_estimators,
        learning_rate=learning_rate,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=l2_regularization,
        max_bins=max_bins,
        column_share=column_share,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    unpaid = LazyPrices(prices, 0.0, len(rows), rows.uneven_weight)
    paid = PaidTrees(unpaid, np.repeat(_falling(tradeoff, settings.n_estimators), width).tolist())
    loss = SoftmaxLoss(n_classes) if n_classes > 2 else LogisticLoss() if n_classes else SquaredLoss()
    return WeakLearnerBank.from_trees(boost_trees(rows, settings, loss, paid), prices.names)


def _falling(tradeoff: float, n_rounds: int) -> NDArray[np.float64]:
    if not tradeoff > 0:
        return np.zeros(n_rounds)
    high = min(_FIRST * tradeoff, _MOST)
    return np.geomspace(high, high * _LAST / _FIRST, n_rounds)
