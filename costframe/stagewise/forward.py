"""Finds learners worth keeping by adding them one at a time, where a relaxation sees all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.normal import NormalEquations

__all__ = ["forward_select"]

_PATIENCE = 50  # learners added without finding anything better


def forward_select(normal: NormalEquations, prices: SampledPrices, ridge: float) -> NDArray[np.bool_]:
    """Return which outputs to keep, bool (C,): the best of supports that each hold one more than the one before.

    The next output is the one that lowers loss + ridge by most beyond what it buys anew; where none is worth it, the
    one that lowers it by most for the money. Ridge regression on a growing support is a pivoted Cholesky factorization,
    so that all steps together cost as much as one fit.
    """
    from costframe.stagewise.forward_kernels import select_forward

    member, support = prices.groups.member, np.zeros(len(normal.right), np.bool_)
    select_forward(
        np.ascontiguousarray(normal.gram), np.array(normal.right, order="C"), ridge,
        member.indptr.astype(np.int64), member.indices.astype(np.int64), prices.groups.price,
        prices.reads, prices.paid.copy(), prices.mass, prices.offers.copy(), _PATIENCE, support,
    )  # fmt: skip
    return support
