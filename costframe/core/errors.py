"""Errors of costframe: one root, and one class for each kind of input; and the wording of counts and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class CostframeError(ValueError):
    """An input that costframe refuses; the text names it, the expected value and the given one."""


class CostModelError(CostframeError):
    """An invalid price table, or one that does not fit the features."""


class BankError(CostframeError):
    """Weak learners that are malformed or do not fit together."""


class StageError(CostframeError):
    """A stage tree that is not a tree, or whose parts do not fit its bank."""


class InquiryError(CostframeError):
    """A call that an inquiry does not expect."""


class DataError(CostframeError):
    """A table of rows that does not fit its reader."""


class DataTypeError(DataError, TypeError):
    """A cell whose type cannot be a number."""


class ParameterError(CostframeError):
    """A setting with a forbidden value, or without effect."""


class AdoptionError(CostframeError):
    """A foreign model that cannot be adopted exactly."""


class StorageError(CostframeError):
    """A saved file that is truncated, altered, newer than this version, or not a costframe model."""


class PluginError(CostframeError):
    """A plugin that is broken, clashes with another, or lacks the requested entry."""


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 value, 2 values."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def quote_names(names: Iterable[str], most: int = 4) -> str:
    """Return at most `most` names as an error text quotes them."""
    every = [repr(name) for name in names]
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
