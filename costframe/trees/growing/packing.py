"""Gradients as integers, so that their sums are exact and the row count rides along.

A histogram spends its time loading, adding and storing. So one int64 word holds the gradient of a row, in units of a
power of two, above the bits of a count that is one; adding words adds gradients and counts at once. With up to 2^20
rows, a gradient of mean size is rounded to 21 bits or more, far below the noise that it carries itself. Sums of whole
numbers do not depend on the order of rows, and a sibling's histogram by subtraction has no residue.
"""

from __future__ import annotations

from math import frexp, isfinite, ldexp
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError
from costframe.core.threads import run_parallel
from costframe.trees.binning.scaling import power_of_two

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PackedGradients", "pack"]

_ROWS_PER_PART = 131_072
_EXACT_BITS = 53  # integers below 2^53 become doubles unchanged


@frozen(eq=False)
class PackedGradients:
    """One or two words a row, and what they mean.

    Parameters
    ----------
    words : int64 (n, 1) or (n, 2)
        `gradient * 2**count_bits + count`, and the hessian where it is not one for every row.
    count_bits : int
        Low bits of (sums of) first words that hold the count.
    gradient_unit, hessian_unit : float
        Powers of two that turn the integers back into gradients and hessians.
    gradient_exponent : int
        No sum of gradients exceeds 2**gradient_exponent, which is little more than the largest can be.
    """

    words: NDArray[np.int64]
    count_bits: int
    gradient_unit: float
    hessian_unit: float
    gradient_exponent: int


def pack(
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64] | None,
    counts: NDArray[np.int64] | None = None,
    *,
    n_threads: int = 1,
) -> PackedGradients:
    """Round gradients and hessians to integers.

    Parameters
    ----------
    gradients : float64 (n,)
        First derivatives of the loss.
    hessians : float64 (n,), optional
        Second derivatives, not negative; one for every row if not given.
    counts : int64 (n,), optional
        How many rows each one is, positive; one if not given. If given, hessians must be too.
    n_threads : int
        Does not change the result.

    Raises
    ------
    DataError
        If a value or the sum of all is not finite, or a hessian is negative.
    """
    from costframe.trees.growing.packing_kernels import pack_gradients, pack_hessians

    n_rows = len(gradients)
    count_bits = (n_rows if counts is None else int(counts.sum())).bit_length()
    gradient_bits = min(_EXACT_BITS, 62 - count_bits)
    gradient_scale = _scale("gradients", gradients, gradient_bits)
    hessian_scale = 1.0
    if hessians is not None:
        if (hessians < 0).any():
            raise DataError("hessians: must not be negative")
        hessian_scale = _scale("hessians", hessians, _EXACT_BITS)
    words = np.empty((n_rows, 1 if hessians is None else 2), np.int64)

    def pack_part(first: int) -> None:
        rows = slice(first, first + _ROWS_PER_PART)
        pack_gradients(gradients[rows], gradient_scale, count_bits, words[rows])
        if hessians is not None:
            pack_hessians(hessians[rows], hessian_scale, words[rows])
        if counts is not None:
            words[rows, 0] += counts[rows] - 1

    run_parallel(pack_part, range(0, n_rows, _ROWS_PER_PART), n_threads)
    exponent = gradient_bits - frexp(gradient_scale)[1] + 1
    return PackedGradients(words, count_bits, 1 / gradient_scale, 1 / hessian_scale, exponent)


def _scale(name: str, values: NDArray[np.float64], bits: int) -> float:
    """Find the largest (but for doubles' limits) power of two that keeps every sum of rounded values below 2^bits."""
    from costframe.trees.growing.packing_kernels import absolute_sum

    with np.errstate(over="ignore"):
        total = absolute_sum(values)
    if not isfinite(total):
        raise DataError(f"{name}: must be finite and have a finite sum, got NaN or infinity")
    if total == 0:
        return 1.0
    room = ldexp(1.0, bits) - len(values) / 2  # each value is rounded by half a unit at most
    share, exponent = frexp(total)
    return power_of_two(frexp(room / share)[1] - 1 - exponent)
