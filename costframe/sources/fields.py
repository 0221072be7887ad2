"""Fields of sources: where a feature's value lies, and how it is read as a number."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.checks import as_items, check_choice
from costframe.core.errors import DataError, InquiryError, ParameterError, shown
from costframe.core.prices.entries import EPOCHS
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Labels, encode_value, is_missing
from costframe.core.tables.dates import Dates
from costframe.sources.source import OddValueError

TYPES = ("number", "text", "truth")
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_TRUTHS = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "0": 0.0}


def _as_markers(markers: Any) -> tuple[str, ...]:
    items = as_items(markers, ordered=False)
    texts = (markers,) if items is None else items
    if wrong := [marker for marker in texts if not isinstance(marker, str)]:
        raise ParameterError(f"missing: expected texts that stand for a missing value, got {shown(wrong[0])}")
    return tuple(marker.strip().lower() for marker in texts)


@frozen
class Field:
    """One feature at a source.

    Parameters
    ----------
    place : str
        Column of a table, field of a hash, JSON pointer into a document, or whatever the source calls a value.
    type : {"number", "text", "truth"}, optional
        None reads a label where the model knows labels of the feature, and else a number. "number" reads a number, also
        the number of a label. "text" demands a text, "truth" a boolean, or a text such as yes, t or false, which
        becomes 1 or 0.
    missing : tuple of str
        Texts that stand for a missing value, in any case, without spaces at their ends. None and NaN always do.
    epoch : {"days", "seconds", "milliseconds", "microseconds"}, optional
        What numbers count that stand for dates, since 1970-01-01 in UTC; by default as the model's prices say, which
        else refuse numbers in place of dates. The type "number" reads a number of days.
    """

    place: str
    type: str | None = None
    missing: tuple[str, ...] = field(default=("",), converter=_as_markers)
    epoch: str | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.place, str) or not self.place:
            raise ParameterError(f"place: expected a text, got {shown(self.place)}")
        check_choice("type", self.type, (*TYPES, None))
        check_choice("epoch", self.epoch, (*EPOCHS, None))
        if self.epoch is not None and self.type is not None:
            raise ParameterError(f"epoch: is of dates, and has no effect with type {self.type!r}; leave one out")

    def read(self, raw: object, labels: Labels | None) -> float:
        """Return a raw value as a number, or the number of a label; NaN if it is missing.

        Raises
        ------
        InquiryError
            If it is of another type.
        BaseException
            If it is an exception: this value failed alone.
        """
        if type(raw) is float and labels is None and self.type in {None, "number"} and self.epoch is None:
            return raw  # most values: NaN is missing already
        if self.is_missing(raw):
            return math.nan
        if isinstance(raw, BaseException):
            raise raw
        value = decode_bytes(raw)
        if isinstance(labels, AsGiven) and self.type != "text":
            value = _as_written(value, raw, self.type)
        elif self.type == "truth":
            return _truth(value, raw)
        if self.type == "text" and not isinstance(value, str):
            raise InquiryError(f"expected a text, got {_named(raw)}")
        if self.type is None and isinstance(labels, tuple) and labels and not isinstance(value, str):  # as in frames
            raise InquiryError(
                f"expected a label such as {shown(labels[0])}, got {_named(raw)}; numbers need their type"
            )
        if isinstance(labels, Dates) or self.epoch is not None:
            return self._days(value, raw, labels)
        if labels is not None and (self.type != "number" or isinstance(labels, AsGiven)):
            value = _encoded(value, labels)
        return _number(value, raw)

    def is_missing(self, raw: object) -> bool:
        """Return whether a raw value stands for a missing one."""
        value = raw.spelled if isinstance(raw, OddValueError) else decode_bytes(raw)
        return is_missing(value) or (isinstance(value, str) and value.strip().lower() in self.missing)

    def _days(self, value: object, raw: object, dates: Labels | None) -> float:
        """Return a value as days; a number of days as the type "number"."""
        if not isinstance(dates, Dates):
            raise InquiryError("epoch: is of dates, and the model reads none here; leave it out")
        try:
            value = _number(value, raw) if self.type == "number" else dates.from_outside(value, self.epoch)
            return float(dates.number(value))
        except DataError as error:
            raise InquiryError(str(error)) from None


def decode_bytes(raw: object) -> object:
    """Return bytes, which caches give, as a text."""
    if isinstance(raw, bytes | bytearray | memoryview):
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError:
            raise InquiryError(f"expected a text in UTF-8, got {_named(raw)}") from None
    return raw


def _encoded(value: object, labels: Labels) -> object:
    try:
        return encode_value(value, labels)
    except DataError as error:  # an unknown label, where the model refuses these
        raise InquiryError(str(error)) from None


def _as_written(value: object, raw: object, kind: str | None) -> object:
    """Return a value for foreign code: whole numbers as such, truth values, and others as they are."""
    if kind == "truth":
        return bool(_truth(value, raw))
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)
    if kind is None:
        return value
    number = _number(value, raw)
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value) else number
    return value if isinstance(value, int | np.number | np.bool_) else number


def _number(value: object, raw: object) -> float:
    """Return a number or its text as a float; one beyond the largest float is refused, not infinite."""
    with suppress(ValueError, OverflowError):
        if isinstance(value, str) and "_" not in value:  # float("1_000") is a number to Python only
            number, has_digits = float(value), any(map(str.isdigit, value))
            if not (has_digits and math.isinf(number)):
                return number
        elif isinstance(value, Decimal):
            number = float(value)
            if not (value.is_finite() and math.isinf(number)):
                return number
        elif isinstance(value, numbers.Real | np.number | np.bool_):
            return float(value)
    raise InquiryError(f"expected a number, got {_named(raw)}")


def _truth(value: object, raw: object) -> float:
    truth = _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None
    if truth is None and isinstance(value, bool | int | float | np.bool_ | np.integer) and value in {0, 1}:
        truth = float(value)
    if truth is None:
        raise InquiryError(f"expected yes or no, got {_named(raw)}")
    return truth


def _named(raw: object) -> str:
    return f"{shown(raw)} of type {type(raw).__name__}"


def as_fields(features: Any, missing: Iterable[str] = ("",)) -> dict[str, Field]:
    """Make fields by feature from names, or from a mapping of features to places, tables or fields.

    Parameters
    ----------
    features : iterable of str, or mapping of str to str, mapping or Field
        A name alone is its place too; a mapping has the keys of `Field`.
    missing : iterable of str
        Markers of fields that give none.

    Raises
    ------
    ParameterError
        If an entry is of another kind; the error names it.
    """
    listed = features if isinstance(features, Mapping) else as_items(features, ordered=False)
    if listed is None:
        raise ParameterError(f"features: expected names, or names with their places, got {shown(features)}")
    entries = listed.items() if isinstance(listed, Mapping) else [(name, name) for name in listed]
    made: dict[str, Field] = {}
    for name, entry in entries:
        if not isinstance(name, str):
            raise ParameterError(f"features: expected names that are texts, got {shown(name)}")
        if name in made:
            raise ParameterError(f"features: {shown(name)} is there twice")
        try:
            made[name] = _as_field(name, entry, missing)
        except (ParameterError, TypeError) as error:
            raise ParameterError(f"features, {shown(name)}: {error}") from None
    if not made:
        raise ParameterError("features: expected at least one, got none")
    return made


def _as_field(name: str, entry: Any, missing: Iterable[str]) -> Field:
    if isinstance(entry, Field):
        return entry
    if isinstance(entry, str):
        return Field(entry, missing=missing)
    if not isinstance(entry, Mapping):
        raise ParameterError(f"expected a place, or a table with a place, got {shown(entry)}")
    if unknown := [key for key in entry if key not in {"place", "type", "missing", "epoch"}]:
        raise ParameterError(f"expected place, type, missing and epoch, got {shown(unknown[0])}")
    return Field(**{"place": name, "missing": missing, **entry})
