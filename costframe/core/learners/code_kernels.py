"""Compiled counts of a feature's cuts below values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import F8, U4, kernel

if TYPE_CHECKING:
    from costframe.core.learners.cuts import Cuts


@kernel
def _count_next(below: U4, value: F8, count: int, cut: F8, size: int) -> None:
    """Raise below[i] by the number of cuts from there on, at most `size`, that are below value[i]; none are for NaN."""
    window, one = np.uint64(size), np.uint64(1)  # places without a sign, so that none is taken from the end
    while window > one:
        half = window >> one
        for i in range(count):
            below[i] += np.uint32(half) * np.uint32(cut[np.uint64(below[i]) + half - one] < value[i])
        window -= half
    if window == one:
        for i in range(count):
            below[i] += np.uint32(cut[np.uint64(below[i])] < value[i])


@kernel
def count_below(below: U4, value: F8, count: int, cuts: Cuts, feature: int) -> None:
    """Set below[i] to the number of a feature's cuts below value[i], 0 for NaN: a look-up leaves few to the search."""
    cut = cuts.cut[cuts.first[feature] : cuts.first[feature + 1]]
    certain = cuts.certain[cuts.first_step[feature] : cuts.first_step[feature + 1]]
    low, scale = float(cuts.low[feature]), float(cuts.scale[feature])  # NumPy's own would warn of infinity
    last = float(certain.shape[0] - 1)
    for i in range(count):
        at = (float(value[i]) - low) * scale
        at = at if at > 0.0 else 0.0  # noqa: FURB136 - NaN becomes zero
        below[i] = certain[np.uint64(at if at < last else last)]  # noqa: FURB136
    _count_next(below, value, count, cut, cuts.window[feature])
