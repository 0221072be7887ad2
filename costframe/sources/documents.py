"""JSON documents of services and databases."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from costframe.core.errors import InquiryError

_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def read_json(document: bytes | str) -> Any:
    """Return what a JSON document holds; a `ValueError` or `RecursionError` refuses others, and names that come twice.

    A number beyond doubles is a `Decimal`, and not infinite.
    """
    return json.loads(document, object_pairs_hook=_as_table, parse_float=_as_float)


def _as_table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError
    return table


def _as_float(text: str) -> float | Decimal:
    number = float(text)
    return number if math.isfinite(number) else Decimal(text)


def scalar(document: Any) -> Any:
    """Return a part of a JSON document; an error in place of a list or an object, which may be large."""
    if isinstance(document, dict | list):
        return InquiryError(f"expected a value, got {'a list' if isinstance(document, list) else 'an object'}")
    return document


def resolve_pointer(document: object, pointer: str) -> list[object]:
    """Return the value at a JSON pointer (RFC 6901) in a list, or an empty list; a plain name is a key at the top."""
    steps = pointer.split("/")[1:] if pointer.startswith("/") else [pointer]
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~") if pointer.startswith("/") else step
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and _INDEX.fullmatch(name) and int(name) < len(document):
            document = document[int(name)]
        else:
            return []
    return [scalar(document)]
