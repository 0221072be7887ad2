"""Adapt: a gate and a cheap model in front of an expensive model, then perhaps another pair in front of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe.stagewise import blas_for
from costframe.trees import bin_rows
from costframe_adapt.boosting import boost_cheap, boost_pair
from costframe_adapt.boosting_stage import fit_boosted_stage
from costframe_adapt.linear_stage import fit_linear_stage, train_linear_alone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.gates import Candidate
    from costframe.plugin import StageTree, TrainingData
    from costframe.trees import Ensemble
    from costframe_adapt.judge import Judge
    from costframe_adapt.linear import LinearPair
    from costframe_adapt.settings import AdaptSettings, AdaptTrees

__all__ = ["WarmStart", "fit_stage", "train_adapt", "train_without_gate"]


@frozen(eq=False)
class WarmStart:
    """Start of a fit from the result of a similar one: its shares, a cheap model, or linear models."""

    q: NDArray[np.float64] | None = None
    cheap: Ensemble | None = None
    linear: tuple[LinearPair, ...] = ()


def train_adapt(judge: Judge) -> tuple[StageTree, list[float]]:
    """Put stages in front of the expensive model, except for useless ones.

    Return the model, and the objective after each round of all alternations.
    """
    objective: list[float] = []
    for _ in range(judge.settings.n_stages):
        stages = [fit_stage(judge, trees) for trees in judge.settings.trees or (None,)]
        judge = judge.behind(min((found for found, _, _ in stages), key=judge.total))
        objective += [value for _, values, _ in stages for value in values]
    return judge.expensive.tree, objective


def fit_stage(
    judge: Judge, trees: AdaptTrees | None, warm: WarmStart | None = None
) -> tuple[Candidate, list[float], WarmStart]:
    """Fit one stage, of trees, or of linear models if `trees` is None.

    Return the best candidate, the objective after each round, and a start for similar fits.
    """
    warm, ended, settings = warm or WarmStart(), WarmStart(), judge.settings
    if trees is None:
        with blas_for(*judge.rows.X.shape):  # threads of small products wait longer than they work
            found, linear, objective = fit_linear_stage(judge, warm.linear)
        ended = WarmStart(linear=linear)
    elif settings.paper:
        candidate, objective = boost_pair(judge, trees)
        found = [candidate]
    else:
        found, q, objective = fit_boosted_stage(judge, trees, warm.q, warm.cheap)
        ended = WarmStart(q=q)
    return min(found, key=judge.total), objective, ended


def train_without_gate(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Train the cheap model alone, on all training rows."""
    if not settings.trees:
        return train_linear_alone(data, settings)
    held = None if settings.paper else data.valid
    binned = bin_rows(data.train, settings.binning, data.categorical)
    ensemble, n_rounds = boost_cheap(data, binned, settings.trees[0], settings.tradeoff, held)
    return ensemble.finish(data.feature_names, n_rounds)
