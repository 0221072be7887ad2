"""A grid over tradeoffs and shares in one fit: all candidates on the way, with their score and exact cost."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.gates.composite import GatedPair, Predictions, compose, mix_predictions
from costframe.gates.gate_curve import CHEAP, OperatingPoint
from costframe.training.model_path import PathCollector
from costframe.training.progress import track
from costframe_adapt.adapt import WarmStart, fit_stage
from costframe_adapt.cheap import anneal_cheap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.gates.composite import Candidate, ExpensiveModel
    from costframe.training.model_path import DeferredPath
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.monitor import Predicted
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptSettings, AdaptTrees

__all__ = ["AdaptPoint", "default_tradeoffs", "sweep_grid"]

_LEVELS = 12
_AFRESH = 3  # every third fit of linear models has all starts: similar solutions may share one local optimum
_LOWEST = 0.02  # of the tradeoffs, in units of the constant's loss per cost of the expensive model
_HIGHEST = (1.0, 30.0)


@frozen
class AdaptPoint:
    """A model of the grid.

    Attributes
    ----------
    tradeoff : float
        Of its training; 0 for the expensive model alone.
    full_share : float or None
    n_rounds : int
        Trees or columns of its cheap models and gates; 0 for the expensive model alone.
    loss, cost : float
        Mean validation loss, and exact mean validation cost per row.
    score : float
        The given score, or minus the loss.
    """

    tradeoff: float
    full_share: float | None
    n_rounds: int
    loss: float
    cost: float
    score: float


@define(eq=False)
class _Sweep:
    """The points of a grid so far, without models that others dominate both by score and by loss."""

    judge: Judge
    score: Callable[[Predicted], float] | None
    models: PathCollector[AdaptPoint] = field(factory=PathCollector)

    def begin(self) -> None:
        """Add the expensive model alone."""
        expensive, held = self.judge.expensive, self.judge.held
        weight = held.weight / held.weight.sum()
        cost = float(weight @ expensive.held.account.cost(self.judge.data.prices))
        loss = float(weight @ expensive.held.loss)
        point = AdaptPoint(0.0, None, 0, loss, cost, self._score(expensive.held.proba, loss))
        self.models.add(point, partial(expensive.tree.with_costs, self.judge.data.costs))

    def recorder(
        self, tradeoff: float, full_share: float | None, expensive: ExpensiveModel
    ) -> Callable[[Candidate], None]:
        """Return a function that adds a candidate of one fit."""

        def record(candidate: Candidate) -> None:
            points = [candidate.point]
            if not self.judge.settings.paper:
                points = list(candidate.curve.points(candidate.point, tradeoff, full_share))
            for point in points:
                going = candidate.curve.goes_on(point)
                mixed = mix_predictions(candidate.held.cheap, expensive.held.proba, going)
                measured = (point.loss, point.cost, self._score(mixed, point.loss))
                found = AdaptPoint(tradeoff, full_share, len(candidate.pair.bank), *measured)
                self.models.add(found, partial(compose, candidate.pair, point, expensive.tree))

        return record

    def anneal(self, trees: AdaptTrees, tradeoffs: list[float]) -> AnnealedPath:
        """Anneal cheap models of all tradeoffs, and add the best of them."""
        path = anneal_cheap(self.judge, trees, self.score)
        wanted = [*path.frontier(), *(path.at(tradeoff) for tradeoff in tradeoffs)]
        for one in dict.fromkeys(wanted):
            pair = GatedPair.of(path.branches[one.branch].finish(path.feature_names, one.n_rounds))
            point = OperatingPoint(CHEAP, np.inf, one.loss, one.cost, 0.0)
            found = AdaptPoint(one.tradeoff, 0.0, len(pair.bank), one.loss, one.cost, one.score)
            self.models.add(found, partial(compose, pair, point, self.judge.expensive.tree))
        return path

    def fit(self, settings: AdaptSettings, trees: AdaptTrees | None, warm: WarmStart) -> WarmStart:
        """Fit all stages at one tradeoff, and return the first stage's warm start."""
        judge, ended = evolve(self.judge, settings=settings), warm
        for number in range(settings.n_stages):
            record = self.recorder(settings.tradeoff, settings.full_share, judge.expensive)
            best, _, nearby = fit_stage(evolve(judge, record=record), trees, None if number else warm)
            ended = ended if number else nearby
            if number + 1 < settings.n_stages:
                judge = judge.behind(best)
        self.models.drop_dominated()
        return ended

    def _score(self, predictions: NDArray[np.float64], loss: float) -> float:
        return -loss if self.score is None else self.score(Predictions(self.judge.held, predictions))


def sweep_grid(
    judge: Judge,
    tradeoffs: NDArray[np.float64],
    full_shares: Sequence[float | None],
    score: Callable[[Predicted], float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> DeferredPath[AdaptPoint]:
    """Fit at each share, with each kind of trees, at descending tradeoffs, each from the result before it.

    Parameters
    ----------
    judge : Judge
        Rows and settings, except for the tradeoff and the share.
    tradeoffs : float64 (levels,)
        Descending.
    full_shares : sequence of float or None
    score : callable, optional
        Of predictions of held-out rows; minus their loss by default.
    progress : callable, optional
        Called with the finished share, from 0 to 1.
    """
    sweep, levels, settings = _Sweep(judge, score), tradeoffs.tolist(), judge.settings
    sweep.begin()
    cheap = {} if settings.paper else {trees: sweep.anneal(trees, levels) for trees in settings.trees}
    fits = list(product(full_shares, settings.trees or (None,), enumerate(levels)))
    warm = WarmStart()
    for done, (share, trees, (level, tradeoff)) in enumerate(track(fits, "Adapt", verbose=settings.verbose), 1):
        if level == 0 or (trees is None and level % _AFRESH == 0):
            warm = WarmStart()
        if trees in cheap:
            best = cheap[trees].at(tradeoff)
            warm = evolve(warm, cheap=cheap[trees].branches[best.branch].prefix(best.n_rounds))
        warm = sweep.fit(evolve(settings, tradeoff=tradeoff, full_share=share, verbose=0), trees, warm)
        if progress is not None:
            progress(done / len(fits))
    return sweep.models.path(judge.data.costs)


def default_tradeoffs(judge: Judge, levels: int = _LEVELS) -> NDArray[np.float64]:
    """Return descending tradeoffs, geometric, in units of the best constant's loss per cost of the expensive model.

    At the largest, the cheapest feature with a price is hardly worth it.
    """
    held, expensive, prices = judge.held, judge.expensive.held, judge.data.prices
    share = np.bincount(held.y, held.weight, judge.data.n_classes) / held.weight.sum()
    share = share[share > 0]
    cost = float(np.average(expensive.account.cost(prices), weights=held.weight))
    loss = float(-share @ np.log(share))
    if not (cost > 0 and loss > 0):
        return np.zeros(1)
    each = prices.alone
    high = np.clip(0.3 * cost / each[each > 0].min(initial=cost), *_HIGHEST)
    return np.geomspace(high, _LOWEST, levels) * (loss / cost)
