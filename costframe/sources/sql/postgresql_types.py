"""Types of PostgreSQL by their numbers: how keys are spelled in them, and values read as it prints them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from costframe.core.errors import InquiryError, shown
from costframe.sources.documents import read_json, scalar
from costframe.sources.keys import as_type, key_as_text
from costframe.sources.source import KeyRefusedError, OddValueError
from costframe.sources.sql.database import decode_text

# Types by their numbers, which are the same in every PostgreSQL.
_BOOL, BYTEA, CHAR, NAME, TEXT, _JSON, MONEY, BPCHAR, BIT = 16, 17, 18, 19, 25, 114, 790, 1042, 1560
_INT8, _INT2, _INT4, _OID, _FLOAT4, _FLOAT8, _NUMERIC = 20, 21, 23, 26, 700, 701, 1700
_DATE, _TIME, _TIMESTAMP, _TIMESTAMPTZ = 1082, 1083, 1114, 1184
_INTERVAL, _TIMETZ, _UUID, _JSONB = 1186, 1266, 2950, 3802

_INTEGERS = {_INT2: 1 << 15, _INT4: 1 << 31, _INT8: 1 << 63, _OID: 1 << 32}
_FLOATS = {_FLOAT4, _FLOAT8}
SHORT = {
    *_INTEGERS, *_FLOATS, _BOOL, CHAR, NAME, MONEY, _NUMERIC, _DATE, _TIME, _TIMESTAMP, _TIMESTAMPTZ, _INTERVAL,
    _TIMETZ, _UUID,
}  # fmt: skip

_OFFSET = re.compile(r"(?<=:\d\d)((?:\.\d+)?[+-]\d\d)(\d\d)?\Z")


def spell_key(key: Any, oid: int) -> str:
    """Return a key as PostgreSQL reads it in a type; a `KeyRefusedError` refuses others."""
    if oid in _INTEGERS:
        return str(as_type(key, int, _INTEGERS[oid]))
    if oid in _FLOATS:
        return repr(as_type(key, float))
    if oid == _BOOL:
        if key not in {0, 1, "t", "f", "true", "false"}:
            raise KeyRefusedError(f"expected a key of type bool, got {shown(key)}")
        return key_as_text(key)
    if oid == BYTEA:
        return f"\\x{as_type(key, bytes).hex()}"
    if oid in {_TIMESTAMP, _TIMESTAMPTZ}:
        moment: datetime = as_type(_OFFSET.sub(_as_offset, key) if isinstance(key, str) else key, datetime)
        if (moment.tzinfo is None) == (oid == _TIMESTAMPTZ):  # PostgreSQL would take its own zone, or drop this one
            kind = "with a time zone" if oid == _TIMESTAMPTZ else "without a time zone"
            raise KeyRefusedError(f"expected a time {kind}, got {shown(key)}")
        return moment.isoformat(" ")
    kinds = {_NUMERIC: Decimal, _DATE: date, _UUID: UUID}
    return str(as_type(key, kinds[oid])) if oid in kinds else key_as_text(key)


def _as_offset(match: re.Match[str]) -> str:
    """Return the offset of a time, of which PostgreSQL prints whole hours alone, as Python prints it."""
    return f"{match[1]}:{match[2] or '00'}"


def reader_of_oid(oid: int) -> Callable[[bytes], Any]:
    """Return what reads printed values of a type."""
    return _READERS.get(oid, decode_text)


def _padded(raw: bytes) -> str | bytes:
    return decode_text(raw.rstrip(b" "))


def _number(raw: bytes) -> Decimal | float | int:
    """Return a decimal number, whole ones as such."""
    if raw.lstrip(b"-").isdigit() and len(raw) < 1000:
        return int(raw)
    number = Decimal(raw.decode())
    return number if number.is_finite() else float(number)


def _bytes(raw: bytes) -> bytes:
    return bytes.fromhex(raw[2:].decode())


def _json(raw: bytes) -> Any:
    try:
        return scalar(read_json(raw))
    except (ValueError, RecursionError):
        return OddValueError(f"expected a value, got {shown(decode_text(raw))}", "")


def _moment(raw: bytes) -> object:
    """Return a date or time, in UTC where it has a zone; years beyond Python's are odd."""
    text = raw.decode()
    try:
        if len(text) <= 10:
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return OddValueError(f"expected a date of the years 1 to 9999, got {shown(text)}", text)


def _interval(raw: bytes) -> InquiryError:
    text = raw.decode()
    what = "expected a number, a text or a date, got the interval"
    return OddValueError(f"{what} {shown(text)}; a view may give its seconds", text)


# Stands below the functions that it names.
_READERS: dict[int, Callable[[bytes], Any]] = {
    _BOOL: b"t".__eq__,
    BYTEA: _bytes,
    BPCHAR: _padded,
    _NUMERIC: _number,
    _JSON: _json,
    _JSONB: _json,
    _DATE: _moment,
    _TIMESTAMP: _moment,
    _TIMESTAMPTZ: _moment,
    _INTERVAL: _interval,
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(_FLOATS, float),
}
