"""Predictions that must rise or fall with some features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.trees.growing.leaf import Leaf
    from costframe.trees.growing.packing import PackedGradients, Sums

__all__ = ["bound_children", "clipped", "read_signs"]


def read_signs(constraints: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return -1, 0 or 1 for each feature, or None if nothing is constrained.

    Parameters
    ----------
    constraints : None, sequence of int (d,), or mapping of names to int
    names : sequence of str (d,)

    Raises
    ------
    ParameterError
        If there are not as many numbers as features, a name is unknown, or a number is none of these.
    """
    if constraints is None:
        return None
    if isinstance(constraints, Mapping):
        unknown = [name for name in constraints if name not in set(names)]
        if unknown:
            raise ParameterError(f"monotone_constraints: expected names of features, got {unknown[0]!r}")
        constraints = [constraints.get(name, 0) for name in names]
    try:
        given = np.asarray(constraints)
    except ValueError as error:
        raise ParameterError(f"monotone_constraints: expected one number for each feature: {error}") from None
    if given.shape != (len(names),):
        raise ParameterError(
            f"monotone_constraints: expected one number for each of {len(names)} features, got shape {given.shape}"
        )
    if given.dtype.kind not in "iuf" or not np.isin(given, (-1, 0, 1)).all():
        raise ParameterError(f"monotone_constraints: expected -1, 0 or 1 for each feature, got {given.tolist()}")
    return tuple(int(sign) for sign in given) if given.any() else None


def clipped(packed: PackedGradients, sums: Sums, l2: float, leaf: Leaf) -> float:
    """Return the best value of some rows, between the bounds of a leaf."""
    weight = packed.hessian(sums) + l2
    value = -packed.gradient(sums) / weight if weight > 0 else 0.0
    return min(max(value, leaf.low), leaf.high)


def bound_children(leaf: Leaf, left: Leaf, right: Leaf, sign: int, middle: float) -> None:
    """Hand down bounds; between children of a constrained feature lies the middle of their values, as a wall."""
    left.low, left.high = right.low, right.high = leaf.low, leaf.high
    if sign > 0:
        left.high = right.low = middle
    elif sign < 0:
        left.low = right.high = middle
