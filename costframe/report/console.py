"""Costs and choices in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from costframe.frontier.points import Frontier, Point

__all__ = ["cost", "saved", "summary"]


def cost(value: float | None) -> str:
    """Return a cost as a table shows it: two decimals, or the magnitude where these say nothing."""
    if value is None:
        return "-"
    if value and abs(value) < 0.005:
        return f"{value:.1e}"
    return f"{value:,.2f}" if abs(value) < 1e5 else f"{value:,.0f}"


def summary(label: str, point: Point, frontier: Frontier) -> Text:
    """Say in two lines which model was chosen, and what it saves."""
    tested = point.test_score is not None and point.test_cost is not None
    score, paid = (point.test_score, point.test_cost) if tested else (point.valid_score, point.valid_cost)
    part = "test" if tested else "valid"
    text = Text.assemble((f"{label}: ", "bold"), f"{point.algorithm} at tradeoff {point.tradeoff:.3g}\n")
    text.append(f"  {part} {frontier.score_name} {score:.4f}, cost {cost(paid)} {frontier.unit} per row")
    if frontier.full_cost > 0 and paid is not None:
        text.append(f" (saves {max(0.0, 1 - paid / frontier.full_cost):.0%})")
    if point.fixed:
        text.append(f", and {cost(point.fixed)} {frontier.unit} once per batch")
    return text


def saved(paid: float, full: float) -> str:
    """Compare a cost with that of all features."""
    if abs(paid - full) < 0.01 * full:
        return "hardly less than" if paid <= full else "hardly more than"
    return f"{1 - paid / full:.0%} less than" if paid < full else f"{paid / full - 1:.0%} more than"
