"""JSON of strangers, read without guesses, and values as JSON has them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from costframe.core.errors import shown


def parse_strictly(text: str | bytes) -> Any:
    """Return what a JSON text holds, given as bytes of UTF-8 or as letters.

    A `ValueError` says why it is refused: no JSON, a key that stands twice, NaN or infinity, a number beyond doubles,
    lists too deep, or bytes that are no UTF-8.
    """
    try:
        return _DECODER.decode(text.decode() if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a key stands twice among {shown([key for key, _ in pairs])}")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"expected JSON without {constant}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"expected numbers that a double can hold, got {shown(text)}")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse, parse_float=_finite)


def as_json(value: Any, infinite: Mapping[float, str | None] = {math.inf: None, -math.inf: None}) -> Any:
    """Return what JSON has in the place of a value: null of NaN, `infinite` of infinities, and texts of other types."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else infinite.get(value, value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): as_json(item, infinite) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, infinite) for item in value]
    return value if isinstance(value, str | int | None) else str(value)
