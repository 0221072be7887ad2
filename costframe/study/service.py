"""Figures of service: estimates on completed copies of held-out rows, joined by Rubin's rules (1987)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8
from costframe.study.estimates import CostEstimate, Estimate, estimate_on_rows
from costframe.study.rows import StudyRows
from costframe.training.library_scores import LibraryScore


def estimate_in_service(
    score: str | LibraryScore, rows: StudyRows, model: Any, predict: Callable[[Any], F8]
) -> Estimate:
    """Estimate the score of a model when all tests that it asks for are made, from predictions of X."""
    return pool_estimates([estimate_on_rows(score, copy, model, predict(copy.X)) for copy in rows.completed()])


def pool_estimates(copies: Sequence[Estimate]) -> Estimate:
    """Join the estimates of completed copies of the same rows.

    Their mean has the variance W + (1 + 1/M) B, of the mean variance W within M copies, and that between them, B.
    """
    first = copies[0]
    if len(copies) == 1:
        return first
    scores = [copy.score for copy in copies]
    moved = [copy.influence for copy in copies if copy.influence is not None]
    mistakes = [copy.mistakes for copy in copies if copy.mistakes is not None]
    return evolve(
        first,
        score=float(np.mean(scores)),
        error=_joint_error(scores, [copy.error for copy in copies]),
        influence=np.mean(moved, axis=0) if len(moved) == len(copies) else None,
        mistakes=np.mean(mistakes, axis=0) if len(mistakes) == len(copies) else None,
    )


def pool_costs(copies: Sequence[CostEstimate]) -> CostEstimate:
    """Join the costs of completed copies of the same rows, as `pool_estimates` does."""
    first = copies[0]
    if len(copies) == 1:
        return first
    means = [copy.mean for copy in copies]
    moved = [copy.influence for copy in copies if copy.influence is not None]
    influence = np.mean(moved, axis=0) if len(moved) == len(copies) else None
    return CostEstimate(float(np.mean(means)), _joint_error(means, [copy.error for copy in copies]), influence)


def _joint_error(values: Sequence[float], errors: Sequence[float]) -> float:
    """Return the standard error of a mean over copies, by Rubin's rules."""
    between = float(np.var(values, ddof=1)) * (1 + 1 / len(values))
    return math.sqrt(float(np.mean(np.square(errors))) + between)
