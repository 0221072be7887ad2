"""What outages cost a model, in its file."""

from __future__ import annotations

import math
from typing import Any

from attrs import asdict, fields

from costframe.core.errors import StorageError
from costframe.core.storage.stored_arrays import as_list, fields_of
from costframe.core.terms.outages import Outage, Outages

# others are floats
_KINDS: dict[str, type] = {"score_name": str, "has_bills": bool, "unit": str, "prices": str, "n_rows": int}


def store_outages(outages: Outages) -> dict[str, Any]:
    """Return figures of outages as JSON values."""
    each = [asdict(outage) | {"features": sorted(outage.features)} for outage in outages.each]
    return asdict(outages, recurse=False) | {"each": each, "left_out": list(outages.left_out)}


def build_outages(described: object) -> Outages:
    """Make figures of outages from their description."""
    names = [each.name for each in fields(Outages)]
    given = dict(zip(names, fields_of(described, "outages", *names), strict=True))
    each = tuple(map(_build_outage, as_list(given.pop("each"))))
    left_out = _names(given.pop("left_out"))
    for name, value in given.items():
        _check(name, value, _KINDS.get(name, float))
    return Outages(**given, each=each, left_out=tuple(left_out))


def _build_outage(described: object) -> Outage:
    name, features, *figures = fields_of(described, "outage", *(each.name for each in fields(Outage)))
    _check("name", name, str)
    for value in figures:
        _check("outage", value, float)
    return Outage(name, frozenset(_names(features)), *figures)


def _names(given: object) -> list[str]:
    names = as_list(given)
    for name in names:
        _check("features", name, str)
    return names


def _check(name: str, value: object, kind: type) -> None:
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise StorageError(f"malformed outages: expected a {kind.__name__} for {name}, got {value!r:.80}")
