"""A grid over tradeoffs and shares in one fit: all candidates on the way, with their score and exact cost."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve

from costframe.gates import CHEAP, GatedPair, GatePoint, GatePoints, OperatingPoint, compose
from costframe.plugin import track
from costframe_adapt.adapt import WarmStart, fit_stage
from costframe_adapt.boosting_stage import anneal_cheap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.gates import Candidate, ExpensiveModel
    from costframe.plugin import DeferredPath
    from costframe.trees import AnnealedPath, Predicted
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptSettings, AdaptTrees

__all__ = ["sweep_grid"]

_AFRESH = 3  # every third fit of linear models has all starts: similar solutions may share one local optimum


@define(eq=False)
class _Sweep:
    """The points of a grid so far, without models that others dominate both by score and by loss."""

    judge: Judge
    points: GatePoints

    def recorder(
        self, tradeoff: float, full_share: float | None, expensive: ExpensiveModel
    ) -> Callable[[Candidate], None]:
        """Return a function that adds a candidate of one fit."""
        return lambda candidate: self.points.record(candidate, tradeoff, full_share, expensive)

    def anneal(self, trees: AdaptTrees, tradeoffs: list[float]) -> AnnealedPath:
        """Anneal cheap models of all tradeoffs, and add the best of them."""
        path = anneal_cheap(self.judge, trees, self.points.score)
        wanted = [*path.frontier(), *(path.at(tradeoff) for tradeoff in tradeoffs)]
        for one in dict.fromkeys(wanted):
            pair = GatedPair.of(path.branches[one.branch].finish(path.feature_names, one.n_rounds))
            point = OperatingPoint(CHEAP, np.inf, one.loss, one.cost, 0.0)
            found = GatePoint(one.tradeoff, 0.0, len(pair.bank), one.loss, one.cost, one.score)
            self.points.models.add(found, partial(compose, pair, point, self.judge.expensive.tree))
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
        self.points.models.drop_dominated()
        return ended


def sweep_grid(
    judge: Judge,
    tradeoffs: NDArray[np.float64],
    full_shares: Sequence[float | None],
    score: Callable[[Predicted], float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> DeferredPath[GatePoint]:
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
    levels, settings = tradeoffs.tolist(), judge.settings
    sweep = _Sweep(judge, GatePoints(judge.data, judge.held, score, only_own=settings.paper))
    sweep.points.begin(judge.expensive)
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
    return sweep.points.models.path(judge.data.costs)
