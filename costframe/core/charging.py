"""Charging the rows of a stage tree: what will be paid, under limits or without, or its expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.core.capped import capped_charges
from costframe.core.evaluate import over_chunks
from costframe.core.hard import hard_charges
from costframe.core.reading import marks_for
from costframe.core.report import sum_charges
from costframe.core.soft import soft_charges
from costframe.core.stage_visits import learners_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.limits import Limits
    from costframe.core.price_arrays import PriceArrays
    from costframe.core.report import Charges
    from costframe.core.stage_tree import StageTree

__all__ = ["charge_tree"]


def charge_tree(
    tree: StageTree,
    prices: PriceArrays,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    acquisition: str,
    limits: Limits | None,
    n_jobs: int | None,
    *,
    soft: bool = False,
    steepness: float | None = None,
) -> Charges:
    """Charge rows, float64 (rows, d), chunk by chunk; see `Predictor.charges`."""
    if limits is not None:
        return capped_charges(tree, prices, limits, X, weight, by_path=acquisition == "path", n_jobs=n_jobs)
    marks = marks_for(tree.bank, tree.layout, prices, acquisition)
    learners = learners_at(tree, prices)

    def chunk(part: slice) -> Charges:
        if soft:
            return soft_charges(tree, prices, marks, steepness, X[part], weight[part], learners)
        return hard_charges(tree, prices, marks, X[part], weight[part], learners)

    # No rows at all are one empty chunk, so that the report has its shapes.
    return sum_charges(over_chunks(chunk, len(X), n_jobs) or [chunk(slice(0, 0))])
