"""Adapt: a gate and a cheap model in front of an expensive model, then perhaps another pair; and a grid of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
from attrs import define, evolve, frozen

from costframe import StageTree
from costframe.gates import Candidate, ExpensiveModel, GatedPair, GatePoints, OperatingPoint
from costframe.plugin import F8, DeferredPath, PathPoint, TrainingData, track
from costframe.stagewise import blas_for
from costframe.trees import AnnealedPath, BinnedData, Ensemble, Scorer
from costframe_adapt.boosted_stage import fit_boosted_stage
from costframe_adapt.boosting import boost_pair
from costframe_adapt.cheap_model import anneal_cheap, boost_cheap
from costframe_adapt.judge import Judge
from costframe_adapt.linear import LinearPair
from costframe_adapt.linear_stage import fit_linear_stage, train_linear_alone
from costframe_adapt.settings import AdaptSettings, AdaptTrees

_AFRESH = 3  # every third fit of linear models has all starts: similar solutions may share one local optimum


@frozen(eq=False)
class StageStart:
    """Start of a fit from the result of a similar one: its shares, a cheap model, or linear models."""

    q: F8 | None = None
    cheap: Ensemble | None = None
    linear: tuple[LinearPair, ...] = ()


def train_adapt(judge: Judge) -> tuple[StageTree, list[float]]:
    """Put stages in front of the expensive model, except for useless ones.

    Return the model, and the objective after each round of all alternations.
    """
    objective: list[float] = []
    for _ in range(judge.settings.n_stages):
        stages = [fit_stage(judge, trees) for trees in judge.settings.trees or (None,)]
        judge = judge.behind(min((candidate for candidate, _, _ in stages), key=judge.total))
        objective += [value for _, values, _ in stages for value in values]
    return judge.expensive.tree, objective


def fit_stage(
    judge: Judge, trees: AdaptTrees | None, warm: StageStart | None = None
) -> tuple[Candidate, list[float], StageStart]:
    """Fit one stage, of trees, or of linear models if `trees` is None.

    Return the best candidate, the objective after each round, and a start for similar fits.
    """
    warm, ended, settings = warm or StageStart(), StageStart(), judge.settings
    if trees is None:
        with blas_for(*judge.rows.X.shape):  # threads of small products wait longer than they work
            candidates, linear, objective = fit_linear_stage(judge, warm.linear)
        ended = StageStart(linear=linear)
    elif settings.paper:
        candidate, objective = boost_pair(judge, trees)
        candidates = [candidate]
    else:
        candidates, q, objective = fit_boosted_stage(judge, trees, warm.q, warm.cheap)
        ended = StageStart(q=q)
    return min(candidates, key=judge.total), objective, ended


def train_without_gate(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Train the cheap model alone, on all training rows."""
    if not settings.trees:
        return train_linear_alone(data, settings)
    held = None if settings.paper else data.valid
    binned = BinnedData.of(data.train, settings.binning, data.categorical)
    ensemble, n_rounds = boost_cheap(data, binned, settings.trees[0], settings.tradeoff, held)
    return ensemble.finish(data.feature_names, n_rounds)


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
        for cheap in dict.fromkeys(wanted):
            pair = GatedPair.of(path.branches[cheap.key].finish(path.feature_names, cheap.n_rounds))
            point = OperatingPoint("cheap", np.inf, cheap.loss, cheap.cost, 0.0)
            measured = PathPoint(len(pair.bank), cheap.tradeoff, cheap.loss, cheap.cost, cheap.score, key=0.0)
            self.points.models.add(measured, partial(pair.at, point, self.judge.expensive.tree))
        return path

    def fit(self, settings: AdaptSettings, trees: AdaptTrees | None, warm: StageStart) -> StageStart:
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
    tradeoffs: F8,
    full_shares: Sequence[float | None],
    score: Scorer | None = None,
    progress: Callable[[float], None] | None = None,
) -> DeferredPath:
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
    warm = StageStart()
    for done, (share, trees, (level, tradeoff)) in enumerate(track(fits, "Adapt", verbose=settings.verbose), 1):
        if level == 0 or (trees is None and level % _AFRESH == 0):
            warm = StageStart()
        if trees in cheap:
            best = cheap[trees].at(tradeoff)
            warm = evolve(warm, cheap=cheap[trees].branches[best.key].prefix(best.n_rounds))
        warm = sweep.fit(evolve(settings, tradeoff=tradeoff, full_share=share, verbose=0), trees, warm)
        if progress is not None:
            progress(done / len(fits))
    return sweep.points.models.path(judge.data.costs)
