"""From a bank and rows to a cascade as a stage tree: routes that reject, with answers that know how likely they err."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from costframe.core.groups import PricedGroups
from costframe.core.outputs import BankOutputs
from costframe.core.predictor import StageTree
from costframe.core.stages import Answer, Route
from costframe_cronus.calibration import calibrate
from costframe_cronus.cascade import initialize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.bank import WeakLearnerBank
    from costframe.core.stages import Stage
    from costframe.core.training import Rows, TrainingData
    from costframe_cronus.cascade import Cascade, CascadeSettings

__all__ = ["as_stage_tree", "train_cronus"]


def train_cronus(
    data: TrainingData, bank: WeakLearnerBank, settings: CascadeSettings, positive_weight: float, n_jobs: int | None
) -> StageTree:
    """Train a cascade. What labels mean to it, and what kind of answers it gives, is decided here and nowhere else.

    Labels are two classes, or targets from -1 to 1. Answers of classes are calibrated on validation data if there are
    any; those of targets rank, and rows that are rejected stand below all others, those rejected first lowest.

    Parameters
    ----------
    data : TrainingData
    bank : WeakLearnerBank
    settings : CascadeSettings
    positive_weight : float
        What the loss of a row of target 1 is multiplied by.
    n_jobs : int or None
    """
    rows = data.train
    outputs = BankOutputs.of(bank, rows.X, n_jobs)
    comparisons = outputs.comparisons(bank, data.prices.split, rows.weight)
    groups = PricedGroups.of_bank(bank, data.prices, n_rows=rows.total_weight, comparisons=comparisons)
    target = _target(data, rows)
    cascade = initialize(outputs, target, rows.weight, _emphasis(target, positive_weight), groups, settings)
    if not data.n_classes:
        return as_stage_tree(bank, cascade, None, settings.steepness)
    seen = rows if data.valid is None else data.valid
    scores = (outputs if seen is rows else BankOutputs.of(bank, seen.X, n_jobs)).times(cascade.weights.T)
    links = _calibrated(cascade, scores + cascade.intercept, seen.y, seen.weight, settings.steepness)
    return as_stage_tree(bank, cascade, links, settings.steepness)


def _target(data: TrainingData, rows: Rows) -> NDArray[np.float64]:
    """Return what scores are fitted to: float64 (n,), from -1 to 1."""
    return np.asarray(2.0 * rows.y - 1.0 if data.n_classes else rows.y)


def _emphasis(target: NDArray[np.float64], positive_weight: float) -> NDArray[np.float64]:
    """Return what the loss of each row is multiplied by: 1 at target -1, w+ at 1, and in between."""
    share = (target + 1.0) / 2.0
    return np.asarray(positive_weight * share + (1.0 - share))


def as_stage_tree(
    bank: WeakLearnerBank, cascade: Cascade, links: list[tuple[float, float]] | None, steepness: float
) -> StageTree:
    """Make a chain of routes; stage k's answer is sigmoid(a s + b) of its score s, for (a, b) = links[k].

    Without links the answer ranks: it is k + s / (2 (1 + |s|)), k counted from 0, also where there is but one stage.
    A row is rejected where its score is less than theta, and a route passes on what exceeds its threshold.
    """
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[cascade.weights.any(axis=0)])
    stages: list[Stage] = []
    for k, (weights, intercept) in enumerate(zip(cascade.weights, cascade.intercept, strict=True)):
        learners = np.unique(owner[weights != 0])
        of_stage = np.searchsorted(used, learners), weights[np.isin(owner, learners)]
        if k < len(cascade.threshold):
            theta = float(np.nextafter(cascade.threshold[k], -np.inf))
            stages.append(Route(*of_stage, [intercept], theta, steepness, 2 * k + 1, 2 * k + 2))
        if links is None:
            stages.append(Answer(*of_stage, [intercept], "ranked", k))
        else:
            slope, constant = links[k]
            stages.append(Answer(of_stage[0], slope * of_stage[1], [slope * intercept + constant], "sigmoid"))
    return StageTree(bank.restrict(used), stages)


def _calibrated(
    cascade: Cascade,
    scores: NDArray[np.float64],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    steepness: float,
) -> list[tuple[float, float]]:
    """Return slope and constant of each stage's answer, from rows weighted by the probability to exit there."""
    left, links = weight.astype(np.float64), []
    for k in range(len(cascade.weights)):
        on = expit(steepness * (scores[:, k] - cascade.threshold[k])) if k < len(cascade.threshold) else 0.0
        exiting, left = left * (1.0 - on), left * on
        slope, constants = 0.0, np.zeros(2)
        if exiting.sum() > 0:
            slope, constants = calibrate(np.stack([np.zeros(len(codes)), scores[:, k]], axis=1), codes, exiting)
        links.append((slope, float(constants[1] - constants[0])))
    return links
