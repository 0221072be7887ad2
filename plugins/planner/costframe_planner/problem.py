"""The planner's training problem: rows of train and valid together, in folds, with the prices of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import CostModelError, DataError, Rows, deal_folds, least_rows, sampling_keys
from costframe.sets import SetPrices
from costframe.trees import SquaredLoss, bin_rows, check_sizes, loss_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.plugin import PriceArrays, TrainingData
    from costframe.trees import BinnedData, TreeSettings
    from costframe_planner.base import Base

__all__ = ["COARSE", "Problem", "Settings"]

_FOLDS = (2_000, 5), (20_000, 4)  # largest number of rows, number of folds
_FEWEST_FOLDS = 3
_LEAST_ROWS = (2_500, 5), (np.inf, 20)  # largest number of rows, least rows of a leaf
COARSE = 63  # bins; a power of two with the bin of missing values


@frozen
class Settings:
    """Settings of the algorithm; see `PlannerClassifier`.

    Attributes
    ----------
    n_sets, max_tries : int
    trees : TreeSettings
        Of all trees, except for settings that depend on the data if they are not given:
    learning_rate, max_leaves, min_samples_leaf : optional
    """

    n_sets: int
    max_tries: int
    trees: TreeSettings
    learning_rate: float | None
    max_leaves: int | None
    min_samples_leaf: int | None


class SampledRows(NamedTuple):
    """A sample of the rows: in fewer bins, without their values, with folds and halves."""

    data: BinnedData
    rows: Rows
    fold: NDArray[np.int64]
    half: NDArray[np.int64]


@frozen(eq=False)
class Problem:
    """All rows for training and out-of-fold estimates.

    Attributes
    ----------
    rows : Rows
    data : BinnedData
        Features of the rows.
    coarse : BinnedData
        The same in fewer bins, for quick fits and regressions.
    loss : SquaredLoss, LogisticLoss or SoftmaxLoss
    fold, half : int64 (n,)
        Folds of the models, and halves for the regressions; equal rows, or rows of a query, stay together.
    keys : tuple of arrays (n,)
        Of samples; see `least_rows`.
    prices : SetPrices
        Prices with each row's share of once-prices.
    paid : SetPrices
        Prices without once-prices, as in the mean cost of reports.
    settings : Settings
    base : Base or None
        Base model to train on each set; None for boosted trees.
    """

    rows: Rows
    data: BinnedData
    coarse: BinnedData
    loss: SquaredLoss
    fold: NDArray[np.int64]
    half: NDArray[np.int64]
    keys: tuple[NDArray[Any], ...]
    prices: SetPrices
    paid: SetPrices
    settings: Settings
    base: Base | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows; a row with a whole weight w counts w times, for any scale of other weights."""
        return self.rows.total_repeats

    @property
    def n_threads(self) -> int:
        """Does not change the result."""
        return self.settings.trees.n_threads

    @classmethod
    def of(cls, data: TrainingData, settings: Settings, base: Base | None = None) -> Problem:
        """Join training and validation rows, and deal them into folds."""
        _check_prices(data.prices)
        check_sizes(data.train)
        if data.valid is not None:
            check_sizes(data.valid, "_val")
        rows = _join_rows(data)
        n_rows = rows.total_repeats
        count = next((folds for most, folds in _FOLDS if n_rows <= most), _FEWEST_FOLDS)

        def binned(most: int) -> BinnedData:
            return bin_rows(rows, evolve(settings.trees, max_bins=most), data.categorical)

        numbers, fold, half = deal_folds(rows, data, count)
        return cls(
            rows,
            fine := binned(settings.trees.max_bins),
            fine if fine.mapper.n_bins.max() <= COARSE else binned(COARSE),
            loss_for(data.n_classes),  # type: ignore[arg-type]
            fold,
            half,
            sampling_keys(rows, data, numbers, fold, half),
            SetPrices.of(data.prices, n_rows),
            SetPrices.of(data.prices, np.inf),
            settings,
            base,
        )

    def sample(self, most: int) -> SampledRows:
        """Return at most `most` of the rows, chosen by their hashes."""
        chosen, rows = least_rows(self.keys, most), self.rows
        few = Rows(np.empty((len(chosen), 0)), rows.y[chosen], rows.weight[chosen])
        return SampledRows(self.coarse.take_rows(chosen), few, self.fold[chosen], self.half[chosen])

    def trees(self, max_leaves: int, step: float, n_rounds: int, patience: int | None) -> TreeSettings:
        """Return settings of boosted trees."""
        fewest = self.settings.min_samples_leaf
        if fewest is None:
            fewest = next(rows for most, rows in _LEAST_ROWS if self.n_rows <= most)
        return evolve(
            self.settings.trees,
            max_leaves=max_leaves,
            min_samples_leaf=fewest,
            learning_rate=step,
            n_estimators=n_rounds,
            n_iter_no_change=patience,
        )


def _check_prices(prices: PriceArrays) -> None:
    """Refuse prices other than those of acquisitions."""
    for word, some in (("learner", prices.learner), ("split", prices.split.any()), ("reuse", prices.reuse)):
        if some:
            raise CostModelError(
                f"{word}: the planner has prices of features and resources, and once-prices; it has no use for "
                f"a price of the kind {word!r}"
            )


def _join_rows(data: TrainingData) -> Rows:
    if data.valid is None:
        return data.train
    both = (data.train, data.valid)
    for name, other, rows in (("qid", "qid_val", data.train), ("qid_val", "qid", data.valid)):
        if rows.qid is None and (data.train.qid is not None or data.valid.qid is not None):
            raise DataError(f"{name}: expected the query of each row, as for {other}, got None")
    queries = None
    if data.train.qid is not None and data.valid.qid is not None:
        queries = np.concatenate([data.train.qid, data.valid.qid + data.train.qid.max(initial=-1) + 1])
    return Rows(
        np.concatenate([rows.X for rows in both]),
        np.concatenate([rows.y for rows in both]),
        np.concatenate([rows.weight for rows in both]),
        queries,
        labels=data.train.labels,
    )
