"""Types of columns in SQL: which keys they can hold, and which values may be long."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

from costframe.sources.source import MOST_BYTES, as_text

__all__ = ["as_type", "bound", "is_too_long"]

_NUMBERS = (int, float, Decimal)
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,400}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,3})?\s*")


def as_type(key: Any, kind: Any, most: int | None) -> Any:
    """Return a key as a value of its column's type, exactly that; an error where it is none."""
    if kind is str:
        return as_text(key)
    if kind in _NUMBERS:
        if isinstance(key, str) and not _NUMBER.fullmatch(key):  # int("1_0") is 10 to Python only
            raise ValueError
        value = kind(key)
        if not math.isfinite(value) or (not isinstance(key, str) and value != key):  # int(1.5) is another key
            raise ValueError
        if most is not None and not -most <= value < most:
            raise ValueError
        return value
    if kind is UUID and not isinstance(key, UUID):
        return UUID(str(key))
    if not isinstance(key, kind):
        raise TypeError
    return key


def bound(column: Any, *, is_sqlite: bool) -> int | None:
    """Return how far a column's integers go; PostgreSQL refuses a whole list with one that goes further."""
    import sqlalchemy as sa

    if not isinstance(column, sa.Integer):
        return None
    bits = 16 if isinstance(column, sa.SmallInteger) else 64 if isinstance(column, sa.BigInteger) else 32
    return 1 << ((64 if is_sqlite else bits) - 1)


def is_too_long(column: Any, *, is_sqlite: bool) -> Any:
    """Return the condition that a column's value has more than the most bytes; None where its type bounds it."""
    import sqlalchemy as sa

    fixed = (sa.Integer, sa.Numeric, sa.Float, sa.Boolean, sa.Date, sa.DateTime, sa.Time, sa.Interval, sa.Enum, sa.Uuid)
    if isinstance(column.type, fixed):
        return None
    if is_sqlite:
        return sa.func.length(sa.cast(column, sa.LargeBinary)) > MOST_BYTES
    return (
        sa.func.octet_length(column if isinstance(column.type, sa.LargeBinary) else sa.cast(column, sa.Text))
        > MOST_BYTES
    )
