"""Outputs of foreign functions for one row: kept, so that a function that is slow, random or paid is called once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8

Outputs = dict[tuple[int, int], tuple[float, ...]]
"""Outputs by the place of a function among those of a model, and by its missing arguments, one bit each.

A value of a row does not change, so that these bits tell the arguments.
"""

_current: ContextVar[KeptOutputs | None] = ContextVar("_current", default=None)


@frozen(eq=False)
class KeptOutputs:
    """Outputs of the foreign functions of a model for one row."""

    places: Mapping[Any, int]  # of what holds each function
    outputs: Outputs

    def copy(self) -> KeptOutputs:
        """Return the same outputs, to which others are added apart."""
        return KeptOutputs(self.places, dict(self.outputs))

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Use these outputs in the block, and add those of functions that it calls."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def call_once(holder: Any, rows: Any, call: Callable[[Any], F8]) -> F8:
    """Return what a call makes of rows, float64 (rows, width), or what is kept of it for the row under way."""
    kept = _current.get()
    if kept is None or not isinstance(rows, np.ndarray) or len(rows) != 1 or (place := kept.places.get(holder)) is None:
        return call(rows)
    missing = sum(1 << f for f, value in enumerate(rows[0].tolist()) if value != value)  # noqa: PLR0124 - NaN
    if (outputs := kept.outputs.get((place, missing))) is None:
        outputs = kept.outputs[place, missing] = tuple(call(rows)[0].tolist())
    return np.array([outputs])
