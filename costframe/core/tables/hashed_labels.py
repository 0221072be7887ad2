"""Categories that are numbered by a hash of their text, so that any text has a number without a list of labels.

CatBoost numbers a category by the low 32 bits of the CityHash64 of its text in UTF-8. A whole number is a category too,
by its text: 7 and "7" are the same one, True and 1 too. Doubles hold such hashes exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8
from costframe.core.tables.city_hash import city_hash64

HASH = "city64-low32"
"""Name of the hash in saved files."""


def is_hashed(value: object) -> bool:
    """Return whether a value is a category with a hash: a text, or a whole number."""
    return isinstance(value, str | bytes | int | np.integer | np.bool_)


@frozen
class HashedLabels:
    """What stands for the labels of a feature whose categories are numbered by their hashes.

    Numbers that are floats are hashes already, as in an array of float64; there are no labels to list.
    """

    def number(self, value: Any) -> float:
        """Return the hash of a value that `is_hashed`."""
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        text = value if isinstance(value, bytes) else str(int(value)).encode()
        return float(city_hash64(text) & 0xFFFFFFFF)

    def numbers(self, values: Iterable[Any]) -> F8:
        """Return the hash of each value, NaN for one that has none: float64 (values,)."""
        known: dict[str, float] = {}  # a column repeats few texts, and Python hashes slowly
        hashes = []
        for value in values:
            if not isinstance(value, str):
                hashes.append(self.number(value) if is_hashed(value) else np.nan)
                continue
            if value not in known:
                known[value] = self.number(value)
            hashes.append(known[value])
        return np.array(hashes, np.float64)
