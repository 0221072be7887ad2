"""What to say where a budget buys nothing that is better than a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from costframe.frontier.points import Frontier, Point

__all__ = ["UselessBudgetWarning", "nothing_useful"]


class UselessBudgetWarning(UserWarning):
    """Nothing within a budget beats a constant by more than the error."""


def nothing_useful(frontier: Frontier, chosen: Point, budget: float | None) -> str | None:
    """Name the cheapest model that beats the constant, where the constant was chosen; else return None."""
    if chosen.n_features:
        return None
    within = "nothing" if budget is None else f"nothing within {budget:g} {frontier.unit}"
    useful = frontier.useful()
    if useful is None:
        return f"{within} beats the constant by more than the error, and nothing found at any cost does"
    return (
        f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
        f"{useful.cost:.4g} {frontier.unit} per row, {frontier.score_name} {useful.score:.4g} "
        f"\u00b1 {useful.score_error:.2g}"
    )
