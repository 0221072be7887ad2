"""One row stepped through over a source that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from costframe.testing.counting import CountingSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.prices.costs import CostModel

__all__ = ["inquire"]


def inquire(
    predictor: Any, row: NDArray[np.float64], costs: CostModel, acquisition: str = "path", **terms: Any
) -> tuple[Prediction, CountingSource]:
    """Step through one row, float64 (d,), on some terms."""
    source = CountingSource(dict(zip(predictor.feature_names, row.tolist(), strict=True)), costs)
    inquiry = predictor.inquire(costs, acquisition, **terms)
    while inquiry.needs:
        inquiry.supply(source(inquiry.needs))
    return inquiry.answer, source
