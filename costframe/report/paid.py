"""Payments of rows: each resource and feature with its price, the share of rows that pay it, and its mean."""

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
    """One item that rows pay for.

    Attributes
    ----------
    kind : {"resource", "feature", "computing"}
    name : str
    price : float or None
        Price for one row; None for computing, which a row pays in many small parts.
    share : float or None
        Share of rows that pay it.
    mean : float
        Part of the mean cost per row: price * share.
    once : float
        Once-per-batch price; only features have one.
    """

    kind: str
    name: str
    price: float | None
    share: float | None
    mean: float
    once: float = 0.0


def payments(report: CostReport, costs: CostModel) -> list[Payment]:
    """List the payments of rows: resources and features that any row acquired, then computing.

    Parameters
    ----------
    report : CostReport
        Of hard routing.
    costs : CostModel
        Prices of the report.
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
    """Return the share of rows that acquired any feature in `needing`."""
    return float((acquired[:, needing] > 0).any(axis=1).mean()) if len(acquired) else 0.0
