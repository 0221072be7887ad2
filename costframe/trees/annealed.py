"""Annealed fits: ensembles with different trees and prices, on one path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from threading import Lock

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8
from costframe.core.machine import run_parallel
from costframe.training.data import TrainingData
from costframe.training.losses import Loss
from costframe.trees.annealed_path import AnnealedPath
from costframe.trees.annealer import Annealer
from costframe.trees.boosting_run import Boosted, BoostingRun
from costframe.trees.bundles import bundles
from costframe.trees.ensemble_run import EnsembleRun
from costframe.trees.growing import GrowAt
from costframe.trees.monitor import Running
from costframe.trees.prices import SplitPrices
from costframe.trees.tradeoffs import check_limits, falling_tradeoffs

_CLEARLY = 0.95  # of the loss of the trees before them: other trees replace them with a smaller loss
_NEARLY = 0.95  # of the cost of a run without prices: a run at prices with this cost hardly differs from it
_PLAIN_SHARE = 0.1  # of another run's time: the time of a run without prices


@frozen(eq=False)
class Start:
    """Start of runs: the loss's best constant, one kind of trees, and a run for each kind of prices.

    Attributes
    ----------
    grow : GrowAt
    prices : sequence of SplitPrices
        Without payments. Runs at the first of these also have new starts on the way.
    """

    grow: GrowAt
    prices: Sequence[SplitPrices]


@frozen(eq=False)
class Annealing:
    """The requests to an annealed fit.

    Attributes
    ----------
    annealer : Annealer
    limits : (float, float), optional
        The first and the last tradeoff.
    look_ahead : bool
        Whether to try the joint gain of each resource's features.
    progress : callable, optional
        Gets the finished share, from 0 to 1, after each round.
    """

    annealer: Annealer
    limits: tuple[float, float] | None = None
    look_ahead: bool = True
    progress: Callable[[float], None] | None = None

    @classmethod
    def of(cls, most_rounds: int, score: Callable[[Running], float] | None = None) -> Annealing:
        """Ask for at most so many rounds; the score is of validation rows, minus their loss by default."""
        return cls(Annealer(most_rounds, score))

    @staticmethod
    def check_limits(tradeoffs: object) -> tuple[float, float]:
        """Check the first and the last of falling tradeoffs."""
        return check_limits(tradeoffs)


class _Progress:
    """Reports the finished share of all runs; runs on several threads take turns."""

    def __init__(self, report: Callable[[float], None] | None, n_plain: int) -> None:
        self._report, self._lock, self._n_plain = report, Lock(), n_plain
        self._done: list[float] = [0.0] * n_plain
        self._weights = [_PLAIN_SHARE] * n_plain

    def of_runs(self, count: int, tradeoffs: F8) -> list[Callable[[float], None] | None]:
        """Return, for each of `count` runs, a function that takes the tradeoff of each round."""
        self._done = [1.0] * self._n_plain + [0.0] * count
        self._weights += [1.0] * count
        return [self._of_run(self._n_plain + number, tradeoffs) for number in range(count)]

    def _of_run(self, place: int, tradeoffs: F8) -> Callable[[float], None] | None:
        report = self._report
        if report is None:
            return None
        shares = {now: float(np.mean(tradeoffs > now)) for now in tradeoffs.tolist()}

        def advance(now: float) -> None:
            with self._lock:
                self._done[place] = shares[now]
                report(sum(map(mul, self._done, self._weights)) / sum(self._weights))

        return advance


def anneal(
    data: TrainingData,
    loss: Loss,
    starts: Sequence[Start],
    asked: Annealing,
    *,
    step: float,
    random_state: int | None = None,
    n_threads: int = 1,
) -> AnnealedPath:
    """Anneal ensembles from prices at which nothing is bought to almost none.

    It grows one ensemble without prices of each kind of trees; these give the scales of loss and cost. Ensembles at
    prices have the first kind of trees, unless the loss of another is clearly smaller.

    Parameters
    ----------
    data : TrainingData
        With validation rows.
    loss : Loss
    starts : sequence of Start
    asked : Annealing
    step : float
        Weight of every tree, the learning rate.
    random_state : int, optional
        Seed of each run's draws; None if growth draws nothing.
    n_threads : int
        Does not change the result.
    """
    annealer, progress = asked.annealer, _Progress(asked.progress, len(starts))

    def begin(start: Start, prices: SplitPrices) -> EnsembleRun:
        assert data.valid is not None  # noqa: S101 - callers check it
        boosted, running = Boosted.constant(data.train, loss, step), Running(data.valid, loss, data.prices)
        running.begin(boosted.ensemble.intercept)
        draws = None if random_state is None else np.random.default_rng(random_state)
        boosting = BoostingRun(data.train, loss.for_rows(data.train), boosted, n_threads)
        return EnsembleRun(boosting, start.grow, prices, running, draws)

    def grow_plain(start: Start) -> tuple[Annealer, EnsembleRun]:
        fork = annealer.fork()
        return fork, fork.plain(begin(start, start.prices[0]))

    plain, best = [], 0
    for number, (fork, run) in enumerate(run_parallel(grow_plain, starts, n_threads)):
        annealer.join(fork)
        plain.append(run)
        best = number if run.running.loss < _CLEARLY * plain[best].running.loss else best
    chosen, gained = starts[best], annealer.points[0].loss - plain[best].running.loss
    full = max(data.costs.full_cost(data.feature_names), plain[best].running.cost)
    tradeoffs = falling_tradeoffs(gained, full, data.prices, asked.limits)
    ahead = bundles(data.prices) if asked.look_ahead else []
    rounds = progress.of_runs(len(chosen.prices), tradeoffs)

    def descend(number: int) -> Annealer:
        fork = annealer.fork()
        fork.on_round = rounds[number]
        dear = 0.0 if number else _NEARLY * plain[best].running.cost
        fork.descend(begin(chosen, chosen.prices[number]), tradeoffs, ahead, dear=dear)
        return fork

    for fork in run_parallel(descend, range(len(chosen.prices)), n_threads):
        annealer.join(fork)
    points, branches = tuple(annealer.points), tuple(annealer.branches)
    unpriced = frozenset(range(len(starts)))
    return AnnealedPath(points, branches, data.costs, data.feature_names, data.categories, unpriced)
