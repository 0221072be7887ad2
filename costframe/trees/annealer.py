"""Annealing: an ensemble grows while the tradeoff falls level by level, and every prefix is a model.

Each level adds rounds while validation loss + tradeoff * cost falls, and the next level continues from the best round.
Greedy growth buys a feature or resource only if one split repays it. So each level also looks ahead: it grows a fork
for every resource, which is free for its splits. If the fork is better at its true cost, the run continues from it.

Only some models become points of the path, with a score: those with a smaller validation loss than all models before
them at no higher cost, and the best of each run at each level, as few validation rows may rank models differently by
score than by loss. Scores of all of thousands of rounds would take as long as growing them, and chance would choose the
best of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8
from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.tables.categories import Categories
from costframe.training.data import Rows
from costframe.training.model_path import MeasuredPath, best_first
from costframe.trees.boost import Boosted, Ensemble, GrowAt
from costframe.trees.losses import RowLoss
from costframe.trees.monitor import Running
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree


@frozen
class AnnealedPoint:
    """A model on the way: the first rounds of a branch.

    Attributes
    ----------
    branch, n_rounds : int
        The constant model has no rounds.
    tradeoff : float
        lambda of its last round.
    loss, cost : float
        Mean validation loss, and exact mean validation cost per row.
    score : float
        The given score of points, higher is better, or minus the loss.
    """

    branch: int
    n_rounds: int
    tradeoff: float
    loss: float
    cost: float
    score: float


@frozen(eq=False)
class AnnealedPath(MeasuredPath[AnnealedPoint]):
    """All models of an annealed fit; any of them becomes a predictor without refitting.

    Attributes
    ----------
    points : tuple of AnnealedPoint
        In the order of training; the constant model first.
    branches : tuple of Ensemble
        A branch begins with the rounds of the model that it left.
    unpriced : frozenset of int
        Branches of trees without prices.
    """

    points: tuple[AnnealedPoint, ...]
    branches: tuple[Ensemble, ...]
    costs: CostModel
    feature_names: tuple[str, ...]
    categories: Categories = field(factory=dict)
    unpriced: frozenset[int] = frozenset()

    def predictor(self, point: AnnealedPoint) -> StageTree:
        """Return the model of a point."""
        if not (0 <= point.branch < len(self.branches) and 0 <= point.n_rounds <= self._length(point.branch)):
            raise ParameterError(f"point: expected one of this path's, got {shown(point)}")
        model = self.branches[point.branch].finish(self.feature_names, point.n_rounds)
        return model.with_categories(self.categories).with_costs(self.costs)

    def plain(self) -> AnnealedPoint:
        """Return the point with the best score among those without prices; of several, the cheapest."""
        unpriced = [point for point in self.points if point.branch in self.unpriced]
        if not unpriced:
            raise ParameterError("plain: this path has no trees without prices")
        return max(unpriced, key=best_first)

    def _length(self, branch: int) -> int:
        return len(self.branches[branch].rounds)


_LEVELS = 24  # at most; a level is half of the one before if that gives no more
_PATIENCE, _LAST_PATIENCE = 10, 30  # rounds without an improvement at a level, and at the last
_LEVEL_ROUNDS = 100  # most rounds of a level
_FORK_PATIENCE, _FORK_ROUNDS = 5, 30  # the same for forks, which need only show their worth
_FIRST_ROUNDS = 8  # of a fork, with about half of its final gain; a fork that repays far too little ends then
_FRESH, _FRESH_ROUNDS = 3, 400  # every third level also tries a new start, with these rounds
_GIVEN_UP = 4  # a fork that would pay only at a tradeoff this many times lower, or at an unknown one, waits until then
_CONCEIVABLE = 1e-150, 1e150  # tradeoffs with finite products with prices and weights
_NEAR = 1.5  # a fork grows again from this many times the tradeoff at which it would pay


@frozen(eq=False)
class Bundle:
    """A joint purchase: a resource, the other resources that its features need, and perhaps the features."""

    features: B1  # (d,)
    resources: B1  # (R,)

    def is_part_of(self, other: Bundle) -> bool:
        """Return whether another bundle contains this one."""
        return not ((self.features & ~other.features).any() or (self.resources & ~other.resources).any())


def bundles(prices: PriceArrays) -> list[Bundle]:
    """List, for each resource that a feature needs, the resource alone and, if they have prices, with its features."""
    found = []
    for needed in prices.needs.T:
        if not needed.any():
            continue
        resources = prices.needs[needed].all(axis=0)
        found.append(Bundle(np.zeros(len(needed), np.bool_), resources))
        if prices.cost[needed].any():
            found.append(Bundle(needed, resources))
    return found


def falling_tradeoffs(loss: float, full: float, prices: PriceArrays, limits: tuple[float, float] | None) -> F8:
    """Return geometrically falling tradeoffs, float64 (levels,), by default from almost no purchases down to 0.

    `loss` is that of the best constant minus that of the best model, the largest possible gain; `full` is the cost per
    row of the model without prices, or of all features if that is more; `limits` are the first and the last tradeoff.
    """
    if limits is not None:
        return _levels(*limits)
    if not (full > 0 and loss > 0):
        return np.zeros(1)
    each = prices.alone
    with np.errstate(over="ignore", under="ignore"):
        high = loss / min(full, each[each > 0].min(initial=np.inf))
        low = 1e-3 * loss / full
    return np.append(_levels(*np.clip([high, low], *_CONCEIVABLE).tolist()), 0.0)


def check_limits(limits: object) -> tuple[float, float]:
    """Check the first and the last of falling tradeoffs."""
    items = as_items(limits)
    given = np.empty(0) if items is None else np.asarray(items)
    if given.shape != (2,) or given.dtype.kind not in "iuf" or not np.inf > given[0] >= given[1] > 0:
        raise ParameterError(f"tradeoffs: expected two falling numbers > 0, got {shown(limits)}")
    return float(given[0]), float(given[1])


def _levels(high: float, low: float) -> F8:
    halvings = np.log2(high) - np.log2(low)
    return np.geomspace(high, low, min(_LEVELS, 1 + int(np.ceil(halvings))))


@define(eq=False)
class EnsembleRun:
    """One ensemble while it grows.

    Attributes
    ----------
    rows : Rows
        Training rows.
    loss : RowLoss
        Of the training rows.
    grow : callable
        (weighted gradients, weighted hessians, prices, random generator) -> GrownTree.
    boosted : Boosted
    prices : SplitPrices
        Prices of splits for the training rows.
    running : Running
        Loss and exact cost on validation rows.
    random : Generator or None
        None if growth draws nothing.
    n_threads : int
        Does not change the result.
    """

    rows: Rows
    loss: RowLoss
    grow: GrowAt
    boosted: Boosted
    prices: SplitPrices
    running: Running
    random: np.random.Generator | None
    n_threads: int

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting."""
        return len(self.boosted.ensemble.rounds)

    def fork(self) -> EnsembleRun:
        """Return an independent copy."""
        own = self.boosted.fork(), self.prices.fork(), self.running.fork(), _copied(self.random)
        return EnsembleRun(self.rows, self.loss, self.grow, *own, self.n_threads)

    def add_round(self, tradeoff: float) -> bool:
        """Grow a round at this tradeoff; return False if no tree splits, and then add no tree."""
        self.prices.tradeoff = tradeoff

        def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
            return self.grow(gradients, hessians, self.prices, self.random)

        added = self.boosted.grow_round(self.rows, self.loss, grow, n_threads=self.n_threads)
        if added:
            self.boosted.ensemble.append(added)
            self.running.add(added, self.boosted.ensemble.step)
        return bool(added)


