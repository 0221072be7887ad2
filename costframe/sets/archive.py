"""Feature sets tried by quick fits, and a search for better ones.

The search starts from all features, and leaves out those with the least gain per cost, step by step. Then it opens each
set on the front of cost and loss: it tries the set with further features, with pairs of features, with all features or
the better ones behind a resource, without its features that split nowhere in the fit on all features, and without some
others. All features behind an expensive resource are one bundle, so the search finds sets on both sides of its price.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.core.arrays import F8, I8
from costframe.core.machine import run_parallel
from costframe.core.prices.basket import SetPrices
from costframe.core.stages.links import apply_link, squeeze
from costframe.training.data import Rows
from costframe.training.losses import PointwiseLoss
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.folds import BoostedFolds
from costframe.trees.monitor import HeldOutPredictions
from costframe.trees.settings import TreeSettings

_NOTHING = 1e-4  # least gain, as a share of the constant's loss
_PER_COST, _MOST_GAIN, _FEWER, _PAIRS = 5, 3, 3, 3  # candidates of an opened set, by kind
_STEP, _LOWEST = 0.75, 0.003  # share of the cost that remains after one step of leaving out, and after the last
_BUNDLES = 20  # most bundles of an opened set: each resource may have one
_FLOOR = 2e-3  # share of the full cost added to prices that divide gains, for free features
# Of searches by bill:
_SINGLES, _PAIRED, _PROMISING, _LONGEST = 64, 5, 12, 7  # features tried alone, in pairs, and step by step; steps
_COARSE_FLOOR = 0.02  # share of the full cost added to prices
_LEAST_APART = 0.015  # distance of two sets of the front
_COST_WEIGHT, _COST_FLOOR = 0.3, 2e-3


@frozen
class FeatureSet:
    """A set of features, and the result of a quick fit on it."""

    features: frozenset[int]
    cost: float  # per row
    loss: float  # mean held-out loss of a quick fit
    losses: F8 = field(eq=False, repr=False)  # (judged rows,): loss of each judged row
    # (features,): decrease of the loss from splits on each feature, by ascending feature
    gains: F8 = field(eq=False, repr=False)
    bill: float  # cost and mean held-out cost of errors; the cost alone if errors have no price
    score: float  # held-out score, higher is better; minus the loss without one


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
    error_costs : callable, optional
        Returns what the errors of the judged rows cost, float64 (judged rows,), given their scores, (judged rows, K).
    score : callable, optional
        Returns the score of the judged rows, higher is better, given their scores.
    """

    data: BinnedData
    rows: Rows
    loss: PointwiseLoss
    fold: I8
    half: I8
    judged: tuple[int, ...]
    prices: SetPrices
    settings: TreeSettings
    n_threads: int = 1
    error_costs: Callable[[F8], F8] | None = None
    score: Callable[[F8], float] | None = None
    found: dict[frozenset[int], FeatureSet] = field(factory=dict, init=False)
    gain: F8 = field(init=False)

    def __attrs_post_init__(self) -> None:
        d = len(self.prices.cost)
        self.gain = np.zeros((d, d))
        everything = frozenset(range(d))
        self.try_sets([frozenset(), everything, self.free])

    def search(self, most: int, progress: Callable[[float], None] | None = None) -> None:
        """Leave out features step by step, then open sets of the front until all are open, or `most` more are tried."""
        opened: set[frozenset[int]] = set()
        if not self.prices.full > 0:
            return  # all features are free
        self._descend()
        most += len(self.found)
        while len(self.found) < most:
            waiting = [candidate.features for candidate in self.front() if candidate.features not in opened]
            if not waiting:
                return
            for features in waiting:
                opened.add(features)
                self.try_sets(self._neighbors(features))
                if progress is not None:
                    progress(min(len(self.found) / most, 1.0))
                if len(self.found) >= most:
                    return

    def try_each_with(self, sets: Iterable[frozenset[int]], count: int) -> None:
        """Try sets with each of the `count` features of most gain per cost in the fit on all features."""
        order = self._by_gain_per_cost()[:count]
        self.try_sets(features | {f} for features in sets for f in order)

    def search_bills(self, count: int) -> list[frozenset[int]]:
        """Search sets of small bills, forward from the empty set by bill and by loss per price; return `count`.

        The best sets by loss are often too expensive for their errors.
        """
        if not self.prices.full > 0:
            return []
        empty, order = self.found[frozenset()], self._by_gain_per_cost()[:_SINGLES]
        self.try_sets(frozenset([f]) for f in order)
        alone = {f: self.found[frozenset([f])] for f in order}
        by_bill = sorted(order, key=lambda f: alone[f].bill)
        by_loss = sorted(order, key=lambda f: -self._worth(empty, alone[f]))
        self.try_sets(frozenset(pair) for pair in combinations(by_bill[:_PAIRED], 2))
        promising = dict.fromkeys([*by_bill[:_PROMISING], *by_loss[:_PROMISING]])
        for merit in (lambda _, new: -new.bill, self._worth):
            current = empty
            for _ in range(min(_LONGEST, len(promising))):
                more = [current.features | {f} for f in promising if f not in current.features]
                self.try_sets(more)
                current = max((self.found[candidate] for candidate in more), key=partial(merit, current))
        return [
            candidate.features
            for candidate in sorted(self.found.values(), key=lambda candidate: (candidate.bill, candidate.cost))
        ][:count]

    def _by_gain_per_cost(self) -> list[int]:
        """List all features by their gain per cost in the fit on all of them."""
        price = self.prices.added_prices(()) / self.prices.full + _FLOOR
        order: list[int] = np.argsort(-np.diagonal(self.gain) / price, kind="stable").tolist()
        return order

    def _worth(self, current: FeatureSet, new: FeatureSet) -> float:
        """Return the decrease of the loss per price."""
        return (current.loss - new.loss) / ((new.cost - current.cost) / self.prices.full + _COARSE_FLOOR)

    def front(self) -> list[FeatureSet]:
        """List the non-dominated sets by loss and cost, by ascending cost."""
        front: list[FeatureSet] = []
        least = _NOTHING * self.constant
        for tried in sorted(self.found.values(), key=lambda tried: (tried.cost, tried.loss, len(tried.features))):
            if not front or tried.loss < front[-1].loss - least:
                front.append(tried)
        return front

    def spread(self, count: int) -> list[frozenset[int]]:
        """Choose at most `count` sets: the empty one, all features, and those of the front farthest from one another.

        The distance of two sets is their difference in loss, as a share of the possible gain, and in the logarithm of
        cost.
        """
        front = self.front()
        loss, cost = (np.array([getattr(each, name) for each in front]) for name in ("loss", "cost"))
        full = self.prices.full
        place = np.stack(
            [
                (loss - loss.min()) / (loss[0] - loss.min() + 1e-300),
                _COST_WEIGHT * np.log(cost / full + _COST_FLOOR) / np.log(1 / _COST_FLOOR) if full > 0 else 0 * cost,
            ],
            axis=1,
        )
        everything = frozenset(range(len(self.prices.cost)))
        kept, left = [0], list(range(1, len(front)))
        while len(kept) < count - 1 and left:
            far = [min(np.abs(place[one] - place[other]).sum() for other in kept) for one in left]
            if max(far) < _LEAST_APART:
                break
            kept.append(left.pop(int(np.argmax(far))))
        return list(dict.fromkeys([frozenset(), *(front[each].features for each in sorted(kept)), everything]))

    def between(self, lower: frozenset[int], upper: frozenset[int], cost: float, ratio: float) -> frozenset[int] | None:
        """Try sets between two others, and return the one near a cost that loses least, beside the mixture of both.

        It tries the larger set without its worst features, and the smaller one with the best of these or of all, and
        opens the best set near the cost.

        Parameters
        ----------
        lower, upper : frozenset of int
        cost, ratio : float
            Sets near it cost cost / ratio to cost * ratio.

        Returns
        -------
        frozenset of int, or None
            None if no set that was tried costs about that.
        """
        everything = frozenset(range(len(self.gain)))
        self.try_sets([lower, upper, everything])
        few, many = self.found[lower], self.found[upper]
        slope = max((few.loss - many.loss) / (many.cost - few.cost), 0.0)  # loss that a unit of cost must save

        def best() -> frozenset[int] | None:
            near = [tried for tried in self.found.values() if cost / ratio <= tried.cost <= cost * ratio]
            least = min(near, key=lambda tried: (tried.loss + slope * tried.cost, sorted(tried.features)), default=None)
            return None if least is None else least.features

        others = [many, self.found[everything]]
        self.try_sets([self._leave_out(many, cost), *(self._add(lower, other, cost) for other in others)])
        if (middle := best()) is not None:
            self.try_sets(self._neighbors(middle))
        return best()

    def held_out(self, features: frozenset[int]) -> HeldOutPredictions:
        """Return all rows with out-of-fold predictions by quick fits on a set."""
        data = self.data.take_columns(np.array(sorted(features), np.int64))
        scores = BoostedFolds.fit(data, self.rows, self.loss, self.fold, self.settings).scores
        return HeldOutPredictions(self.rows, squeeze(apply_link(self.loss.link, scores)))

    @cached_property
    def judged_rows(self) -> I8:
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
        current = self.found[frozenset(range(len(self.gain)))]
        while current.cost > _LOWEST * self.prices.full:
            features = self._leave_out(current, _STEP * current.cost)
            self.try_sets([features])
            current = self.found[features]

    def _leave_out(self, current: FeatureSet, most: float) -> frozenset[int]:
        """Return a set without the fewest features of least gain per cost that bring its cost down to `most`."""
        columns = np.array(sorted(current.features))
        share = self.prices.shares(current.features)[columns]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # prices may be denormal numbers
            order = columns[np.argsort(np.where(share > 0, current.gains / share, np.inf), kind="stable")].tolist()
        of_set = self.prices.of_set
        fewer = bisect_left(range(1, len(order)), x=True, key=lambda count: of_set(order[count:]) <= most) + 1
        return frozenset(order[fewer:])

    def _add(self, features: frozenset[int], others: FeatureSet, most: float) -> frozenset[int]:
        """Return a set with those features of another one that fit into a cost, by gain per cost in the fit on that."""
        price = self.prices.added_prices(features) / self.prices.full + _FLOOR
        gains = dict(zip(sorted(others.features), others.gains.tolist(), strict=True))
        for f in sorted(gains.keys() - features, key=lambda f: (-gains[f] / price[f], f)):
            if self.prices.of_set(more := features | {f}) <= most:
                features = more
        return features

    def try_sets(self, sets: Iterable[frozenset[int]]) -> None:
        """Fit on each set that was not tried before."""
        fresh = [features for features in dict.fromkeys(sets) if features not in self.found]

        def fit(features: frozenset[int]) -> tuple[FeatureSet, F8, F8 | None]:
            columns = np.array(sorted(features), np.int64)
            data = self.data.take_columns(columns)
            fitted = BoostedFolds.fit(data, self.rows, self.loss, self.fold, self.settings, judged=self.judged)
            judged, scores = self.judged_rows, fitted.scores[self.judged_rows]
            losses, bill = self.loss.by_row(self.rows.y[judged], scores), self.prices.of_set(features)
            if self.error_costs is not None:
                bill += float(np.average(self.error_costs(scores), weights=self.rows.weight[judged]))
            gains = np.diagonal(fitted.gain).copy()
            fitted_set = FeatureSet(
                features, self.prices.of_set(features), fitted.loss, losses, gains, bill, -fitted.loss
            )
            return fitted_set, scores, fitted.gain if len(features) == len(self.gain) else None  # its size is quadratic

        for fitted_set, scores, gain in run_parallel(fit, fresh, self.n_threads):
            # here, as scikit-learn's scores know no threads
            self.found[fitted_set.features] = (
                fitted_set if self.score is None else evolve(fitted_set, score=self.score(scores))
            )
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
        neighbors = [features | {f} for f in dict.fromkeys([*by_cost, *by_gain])]
        neighbors += [features | pair for pair in self._pairs(features, per_cost)]
        bundles = [new for bundle in self.prices.bundles() if (new := bundle - features)]
        if len(bundles) > _BUNDLES:
            bundles = sorted(bundles, key=lambda new: -per_cost(new, sum(single[f] for f in new)))[:_BUNDLES]
        for new in bundles:
            best = sorted(new, key=lambda f: -each_per_cost[f])
            neighbors += [features | new, features | set(best[: max(1, len(new) // 3)])]
        used = features.intersection(np.flatnonzero(np.diagonal(self.gain)).tolist()) or features
        per_saved = single / (self.prices.saved_prices(used) / full + _FLOOR / 2)
        return [*neighbors, used, *(used - {f} for f in sorted(used, key=lambda f: per_saved[f])[:_FEWER])]

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
