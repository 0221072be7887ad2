"""Archive of feature sets, with the loss of a quick fit on each, and a search for better sets.

The search starts from all features, and leaves out those with the least gain per cost, step by step. Then it opens each
set on the front of cost and loss: it tries the set with further features, with pairs of features, with all features or
the better ones behind a resource, without its features that split nowhere in the fit on all features, and without some
others. All features behind an expensive resource are one bundle, so the search finds sets on both sides of its price.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.core.threads import run_parallel
from costframe.sets.prices import SetPrices
from costframe.training.sampling import deal_folds, sample_by_hash
from costframe.trees.boosting.folds import boost_folds
from costframe.trees.boosting.grower import bin_rows
from costframe.trees.boosting.losses import loss_for
from costframe.trees.settings import TreeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

__all__ = ["FeatureSet", "SetArchive", "search_quickly"]

_NOTHING = 1e-4  # least gain, as a share of the constant's loss
_PER_COST, _MOST_GAIN, _FEWER, _PAIRS = 5, 3, 3, 3  # candidates of an opened set, by kind
_STEP, _LOWEST = 0.75, 0.003  # share of the cost that remains after one step of leaving out, and after the last
_BUNDLES = 20  # most bundles of an opened set: each resource may have one
_FLOOR = 2e-3  # share of the full cost added to prices that divide gains, for free features

# Of quick searches:
_MOST_ROWS, _FEWEST_ROWS = 4_000, 100
_MOST_COLUMNS = 5_000  # the memory of fits is quadratic, for gains of pairs
_FEW_ROWS, _FOLDS, _JUDGED = 2_000, 4, 2  # up to _FEW_ROWS rows, _JUDGED folds are judged, else one
_SETS = 60
_TREES = TreeSettings(max_leaves=8, learning_rate=0.2, l2_regularization=5.0, n_estimators=32, n_iter_no_change=8)
_SHARE, _FEWEST = 100, 5  # a leaf has at least n / _SHARE and at least _FEWEST rows


@frozen
class FeatureSet:
    """A set of features, and the result of a quick fit on it.

    Attributes
    ----------
    features : frozenset of int
    cost : float
        Per row.
    loss : float
        Mean held-out loss of a quick fit.
    losses : float64 (judged rows,)
        Loss of each judged row.
    gains : float64 (features,)
        Decrease of the loss from splits on each feature, by ascending feature.
    """

    features: frozenset[int]
    cost: float
    loss: float
    losses: NDArray[np.float64] = field(eq=False, repr=False)
    gains: NDArray[np.float64] = field(eq=False, repr=False)


@define(eq=False, slots=False)
class SetArchive:
    """Feature sets tried on a sample of rows.

    Parameters
    ----------
    data : BinnedData
    rows : Rows
    loss : Loss
    fold : int64 (n,)
    half : int64 (n,)
        Halves for cross-fitted regressions on the results of quick fits.
    judged : tuple of int
        Folds on which quick fits are evaluated.
    prices : SetPrices
    settings : TreeSettings
        Trees of quick fits.
    n_threads : int
        Does not change the result.
    """

    data: BinnedData
    rows: Rows
    loss: SquaredLoss | LogisticLoss | SoftmaxLoss
    fold: NDArray[np.int64]
    half: NDArray[np.int64]
    judged: tuple[int, ...]
    prices: SetPrices
    settings: TreeSettings
    n_threads: int = 1
    found: dict[frozenset[int], FeatureSet] = field(factory=dict, init=False)
    gain: NDArray[np.float64] = field(init=False)

    def __attrs_post_init__(self) -> None:
        d = len(self.prices.cost)
        self.gain = np.zeros((d, d))
        everything = frozenset(range(d))
        self._try([frozenset(), everything, self.free])

    def search(self, most: int, progress: Callable[[float], None] | None = None) -> None:
        """Leave out features step by step, then open sets of the front until all are open, or `most` more are tried."""
        opened: set[frozenset[int]] = set()
        if not self.prices.full > 0:
            return  # all features are free
        self._descend()
        most += len(self.found)
        while len(self.found) < most:
            waiting = [each.features for each in self.front() if each.features not in opened]
            if not waiting:
                return
            for features in waiting:
                opened.add(features)
                self._try(self._neighbors(features))
                if progress is not None:
                    progress(min(len(self.found) / most, 1.0))
                if len(self.found) >= most:
                    return

    def try_each_with(self, sets: Iterable[frozenset[int]], count: int) -> None:
        """Try sets with each of the `count` features of most gain per cost in the fit on all features."""
        single, full = np.diagonal(self.gain), self.prices.full
        order = np.argsort(-single / (self.prices.added_prices(()) / full + _FLOOR), kind="stable")
        self._try(features | {f} for features in sets for f in order[:count].tolist())

    def front(self) -> list[FeatureSet]:
        """List the non-dominated sets by loss and cost, by ascending cost."""
        kept: list[FeatureSet] = []
        least = _NOTHING * self.constant
        for each in sorted(self.found.values(), key=lambda one: (one.cost, one.loss, len(one.features))):
            if not kept or each.loss < kept[-1].loss - least:
                kept.append(each)
        return kept

    def scores(self, features: frozenset[int]) -> NDArray[np.float64]:
        """Return out-of-fold scores of all rows by quick fits on a set: float64 (n, K)."""
        data = self.data.take_columns(np.array(sorted(features), np.int64))
        return boost_folds(data, self.rows, self.loss, self.fold, self.settings, whole=False).scores

    @cached_property
    def judged_rows(self) -> NDArray[np.int64]:
        """Rows of the judged folds: int64 (judged rows,)."""
        return np.flatnonzero(np.isin(self.fold, self.judged))

    @cached_property
    def free(self) -> frozenset[int]:
        """All features that cost nothing."""
        return frozenset(f for f in range(len(self.prices.cost)) if self.prices.of_set([f]) == 0)

    @property
    def constant(self) -> float:
        """Loss of the best constant."""
        return self.found[frozenset()].loss

    def _descend(self) -> None:
        """Start from all features, and leave out those of least gain per cost in the fit on the rest, step by step.

        Steps up from the empty set would be slow with many features, and would miss features that help only together.
        """
        each = self.found[frozenset(range(len(self.gain)))]
        while each.cost > _LOWEST * self.prices.full:
            columns = np.array(sorted(each.features))
            share = self.prices.shares(each.features)[columns]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # prices may be denormal numbers
                order = columns[np.argsort(np.where(share > 0, each.gains / share, np.inf), kind="stable")].tolist()
            limit, of_set = _STEP * each.cost, self.prices.of_set
            fewer = bisect_left(range(1, len(order)), x=True, key=lambda count: of_set(order[count:]) <= limit) + 1
            features = frozenset(order[fewer:])
            self._try([features])
            each = self.found[features]

    def _try(self, sets: Iterable[frozenset[int]]) -> None:
        fresh = [each for each in dict.fromkeys(sets) if each not in self.found]

        def fit(features: frozenset[int]) -> tuple[FeatureSet, NDArray[np.float64] | None]:
            columns = np.array(sorted(features), np.int64)
            data = self.data.take_columns(columns)
            fitted = boost_folds(data, self.rows, self.loss, self.fold, self.settings, judged=self.judged, whole=False)
            losses = self.loss.each(self.rows.y[self.judged_rows], fitted.scores[self.judged_rows])
            gains = np.diagonal(fitted.gain).copy()
            found = FeatureSet(features, self.prices.of_set(features), fitted.loss, losses, gains)
            return found, fitted.gain if len(features) == len(self.gain) else None  # its size is quadratic

        for found, gain in run_parallel(fit, fresh, self.n_threads):
            self.found[found.features] = found
            if gain is not None:
                self.gain = gain

    def _neighbors(self, features: frozenset[int]) -> list[frozenset[int]]:
        price, full = self.prices.of_set(features), self.prices.full
        single = np.diagonal(self.gain) + 1e-9 * self.gain.max(initial=1e-9)
        rest = [f for f in range(len(single)) if f not in features]

        def per_cost(added: frozenset[int], gain: float) -> float:
            return gain / ((self.prices.of_set(features | added) - price) / full + _FLOOR)

        each_per_cost = single / (self.prices.added_prices(features) / full + _FLOOR)
        by_cost = sorted(rest, key=lambda f: -each_per_cost[f])[:_PER_COST]
        by_gain = sorted(rest, key=lambda f: -single[f])[:_MOST_GAIN]
        found = [features | {f} for f in dict.fromkeys([*by_cost, *by_gain])]
        found += [features | pair for pair in self._pairs(features, per_cost)]
        bundles = [new for bundle in self.prices.bundles() if (new := bundle - features)]
        if len(bundles) > _BUNDLES:
            bundles = sorted(bundles, key=lambda new: -per_cost(new, sum(single[f] for f in new)))[:_BUNDLES]
        for new in bundles:
            best = sorted(new, key=lambda f: -each_per_cost[f])
            found += [features | new, features | set(best[: max(1, len(new) // 3)])]
        used = features.intersection(np.flatnonzero(np.diagonal(self.gain)).tolist()) or features
        per_saved = single / (self.prices.saved_prices(used) / full + _FLOOR / 2)
        return [*found, used, *(used - {f} for f in sorted(used, key=lambda f: per_saved[f])[:_FEWER])]

    def _pairs(
        self, features: frozenset[int], per_cost: Callable[[frozenset[int], float], float]
    ) -> list[frozenset[int]]:
        """Return the set with pairs that split below each other in the fit on all features, and may need each other."""
        pairs = [pair for pair in self._nested_pairs if not pair & features][: 8 * _PAIRS]
        worth = {pair: per_cost(pair, self.gain[tuple(sorted(pair))]) for pair in pairs}
        return sorted(worth, key=lambda pair: -worth[pair])[:_PAIRS]

    @cached_property
    def _nested_pairs(self) -> list[frozenset[int]]:
        """List the pairs that split below each other in the fit on all features, by descending gain."""
        first, second = np.nonzero(np.triu(self.gain, 1))
        order = np.argsort(-self.gain[first, second], kind="stable")
        return [frozenset(pair) for pair in zip(first[order].tolist(), second[order].tolist(), strict=True)]


def search_quickly(data: TrainingData, n_threads: int) -> SetArchive | None:
    """Search feature sets by quick fits on training rows; return None for few rows, many columns, or zero prices.

    It ignores once-prices, like the mean cost of a row.
    """
    prices, rows = SetPrices.of(data.prices, np.inf), data.train
    if len(rows) < _FEWEST_ROWS or len(prices.cost) > _MOST_COLUMNS or not prices.full > 0:
        return None
    rows = sample_by_hash(rows, data, _MOST_ROWS)
    settings = evolve(_TREES, min_samples_leaf=max(_FEWEST, len(rows) // _SHARE), n_threads=n_threads)
    _, fold, half = deal_folds(rows, data, _FOLDS)
    judged = tuple(range(_JUDGED if len(rows) <= _FEW_ROWS else 1))
    binned, loss = bin_rows(rows, settings, data.categorical), loss_for(data.n_classes)
    archive = SetArchive(binned, rows, loss, fold, half, judged, prices, settings, n_threads)  # type: ignore[arg-type]
    archive.search(_SETS)
    return archive
