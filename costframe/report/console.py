"""Texts about costs and chosen models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["compare_cost", "cost", "summary", "with_error"]


def cost(value: float | None) -> str:
    """Return a cost as text: two decimals, or three digits if it is small or large."""
    if value is None:
        return "-"
    if value and abs(value) < 0.005:
        return f"{value:.1e}"
    return f"{value:,.2f}" if abs(value) < 1e5 else f"{value:,.0f}"


def with_error(score: float, error: float) -> str:
    """Return a score with its standard error as text."""
    return f"{score:.4f} \u00b1{error:.3f}".replace("\u00b10.", "\u00b1.")


def summary(label: str, point: Point, frontier: Frontier) -> Text:
    """Return three lines about a chosen model: its tradeoff, score, and cost against that of all features."""
    tested = point.test_score is not None and point.test_cost is not None
    paid = point.test_cost if tested else point.cost
    text = Text.assemble((f"{label}: ", "bold"), f"{point.algorithm} at tradeoff {point.tradeoff:.3g}\n")
    text.append(f"  {frontier.score_name} {with_error(point.score, point.score_error)}")
    text.append(f"; test {point.test_score:.4f}" if tested else "")
    low, high = frontier.interval(point)
    text.append(f" (9 of 10 times in {low:.4f} to {high:.4f})\n" if tested else "\n")
    text.append(f"  cost {cost(paid)} {frontier.unit} per row{' on test' if tested else ''}")
    if frontier.full_cost > 0 and paid is not None:
        text.append(f" (saves {max(0.0, 1 - paid / frontier.full_cost):.0%})")
    if point.fixed:
        text.append(f", and {cost(point.fixed)} {frontier.unit} once per batch")
    return text


def compare_cost(paid: float, full: float) -> str:
    """Return a text that compares a cost with that of all features."""
    if abs(paid - full) < 0.01 * full:
        return "hardly less than" if paid <= full else "hardly more than"
    return f"{1 - paid / full:.0%} less than" if paid < full else f"{paid / full - 1:.0%} more than"
