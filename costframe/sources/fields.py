"""Fields: where a source keeps a feature, and how its raw values become numbers and labels."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.core.checks import check_choice
from costframe.core.errors import DataError, InquiryError, ParameterError, shown
from costframe.core.tables.categories import encode_value, is_missing

if TYPE_CHECKING:
    from costframe.core.tables.categories import Labels

__all__ = ["Field", "as_fields"]

TYPES = ("number", "text", "truth")
_TRUTHS = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "0": 0.0}


def _as_markers(markers: Any) -> tuple[str, ...]:
    listed = (markers,) if isinstance(markers, str) else tuple(markers) if isinstance(markers, Iterable) else (markers,)
    if wrong := [each for each in listed if not isinstance(each, str)]:
        raise ParameterError(f"missing: expected texts that stand for a missing value, got {shown(wrong[0])}")
    return tuple(each.strip().lower() for each in listed)


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
    """

    place: str
    type: str | None = None
    missing: tuple[str, ...] = field(default=("",), converter=_as_markers)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.place, str) or not self.place:
            raise ParameterError(f"place: expected a text, got {shown(self.place)}")
        check_choice("type", self.type, (*TYPES, None))

    def read(self, raw: object, labels: Labels | None) -> float:
        """Return a raw value as a number, or the number of a label; NaN if it is missing.

        Raises
        ------
        InquiryError
            If it is of another type.
        BaseException
            If it is an exception: this value failed alone.
        """
        if type(raw) is float and labels is None and self.type in {None, "number"}:
            return raw  # most values: NaN is missing already
        if isinstance(raw, BaseException):
            raise raw
        value = _plain(raw)
        if is_missing(value) or (isinstance(value, str) and value.strip().lower() in self.missing):
            return math.nan
        if self.type == "truth":
            return _truth(value, raw)
        if self.type == "text" and not isinstance(value, str):
            raise InquiryError(f"expected a text, got {_named(raw)}")
        if self.type is None and isinstance(labels, tuple) and labels and not isinstance(value, str):  # as in frames
            raise InquiryError(
                f"expected a label such as {shown(labels[0])}, got {_named(raw)}; numbers need their type"
            )
        if labels is not None and self.type != "number":
            try:
                value = encode_value(value, labels)
            except DataError as error:  # an unknown label, where the model refuses these
                raise InquiryError(str(error)) from None
        return _number(value, raw)


def _plain(raw: object) -> object:
    """Return bytes, which caches give, as a text."""
    if isinstance(raw, bytes | bytearray | memoryview):
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError:
            raise InquiryError(f"expected a text in UTF-8, got {_named(raw)}") from None
    return raw


def _number(value: object, raw: object) -> float:
    try:
        if isinstance(value, str):
            if "_" in value:  # float("1_000") is a number to Python only
                raise ValueError  # noqa: TRY301
            return float(value)
        if isinstance(value, numbers.Real | Decimal | np.number | np.bool_):
            return float(value)
    except (ValueError, OverflowError):
        pass
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
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise ParameterError(f"features: expected names, or names with their places, got {shown(features)}")
    entries = features.items() if isinstance(features, Mapping) else [(name, name) for name in features]
    found: dict[str, Field] = {}
    for name, entry in entries:
        if not isinstance(name, str):
            raise ParameterError(f"features: expected names that are texts, got {shown(name)}")
        if name in found:
            raise ParameterError(f"features: {shown(name)} is there twice")
        try:
            found[name] = _as_field(name, entry, missing)
        except (ParameterError, TypeError) as error:
            raise ParameterError(f"features, {shown(name)}: {error}") from None
    if not found:
        raise ParameterError("features: expected at least one, got none")
    return found


def _as_field(name: str, entry: Any, missing: Iterable[str]) -> Field:
    if isinstance(entry, Field):
        return entry
    if isinstance(entry, str):
        return Field(entry, missing=missing)
    if not isinstance(entry, Mapping):
        raise ParameterError(f"expected a place, or a table with a place, got {shown(entry)}")
    if unknown := [key for key in entry if key not in {"place", "type", "missing"}]:
        raise ParameterError(f"expected place, type and missing, got {shown(unknown[0])}")
    return Field(**{"place": name, "missing": missing, **entry})
