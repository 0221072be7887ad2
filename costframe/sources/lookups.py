"""Lookups: a source with the fields that it serves, and the policy for when it fails."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, fields, frozen

from costframe.core.checks import check_choice, check_number
from costframe.core.errors import DataError, InquiryError, ParameterError, printable, quote_names, shown
from costframe.core.tables.categories import encode_value, is_missing
from costframe.sources.source import Source

if TYPE_CHECKING:
    from costframe.core.tables.categories import Labels

__all__ = ["POLICY_NAMES", "Field", "Lookup", "Policy", "as_fields", "check_served"]

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


ON_FAILURE = ("raise", "missing", "without")
ON_ABSENT = ("fail", "missing")


@frozen
class Policy:
    """What to do when a source fails.

    Parameters
    ----------
    on_failure : {"raise", "missing", "without"}
        What a row does without the values that did not come. "raise" ends the row with an error; other rows go on.
        "missing" takes them as missing, so trees send the row their default way. "without" goes without them: a plan
        plans around them, a stage tree answers with the best that the rest allows.
    absent : {"fail", "missing"}
        Whether a key that the source has no row for is a failure, or a row of missing values that was paid for.
    timeout : float
        Seconds that one trip may take, and that the wait for a busy service (`Retry-After`) may take.
    retries : int
        Further trips for keys that failed, unless the source answered and its answer was wrong, or asks to wait longer
        than the time limit or the deadline allow. They need the extra "retries".
    backoff : float
        Seconds before the first retry, at most; each further one waits up to twice as long. The wait is drawn at
        random, so that many clients do not come back at once.
    """

    on_failure: str = "raise"
    absent: str = "fail"
    timeout: float = 10.0
    retries: int = 0
    backoff: float = 0.1

    def __attrs_post_init__(self) -> None:
        check_choice("on_failure", self.on_failure, ON_FAILURE)
        check_choice("absent", self.absent, ON_ABSENT)
        check_number("timeout", self.timeout, strict=True)
        check_number("retries", self.retries, whole=True, high=1000)
        check_number("backoff", self.backoff)


POLICY_NAMES = tuple(each.name for each in fields(Policy))


@frozen
class Lookup:
    """A source with the features that it serves; in prices, often a resource.

    Parameters
    ----------
    source : Source
    features : iterable of str, or mapping of str to str, mapping or Field
        The features it serves, with their places; see `Field`.
    key : str, optional
        Where keys of rows are mappings: the entry that is the key at this source.
    policy : Policy
    """

    source: Source
    features: dict[str, Field] = field(converter=as_fields)
    key: str | None = None
    policy: Policy = field(factory=Policy)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.source, Source):
            raise ParameterError(f"source: expected a Source, got {shown(self.source)}")
        if not isinstance(self.policy, Policy):
            raise ParameterError(f"policy: expected a Policy, got {shown(self.policy)}")
        if self.key is not None and not isinstance(self.key, str):
            raise ParameterError(f"key: expected the name of a key, got {shown(self.key)}")


def check_served(lookups: Mapping[str, Lookup]) -> dict[str, str]:
    """Return the lookup of each feature, or refuse a feature that two lookups serve."""
    served: dict[str, str] = {}
    for name, lookup in lookups.items():
        if twice := [feature for feature in lookup.features if feature in served]:
            raise ParameterError(
                f"sources {printable(name)} and {printable(served[twice[0]])}: both serve {quote_names(twice)}"
            )
        served |= dict.fromkeys(lookup.features, name)
    return served
