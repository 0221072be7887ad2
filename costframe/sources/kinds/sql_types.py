"""Types of columns in SQL: how far their whole numbers go, and which values may be long."""

from __future__ import annotations

from typing import Any

from costframe.sources.source import MOST_BYTES

__all__ = ["bound", "is_too_long"]


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
