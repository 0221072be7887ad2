"""Counting sources, and inquiries stepped through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.prices.costs import CostModel

__all__ = ["CountingSource", "inquire"]


class CountingSource:
    """A source of one row's values that records every fetch and charges it by the cost model.

    It computes charges itself, in the simplest way, to compare them with the library's.

    Attributes
    ----------
    fetched : list of str
        Features in the order they were fetched.
    calls : int
        Number of trips.
    charged : float
        Prices of the features fetched and of the resources they need, each resource once.
    """

    def __init__(self, values: Mapping[str, float], costs: CostModel) -> None:
        self._values = dict(values)
        table = costs.to_dict()
        self._features, self._resources = table["features"], table.get("resources", {})
        self._paid: set[str] = set()
        self.fetched: list[str] = []
        self.calls = 0
        self.charged = 0.0

    def __call__(self, names: Sequence[str]) -> dict[str, float]:
        """Return the values of features; refuse a feature fetched before, which no inquiry should ask for."""
        self.calls += 1
        for name in names:
            if name in self.fetched:
                raise AssertionError(f"feature {name!r} was fetched twice")
            self.fetched.append(name)
            self._charge(self._features[name])
        return {name: self._values[name] for name in names}

    def _charge(self, entry: float | Mapping[str, object]) -> None:
        if not isinstance(entry, dict):
            self.charged += float(entry)  # type: ignore[arg-type]
            return
        self.charged += float(entry["cost"])
        for name in entry.get("needs", ()):
            if name not in self._paid:
                self._paid.add(name)
                self._charge(self._resources[name])


def inquire(
    predictor: Any, row: NDArray[np.float64], costs: CostModel, acquisition: str = "path", **terms: Any
) -> tuple[Prediction, CountingSource]:
    """Step through one row, float64 (d,), with the terms of an inquiry."""
    source = CountingSource(dict(zip(predictor.feature_names, row.tolist(), strict=True)), costs)
    inquiry = predictor.inquire(costs, acquisition, **terms)
    while inquiry.needs:
        inquiry.supply(source(inquiry.needs))
    return inquiry.answer, source
