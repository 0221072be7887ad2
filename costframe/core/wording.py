"""Counts and lists of names in texts for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["format_count", "quote_names"]


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 value, 2 values."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def quote_names(names: Iterable[str], most: int = 4) -> str:
    """Return at most `most` names as an error text quotes them."""
    every = [repr(name) for name in names]
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
