"""Feature sets: their prices, quick fits on them, a search for better ones, and the choice of good ones.

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

from costframe.core.arrays import B1, F8, I8
from costframe.core.machine import run_parallel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.links import apply_link, squeeze
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import deal_folds, sample_by_hash
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.boost import bin_rows
from costframe.trees.folds import boost_folds, regress_many
from costframe.trees.losses import LogisticLoss, SoftmaxLoss, SquaredLoss, loss_for
from costframe.trees.monitor import Predictions
from costframe.trees.settings import TreeSettings


@frozen(eq=False, slots=False)
class SetPrices:
    """Prices of sets: each feature with its share of once-prices, and each resource once.

    Attributes
    ----------
    cost : float64 (d,)
    resource_cost : float64 (R,)
    needs : bool (d, R)
    n_rows : float
        Rows that share once-prices.
    """

    cost: F8
    resource_cost: F8
    needs: B1
    n_rows: float

    @classmethod
    def of(cls, prices: PriceArrays, n_rows: float) -> SetPrices:
        """Make prices of sets, with once-prices shared by `n_rows` rows."""
        return cls(prices.cost + prices.once / n_rows, prices.resource_cost, prices.needs, n_rows)

    def of_set(self, features: Iterable[int]) -> float:
        """Return the price of features for one row."""
        chosen = sorted(set(features))
        resources = self.resource_cost[self.needs[chosen].any(axis=0)] if chosen else self.resource_cost[:0]
        return float(self.cost[chosen].sum() + resources.sum())

    def of_sets(self, members: B1) -> F8:
        """Return the price of each of many sets, bool (s, d), equal to `of_set`: float64 (s,)."""
        return _sum_chosen(self.cost, members) + _sum_chosen(self.resource_cost, members @ self.needs)

    def added_prices(self, features: Iterable[int]) -> F8:
        """Return the price that each single feature adds to that of `features`: float64 (d,)."""
        had = self.needs[sorted(features)].any(axis=0)
        added: F8 = self.cost + (self.needs & ~had) @ self.resource_cost
        return added

    def saved_prices(self, features: Iterable[int]) -> F8:
        """Return the price saved by leaving out each of `features`: float64 (d,), valid at these."""
        alone = self.needs[sorted(features)].sum(axis=0) == 1
        saved: F8 = self.cost + (self.needs & alone) @ self.resource_cost
        return saved

    def shares(self, features: Iterable[int]) -> F8:
        """Return each feature's share of the price of `features`, resources split: float64 (d,), valid at these."""
        sharing = np.maximum(self.needs[sorted(features)].sum(axis=0), 1)
        parts: F8 = self.cost + self.needs @ (self.resource_cost / sharing)
        return parts

    @cached_property
    def full(self) -> float:
        """Price of all features for one row."""
        return self.of_set(range(len(self.cost)))

    def tiers(self, most: int) -> list[frozenset[int]]:
        """List the sets of all features up to a price, if there are at most `most` different prices above zero."""
        alone = np.array([self.of_set([f]) for f in range(len(self.cost))])
        levels = np.unique(alone[alone > 0]).tolist()
        return [frozenset(np.flatnonzero(alone <= level).tolist()) for level in levels] if len(levels) <= most else []

    def bundles(self) -> list[frozenset[int]]:
        """List the distinct sets of features that need a common resource."""
        return list(dict.fromkeys(frozenset(np.flatnonzero(each).tolist()) for each in self.needs.T if each.any()))


def _sum_chosen(values: F8, chosen: B1) -> F8:
    """Sum the chosen values, bool (s, n), of each row alone, as zeros between them would change the rounding."""
    count, sums = chosen.sum(axis=1), np.zeros(len(chosen))
    for size in np.unique(count[count > 0]).tolist():
        rows = count == size
        sums[rows] = values[np.nonzero(chosen[rows])[1]].reshape(-1, size).sum(axis=1)
    return sums


_NOTHING = 1e-4  # least gain, as a share of the constant's loss
_PER_COST, _MOST_GAIN, _FEWER, _PAIRS = 5, 3, 3, 3  # candidates of an opened set, by kind
_STEP, _LOWEST = 0.75, 0.003  # share of the cost that remains after one step of leaving out, and after the last
_BUNDLES = 20  # most bundles of an opened set: each resource may have one
_FLOOR = 2e-3  # share of the full cost added to prices that divide gains, for free features

