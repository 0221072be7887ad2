"""Charges of a stage tree's rows: hard, soft, or under limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.caps.capped import walk_under_limits
from costframe.core.cost.charges import charge_masks, hard_charges, learners_at, soft_charges
from costframe.core.cost.report import Charges, sum_charges
from costframe.core.stages.run_stages import marks_for
from costframe.core.stages.stages import Route
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.caps.capped import CappedRows
    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import Limits, PriceArrays


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
        by_path = how.acquisition == "path"
        rows = walk_under_limits(tree, prices, limits, X, by_path=by_path, n_jobs=n_jobs)
        whole = np.flatnonzero(~rows.cut)
        plain = charge_tree(tree, prices, X[whole], weight[whole], how, None, n_jobs)
        return _with_plain(_charge_capped(tree, prices, rows, weight), plain, whole)
    marks = marks_for(tree.bank, tree.layout, prices, how.acquisition)
    learners = learners_at(tree, prices)

    def chunk(part: slice) -> Charges:
        if how.routing == "soft":
            return soft_charges(tree, prices, marks, how.steepness, X[part], weight[part], learners)
        return hard_charges(tree, prices, marks, X[part], weight[part], learners)

    # An empty table is one empty chunk, so that the report has its shapes.
    return sum_charges(over_chunks(chunk, len(X), n_jobs) or [chunk(slice(0, 0))])


def _charge_capped(tree: StageTree, prices: PriceArrays, rows: CappedRows, weight: NDArray[np.float64]) -> Charges:
    """Charge rows after their walk under limits."""
    evaluated, comparisons, uses = rows.spent.T
    reached = np.bincount(rows.exits, weights=weight, minlength=len(tree.stages)).astype(np.float64)
    for number in range(len(tree.stages) - 1, -1, -1):  # children come after their parent
        stage = tree.stages[number]
        if isinstance(stage, Route):
            reached[number] += reached[stage.below] + reached[stage.above]
    predictions = tree.linked(rows.final_scores(tree), rows.exits)
    charges = charge_masks(
        tree, prices, rows.masks, weight, prices.learner * evaluated, comparisons, uses, reached, predictions
    )
    return evolve(charges, cut=rows.cut)


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
