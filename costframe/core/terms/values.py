"""Values of features that are given one by one, as floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from costframe.core.errors import DataError, InquiryError, shown
from costframe.core.tables.categories import Categories, Labels, encode_value, is_missing


def as_floats(values: Mapping[str, Any], names: Iterable[str], categories: Categories) -> list[float]:
    """Return the values of some features as floats, in order, or refuse one by name; see `as_number`."""
    return [as_number(name, values[name], categories.get(name)) for name in names]


def as_number(name: str, value: object, labels: Labels | None = None) -> float:
    """Return a feature's value as a float, or refuse it by name; `labels` are the feature's labels, if it has any."""
    try:
        if labels is not None:
            value = encode_value(value, labels)
        elif is_missing(value):
            return math.nan
        if isinstance(value, str | bytes) or value is None:
            raise TypeError  # noqa: TRY301 - float("3") would accept it
        return float(value)  # type: ignore[arg-type]
    except DataError as error:  # an unknown label, where the model refuses these
        raise InquiryError(f"value of {name!r}: {error}") from None
    except Exception:  # noqa: BLE001 - an object of any class may come, and raise anything
        raise InquiryError(
            f"value of {name!r}: expected a number (NaN if missing), got {shown(value)} of type {type(value).__name__}"
        ) from None
