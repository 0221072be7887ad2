"""A grid over tradeoffs and shares in one fit: all models looked at on the way, measured in score and exact cost."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.training.model_path import MeasuredPath
from costframe.training.progress import track
from costframe_adapt.boosted.alone import without_gate
from costframe_adapt.boosted.annealed import anneal_cheap
from costframe_adapt.candidate import composed, stacked
from costframe_adapt.judge import Judge
from costframe_adapt.measured import Said, scored, ways
from costframe_adapt.sides import CHEAP, Placed
from costframe_adapt.training import Warm, fit_stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.costs import CostModel
    from costframe.trees.annealing.path import AnnealedPath
    from costframe.trees.boosting.boost import Ensemble
    from costframe.trees.boosting.monitor import Predicted
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.expensive import Full
    from costframe_adapt.front import Front
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings, TreeSettings

__all__ = ["AdaptPath", "AdaptPoint", "Grid", "sweep_grid", "usual_tradeoffs"]

_LEVELS = 12
_AFRESH = 3  # of so many fits of linear models one has all starts: those nearby may all be in one basin
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
    number : int
        Its place among the models that are kept.
    """

    tradeoff: float
    full_share: float | None
    n_rounds: int
    loss: float
    cost: float
    score: float
    number: int


@frozen(eq=False)
class Parts:
    """What makes a model: a front and where it divides, or nothing but what stands behind it."""

    front: Front | None
    placed: Placed | None
    full: Full

    def model(self) -> StageTree:
        """Put it together."""
        if self.front is None or self.placed is None:
            return self.full.tree
        return composed(self.front, self.placed, self.full)


@frozen(eq=False)
class AdaptPath(MeasuredPath[AdaptPoint]):
    """The models of a grid that are worth having.

    Attributes
    ----------
    points : tuple of AdaptPoint
    parts : tuple of Parts
        What their models are put together from when they are asked for: each holds the whole expensive model.
    costs : CostModel
    """

    points: tuple[AdaptPoint, ...]
    parts: tuple[Parts, ...]
    costs: CostModel

    def predictor(self, point: AdaptPoint) -> StageTree:
        """Return the model of a point."""
        return self.parts[point.number].model().with_costs(self.costs)

    def plain(self) -> AdaptPoint:
        """Return the expensive model alone, which comes first."""
        return self.points[0]


@frozen(eq=False)
class Grid:
    """What a sweep is asked for.

    Attributes
    ----------
    tradeoffs : float64 (levels,)
        Descending.
    full_shares : tuple of float or None
    score : callable, optional
        Of rows held out and predictions; minus their loss by default.
    told : callable, optional
        Is told the share that is done, from 0 to 1.
    """

    tradeoffs: NDArray[np.float64]
    full_shares: tuple[float | None, ...]
    score: Callable[[Predicted], float] | None = None
    told: Callable[[float], None] | None = None


@frozen(eq=False)
class _Kept:
    point: AdaptPoint
    parts: Parts


@define(eq=False)
class _Sweep:
    """A grid under way; models that others dominate both by score and by loss are let go."""

    prepared: Prepared
    settings: AdaptSettings
    grid: Grid
    kept: list[_Kept] = field(factory=list)
    count: int = 0
    _waiting: list[_Kept] = field(factory=list)

    def begin(self) -> None:
        """Note the expensive model alone."""
        full, seen = self.prepared.full, self.prepared.seen
        weight = seen.weight / seen.weight.sum()
        cost, loss = float(weight @ full.seen.account.cost(self.prepared.data.prices)), float(weight @ full.seen.loss)
        score = self._score(Said(seen, full.seen.proba), loss)
        self.kept = [_Kept(AdaptPoint(0.0, None, 0, loss, cost, score, 0), Parts(None, None, full))]

    def noting(self, tradeoff: float, full_share: float | None, full: Full) -> Callable[[Candidate], None]:
        """Return what notes the models of one fit."""

        def note(candidate: Candidate) -> None:
            rounds = len(candidate.front.bank)
            for placed in ways(candidate, tradeoff, full_share):
                score = self._score(scored(candidate, placed, full, self.prepared.seen), placed.loss)
                self.count += 1
                point = AdaptPoint(tradeoff, full_share, rounds, placed.loss, placed.cost, score, self.count)
                self._waiting.append(_Kept(point, Parts(candidate.front, placed, full)))

        return note

    def cheap_models(self, trees: TreeSettings) -> AnnealedPath:
        """Anneal cheap models of all tradeoffs, and note the best of them."""
        path = anneal_cheap(self.prepared, trees, self.grid.score)
        wanted = [*path.frontier(), *(path.at(tradeoff) for tradeoff in self.grid.tradeoffs.tolist())]
        for found in dict.fromkeys(wanted):
            front = without_gate(path.branches[found.branch].finish(path.feature_names, found.n_rounds))
            rounds, measured = len(front.bank), (found.loss, found.cost, found.score)
            placed = Placed(CHEAP, np.inf, found.loss, found.cost, 0.0)
            self.count += 1
            point = AdaptPoint(found.tradeoff, 0.0, rounds, *measured, self.count)
            self._waiting.append(_Kept(point, Parts(front, placed, self.prepared.full)))
        return path

    def settle(self) -> None:
        """Let go of what is dominated."""
        everything = self.kept + self._waiting
        keep = {0} | _front(everything, "score") | _front(everything, "loss")
        self.kept, self._waiting = [everything[place] for place in sorted(keep)], []

    def path(self) -> AdaptPath:
        """Return what is left."""
        points = tuple(evolve(one.point, number=number) for number, one in enumerate(self.kept))
        return AdaptPath(points, tuple(one.parts for one in self.kept), self.prepared.data.costs)

    def _score(self, said: Said, loss: float) -> float:
        return -loss if self.grid.score is None else self.grid.score(said)


