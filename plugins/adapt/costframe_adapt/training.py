"""Adapt: one gate and cheap model in front of the expensive one, then perhaps another in front of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe_adapt.boosted.alone import train_cheap
from costframe_adapt.boosted.binning import Binning
from costframe_adapt.boosted.boosting import Boosting
from costframe_adapt.candidate import stacked
from costframe_adapt.judge import Judge
from costframe_adapt.linear.fitting import fit_linearly, linear_alone
from costframe_adapt.linear.l1_baseline import fit_l1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe.trees.boosting.boost import Ensemble
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.linear.models import Linear
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings, TreeSettings

__all__ = ["Stage", "Trained", "Warm", "fit_stage", "train_adapt", "train_without_gate"]


@frozen(eq=False)
class Warm:
    """Where a fit may begin that is near one done before: at its shares, at a cheap model, or at its linear models."""

    q: NDArray[np.float64] | None = None
    cheap: Ensemble | None = None
    linear: tuple[Linear, ...] = ()


@frozen(eq=False)
class Stage:
    """One fitted stage.

    Attributes
    ----------
    best : Candidate
    objective : list of float
        What each round of its alternations went by.
    warm : Warm
    """

    best: Candidate
    objective: list[float]
    warm: Warm


@frozen(eq=False)
class Trained:
    """What training returns: the model, and what each round of all alternations went by."""

    tree: StageTree
    objective: list[float]


def train_adapt(prepared: Prepared, settings: AdaptSettings) -> Trained:
    """Put as many stages in front of the expensive model as are asked for; one that brings nothing is left out."""
    full, objective = prepared.full, []
    for _ in range(settings.n_stages):
        judge = Judge(prepared, full, settings, _nobody)
        stages = [fit_stage(judge, trees) for trees in settings.trees or (None,)]
        best = min((stage.best for stage in stages), key=judge.total)
        objective += [value for stage in stages for value in stage.objective]
        full = stacked(best, full, prepared.data, prepared.seen, prepared.n_threads)
    return Trained(full.tree, objective)


def train_without_gate(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Train the cheap model alone, as where no row may go on: on all training rows."""
    if not settings.trees:
        return linear_alone(data, settings)
    return train_cheap(data, Binning(data, settings.n_threads), settings.trees[0], settings.tradeoff)


def fit_stage(judge: Judge, trees: TreeSettings | None, warm: Warm | None = None) -> Stage:
    """Fit one stage: of linear models, or of these trees in the ways that are asked for."""
    warm = warm or Warm()
    if judge.settings.variant == "l1":
        found, objective = fit_l1(judge)
        return Stage(min(found, key=judge.total), objective, Warm())
    if trees is None:
        found, linear, objective = fit_linearly(judge, warm.linear)
        return Stage(min(found, key=judge.total), objective, Warm(linear=linear))
    boosting, shares = Boosting.begin(judge, trees, warm.cheap), warm.q
    found, objective = [boosting.alone.candidate], []
    if judge.settings.full_share != 0:
        if "gates" in judge.settings.alternations:
            more, values = boosting.gates()
            found, objective = found + more, objective + values
        if "joint" in judge.settings.alternations:
            more, shares, values = boosting.jointly(warm.q)
            found, objective = found + more, objective + values
    return Stage(min(found, key=judge.total), objective, Warm(q=shares))


def _nobody(_candidate: Candidate) -> None:
    """Hear of a candidate."""
