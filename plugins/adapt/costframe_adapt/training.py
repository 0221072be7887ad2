"""Adapt: one gate and cheap model in front of the expensive one, then perhaps another in front of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from costframe.trees.losses import loss_for
from costframe.trees.monitor import Monitor
from costframe_adapt.binning import Binning
from costframe_adapt.boosted import EARLY, Boosting, alternate, boost_alone
from costframe_adapt.candidate import Candidate, stacked

if TYPE_CHECKING:
    from costframe.core.predictor import StageTree
    from costframe.core.training import TrainingData
    from costframe_adapt.full import Full
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings

__all__ = ["Trained", "train_adapt", "train_cheap"]


@frozen(eq=False)
class Trained:
    """What training returns.

    Attributes
    ----------
    tree : StageTree
    rounds : int
        Rounds of the alternation, over all stages.
    objective : list of float
        What it went by after each round.
    """

    tree: StageTree
    rounds: int
    objective: list[float] = field(factory=list)


def train_cheap(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Train the cheap model alone, as no row may go on: on all training rows, stopped early by validation rows."""
    monitor = None
    if data.valid is not None:
        loss = loss_for(data.n_classes)
        monitor = Monitor(data.valid, loss, data.prices, settings.tradeoff, EARLY, None)
    ensemble, n_rounds = boost_alone(Binning(data, settings.n_threads), settings, settings.trees[0], monitor)
    return ensemble.finish(data.feature_names, n_rounds)


def train_adapt(prepared: Prepared, settings: AdaptSettings) -> Trained:
    """Put as many stages in front of the expensive model as are asked for; one that brings nothing is left out."""
    full, objective = prepared.full, []
    for _ in range(settings.n_stages):
        best, history = _one_stage(prepared, full, settings)
        objective += history
        full = stacked(best, full, prepared.data, prepared.seen, prepared.binning.n_threads)
    return Trained(full.tree, len(objective), objective)


def _one_stage(prepared: Prepared, full: Full, settings: AdaptSettings) -> tuple[Candidate, list[float]]:
    found = []
    for trees in settings.trees:
        best, _, history = alternate(Boosting(prepared, full, settings, trees, lambda _: None))
        found.append((best, history))
    return min(found, key=lambda one: one[0].placed.total(settings.tradeoff))