def _front(kept: list[_Kept], name: str) -> set[int]:
    """Return the places of the models that none beats at no more cost; of equals, the first."""
    sign = -1.0 if name == "loss" else 1.0
    value, cost = np.array([(sign * getattr(one.point, name), one.point.cost) for one in kept]).T
    order = np.lexsort((np.arange(len(kept)), -value, cost))
    best, found = -np.inf, set()
    for place in order.tolist():
        if value[place] > best:
            best = value[place]
            found.add(place)
    return found


def sweep_grid(prepared: Prepared, settings: AdaptSettings, grid: Grid) -> AdaptPath:
    """Fit at each share with each kind of trees down the tradeoffs, each fit from where the one before ended."""
    sweep = _Sweep(prepared, evolve(settings, verbose=0), grid)
    sweep.begin()
    cheap = {trees: sweep.cheap_models(trees) for trees in settings.trees}
    fits = list(product(grid.full_shares, settings.trees or (None,), enumerate(grid.tradeoffs.tolist())))
    warm = Warm()
    for done, (share, trees, (level, tradeoff)) in enumerate(track(fits, "Adapt", verbose=settings.verbose), 1):
        best = None if trees is None else _best_at(cheap[trees], tradeoff)
        asked = evolve(sweep.settings, tradeoff=tradeoff, full_share=share)
        afresh = level == 0 or (trees is None and level % _AFRESH == 0)
        warm = _fit(sweep, asked, trees, evolve(Warm() if afresh else warm, cheap=best))
        sweep.settle()
        if grid.told is not None:
            grid.told(done / len(fits))
    return sweep.path()


def _best_at(path: AnnealedPath, tradeoff: float) -> Ensemble:
    point = path.at(tradeoff)
    return path.branches[point.branch].prefix(point.n_rounds)


def _fit(sweep: _Sweep, asked: AdaptSettings, trees: TreeSettings | None, warm: Warm) -> Warm:
    """Fit all stages at one tradeoff, and return where the first ended."""
    prepared, full, ended = sweep.prepared, sweep.prepared.full, None
    for number in range(asked.n_stages):
        judge = Judge(prepared, full, asked, sweep.noting(asked.tradeoff, asked.full_share, full))
        stage = fit_stage(judge, trees, warm if number == 0 else None)
        ended = ended or stage.warm
        if number + 1 < asked.n_stages:
            full = stacked(stage.best, full, prepared.data, prepared.seen, prepared.n_threads)
    assert ended is not None  # noqa: S101 - there is at least one stage
    return ended


def usual_tradeoffs(prepared: Prepared, levels: int = _LEVELS) -> NDArray[np.float64]:
    """Return descending tradeoffs, geometric, in units of the best constant's loss per cost of the expensive model.

    They begin where the cheapest feature that is not free is hardly worth its price.
    """
    seen, full, prices = prepared.seen, prepared.full.seen, prepared.data.prices
    share = np.bincount(seen.y, seen.weight, prepared.data.n_classes) / seen.weight.sum()
    share = share[share > 0]
    cost = float(np.average(full.account.cost(prices), weights=seen.weight))
    loss = float(-share @ np.log(share))
    if not (cost > 0 and loss > 0):
        return np.zeros(1)
    each = prices.cost + prices.needs @ prices.resource_cost
    high = np.clip(0.3 * cost / each[each > 0].min(initial=cost), *_HIGHEST)
    return np.geomspace(high, _LOWEST, levels) * (loss / cost)
