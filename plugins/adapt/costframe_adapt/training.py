"""Adapt: one gate and cheap model in front of the expensive one, then perhaps another in front of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe.gates.composite import stack
from costframe_adapt.boosted.alone import CheapBoosting, CheapModel
from costframe_adapt.boosted.boosting import PairBoosting
from costframe_adapt.judge import Judge
from costframe_adapt.linear.columns import train_linear_alone
from costframe_adapt.linear.fitting import fit_linear_stage
from costframe_adapt.linear.l1_baseline import fit_l1_stage
from costframe_adapt.prepared import bin_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.gates.composite import Candidate
    from costframe.training.data import TrainingData
    from costframe.trees.boosting.boost import Ensemble
    from costframe_adapt.linear.models import LinearPair
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings, TreeSettings

__all__ = ["FittedStage", "WarmStart", "fit_stage", "train_adapt", "train_without_gate"]


@frozen(eq=False)
class WarmStart:
    """Where a fit may begin that is near one done before: at its shares, at a cheap model, or at its linear models."""

    q: NDArray[np.float64] | None = None
    cheap: Ensemble | None = None
    linear: tuple[LinearPair, ...] = ()


@frozen(eq=False)
class FittedStage:
    """One fitted stage.

    Attributes
    ----------
    best : Candidate
    objective : list of float
        What each round of its alternations went by.
    warm : WarmStart
    """

    best: Candidate
    objective: list[float]
    warm: WarmStart


def train_adapt(prepared: Prepared, settings: AdaptSettings) -> tuple[StageTree, list[float]]:
    """Put as many stages in front of the expensive model as are asked for; one that brings nothing is left out.

    Returns
    -------
    StageTree, list of float
        The model, and what each round of all alternations went by.
    """
    expensive, objective = prepared.expensive, []
    for _ in range(settings.n_stages):
        judge = Judge(prepared, expensive, settings)
        stages = [fit_stage(judge, trees) for trees in settings.trees or (None,)]
        best = min((stage.best for stage in stages), key=judge.total)
        objective += [value for stage in stages for value in stage.objective]
        expensive = stack(best, expensive, prepared.data, prepared.held, prepared.n_threads)
    return expensive.tree, objective


def train_without_gate(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Train the cheap model alone, as where no row may go on: on all training rows."""
    if not settings.trees:
        return train_linear_alone(data, settings)
    n_threads, trees = settings.n_threads, settings.trees[0]
    boosting = CheapBoosting(data, bin_rows(data.train, n_threads), trees, settings.tradeoff, n_threads)
    ensemble, n_rounds = boosting.train(None if settings.paper else data.valid)
    return ensemble.finish(data.feature_names, n_rounds)


def fit_stage(judge: Judge, trees: TreeSettings | None, warm: WarmStart | None = None) -> FittedStage:
    """Fit one stage: of linear models, or of these trees."""
    warm = warm or WarmStart()
    settings = judge.settings
    if settings.variant == "l1":
        found, objective = fit_l1_stage(judge)
        return FittedStage(min(found, key=judge.total), objective, WarmStart())
    if trees is None:
        found, linear, objective = fit_linear_stage(judge, warm.linear)
        return FittedStage(min(found, key=judge.total), objective, WarmStart(linear=linear))
    boosting = PairBoosting(judge, trees)
    if settings.paper:
        best, objective = boosting.as_printed()
        return FittedStage(best, objective, WarmStart())
    cheap, q = CheapModel.best(judge, trees, warm.cheap), None
    found, objective = [cheap.candidate], []
    if settings.full_share != 0:
        more, values = boosting.gates(cheap)
        found, objective = found + more, objective + values
        if trees.kind == "cegb":
            more, q, values = boosting.jointly(cheap, warm.q)
            found, objective = found + more, objective + values
    return FittedStage(min(found, key=judge.total), objective, WarmStart(q=q))
