"""Charges of a stage tree's rows: hard, soft, or under limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.caps.capped import capped_charges
from costframe.core.cost.hard import hard_charges
from costframe.core.cost.report import Charges, sum_charges
from costframe.core.cost.soft import learners_at, soft_charges
from costframe.core.stages.reading import marks_for
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.limits import Limits
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["charge_tree"]


def charge_tree(
    tree: StageTree,
    prices: PriceArrays,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    how: ExpectedCost,
    limits: Limits | None,
    n_jobs: int | None,
) -> Charges:
    """Charge rows, float64 (rows, d), chunk by chunk; see `Predictor.charges`."""
    if limits is not None:
        capped = capped_charges(tree, prices, limits, X, weight, by_path=how.acquisition == "path", n_jobs=n_jobs)
        assert capped.cut is not None  # noqa: S101 - charges under limits have it
        whole = np.flatnonzero(~capped.cut)
        plain = charge_tree(tree, prices, X[whole], weight[whole], how, None, n_jobs)
        return _with_plain(capped, plain, whole)
    marks = marks_for(tree.bank, tree.layout, prices, how.acquisition)
    learners = learners_at(tree, prices)

    def chunk(part: slice) -> Charges:
        if how.routing == "soft":
            return soft_charges(tree, prices, marks, how.steepness, X[part], weight[part], learners)
        return hard_charges(tree, prices, marks, X[part], weight[part], learners)

    # An empty table is one empty chunk, so that the report has its shapes.
    return sum_charges(over_chunks(chunk, len(X), n_jobs) or [chunk(slice(0, 0))])


def _with_plain(capped: Charges, plain: Charges, whole: NDArray[np.int64]) -> Charges:
    """Replace the charges of the rows `whole`, which were not cut, by those without limits, equal to the last bit.

    The kernel under limits adds the same prices in another order.
    """
    if len(whole) == len(capped.acquisition):
        return evolve(plain, cut=capped.cut)
    merged = {name: getattr(capped, name).copy() for name in ("acquisition", "learners", "comparisons", "reuse")}
    for name, values in merged.items():
        values[whole] = getattr(plain, name)
    return evolve(capped, **merged)