# Of searches by bill:
_SINGLES, _PAIRED, _PROMISING, _LONGEST = 64, 5, 12, 7  # features tried alone, in pairs, and step by step; steps
_COARSE_FLOOR = 0.02  # share of the full cost added to prices

# Of quick searches:
_MOST_ROWS, _FEWEST_ROWS = 4_000, 100
_MOST_COLUMNS = 5_000  # the memory of fits is quadratic, for gains of pairs
_FEW_ROWS, _FOLDS, _JUDGED = 2_000, 4, 2  # up to _FEW_ROWS rows, _JUDGED folds are judged, else one
_SETS = 60
_TREES = TreeSettings(max_leaves=8, learning_rate=0.2, l2_regularization=5.0, n_estimators=32, n_iter_no_change=8)
_SHARE, _FEWEST = 100, 5  # a leaf has at least n / _SHARE and at least _FEWEST rows


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
    loss: SquaredLoss | LogisticLoss | SoftmaxLoss
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
            waiting = [each.features for each in self.front() if each.features not in opened]
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
            here = empty
            for _ in range(min(_LONGEST, len(promising))):
                more = [here.features | {f} for f in promising if f not in here.features]
                self.try_sets(more)
                here = max((self.found[each] for each in more), key=partial(merit, here))
        return [each.features for each in sorted(self.found.values(), key=lambda one: (one.bill, one.cost))][:count]

    def _by_gain_per_cost(self) -> list[int]:
        """List all features by their gain per cost in the fit on all of them."""
        price = self.prices.added_prices(()) / self.prices.full + _FLOOR
        order: list[int] = np.argsort(-np.diagonal(self.gain) / price, kind="stable").tolist()
        return order

    def _worth(self, here: FeatureSet, new: FeatureSet) -> float:
        """Return the decrease of the loss per price."""
        return (here.loss - new.loss) / ((new.cost - here.cost) / self.prices.full + _COARSE_FLOOR)

    def front(self) -> list[FeatureSet]:
        """List the non-dominated sets by loss and cost, by ascending cost."""
        kept: list[FeatureSet] = []
        least = _NOTHING * self.constant
        for each in sorted(self.found.values(), key=lambda one: (one.cost, one.loss, len(one.features))):
            if not kept or each.loss < kept[-1].loss - least:
                kept.append(each)
        return kept

    def held_out(self, features: frozenset[int]) -> Predictions:
        """Return all rows with out-of-fold predictions by quick fits on a set."""
        data = self.data.take_columns(np.array(sorted(features), np.int64))
        scores = boost_folds(data, self.rows, self.loss, self.fold, self.settings).scores
        return Predictions(self.rows, squeeze(apply_link(self.loss.link, scores)))

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
        each = self.found[frozenset(range(len(self.gain)))]
        while each.cost > _LOWEST * self.prices.full:
            columns = np.array(sorted(each.features))
            share = self.prices.shares(each.features)[columns]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # prices may be denormal numbers
                order = columns[np.argsort(np.where(share > 0, each.gains / share, np.inf), kind="stable")].tolist()
            limit, of_set = _STEP * each.cost, self.prices.of_set
            fewer = bisect_left(range(1, len(order)), x=True, key=lambda count: of_set(order[count:]) <= limit) + 1
            features = frozenset(order[fewer:])
            self.try_sets([features])
            each = self.found[features]

    def try_sets(self, sets: Iterable[frozenset[int]]) -> None:
        """Fit on each set that was not tried before."""
        fresh = [each for each in dict.fromkeys(sets) if each not in self.found]

        def fit(features: frozenset[int]) -> tuple[FeatureSet, F8, F8 | None]:
            columns = np.array(sorted(features), np.int64)
            data = self.data.take_columns(columns)
            fitted = boost_folds(data, self.rows, self.loss, self.fold, self.settings, judged=self.judged)
            judged, scores = self.judged_rows, fitted.scores[self.judged_rows]
            losses, bill = self.loss.each(self.rows.y[judged], scores), self.prices.of_set(features)
            if self.error_costs is not None:
                bill += float(np.average(self.error_costs(scores), weights=self.rows.weight[judged]))
            gains = np.diagonal(fitted.gain).copy()
            found = FeatureSet(features, self.prices.of_set(features), fitted.loss, losses, gains, bill, -fitted.loss)
            return found, scores, fitted.gain if len(features) == len(self.gain) else None  # its size is quadratic

        for found, scores, gain in run_parallel(fit, fresh, self.n_threads):
            # here, as scikit-learn's scores know no threads
            self.found[found.features] = found if self.score is None else evolve(found, score=self.score(scores))
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


