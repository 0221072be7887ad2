"""A grid over tradeoffs and shares in one fit: all models looked at on the way, measured in score and exact cost."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.gates.composite import Predictions, compose, mix_predictions, stack
from costframe.gates.gate_curve import CHEAP, OperatingPoint
from costframe.gates.pair import GatedPair
from costframe.training.model_path import PathCollector
from costframe.training.progress import track
from costframe_adapt.boosted.annealed import anneal_cheap
from costframe_adapt.judge import Judge
from costframe_adapt.training import WarmStart, fit_stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.gates.composite import Candidate
    from costframe.gates.expensive import ExpensiveModel
    from costframe.training.model_path import DeferredPath
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.monitor import Predicted
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings, TreeSettings

__all__ = ["AdaptPoint", "Grid", "sweep_grid", "usual_tradeoffs"]

_LEVELS = 12
_AFRESH = 3  # every third fit of linear models has all starts: those nearby may all be in one basin
_LOWEST = 0.02  # of the tradeoffs, in units of the constant's loss per cost of the expensive model
_HIGHEST = (1.0, 30.0)


@frozen
class AdaptPoint:
    """A model of a grid.

    Attributes
    ----------
    tradeoff : float
        At which it was trained; 0 for the expensive model alone.
    full_share : float or None
    n_rounds : int
        Trees, or columns, of its cheap models and gates; none for the expensive model alone.
    loss, cost : float
        Mean validation loss, and exact mean validation cost per row.
    score : float
        The score that was asked for, else minus the loss.
    """

    tradeoff: float
    full_share: float | None
    n_rounds: int
    loss: float
    cost: float
    score: float


@frozen(eq=False)
class Grid:
    """What a sweep is asked for.

    Attributes
    ----------
    tradeoffs : float64 (levels,)
        Descending.
    full_shares : tuple of float or None
    score : callable, optional
        Of held-out rows and predictions; minus their loss by default.
    progress : callable, optional
        Called with the share that is done, from 0 to 1.
    """

    tradeoffs: NDArray[np.float64]
    full_shares: tuple[float | None, ...]
    score: Callable[[Predicted], float] | None = None
    progress: Callable[[float], None] | None = None


@define(eq=False)
class _Sweep:
    """A grid under way; models that others dominate both by score and by loss are let go."""

    prepared: Prepared
    settings: AdaptSettings
    grid: Grid
    models: PathCollector[AdaptPoint] = field(factory=PathCollector)

    def begin(self) -> None:
        """Add the expensive model alone."""
        expensive, held = self.prepared.expensive, self.prepared.held
        weight = held.weight / held.weight.sum()
        cost = float(weight @ expensive.held.account.cost(self.prepared.data.prices))
        loss = float(weight @ expensive.held.loss)
        point = AdaptPoint(0.0, None, 0, loss, cost, self._score(expensive.held.proba, loss))
        self.models.add(point, partial(expensive.tree.with_costs, self.prepared.data.costs))

    def recorder(
        self, tradeoff: float, full_share: float | None, expensive: ExpensiveModel
    ) -> Callable[[Candidate], None]:
        """Return what adds the models of one fit."""

        def record(candidate: Candidate) -> None:
            points = [candidate.point]
            if not self.settings.paper:
                points = list(candidate.curve.points(candidate.point, tradeoff, full_share))
            for point in points:
                going = candidate.curve.goes_on(point)
                mixed = mix_predictions(candidate.held.cheap, expensive.held.proba, going)
                measured = (point.loss, point.cost, self._score(mixed, point.loss))
                found = AdaptPoint(tradeoff, full_share, len(candidate.pair.bank), *measured)
                self.models.add(found, partial(compose, candidate.pair, point, expensive.tree))

        return record

    def anneal(self, trees: TreeSettings) -> AnnealedPath:
        """Anneal cheap models of all tradeoffs, and add the best of them."""
        path = anneal_cheap(self.prepared, trees, self.grid.score)
        wanted = [*path.frontier(), *(path.at(tradeoff) for tradeoff in self.grid.tradeoffs.tolist())]
        for one in dict.fromkeys(wanted):
            pair = GatedPair.without_gate(path.branches[one.branch].finish(path.feature_names, one.n_rounds))
            point = OperatingPoint(CHEAP, np.inf, one.loss, one.cost, 0.0)
            found = AdaptPoint(one.tradeoff, 0.0, len(pair.bank), one.loss, one.cost, one.score)
            self.models.add(found, partial(compose, pair, point, self.prepared.expensive.tree))
        return path

    def fit(self, settings: AdaptSettings, trees: TreeSettings | None, warm: WarmStart) -> WarmStart:
        """Fit all stages at one tradeoff, and return where the first ended."""
        prepared, expensive, ended = self.prepared, self.prepared.expensive, warm
        for number in range(settings.n_stages):
            record = self.recorder(settings.tradeoff, settings.full_share, expensive)
            stage = fit_stage(Judge(self.prepared, expensive, settings, record), trees, None if number else warm)
            ended = ended if number else stage.warm
            if number + 1 < settings.n_stages:
                expensive = stack(stage.best, expensive, prepared.data, prepared.held, prepared.n_threads)
        self.models.drop_dominated()
        return ended

    def _score(self, predictions: NDArray[np.float64], loss: float) -> float:
        return -loss if self.grid.score is None else self.grid.score(Predictions(self.prepared.held, predictions))


def sweep_grid(prepared: Prepared, settings: AdaptSettings, grid: Grid) -> DeferredPath[AdaptPoint]:
    """Fit at each share with each kind of trees down the tradeoffs, each fit from where the one before ended."""
    sweep = _Sweep(prepared, evolve(settings, verbose=0), grid)
    sweep.begin()
    cheap = {} if settings.paper else {trees: sweep.anneal(trees) for trees in settings.trees}
    fits = list(product(grid.full_shares, settings.trees or (None,), enumerate(grid.tradeoffs.tolist())))
    warm = WarmStart()
    for done, (share, trees, (level, tradeoff)) in enumerate(track(fits, "Adapt", verbose=settings.verbose), 1):
        if level == 0 or (trees is None and level % _AFRESH == 0):
            warm = WarmStart()
        if trees in cheap:
            best = cheap[trees].at(tradeoff)
            warm = evolve(warm, cheap=cheap[trees].branches[best.branch].prefix(best.n_rounds))
        warm = sweep.fit(evolve(sweep.settings, tradeoff=tradeoff, full_share=share), trees, warm)
        if grid.progress is not None:
            grid.progress(done / len(fits))
    return sweep.models.path(prepared.data.costs)


def usual_tradeoffs(prepared: Prepared, levels: int = _LEVELS) -> NDArray[np.float64]:
    """Return descending tradeoffs, geometric, in units of the best constant's loss per cost of the expensive model.

    They begin where the cheapest feature that is not free is hardly worth its price.
    """
    held, expensive, prices = prepared.held, prepared.expensive.held, prepared.data.prices
    share = np.bincount(held.y, held.weight, prepared.data.n_classes) / held.weight.sum()
    share = share[share > 0]
    cost = float(np.average(expensive.account.cost(prices), weights=held.weight))
    loss = float(-share @ np.log(share))
    if not (cost > 0 and loss > 0):
        return np.zeros(1)
    each = prices.cost + prices.needs @ prices.resource_cost
    high = np.clip(0.3 * cost / each[each > 0].min(initial=cost), *_HIGHEST)
    return np.geomspace(high, _LOWEST, levels) * (loss / cost)
