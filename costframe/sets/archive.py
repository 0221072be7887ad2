"""An archive of sets of features with the loss of a quick fit on each, searched where loss or cost can still fall.

From everything down, what gains least per cost is left out again and again; these sets are tried first. Then, until no
set on the front of cost and loss is left unopened, one is opened: it is tried with further features, with
pairs of features, with all features behind a resource or the better ones of them, without those of its own that split
nowhere in the fit on all features, and without some others. A dear resource that hides what is behind it is one bundle
among others, so no budget falls off a cliff.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.core.threads import run_parallel
from costframe.trees.boosting.folds import TreeShape, boost_folds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from costframe.sets.prices import SetPrices
    from costframe.training.data import Rows
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

__all__ = ["FeatureSet", "SetArchive"]

_NOTHING = 1e-4  # of the constant's loss; less is no gain
_PER_COST, _MOST_GAIN, _FEWER, _PAIRS = 5, 3, 3, 3  # candidates of an opened set, by kind
_STEP, _LOWEST = 0.75, 0.003  # what is left of the cost where features are left out, and in the end
_BUNDLES = 20  # of an opened set, at most: each resource may have one
_FLOOR = (
    2e-3  # of the full cost, added to prices by which gains are divided, so that what is free is not infinitely good
)


@frozen
class FeatureSet:
    """A set of features that was tried.

    Attributes
    ----------
    features : frozenset of int
    cost : float
        Per row.
    loss : float
        Mean held-out loss of a quick fit.
    losses : float64 (judged rows,)
        Of each row that it was judged on.
    gains : float64 (features,)
        What splits on each took off the loss, by ascending feature.
    """

    features: frozenset[int]
    cost: float
    loss: float
    losses: NDArray[np.float64] = field(eq=False, repr=False)
    gains: NDArray[np.float64] = field(eq=False, repr=False)


@define(eq=False, slots=False)
class SetArchive:
    """Sets that were tried on a sample of rows.

    Parameters
    ----------
    data : BinnedData
    rows : Rows
    loss : Loss
    fold : int64 (n,)
    half : int64 (n,)
        Halves for regressions over what the fits say.
    judged : tuple of int
        Folds on which quick fits are judged.
    prices : SetPrices
    shape : TreeShape
        Of quick fits.
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
    shape: TreeShape
    n_threads: int = 1
    found: dict[frozenset[int], FeatureSet] = field(factory=dict, init=False)
    gain: NDArray[np.float64] = field(init=False)

    def __attrs_post_init__(self) -> None:
        d = len(self.prices.cost)
        self.gain = np.zeros((d, d))
        everything = frozenset(range(d))
        self._try([frozenset(), everything])
        free = frozenset(f for f in everything if self.prices.of_set([f]) == 0)
        self._try([free])

    def search(self, most: int, progress: Callable[[float], None] | None = None) -> None:
        """Leave out step by step, then open sets of the front until all are, or `most` more sets have been tried."""
        opened: set[frozenset[int]] = set()
        if not self.prices.full > 0:
            return  # everything is had for nothing
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
        """Try sets with each of the features that gain most per cost in the fit on all features."""
        single, full = np.diagonal(self.gain), self.prices.full
        order = np.argsort(-single / (self.prices.of_each_more(()) / full + _FLOOR), kind="stable")
        self._try(features | {f} for features in sets for f in order[:count].tolist())

    def front(self) -> list[FeatureSet]:
        """List the sets such that no other loses less at no more cost, by ascending cost."""
        kept: list[FeatureSet] = []
        least = _NOTHING * self.constant
        for each in sorted(self.found.values(), key=lambda one: (one.cost, one.loss, len(one.features))):
            if not kept or each.loss < kept[-1].loss - least:
                kept.append(each)
        return kept

    def scores(self, features: frozenset[int]) -> NDArray[np.float64]:
        """float64 (n, K): of all rows, by quick fits on a set that have not seen their folds."""
        data = self.data.take_columns(np.array(sorted(features), np.int64))
        return boost_folds(data, self.rows, self.loss, self.fold, self.shape, whole=False).scores

    @cached_property
    def judged_rows(self) -> NDArray[np.int64]:
        """int64: rows of the folds that quick fits are judged on."""
        return np.flatnonzero(np.isin(self.fold, self.judged))

    @property
    def constant(self) -> float:
        """Loss of the best constant."""
        return self.found[frozenset()].loss

    def _descend(self) -> None:
        """Leave out, from everything down, the features that gain least per cost in the fit on what is left.

        Steps up from nothing do not come far where there are many features, or where several help only together.
        """
        each = self.found[frozenset(range(len(self.gain)))]
        while each.cost > _LOWEST * self.prices.full:
            columns = np.array(sorted(each.features))
            share = self.prices.shares(each.features)[columns]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # of the least prices that there are
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
            fitted = boost_folds(data, self.rows, self.loss, self.fold, self.shape, judged=self.judged, whole=False)
            losses = self.loss.each(self.rows.y[self.judged_rows], fitted.scores[self.judged_rows])
            gains = np.diagonal(fitted.gain).copy()
            found = FeatureSet(features, self.prices.of_set(features), fitted.loss, losses, gains)
            return found, fitted.gain if len(features) == len(self.gain) else None  # which grows with the square

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

        each_per_cost = single / (self.prices.of_each_more(features) / full + _FLOOR)
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
        per_saved = single / (self.prices.of_each_less(used) / full + _FLOOR / 2)
        return [*found, used, *(used - {f} for f in sorted(used, key=lambda f: per_saved[f])[:_FEWER])]

    def _pairs(
        self, features: frozenset[int], per_cost: Callable[[frozenset[int], float], float]
    ) -> list[frozenset[int]]:
        """Choose pairs that split below each other in the fit on all features: they may help only together."""
        pairs = [pair for pair in self._joint if not pair & features][: 8 * _PAIRS]
        worth = {pair: per_cost(pair, self.gain[tuple(sorted(pair))]) for pair in pairs}
        return sorted(worth, key=lambda pair: -worth[pair])[:_PAIRS]

    @cached_property
    def _joint(self) -> list[frozenset[int]]:
        """Pairs that split below each other in the fit on all features, what gained most first."""
        first, second = np.nonzero(np.triu(self.gain, 1))
        order = np.argsort(-self.gain[first, second], kind="stable")
        return [frozenset(pair) for pair in zip(first[order].tolist(), second[order].tolist(), strict=True)]