def _copied(random: np.random.Generator | None) -> np.random.Generator | None:
    """Return a generator with the same draws; a deep copy takes as long as a small tree."""
    if random is None:
        return None
    copy = np.random.default_rng(0)
    copy.bit_generator.state = random.bit_generator.state
    return copy


@define(eq=False)
class Annealer:
    """Grows ensembles and notes useful models on the way.

    Attributes
    ----------
    most_rounds : int
        Most rounds of a model.
    score : callable, optional
        Of validation rows; minus their loss by default.
    on_round : callable, optional
        Gets the tradeoff of each round.
    points, branches : list
        The results so far, as in `AnnealedPath`.
    """

    most_rounds: int
    score: Callable[[Running], float] | None = None
    on_round: Callable[[float], None] | None = None
    points: list[AnnealedPoint] = field(factory=list, init=False)
    branches: list[Ensemble] = field(factory=list, init=False)
    _costs: list[float] = field(factory=list, init=False)  # of points with a smaller loss than all cheaper ones
    _losses: list[float] = field(factory=list, init=False)  # of the same points

    def fork(self) -> Annealer:
        """Return an annealer without points, but with the bounds for noting."""
        other = Annealer(self.most_rounds, self.score)
        other._costs, other._losses = self._costs.copy(), self._losses.copy()
        return other

    def join(self, other: Annealer) -> None:
        """Add the results of another annealer."""
        first = len(self.branches)
        self.branches += other.branches
        for point in other.points:
            self._worth_noting(point.loss, point.cost)
            self.points.append(evolve(point, branch=first + point.branch))

    def train_at(
        self, run: EnsembleRun, tradeoff: float, *, patience: int = _PATIENCE, rounds: int = _LEVEL_ROUNDS
    ) -> EnsembleRun:
        """Add rounds while validation loss + tradeoff * cost falls, and return the best of them."""
        return self._extend(run, tradeoff, tradeoff, patience, rounds)

    def plain(self, run: EnsembleRun) -> EnsembleRun:
        """Grow an ensemble without prices to its best round."""
        return self._extend(run, 0.0, 0.0, _LAST_PATIENCE, self.most_rounds)

    def descend(self, run: EnsembleRun, tradeoffs: F8, ahead: list[Bundle], *, dear: float = 0.0) -> None:
        """Train at each tradeoff in turn, with look-ahead for these bundles, and with new starts at some.

        The trees of levels with few purchases stay in a run. A new start at a tradeoff, with the bundles bought above
        it, has no such trees, and is often better if rows pay one by one. After a new start with a cost of `dear` there
        is no other, as it would differ little from a run without prices.
        """
        waiting, start = _Waiting(ahead), run
        for number, tradeoff in enumerate(tradeoffs[:-1].tolist()):
            run = self._look_ahead(self.train_at(run, tradeoff), tradeoff, waiting)
            if number % _FRESH == 0 and run.n_rounds and dear > 0:
                fresh = start.fork()
                waiting.mark_taken(fresh)
                fresh = self.train_at(fresh, tradeoff, patience=_LAST_PATIENCE, rounds=_FRESH_ROUNDS)
                dear = 0.0 if fresh.running.cost >= dear else dear
        last = float(tradeoffs[-1])
        if last > 0:  # at 0, purchases need not repay their price
            run = self._look_ahead(self.train_at(run, last), last, waiting)
        self.train_at(run, last, patience=_LAST_PATIENCE, rounds=self.most_rounds)

    def _look_ahead(self, run: EnsembleRun, tradeoff: float, waiting: _Waiting) -> EnsembleRun:
        """Continue from the best fork with a free bundle, while a fork is better at its true cost."""
        while True:
            best, best_place = run, -1
            for place in waiting.due(tradeoff):
                fork, pays = self._grow_fork(run, tradeoff, waiting.ahead[place])
                waiting.tried(place, tradeoff, pays)
                if _value(fork, tradeoff) < _value(best, tradeoff):
                    best, best_place = fork, place
            if best is run:
                return run
            run = best
            waiting.taken(best_place, tradeoff)

    def _grow_fork(self, run: EnsembleRun, tradeoff: float, bundle: Bundle) -> tuple[EnsembleRun, float]:
        """Grow a fork with a free bundle; return it, and the tradeoff below which it would pay."""
        fork = run.fork()
        fork.prices.mark_paid(bundle.features, bundle.resources)
        fork = self._extend(fork, tradeoff, 0.0, _FORK_PATIENCE, _FIRST_ROUNDS)
        if (pays := _gain_per_cost(run, fork)) < tradeoff / _GIVEN_UP:
            return fork, 2 * pays
        fork = self._extend(fork, tradeoff, 0.0, _FORK_PATIENCE, _FORK_ROUNDS - _FIRST_ROUNDS)
        return fork, _gain_per_cost(run, fork)

    def _extend(self, run: EnsembleRun, tradeoff: float, judged_at: float, patience: int, rounds: int) -> EnsembleRun:
        """Add rounds at a tradeoff while loss + judged_at * cost falls; return the best of them."""
        best, value, since, noted = run, _value(run, judged_at), 0, True
        growing, branch = run.fork(), len(self.branches)
        self.branches.append(growing.boosted.ensemble)
        if not self._costs:
            self._note(growing, branch, tradeoff)
        while growing.n_rounds < min(run.n_rounds + rounds, self.most_rounds) and since < patience:
            since += 1
            if growing.add_round(tradeoff):
                wanted = self._note(growing, branch, tradeoff)
                now = _value(growing, judged_at)
                if now < value:
                    best, value, since, noted = growing.fork(), now, 0, wanted
            elif growing.random is None:
                break  # the next round would not split either
        if judged_at == tradeoff and not noted:  # a fork is only a trial
            self._add_point(best, branch, tradeoff)
        return best

    def _note(self, run: EnsembleRun, branch: int, tradeoff: float) -> bool:
        """Make a point of the present run if it is worth noting; return whether it is."""
        wanted = self._worth_noting(run.running.loss, run.running.cost)
        if wanted:
            self._add_point(run, branch, tradeoff)
        if self.on_round is not None:
            self.on_round(tradeoff)
        return wanted

    def _add_point(self, run: EnsembleRun, branch: int, tradeoff: float) -> None:
        """Score the present run, and make a point of it."""
        running = run.running
        score = -running.loss if self.score is None else self.score(running)
        self.points.append(AnnealedPoint(branch, run.n_rounds, tradeoff, running.loss, running.cost, score))

    def _worth_noting(self, loss: float, cost: float) -> bool:
        """Return whether a model has a smaller loss than all before at no higher cost, and note it."""
        at = bisect_right(self._costs, cost)
        if at and loss >= self._losses[at - 1]:
            return False
        end = at
        while end < len(self._costs) and self._losses[end] >= loss:
            end += 1
        begin = at - 1 if at and self._costs[at - 1] == cost else at
        self._costs[begin:end], self._losses[begin:end] = [cost], [loss]
        return True


