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
from attrs import define, evolve, field

from costframe.core.arrays import F8
from costframe.training.path_point import PathPoint
from costframe.trees.bundles import GIVEN_UP, Bundle, WaitingBundles
from costframe.trees.ensemble import Ensemble
from costframe.trees.ensemble_run import EnsembleRun
from costframe.trees.monitor import Running

_PATIENCE, _LAST_PATIENCE = 10, 30  # rounds without an improvement at a level, and at the last
_LEVEL_ROUNDS = 100  # most rounds of a level
_FORK_PATIENCE, _FORK_ROUNDS = 5, 30  # the same for forks, which need only show their worth
_FIRST_ROUNDS = 8  # of a fork, with about half of its final gain; a fork that repays far too little ends then
_FRESH, _FRESH_ROUNDS = 3, 400  # every third level also tries a new start, with these rounds


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
    points: list[PathPoint] = field(factory=list, init=False)
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
            self.points.append(evolve(point, key=first + point.key))

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
        waiting, start = WaitingBundles(ahead), run
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

    def _look_ahead(self, run: EnsembleRun, tradeoff: float, waiting: WaitingBundles) -> EnsembleRun:
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
        if (pays := _gain_per_cost(run, fork)) < tradeoff / GIVEN_UP:
            return fork, 2 * pays
        fork = self._extend(fork, tradeoff, 0.0, _FORK_PATIENCE, _FORK_ROUNDS - _FIRST_ROUNDS)
        return fork, _gain_per_cost(run, fork)

    def _extend(self, run: EnsembleRun, tradeoff: float, judged_at: float, patience: int, rounds: int) -> EnsembleRun:
        """Add rounds at a tradeoff while loss + judged_at * cost falls; return the best of them."""
        best, value, since, noted = run, _value(run, judged_at), 0, True
        growing, branch = run.fork(), len(self.branches)
        self.branches.append(growing.ensemble)
        if not self._costs:
            self._note(growing, branch, tradeoff)
        for grown in growing.rounds(tradeoff, min(run.n_rounds + rounds, self.most_rounds)):
            since += 1
            if grown:
                wanted = self._note(growing, branch, tradeoff)
                now = _value(growing, judged_at)
                if now < value:
                    best, value, since, noted = growing.fork(), now, 0, wanted
            if since >= patience:
                break
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
        self.points.append(PathPoint(run.n_rounds, tradeoff, running.loss, running.cost, score, key=branch))

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


def _gain_per_cost(run: EnsembleRun, fork: EnsembleRun) -> float:
    """Return a fork's gain of loss per unit of further cost; not positive if it gains nothing."""
    gained, cost = run.running.loss - fork.running.loss, fork.running.cost - run.running.cost
    return gained / cost if cost > 0 else np.inf * gained if gained else 0.0


def _value(run: EnsembleRun, tradeoff: float) -> float:
    return run.running.loss + tradeoff * run.running.cost