_NEAR = 0.35  # largest loss of a candidate above the front at its cost, as a share of the possible gain
_DEAREST = 0.8  # largest cost of a candidate, as a share of the full cost
_CANDIDATES = 14
_LEAST = 0.03  # least gain of a pair, as a share of the possible gain; it must also exceed _ERRORS standard errors
_ERRORS = 3.0
_DECIDING, _FURTHER = 2, 8  # shared sets to try with further features, and the number of these
_MANY = 40
_FEW_TREES = TreeSettings(max_leaves=8, learning_rate=0.2, l2_regularization=5.0, n_estimators=20)
_LEAST_APART = 0.015  # distance of two sets of the front
_COST_WEIGHT, _COST_FLOOR = 0.3, 2e-3
_SCORE_STEP = 0.01  # least gain of a set chosen by score, as a share of the possible gain
_FREQUENTED = 0.1  # least share of rows that go to a set at some tradeoff


def choose_spread(archive: SetArchive, count: int) -> list[frozenset[int]]:
    """Choose at most `count` sets: the empty set, all features, and the sets of the front farthest from one another.

    The distance of two sets is their difference in loss, as a share of the possible gain, and in the logarithm of cost.
    """
    front = archive.front()
    loss, cost = (np.array([getattr(each, name) for each in front]) for name in ("loss", "cost"))
    full = archive.prices.full
    place = np.stack(
        [
            (loss - loss.min()) / (loss[0] - loss.min() + 1e-300),
            _COST_WEIGHT * np.log(cost / full + _COST_FLOOR) / np.log(1 / _COST_FLOOR) if full > 0 else 0 * cost,
        ],
        axis=1,
    )
    everything = frozenset(range(len(archive.prices.cost)))
    kept, left = [0], list(range(1, len(front)))
    while len(kept) < count - 1 and left:
        far = [min(np.abs(place[one] - place[other]).sum() for other in kept) for one in left]
        if max(far) < _LEAST_APART:
            break
        kept.append(left.pop(int(np.argmax(far))))
    return list(dict.fromkeys([frozenset(), *(front[each].features for each in sorted(kept)), everything]))


def choose_by_score(
    archive: SetArchive,
    chosen: Iterable[frozenset[int]],
    most: int,
    is_better: Callable[[frozenset[int], frozenset[int]], bool],
) -> list[frozenset[int]]:
    """Choose at most `most` sets with a surely better score than all chosen ones that cost no more.

    The set of least loss at a price is often not that of the best score. `is_better` tells whether the first set's
    score surely is better than the second one's.
    """
    known, steps = set(chosen), []
    found = sorted(archive.found.values(), key=lambda each: (each.cost, each.features not in known, -each.score))
    best = archive.found[frozenset()]
    least = _SCORE_STEP * (max(each.score for each in found) - best.score)
    for each in found:
        if each.features not in known and each.score > best.score + least:
            steps.append((each.score - best.score, each.features, best.features))
        if each.score > best.score + (0.0 if each.features in known else least):
            best = each
    steps = sorted(steps, key=lambda step: -step[0])[:most]
    return [new for _, new, old in steps if is_better(new, old)]


def choose_alternatives(archive: SetArchive, most: int) -> list[frozenset[int]]:
    """Choose at most `most` sets, each better for some rows, and their shared features, which choose between them.

    Two sets form a pair if a cross-fitted regression of the difference of their losses on their shared features sends
    rows to one or the other with a lower loss than either set alone.
    """
    if not archive.prices.full > 0:
        return []
    deciding = list(dict.fromkeys(a.features & b.features for a, b in _pairs(archive)))[:_DECIDING]
    archive.try_each_with(deciding, _FURTHER)  # features that choose between two sets may choose between many
    found: list[frozenset[int]] = []
    for shared in deciding:
        wanted = [each for each in [shared, *_sets_in_use(archive, shared)] if each not in found]
        found += wanted[: max(most - len(found), 0)]
    return found


