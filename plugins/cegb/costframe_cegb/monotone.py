"""Signs of features with which scores must not fall, or not rise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costframe.plugin import ParameterError, shown

__all__ = ["read_signs"]


def read_signs(constraints: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return -1, 0 or 1 for each feature, or None without constraints.

    Parameters
    ----------
    constraints : None, sequence of int (d,), or mapping of names to int
    names : sequence of str (d,)

    Raises
    ------
    ParameterError
        If the number of values is not that of features, a name is unknown, or a value is not -1, 0 or 1.
    """
    if constraints is None:
        return None
    if isinstance(constraints, Mapping):
        unknown = [name for name in constraints if name not in set(names)]
        if unknown:
            raise ParameterError(f"monotone_constraints: expected names of features, got {shown(unknown[0])}")
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
        raise ParameterError(f"monotone_constraints: expected -1, 0 or 1 for each feature, got {shown(given.tolist())}")
    return tuple(int(sign) for sign in given) if given.any() else None
