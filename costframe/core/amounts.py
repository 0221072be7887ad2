"""Costs, scores, times and shares as short texts, for tables, pictures and sentences."""

from __future__ import annotations

__all__ = ["compare_cost", "cost", "milliseconds", "saving", "whole_percent", "with_error"]

_NOTHING = 1e-9  # a share that is rounding, not a saving


def cost(value: float | None) -> str:
    """Return a cost as text: two decimals, whole if it is large, or with an exponent if it is very small or large."""
    if value is None:
        return "-"
    if value and not 0.005 <= abs(value) < 1e15:
        return f"{value:.1e}"
    return f"{value:,.2f}" if abs(value) < 1e5 else f"{value:,.0f}"


def with_error(score: float, error: float) -> str:
    """Return a score with its standard error as text."""
    return f"{score:.4f} \u00b1{error:.3f}".replace("\u00b10.", "\u00b1.")


def milliseconds(time: float) -> str:
    """Return a time as text."""
    return f"{time:.4g} ms"


def whole_percent(share: float) -> str:
    """Return a share in percent as text; "<1%" and ">99%" for less than one percent from nothing and from all."""
    if _NOTHING < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def saving(paid: float, full: float) -> str:
    """Return the share of the price of all features that a cost saves, as text; "0%" if these are free."""
    return whole_percent(max(0.0, 1 - paid / full) if full > 0 else 0.0)


def compare_cost(paid: float, full: float) -> str:
    """Return a text that compares a cost with that of all features."""
    if abs(paid - full) <= _NOTHING * full:
        return "as much as"
    if abs(paid - full) < 0.01 * full:
        return "hardly less than" if paid <= full else "hardly more than"
    return f"{saving(paid, full)} less than" if paid < full else f"{paid / full - 1:.0%} more than"
