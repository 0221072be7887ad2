"""Charges of rows that end as soon as they are certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.cost.charges import charge_masks
from costframe.core.stages.certain import certain_rows
from costframe.core.stages.step_layout import COMPARISONS, USES, WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.report import Charges
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.certain_layout import Goal


def charge_certain(
    tree: StageTree,
    prices: PriceArrays,
    goal: Goal,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_jobs: int | None,
) -> Charges:
    """Charge rows, float64 (rows, d), each until its goal; learners left unfinished cost their comparisons only."""
    rows = certain_rows(tree, prices, goal, X, n_jobs)
    charges = charge_masks(
        tree,
        prices,
        rows.masks,
        weight,
        rows.account[:, WEIGHT],
        rows.account[:, COMPARISONS],
        rows.account[:, USES],
        np.array([float(weight.sum())]),
        tree.linked(rows.scores, np.zeros(len(X), np.int64)),
        prices.direct_needs.restrict(tree.layout.used),
        np.zeros((len(X), len(prices.cost)), np.bool_),
    )
    return evolve(charges, cut=rows.early, rounds=rows.rounds)
