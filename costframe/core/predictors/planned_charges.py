"""What the rows of a plan are charged: each for the items that it has paid for, in the same sums as its inquiry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.report import Charges, sum_charges
from costframe.core.learners.bits import members
from costframe.core.predictors.planned_terms import COMPLETE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.core.predictors.planned_terms import Terms
    from costframe.core.predictors.planned_walk import Walked

__all__ = ["planned_charges"]


def planned_charges(
    parts: Sequence[Walked],
    terms: Terms,
    weight: NDArray[np.float64],
    linked: Callable[[Walked], NDArray[np.float64]],
) -> Charges:
    """Charge rows that were sent through a plan, part by part; `linked` makes predictions of their scores."""
    ends = np.cumsum([len(part.exits) for part in parts])
    return sum_charges([
        _charge(part, terms, weight[end - len(part.exits) : end], linked(part))
        for part, end in zip(parts, ends, strict=True)
    ])  # fmt: skip


def _charge(part: Walked, terms: Terms, weight: NDArray[np.float64], predictions: NDArray[np.float64]) -> Charges:
    d, n_items = len(terms.prices.prices.cost), sum(terms.prices.prices.needs.shape)
    bought = np.zeros((len(part.paid), n_items))
    for account, items in enumerate(part.paid):
        bought[account, list(members(items))] = True
    cost = np.array([terms.prices.total(items) for items in part.paid])
    of_account = np.bincount(part.account, weights=weight, minlength=len(part.paid)) @ bought
    none = np.zeros(len(part.exits))
    return Charges(
        acquired=bought[part.account, :d] > 0,
        acquisition=cost[part.account],
        learners=none,
        comparisons=none,
        reuse=none,
        feature_weight=of_account[:d],
        resource_weight=of_account[d:],
        stage_weight=np.array([weight[visit.rows].sum() for visit in part.visits]),
        predictions=predictions,
        rounds=part.rounds,
        cut=part.why != COMPLETE if terms.limited else None,
    )
