"""The planner's training problem: rows in folds, and the prices of sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.adoption import GivenBase
from costframe.plugin import (
    F8,
    I8,
    CostModelError,
    PointwiseLoss,
    PriceArrays,
    Rows,
    Sampling,
    TrainingData,
    apply_link,
    loss_for,
    squeeze,
)
from costframe.sets import SetPrices
from costframe.trees import BinnedData, HeldOutPredictions, TreeSettings
from costframe_planner.stakes import Stakes

_FOLDS = (2_000, 5), (20_000, 4)  # largest number of rows, number of folds
_FEWEST_FOLDS = 3
_LEAST_ROWS = (2_500, 5), (np.inf, 20)  # largest number of rows, least rows of a leaf
COARSE = 63  # bins; a power of two with the bin of missing values


@frozen
class PlannerSettings:
    """Settings of the algorithm; see `PlannerClassifier`."""

    n_sets: int
    max_tries: int
    trees: TreeSettings  # of all trees, except for settings that depend on the data if they are not given:
    learning_rate: float | None
    max_leaves: int | None
    min_samples_leaf: int | None


class SampledRows(NamedTuple):
    """A sample of the rows: in fewer bins, without their values, with folds and halves."""

    data: BinnedData
    rows: Rows
    fold: I8
    half: I8
    stakes: Stakes | None


@frozen(eq=False)
class Problem:
    """All rows for training and out-of-fold estimates."""

    rows: Rows
    data: BinnedData  # features of the rows
    coarse: BinnedData  # the same in fewer bins, for quick fits and regressions
    loss: PointwiseLoss
    # fold, half (n,): folds of the models, and halves for the regressions; equal rows, or rows of a query, stay
    # together
    fold: I8
    half: I8
    numbers: NDArray[np.uint64]  # a hash of each row, or of its query
    keys: tuple[NDArray[Any], ...]  # of samples; see `least_rows`
    prices: SetPrices  # prices with each row's share of once-prices
    paid: SetPrices  # prices without once-prices, as in the mean cost of reports
    settings: PlannerSettings
    base: GivenBase | None = None  # base model to train on each set; None for boosted trees
    stakes: Stakes | None = None  # what wrong answers cost, for a plan in money; None for a plan of losses

    @property
    def n_rows(self) -> int:
        """Number of rows; a row with a whole weight w counts w times, for any scale of other weights."""
        return self.rows.total_repeats

    @property
    def gain_unit(self) -> str:
        """Unit of losses and gains; see `PlannedPredictor`."""
        return "loss" if self.stakes is None else "money"

    @property
    def n_threads(self) -> int:
        """Does not change the result."""
        return self.settings.trees.n_threads

    @classmethod
    def of(
        cls, data: TrainingData, settings: PlannerSettings, base: GivenBase | None = None, *, money: bool = False
    ) -> Problem:
        """Join training and validation rows, and deal them into folds; with `money` errors cost what prices say."""
        _check_prices(data.prices)
        data.train.check_sizes()
        if data.valid is not None:
            data.valid.check_sizes("_val")
        rows = data.joined_rows()
        n_rows = rows.total_repeats
        count = next((folds for most, folds in _FOLDS if n_rows <= most), _FEWEST_FOLDS)

        def binned(most: int) -> BinnedData:
            return BinnedData.of(rows, evolve(settings.trees, max_bins=most), data.categorical)

        numbers, fold, half = Sampling(data).folds(rows, count)
        loss = loss_for(data.n_classes)
        return cls(
            rows,
            fine := binned(settings.trees.max_bins),
            fine if fine.mapper.n_bins.max() <= COARSE else binned(COARSE),
            loss,
            fold,
            half,
            numbers,
            Sampling(data).keys(rows, numbers, fold, half),
            SetPrices.of(data.prices, n_rows),
            SetPrices.of(data.prices, np.inf),
            settings,
            base,
            Stakes.of(data, rows, loss.link) if money else None,
        )

    def of_rows(self, chosen: I8) -> Problem:
        """Return the problem of some of the rows as far as regressions of gains see it."""
        return evolve(self, rows=self.rows.take(chosen), fold=self.fold[chosen])

    def losses(self, scores: F8) -> F8:
        """Return the losses to plan with, in money with stakes, given out-of-fold scores (n, K): float64 (n,)."""
        return self.loss.by_row(self.rows.y, scores) if self.stakes is None else self.stakes.losses(scores)

    def realised(self, scores: F8) -> F8:
        """Return the same with costs of errors as they came, without expectations: float64 (n,)."""
        return self.loss.by_row(self.rows.y, scores) if self.stakes is None else self.stakes.realised(scores)

    def held_out(self, rows: Rows, scores: F8) -> HeldOutPredictions:
        """Return rows with predictions, from their out-of-fold scores (n, K)."""
        return HeldOutPredictions(rows, squeeze(apply_link(self.loss.link, scores)))

    def sample(self, most: int) -> SampledRows:
        """Return at most `most` of the rows, chosen by their hashes."""
        chosen, rows = Sampling.least(self.keys, most), self.rows
        few = evolve(rows, X=np.empty((len(rows), 0))).take(chosen)
        stakes = None if self.stakes is None else self.stakes.take(chosen)
        return SampledRows(self.coarse.take_rows(chosen), few, self.fold[chosen], self.half[chosen], stakes)

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
