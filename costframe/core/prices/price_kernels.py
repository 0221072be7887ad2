"""Compiled sums of the prices of features and their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    F8 = NDArray[np.float64]
    U8 = NDArray[np.uint64]

__all__ = ["price_rows"]


@kernel
def price_rows(
    masks: U8, cost: F8, resource_mask: U8, resource_cost: F8, weight: F8, per_row: F8, features: F8, resources: F8
) -> None:
    """Add the cost of each row's features, bits in `masks`, and of their resources to `per_row`.

    Add the weights of the rows that bought each feature and resource to `features` and `resources`.
    """
    for i in range(masks.shape[0]):
        total = 0.0
        for u in range(cost.shape[0]):
            bought = np.float64((masks[i, u >> 6] >> np.uint64(u & 63)) & np.uint64(1))
            total += bought * cost[u]
            features[u] += bought * weight[i]
        for r in range(resource_cost.shape[0]):
            needed = np.uint64(0)
            for w in range(masks.shape[1]):
                needed |= masks[i, w] & resource_mask[r, w]
            if needed != 0:
                total += resource_cost[r]
                resources[r] += weight[i]
        per_row[i] += total
