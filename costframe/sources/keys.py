"""Keys of rows: one form for equal keys, and a key as a text, or in the type of a source's keys."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Hashable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import numpy as np

from costframe.core.errors import InquiryError, shown
from costframe.core.tables.categories import is_missing
from costframe.sources.source import KeyRefusedError

_MOST_EXACT = 2**53 - 1  # of whole numbers in doubles
_DECIMAL = re.compile(r"(?!-[0.]+\Z)-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?")


def as_key(key: Any, entry: str | None) -> Hashable:
    """Return a row's key at a source: the key itself, or an entry of a mapping; an `InquiryError` refuses others."""
    if entry is not None:
        if not isinstance(key, Mapping) or entry not in key:
            raise InquiryError(f"expected a key that is a mapping with {entry!r}, got {shown(key)}")
        key = key[entry]
        if is_missing(key):
            raise InquiryError(f"expected a key at {entry!r}, got {shown(key)}")
    try:
        hash(key)
    except Exception:  # noqa: BLE001 - of a class of the caller's
        raise InquiryError(f"expected a hashable key, got {shown(key)} of type {type(key).__name__}") from None
    return _unify(key)  # type: ignore[no-any-return]


def _unify(key: Any) -> Any:
    """Return one form for equal keys, which share a trip: sources that make texts of them tell 1.0 and True from 1."""
    if type(key) in {int, str}:
        return key
    if type(key) is tuple:
        return tuple(map(_unify, key))
    if isinstance(key, str):
        return str.__str__(key)  # an enum's text is its name
    if isinstance(key, numbers.Real | Decimal | np.bool_):
        number: Any = key
        with suppress(OverflowError):
            if math.isfinite(number) and (short := int(number) if number == int(number) else float(number)) == number:
                if isinstance(number, float | np.floating) and abs(short) > _MOST_EXACT:
                    what = "a float that several whole numbers may be rounded to"
                    raise InquiryError(f"expected a key, got {shown(key)}, {what}")
                return short
        if isinstance(number, Decimal) and number.is_finite():
            return number.normalize(Context(prec=len(number.as_tuple().digits)))
    return key


def key_as_text(key: object) -> str:
    """Return a key as a text that a database or an address can hold; an `InquiryError` refuses others."""
    if type(key) is str and key.isascii() and "\0" not in key:
        return key
    try:
        text = key.decode() if isinstance(key, bytes) else str(key)
        text.encode()
    except Exception:  # noqa: BLE001 - no UTF-8; thousands of digits; a class of the caller's
        raise KeyRefusedError(f"expected a key with a text in UTF-8, got {shown(key)}") from None
    if is_missing(key) or "\0" in text:
        raise KeyRefusedError(f"expected a key, got {shown(key)}")
    return text


def as_type(key: Any, kind: type, most: int | None = None) -> Any:
    """Return a key as a value of the type of a source's keys, exactly that; a `KeyRefusedError` refuses others.

    A text is the number or date that is printed so: "7" is 7, and "0007", "7e0" and "+7" are nobody. Numbers end
    before `most`.
    """
    try:
        value: Any = key_as_text(key) if kind is str else _converted(key, kind)
        if most is not None and not -most <= value < most:
            raise ValueError  # noqa: TRY301
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, KeyRefusedError):
            raise
        raise KeyRefusedError(f"expected a key of type {kind.__name__}, got {shown(key)}") from None
    return value


def _converted(key: Any, kind: Any) -> Any:
    if kind in {int, float, Decimal}:
        value = kind(key)
        if not math.isfinite(value) or not (_is_printed(key, value) if isinstance(key, str) else value == key):
            raise ValueError
        return value
    if kind is UUID and not isinstance(key, UUID):
        return UUID(str(key))
    if issubclass(kind, date | time) and isinstance(key, str):
        value = kind.fromisoformat(key)
        if key not in {str(value), value.isoformat()}:
            raise ValueError
        return value
    if not isinstance(key, kind) or is_missing(key):
        raise TypeError
    if kind is date and isinstance(key, datetime):  # whose day is not all of it
        if key.time() != time.min or key.tzinfo is not None:
            raise ValueError
        return key.date()
    return key


def _is_printed(text: str, value: Any) -> bool:
    """Return whether a number is written as it is printed, a decimal with or without zeros at the end."""
    if isinstance(value, Decimal):
        return _DECIMAL.fullmatch(text) is not None
    return text == str(value) or (isinstance(value, float) and value.is_integer() and text == str(int(value)))
