"""Figures of service: estimates on completed copies of held-out rows, joined by Rubin's rules (1987)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8
from costframe.core.cost.report import error_over_copies, spread_over_copies
from costframe.datasets import Dataset
from costframe.study.estimates import CostEstimate, Estimate, estimate_on_rows
from costframe.study.rows import StudyRows
from costframe.training.library_scores import LibraryScore


def estimate_in_service(
    score: str | LibraryScore,
    rows: StudyRows,
    model: Any,
    predict: Callable[[Any], F8],
    more_donors: StudyRows | None = None,
) -> Estimate:
    """Estimate the score of a model when all tests that it asks for are made, from predictions of X.

    Rows take the tests that they lack from each other, and from `more_donors`, of which the model learned nothing.
    These complete another fold, too, so that what folds have by chance of their donors is in part the same.
    """
    copies = rows.completed(more_donors)
    turns = 1.0 if more_donors is None else 1.0 + len(more_donors.y) / len(rows.y)
    return pool_estimates([estimate_on_rows(score, copy, model, predict(copy.X)) for copy in copies], turns)


def complete_part(data: Dataset, name: str) -> F8:
    """Return the features of a part's rows, float64 (n, d), with all tests made: the first of completed copies."""
    X: F8 = next(StudyRows.of_part(data.part(name)).with_records_of(data).completed()).X
    return X


def pool_estimates(copies: Sequence[Estimate], turns: float = 1.0) -> Estimate:
    """Join the estimates of completed copies of the same rows; see `error_over_copies`.

    `turns` tells in how many folds a donor gives. Influences, by which folds are joined as if each had its own donors,
    have that many times the variance between copies; the error, by which scores of folds differ, has that part of it.
    """
    first = copies[0]
    if len(copies) == 1:
        return first
    scores = np.array([copy.score for copy in copies])
    mistakes = [copy.mistakes for copy in copies if copy.mistakes is not None]
    return evolve(
        first,
        score=float(scores.mean()),
        error=error_over_copies(scores, [copy.error for copy in copies], turns=turns),
        influence=_joint_influence(scores, [copy.influence for copy in copies], turns),
        mistakes=np.mean(mistakes, axis=0) if len(mistakes) == len(copies) else None,
    )


def pool_costs(copies: Sequence[CostEstimate]) -> CostEstimate:
    """Join the costs of completed copies of the same rows, as `pool_estimates` does."""
    first = copies[0]
    if len(copies) == 1:
        return first
    means = np.array([copy.mean for copy in copies])
    influence = _joint_influence(means, [copy.influence for copy in copies])
    return CostEstimate(float(means.mean()), error_over_copies(means, [copy.error for copy in copies]), influence)


def _joint_influence(values: F8, influences: Sequence[F8 | None], turns: float = 1.0) -> F8 | None:
    """Return the influence of each row on a mean over copies: float64 (n,).

    It has what copies differ by, too, along a direction of each, the same for all models on these rows: so the error of
    a difference, of two models on the same copies, has what these differ in, and not twice what they share.
    """
    known = [moved for moved in influences if moved is not None]
    if len(known) < len(influences):
        return None
    mean: F8 = np.mean(known, axis=0)
    counted = mean != 0
    signs = np.random.default_rng(len(mean)).choice([-1.0, 1.0], (len(values), len(mean)))
    directions = signs * counted / math.sqrt(max(int(counted.sum()), 1))
    return np.asarray(mean + math.sqrt(turns) * spread_over_copies(values) @ directions)
