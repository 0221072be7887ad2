"""What rows pay for: each resource and feature, its price, the share of rows that pay it, and its part of the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from costframe.core.cost.expected import CostReport
    from costframe.core.prices.costs import CostModel

__all__ = ["Payment", "payments"]


@frozen
class Payment:
    """One thing that rows pay for.

    Attributes
    ----------
    kind : {"resource", "feature", "computing"}
    name : str
    price : float or None
        What a row pays that needs it, once; None for computing, which a row pays in many small parts.
    share : float or None
        Share of rows that pay it.
    mean : float
        What it adds to the mean cost per row: price * share.
    once : float
        What the batch pays for it, once; only features have such a price.
    """

    kind: str
    name: str
    price: float | None
    share: float | None
    mean: float
    once: float = 0.0


def payments(report: CostReport, costs: CostModel) -> list[Payment]:
    """List what rows paid for: resources and features that any row acquired, then computing; parts of the mean.

    Parameters
    ----------
    report : CostReport
        Of hard routing.
    costs : CostModel
        The prices it was made with.
    """
    prices = costs.select(report.feature_names)
    acquired = np.asarray(report.acquired, np.float64)
    share = acquired.mean(axis=0) if len(acquired) else np.zeros(len(prices.names))
    found = [
        Payment("resource", name, float(prices.resource_cost[r]), needing, mean)
        for r, (name, mean) in enumerate(report.by_resource.items())
        if (needing := _share(acquired, prices.needs[:, r])) > 0
    ]
    found += [
        Payment("feature", name, float(prices.cost[f]), float(share[f]), mean, float(prices.once[f]))
        for f, (name, mean) in enumerate(report.by_feature.items())
        if share[f] > 0
    ]
    computing = {
        "learners": report.evaluation.learners,
        "comparisons": report.evaluation.comparisons,
        "reuse": report.evaluation.reuse,
    }
    found += [Payment("computing", name, None, None, mean) for name, mean in computing.items() if mean > 0]
    return found


def _share(
    acquired: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    needing: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> float:
    """Return the share of rows that acquired any feature of some."""
    return float((acquired[:, needing] > 0).any(axis=1).mean()) if len(acquired) else 0.0