def _sets_in_use(archive: SetArchive, shared: frozenset[int]) -> list[frozenset[int]]:
    """List the sets that rows choose, given the features that all sets share, the cheapest first.

    Rows choose the least expected loss + tradeoff * price, at a few tradeoffs; it leaves out sets that few rows choose.
    """
    front = archive.front()
    spread, full = front[0].loss - front[-1].loss, archive.prices.full
    more = [each for each in archive.found.values() if shared < each.features and each.loss < front[0].loss]
    sets = sorted(more, key=lambda each: (each.cost, each.loss))[:_MANY]
    losses = np.stack([each.losses for each in sets], axis=1)
    expected, weight = _cross_fit(archive, shared, losses), archive.rows.weight[archive.judged_rows]
    price = (np.array([each.cost for each in sets]) - archive.prices.of_set(shared)) / full
    share = np.zeros(len(sets))
    for tradeoff in np.geomspace(0.03, 3.0, 8) * spread:
        best = (expected + tradeoff * price).argmin(axis=1)
        share = np.maximum(share, np.bincount(best, weight, len(sets)) / weight.sum())
    order = np.argsort(price - 1e-9 * share, kind="stable")
    return [sets[place].features for place in order.tolist() if share[place] > _FREQUENTED]


def _pairs(archive: SetArchive) -> list[tuple[FeatureSet, FeatureSet]]:
    """List the pairs of sets with a gain, by gain per cost."""
    front = archive.front()
    spread = front[0].loss - front[-1].loss
    pairs = [
        (a, b)
        for a, b in combinations(_candidates(archive, front, spread), 2)
        if a.features & b.features and a.features - b.features and b.features - a.features
    ]
    gained = run_parallel(lambda pair: _pair_gain(archive, *pair), pairs, archive.n_threads)
    full = archive.prices.full
    worth = [
        (gain / (max(a.cost, b.cost) / full), a, b)
        for gain, (a, b) in zip(gained, pairs, strict=True)
        if gain > _LEAST * spread
    ]
    return [(a, b) for _, a, b in sorted(worth, key=lambda each: -each[0])]


def _candidates(archive: SetArchive, front: list[FeatureSet], spread: float) -> list[FeatureSet]:
    """List the sets with a loss close to that of the front at their cost, the best first."""
    costs, losses = np.array([each.cost for each in front]), [each.loss for each in front]
    near = []
    for each in archive.found.values():
        if 0 < each.cost <= _DEAREST * archive.prices.full and each.loss < front[0].loss - _LEAST * spread:
            more = each.loss - losses[int(np.searchsorted(costs, each.cost, side="right")) - 1]
            if more <= _NEAR * spread:
                near.append((more, each.cost, sorted(each.features), each))
    return [each for *_, each in sorted(near, key=lambda one: one[:3])[:_CANDIDATES]]


def _pair_gain(archive: SetArchive, a: FeatureSet, b: FeatureSet) -> float:
    """Return the gain of choosing between two sets over the better one; 0 if it may be chance."""
    difference = b.losses - a.losses
    expected = _cross_fit(archive, a.features & b.features, difference[:, np.newaxis])[:, 0]
    rows = archive.rows.take(archive.judged_rows)
    taken = np.where(expected < 0, b.losses, a.losses)
    saved = (b.losses if b.loss < a.loss else a.losses) - taken
    weight = rows.weight / rows.weight.sum()
    gained = float(weight @ saved)
    error = float(np.sqrt(weight @ (saved - gained) ** 2 / rows.repeats.sum()))
    return gained if gained > _ERRORS * error else 0.0


def _cross_fit(archive: SetArchive, features: frozenset[int], targets: F8) -> F8:
    """Regress targets, float64 (judged rows, T), on features, cross-fitted on halves; return predictions."""
    chosen = archive.judged_rows
    data = archive.data.take_columns(np.array(sorted(features), np.int64)).take_rows(chosen)
    rows = archive.rows.take(chosen)
    settings = evolve(_FEW_TREES, min_samples_leaf=max(5, int(rows.repeats.sum()) // 100))
    return regress_many(data, rows, targets, archive.half[chosen], settings, whole=False).predictions
