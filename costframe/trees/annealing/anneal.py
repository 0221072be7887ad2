"""Annealing: the tradeoff falls level by level while an ensemble grows, and every prefix is a model worth noting.

At each level rounds are added as long as validation loss + tradeoff * cost falls, and the next level goes on from the
best of them. Greedy growth buys a feature or resource only if one split repays it. So each level also looks ahead: for
every resource a fork is grown whose splits get it for nothing, and if the whole, at its true cost, is better, the run
goes on from there.

Only models that may be wanted become points of the path, and only they are scored: those that lose less on validation
rows than all before them that cost no more, and the best of each run at each level, for few validation rows may rank
finished models otherwise by their score than by their loss. To score each of thousands of rounds would take as long as
to grow them, and the best of thousands of scores is one that chance has chosen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.core.errors import ParameterError
from costframe.trees.annealing.path import AnnealedPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.trees.annealing.annealed import EnsembleRun
    from costframe.trees.boosting.boost import Ensemble
    from costframe.trees.boosting.monitor import Running

__all__ = ["Annealer", "Bundle", "bundles", "check_limits", "falling_tradeoffs"]

_LEVELS = 24  # at most; a level is half of the one before unless there would be more
_PATIENCE, _LAST_PATIENCE = 10, 30  # rounds without an improvement at a level, and at the last
_LEVEL_ROUNDS = 100  # rounds of a level, at most
_FORK_PATIENCE, _FORK_ROUNDS = 5, 30  # the same for forks, which need but show what they are worth
_FIRST_ROUNDS = 8  # of a fork, in which it gains about half of what it will; one that pays by far too little ends
_FRESH, _FRESH_ROUNDS = 3, 400  # of so many levels, one is tried afresh as well, and rounds then
_GIVEN_UP = 4  # a fork that would pay only at a tradeoff so many times lower, or at none known, waits until then
_CONCEIVABLE = 1e-150, 1e150  # tradeoffs whose products with prices and weights are numbers
_NEAR = 1.5  # a fork that would pay at some tradeoff is grown again from so many times it


@frozen(eq=False)
class Bundle:
    """What is bought together: a resource, the resources that its features need as well, and perhaps the features.

    Attributes
    ----------
    features : bool (d,)
    resources : bool (R,)
    """

    features: NDArray[np.bool_]
    resources: NDArray[np.bool_]

    def is_part_of(self, other: Bundle) -> bool:
        """Whether another one buys all of it."""
        return not ((self.features & ~other.features).any() or (self.resources & ~other.resources).any())


def bundles(prices: PriceArrays) -> list[Bundle]:
    """List, for each resource that some feature needs, the resource alone and, if priced, its features too."""
    found = []
    for needed in prices.needs.T:
        if not needed.any():
            continue
        resources = prices.needs[needed].all(axis=0)
        found.append(Bundle(np.zeros(len(needed), np.bool_), resources))
        if prices.cost[needed].any():
            found.append(Bundle(needed, resources))
    return found


def falling_tradeoffs(
    loss: float, full: float, prices: PriceArrays, limits: tuple[float, float] | None
) -> NDArray[np.float64]:
    """float64 (levels,): falls geometrically, by default from where little is bought down to 0.

    Parameters
    ----------
    loss : float
        What the best constant loses more than the best model, more than which nothing can gain.
    full : float
        Cost per row of the model that knows no prices, or of all features if that is more.
    prices : PriceArrays
    limits : (float, float), optional
        The first and the last.
    """
    if limits is not None:
        return _levels(*limits)
    if not (full > 0 and loss > 0):
        return np.zeros(1)
    each = prices.cost + prices.needs @ prices.resource_cost
    with np.errstate(over="ignore", under="ignore"):
        high = loss / min(full, each[each > 0].min(initial=np.inf))
        low = 1e-3 * loss / full
    return np.append(_levels(*np.clip([high, low], *_CONCEIVABLE).tolist()), 0.0)


def check_limits(limits: object) -> tuple[float, float]:
    """Return the first and the last tradeoff of a fall; refuse what is none."""
    given = np.asarray(limits) if isinstance(limits, Sequence) else np.empty(0)
    if given.shape != (2,) or given.dtype.kind not in "iuf" or not np.inf > given[0] >= given[1] > 0:
        raise ParameterError(f"tradeoffs: expected two numbers, the first not below the second > 0, got {limits!r}")
    return float(given[0]), float(given[1])


def _levels(high: float, low: float) -> NDArray[np.float64]:
    halvings = np.log2(high) - np.log2(low)
    return np.geomspace(high, low, min(_LEVELS, 1 + int(np.ceil(halvings))))


@define(eq=False)
class Annealer:
    """Grows ensembles and notes the models on the way that may be wanted.

    Attributes
    ----------
    most_rounds : int
        Rounds of a model, at most.
    score : callable, optional
        Of validation rows; minus their loss by default.
    on_round : callable, optional
        Gets the tradeoff of each round.
    points, branches : list
        What was found so far; as in `AnnealedPath`.
    """

    most_rounds: int
    score: Callable[[Running], float] | None = None
    on_round: Callable[[float], None] | None = None
    points: list[AnnealedPoint] = field(factory=list, init=False)
    branches: list[Ensemble] = field(factory=list, init=False)
    _costs: list[float] = field(factory=list, init=False)  # of points that lose less than all cheaper ones
    _losses: list[float] = field(factory=list, init=False)  # theirs

    def heir(self) -> Annealer:
        """Return one that has found nothing, but knows what is no longer worth noting."""
        other = Annealer(self.most_rounds, self.score)
        other._costs, other._losses = self._costs.copy(), self._losses.copy()
        return other

    def inherit(self, other: Annealer) -> None:
        """Take over what another one has found."""
        first = len(self.branches)
        self.branches += other.branches
        for point in other.points:
            self._worth_noting(point.loss, point.cost)
            self.points.append(evolve(point, branch=first + point.branch))

    def train_at(
        self, run: EnsembleRun, tradeoff: float, *, patience: int = _PATIENCE, rounds: int = _LEVEL_ROUNDS
    ) -> EnsembleRun:
        """Add rounds as long as validation loss + tradeoff * cost falls, and return the best of them."""
        return self._extend(run, tradeoff, tradeoff, patience, rounds)

    def plain(self, run: EnsembleRun) -> EnsembleRun:
        """Grow an ensemble without prices to its best."""
        return self._extend(run, 0.0, 0.0, _LAST_PATIENCE, self.most_rounds)

    def descend(
        self, run: EnsembleRun, tradeoffs: NDArray[np.float64], ahead: list[Bundle], *, dear: float = 0.0
    ) -> None:
        """Train at each tradeoff in turn, looking ahead for these bundles; start afresh at some.

        What was grown when little was bought stays in a run for good. A fresh run at a tradeoff, which has paid for
        the bundles taken above it, has no such past, and is often better where rows pay one by one. When one has cost
        `dear`, there is no further one, for it would hardly differ from a run without prices.
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
        if last > 0:  # at 0, nothing has to repay its price
            run = self._look_ahead(self.train_at(run, last), last, waiting)
        self.train_at(run, last, patience=_LAST_PATIENCE, rounds=self.most_rounds)

    def _look_ahead(self, run: EnsembleRun, tradeoff: float, waiting: _Waiting) -> EnsembleRun:
        """Go over to the best fork that gets a bundle for nothing, as long as one is better at its true cost."""
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
        """Grow a fork that gets a bundle for nothing; return it, and the tradeoff below which it would pay."""
        fork = run.fork()
        fork.prices.mark_paid(bundle.features, bundle.resources)
        fork = self._extend(fork, tradeoff, 0.0, _FORK_PATIENCE, _FIRST_ROUNDS)
        if (pays := _repaid(run, fork)) < tradeoff / _GIVEN_UP:
            return fork, 2 * pays
        fork = self._extend(fork, tradeoff, 0.0, _FORK_PATIENCE, _FORK_ROUNDS - _FIRST_ROUNDS)
        return fork, _repaid(run, fork)

    def _extend(self, run: EnsembleRun, tradeoff: float, judged_at: float, patience: int, rounds: int) -> EnsembleRun:
        """Add rounds at a tradeoff as long as loss + judged_at * cost falls; return the best of them."""
        best, value, since, noted = run, _value(run, judged_at), 0, True
        growing, branch = run.fork(), len(self.branches)
        self.branches.append(growing.boosted.ensemble)
        if not self._costs:
            self._note(growing, branch, tradeoff)
        while growing.n_rounds < min(run.n_rounds + rounds, self.most_rounds) and since < patience:
            drawn, since = growing.random.bit_generator.state, since + 1
            if growing.add_round(tradeoff):
                wanted = self._note(growing, branch, tradeoff)
                now = _value(growing, judged_at)
                if now < value:
                    best, value, since, noted = growing.fork(), now, 0, wanted
            elif drawn == growing.random.bit_generator.state:
                break  # nothing is drawn at random, so the next round would be as idle
        if judged_at == tradeoff and not noted:  # a fork is but a trial
            self._add_point(best, branch, tradeoff)
        return best

    def _note(self, run: EnsembleRun, branch: int, tradeoff: float) -> bool:
        """Make a point of the run as it is, if it may be wanted; True if so."""
        wanted = self._worth_noting(run.running.loss, run.running.cost)
        if wanted:
            self._add_point(run, branch, tradeoff)
        if self.on_round is not None:
            self.on_round(tradeoff)
        return wanted

    def _add_point(self, run: EnsembleRun, branch: int, tradeoff: float) -> None:
        """Score the run as it is, and make a point of it."""
        running = run.running
        score = -running.loss if self.score is None else self.score(running)
        self.points.append(AnnealedPoint(branch, run.n_rounds, tradeoff, running.loss, running.cost, score))

    def _worth_noting(self, loss: float, cost: float) -> bool:
        """Whether a model loses less than all so far that cost no more; take note of it if so."""
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
    """Bundles that are not taken, and the tradeoff below which each may pay: what its last fork gained per cost."""

    ahead: list[Bundle]
    pays: list[float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pays = [np.inf] * len(self.ahead)

    def due(self, tradeoff: float) -> list[int]:
        """Places of the bundles that are worth a fork now."""
        return [place for place, pays in enumerate(self.pays) if tradeoff <= _NEAR * pays]

    def tried(self, place: int, tradeoff: float, pays: float) -> None:
        """Take note of the tradeoff below which a fork that was grown at a higher one would pay."""
        self.pays[place] = pays if pays > 0 else tradeoff / _GIVEN_UP

    def mark_taken(self, run: EnsembleRun) -> None:
        """Mark for another run as paid what was taken."""
        for bundle, pays in zip(self.ahead, self.pays, strict=True):
            if pays < 0:
                run.prices.mark_paid(bundle.features, bundle.resources)

    def taken(self, place: int, tradeoff: float) -> None:
        """Take a bundle, with those that are part of it; others that have gained something may pay together with it."""
        self.pays = [max(pays, tradeoff) if pays > tradeoff / _GIVEN_UP else pays for pays in self.pays]
        for other, bundle in enumerate(self.ahead):
            if bundle.is_part_of(self.ahead[place]):
                self.pays[other] = -1.0


def _repaid(run: EnsembleRun, fork: EnsembleRun) -> float:
    """Return the loss that a fork gains for each unit of its further cost; not a positive number if it gains none."""
    gained, cost = run.running.loss - fork.running.loss, fork.running.cost - run.running.cost
    return gained / cost if cost > 0 else np.inf * gained if gained else 0.0


def _value(run: EnsembleRun, tradeoff: float) -> float:
    return run.running.loss + tradeoff * run.running.cost
