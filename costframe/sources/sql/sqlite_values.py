"""Values of SQLite's columns: read by declared types that SQLite itself does not have."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from costframe.sources.documents import read_json, scalar

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?", re.ASCII)


def reader_of_declared(declared: str) -> Callable[[Any], Any] | None:
    """Return what reads values of a declared type that SQLite itself does not have; None leaves them as stored."""
    if "BOOL" in declared:
        return _truth
    if "DATE" in declared or "TIMESTAMP" in declared:
        return _moment
    return _json if "JSON" in declared else None


def _truth(value: Any) -> Any:
    return bool(value) if value in (0, 1) else value


def _moment(value: Any) -> Any:
    """Return the date or time of a text that is one in ISO's form; other values as they are."""
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        with suppress(ValueError):
            return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    return value


def _json(value: Any) -> Any:
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return scalar(read_json(value))
    return value
