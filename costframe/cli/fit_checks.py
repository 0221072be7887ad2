"""Checks of what to fit, before a table is read."""

from __future__ import annotations

from collections.abc import Iterable

from costframe.core.errors import ParameterError
from costframe.core.plugins.registry import registry
from costframe.core.prices.costs import CostModel
from costframe.study.algorithms import EVERY, choose_algorithms
from costframe.training.scoring import score_named


def check_fit(algorithms: Iterable[str] | None, task: str | None, score: str | None) -> None:
    """Refuse unknown algorithms and scores, and algorithms without the task, before reading a table."""
    for name in algorithms or ():
        if name != EVERY:
            registry().algorithm(name)
    if task is not None:
        choose_algorithms(task, algorithms)
    if score is not None:
        score_named(score)


def check_goal(
    tradeoff: float | None, budget: float | None, costs: CostModel | None = None, score: str | None = None
) -> None:
    """Refuse a fit at a tradeoff and within a budget; with prices, also one without both that has no bill to lower."""
    known = costs is not None and (costs.errors is None or score is not None)
    if (tradeoff is not None and budget is not None) or (tradeoff is None and budget is None and known):
        raise ParameterError(
            "give either --tradeoff (loss per unit of cost) or --budget (mean cost per row at most), or neither with "
            "prices of errors and without --score, for the least bill"
        )
