"""What callers send, read and checked: a step of a conversation, and a row to predict."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from attrs import field, frozen

from costframe.core.errors import InquiryError, quote_names, shown, suggestion
from costframe.core.strict_json import parse_strictly
from costframe.serve.replies import INCLUDED

_TERMS = ("max_cost", "tradeoff", "known")  # of a start only


@frozen
class StepRequest:
    """A step of a conversation.

    Attributes
    ----------
    state : str or None
        That of the step before; None begins.
    values : dict of str to number, text or None
        None is a missing value.
    unavailable : tuple of str
        Features and resources that cannot be had.
    terms : dict
        What is asked at the start: `max_cost`, `tradeoff`, and `known`, what was paid before.
    include : tuple of str
        What to tell beside: "why", "so_far", "changes".
    """

    state: str | None = None
    values: dict[str, Any] = field(factory=dict)
    unavailable: tuple[str, ...] = ()
    terms: dict[str, Any] = field(factory=dict)
    include: tuple[str, ...] = ("why",)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read a request; an `InquiryError` names what is not as expected."""
        content = read_object(body, ("state", "values", "unavailable", "include", *_TERMS))
        state = content.get("state")
        if state is not None and not isinstance(state, str):
            raise InquiryError(f"state: expected a text, or null to begin, got {shown(state)}")
        terms = {name: content[name] for name in _TERMS if content.get(name) is not None}
        if state is not None and terms:
            raise InquiryError(f"{quote_names(terms)}: can only be given at the start, without a state")
        include = _names(content, "include", ("why",))
        if unknown := [name for name in include if name not in INCLUDED]:
            raise InquiryError(f"include: expected some of {INCLUDED}, got {quote_names(unknown)}")
        return cls(state, read_values(content, "values"), _names(content, "unavailable"), _read_terms(terms), include)


@frozen
class RowRequest:
    """A row to predict: its key in the sources, or its values."""

    key: Any = None
    values: dict[str, Any] | None = None
    terms: dict[str, Any] = field(factory=dict)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read a request; an `InquiryError` names what is not as expected."""
        content = read_object(body, ("key", "values", "unavailable", "deadline", *_TERMS))
        key, values = content.get("key"), content.get("values")
        if (key is None) == (values is None):
            raise InquiryError("expected either 'key', of a row in the sources, or 'values' of all features")
        parts = key.values() if isinstance(key, dict) else [key]
        if not all(part is None or (isinstance(part, str | int) and not isinstance(part, bool)) for part in parts):
            raise InquiryError(f"key: expected a text or a number, or an object of these, got {shown(key)}")
        terms = _read_terms({name: content[name] for name in ("deadline", *_TERMS) if content.get(name) is not None})
        unavailable = _names(content, "unavailable")
        return cls(
            key, None if values is None else read_values(content, "values"), terms | {"unavailable": unavailable}
        )


def read_object(body: bytes, allowed: Collection[str]) -> dict[str, Any]:
    """Return the JSON object in a body, of some keys alone; an empty body is an empty object."""
    try:
        content = parse_strictly(body) if body else {}
    except ValueError as error:
        raise InquiryError(f"expected a body of JSON: {error}") from None
    if not isinstance(content, dict):
        raise InquiryError(f"expected a JSON object, got {shown(content)}")
    for name in content:
        if name not in allowed:
            raise InquiryError(
                f"{shown(name)}: unknown{suggestion(name, allowed)}; expected some of {quote_names(allowed, 9)}"
            )
    return content


def read_values(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object of values, in which null is a missing one."""
    values = content.get(name)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InquiryError(f"{name}: expected an object of values by feature, got {shown(values)}")
    for feature, value in values.items():
        if not (value is None or isinstance(value, str | int | float)):
            raise InquiryError(f"value of {shown(feature)}: expected a number, a text or null, got {shown(value)}")
    return values


def _names(content: dict[str, Any], name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    names = content.get(name)
    if names is None:
        return default
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InquiryError(f"{name}: expected a list of names, got {shown(names)}")
    return tuple(names)


def _read_terms(terms: dict[str, Any]) -> dict[str, Any]:
    """Return numbers and names as `Predictor.inquire` takes them."""
    for name in ("max_cost", "tradeoff", "deadline"):
        if isinstance(value := terms.get(name, 0.0), bool) or not isinstance(value, int | float):
            raise InquiryError(f"{name}: expected a number, got {shown(value)}")
    if isinstance(known := terms.get("known"), dict):
        return terms | {"known": read_values(terms, "known")}
    return terms if known is None else terms | {"known": _names(terms, "known")}
