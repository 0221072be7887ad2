"""Annealed fits: lines grown one after another, each from its own trees and prices, noted on one path."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.checks import check_flag
from costframe.core.errors import ParameterError
from costframe.core.threads import run_parallel
from costframe.training.estimator import CostAwareEstimator
from costframe.trees.annealing.anneal import Annealer, bundles, check_limits, falling_tradeoffs
from costframe.trees.annealing.line import Line
from costframe.trees.annealing.path import AnnealedPath
from costframe.trees.boosting.monitor import scorer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.training.data import TrainingData
    from costframe.trees.annealing.line import GrowAt, LinePrices
    from costframe.trees.boosting.losses import Loss

__all__ = ["Annealing", "AnnealingEstimator", "Start", "anneal"]

_PATH_ROUNDS = 1000
_CLEARLY = 0.95  # of the loss of the trees before them: what other trees must not lose more than, to be grown instead
_NEARLY = 0.95  # of the cost of a line that knows no prices: one at prices that costs as much hardly differs from it
_PLAIN_SHARE = 0.1  # of another line's time that one takes which knows no prices
_NO_EFFECT = ("n_iter_no_change", "scoring", "warm_start")


@frozen(eq=False)
class Start:
    """Where lines begin: the loss's best constant, with trees of one kind, and a line for each kind of prices.

    Attributes
    ----------
    grow : GrowAt
    prices : sequence of LinePrices
        Of which nothing is paid yet. At the first, lines are also begun afresh on the way.
    """

    grow: GrowAt
    prices: Sequence[LinePrices]


@frozen(eq=False)
class Annealing:
    """What an annealed fit is asked for.

    Attributes
    ----------
    annealer : Annealer
    limits : (float, float), optional
        The first and the last tradeoff.
    look_ahead : bool
        Whether to try what each resource's features gain together.
    told : callable, optional
        Is told the share that is done, from 0 to 1, after each round.
    """

    annealer: Annealer
    limits: tuple[float, float] | None = None
    look_ahead: bool = True
    told: Callable[[float], None] | None = None


class _Progress:
    """Tells the share of all lines that is done; lines that are grown at once take turns at it."""

    def __init__(self, told: Callable[[float], None] | None, n_plain: int) -> None:
        self._told, self._lock, self._n_plain = told, Lock(), n_plain
        self._done: list[float] = [0.0] * n_plain
        self._weights = np.full(n_plain, _PLAIN_SHARE)

    def of_lines(self, count: int, tradeoffs: NDArray[np.float64]) -> list[Callable[[float], None] | None]:
        """Return what is to be told the tradeoff of each round, for each of so many lines."""
        self._done = [1.0] * self._n_plain + [0.0] * count
        self._weights = np.append(np.full(self._n_plain, _PLAIN_SHARE), np.ones(count))
        return [self._teller(self._n_plain + number, tradeoffs) for number in range(count)]

    def _teller(self, place: int, tradeoffs: NDArray[np.float64]) -> Callable[[float], None] | None:
        told = self._told
        if told is None:
            return None

        def tell(now: float) -> None:
            with self._lock:
                self._done[place] = float(np.mean(tradeoffs > now))
                told(float(np.dot(self._done, self._weights) / self._weights.sum()))

        return tell


def anneal(
    data: TrainingData,
    loss: Loss,
    starts: Sequence[Start],
    asked: Annealing,
    *,
    step: float,
    random_state: int = 0,
    n_threads: int = 1,
) -> AnnealedPath:
    """Anneal lines from nothing bought to hardly any price.

    Of each kind of trees, a line that knows no prices is grown; it tells the scales of loss and cost. Lines at prices
    are of the first kind, unless another loses clearly less.

    Parameters
    ----------
    data : TrainingData
        With validation rows.
    loss : Loss
    starts : sequence of Start
    asked : Annealing
    step : float
        Weight of every tree, the learning rate.
    random_state : int
        Seed of each line's draws.
    n_threads : int
        Does not change the result.
    """
    annealer, progress = asked.annealer, _Progress(asked.told, len(starts))

    def begin(start: Start, prices: LinePrices) -> Line:
        return Line.begin(data, loss, start.grow, prices, step=step, random_state=random_state, n_threads=n_threads)

    def grow_plain(start: Start) -> tuple[Annealer, Line]:
        heir = annealer.heir()
        return heir, heir.plain(begin(start, start.prices[0]))

    plain, best = [], 0
    for number, (heir, line) in enumerate(run_parallel(grow_plain, starts, n_threads)):
        annealer.inherit(heir)
        plain.append(line)
        best = number if line.running.loss < _CLEARLY * plain[best].running.loss else best
    chosen, gained = starts[best], annealer.points[0].loss - plain[best].running.loss
    full = max(data.costs.full_cost(data.feature_names), plain[best].running.cost)
    tradeoffs = falling_tradeoffs(gained, full, data.prices, asked.limits)
    ahead = bundles(data.prices) if asked.look_ahead else []
    tellers = progress.of_lines(len(chosen.prices), tradeoffs)

    def descend(number: int) -> Annealer:
        heir = annealer.heir()
        heir.told = tellers[number]
        dear = 0.0 if number else _NEARLY * plain[best].running.cost
        heir.descend(begin(chosen, chosen.prices[number]), tradeoffs, ahead, dear=dear)
        return heir

    for heir in run_parallel(descend, range(len(chosen.prices)), n_threads):
        annealer.inherit(heir)
    points, branches = tuple(annealer.points), tuple(annealer.branches)
    unpriced = frozenset(range(len(starts)))
    return AnnealedPath(points, branches, data.costs, data.feature_names, data.categories, unpriced)


class AnnealingEstimator(CostAwareEstimator):
    """An estimator with `fit_path`; a subclass has an `_anneal`, and `n_estimators` among its parameters."""

    def _anneal(self, data: TrainingData, asked: Annealing) -> AnnealedPath:
        """Anneal on checked data that have validation rows."""
        raise NotImplementedError

    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any,
        y_val: ArrayLike,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        tradeoffs: tuple[float, float] | None = None,
        scoring: Any = None,
        look_ahead: bool = True,
        progress: Callable[[float], None] | None = None,
    ) -> AnnealedPath:
        """Train with a falling tradeoff, and return all models on the way with their exact validation cost.

        The estimator becomes the model that is best at its own `tradeoff`. `n_estimators` is the most rounds that a
        model may have, 1000 by default.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for `fit`.
        tradeoffs : (float, float), optional
            lambda of the first and of the last level, with a geometric fall between; by default from where hardly
            anything is bought to where prices do not count.
        scoring : "loss", name of a score, or callable, optional
            The score of points, of which more is better; minus the validation loss by default.
        look_ahead : bool
            Whether to try at each level, for every resource, what its features gain together: it is bought if the whole
            is better at its true cost. Without, it is bought only where a single split repays it, and training is
            quicker.
        progress : callable, optional
            Is told the share that is done, from 0 to 1, after each round.

        Returns
        -------
        AnnealedPath

        Raises
        ------
        CostframeError
            As of `fit`; if there are no validation data; also where a parameter is set that has no effect on a path.
        """
        for name in _NO_EFFECT:
            if getattr(self, name, None) is not None and getattr(self, name) is not False:
                raise ParameterError(f"{name}: has no effect on a path; leave it out, or fit at given tradeoffs")
        data = self.training_data(X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val)
        if data.valid is None:
            raise ParameterError("X_val: a path needs validation data")
        most: int | None = getattr(self, "n_estimators", None)
        annealer = Annealer(_PATH_ROUNDS if most is None else most, scorer(scoring))
        limits = None if tradeoffs is None else check_limits(tradeoffs)
        path = self._anneal(data, Annealing(annealer, limits, check_flag("look_ahead", look_ahead), progress))
        point = path.at(float(self.tradeoff))
        self.n_iter_ = point.n_rounds
        self._keep(path.predictor(point), data.costs, data.train)
        return path