@define(eq=False)
class _Waiting:
    """Bundles not bought, and the tradeoff below which each may pay: the gain per cost of its last fork."""

    ahead: list[Bundle]
    pays: list[float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pays = [np.inf] * len(self.ahead)

    def due(self, tradeoff: float) -> list[int]:
        """Return the places of the bundles that are worth a fork now."""
        return [place for place, pays in enumerate(self.pays) if tradeoff <= _NEAR * pays]

    def tried(self, place: int, tradeoff: float, pays: float) -> None:
        """Note the tradeoff below which a fork, grown at a higher one, would pay."""
        self.pays[place] = pays if pays > 0 else tradeoff / _GIVEN_UP

    def mark_taken(self, run: EnsembleRun) -> None:
        """Mark the bought bundles as paid in another run."""
        for bundle, pays in zip(self.ahead, self.pays, strict=True):
            if pays < 0:
                run.prices.mark_paid(bundle.features, bundle.resources)

    def taken(self, place: int, tradeoff: float) -> None:
        """Note the purchase of a bundle and its parts; other bundles with some gain may pay together with it."""
        self.pays = [max(pays, tradeoff) if pays > tradeoff / _GIVEN_UP else pays for pays in self.pays]
        for other, bundle in enumerate(self.ahead):
            if bundle.is_part_of(self.ahead[place]):
                self.pays[other] = -1.0


def _gain_per_cost(run: EnsembleRun, fork: EnsembleRun) -> float:
    """Return a fork's gain of loss per unit of further cost; not positive if it gains nothing."""
    gained, cost = run.running.loss - fork.running.loss, fork.running.cost - run.running.cost
    return gained / cost if cost > 0 else np.inf * gained if gained else 0.0


def _value(run: EnsembleRun, tradeoff: float) -> float:
    return run.running.loss + tradeoff * run.running.cost
