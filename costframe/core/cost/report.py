"""The cost report: the cost of predicting rows, and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import fields, frozen

from costframe.core.errors import ParameterError, brief, format_count
from costframe.core.exact_sums import exact_sum
from costframe.core.html import html_table
from costframe.core.stages.stages import squeeze
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays

_MOST_PARTS = 20  # in a notebook


@frozen
class Evaluation:
    """Mean cost per row of evaluation, by kind."""

    learners: float
    comparisons: float
    reuse: float

    @property
    def total(self) -> float:
        """Sum of all three."""
        return self.learners + self.comparisons + self.reuse


@frozen(eq=False)
class Charges:
    """Charges of some rows, from which a report takes means. Sums over rows are weighted."""

    acquired: NDArray[np.bool_] | NDArray[np.float64]  # (rows, d): 0/1, or probabilities
    acquisition: NDArray[np.float64]  # (rows,): features and resources
    learners: NDArray[np.float64] | None  # (rows,), like the next two; None if they cost nothing
    comparisons: NDArray[np.float64] | None
    reuse: NDArray[np.float64] | None
    feature_weight: NDArray[np.float64]  # (d,): weight of the rows that acquired each feature
    resource_weight: NDArray[np.float64]  # (R,)
    stage_weight: NDArray[np.float64]  # (stages,)
    predictions: NDArray[np.float64] | None = None  # (rows, K); None with soft routing
    cut: NDArray[np.bool_] | None = None  # (rows,): answered early; None without limits
    rounds: NDArray[np.int64] | None = None  # (rows,): trips to the sources; None where a replay must count them


def sum_charges(parts: Sequence[Charges], acquired: NDArray[np.bool_] | NDArray[np.float64] | None = None) -> Charges:
    """Concatenate the charges of consecutive rows; `acquired` is that of all, if the parts have views of it."""

    def join(name: str) -> Any:
        if name == "acquired" and acquired is not None:
            return acquired
        values = [getattr(part, name) for part in parts]
        if values[0] is None:
            return None
        return np.sum(values, axis=0) if name.endswith("_weight") else np.concatenate(values)

    return Charges(*(join(each.name) for each in fields(Charges)))


@frozen(eq=False, repr=False)
class CostReport:
    """The exact cost of predicting some rows, in the cost model's unit.

    Attributes
    ----------
    per_row : float64 (rows,)
        Cost of each row, without once-per-batch prices.
    mean : float
        Weighted mean of `per_row`; 0 for no rows.
    fixed : float
        Once-per-batch prices of the features that any row acquired (soft routing: expected).
    by_feature, by_resource : dict of str to float
        Mean contribution of each; with `evaluation.total` they add up to `mean`.
    evaluation : Evaluation
        Mean contributions of learners, comparisons and reuse.
    acquired : bool (rows, d), or float64 with soft routing
        Features that each row acquired, or the probability of it.
    by_stage : float64 (stages,)
        Share of rows that reach each stage.
    rounds : int64 (rows,) or None
        Trips to the sources, if requested.
    predictions : float64 (rows,) or (rows, K), or None
        The result of `predict`; None with soft routing.
    unit : str
    feature_names : tuple of str (d,)
    cut : bool (rows,), or None
        Rows answered early because of a cap or unavailable features, or because they were certain; None without
        limits and `until`.
    latency : float64 (rows,), or None
        Milliseconds that each row waits for its sources, if requested: the sum over rounds of the slowest fetch.
    """

    per_row: NDArray[np.float64]
    mean: float
    fixed: float
    by_feature: dict[str, float]
    by_resource: dict[str, float]
    evaluation: Evaluation
    acquired: NDArray[np.bool_] | NDArray[np.float64]
    by_stage: NDArray[np.float64]
    rounds: NDArray[np.int64] | None
    predictions: NDArray[np.float64] | None
    unit: str
    feature_names: tuple[str, ...]
    cut: NDArray[np.bool_] | None = None
    latency: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """Name the mean and its largest parts; the arrays would fill pages."""
        cut = "" if self.cut is None else f"{np.count_nonzero(self.cut)} cut"
        fixed = f"{self.fixed:g} once per batch" if self.fixed else ""
        largest = [f"{name} {100 * part / self.mean:.0f} %" for name, part in self._largest_parts()[:3]]
        facts: tuple[str, ...] = format_count(len(self.per_row), "row"), cut, f"mean {self.mean:g} {self.unit}", fixed
        if self.latency is not None and len(self.latency):
            middle, late = self.latency_quantiles((0.5, 0.99))
            facts = (*facts, f"latency {middle:.4g} ms, 99 % within {late:.4g}")
        return brief(self, *facts, "of it " * bool(largest) + ", ".join(largest))

    def _repr_html_(self) -> str:
        parts = [(name, f"{part:.4g}", f"{part / self.mean:.1%}") for name, part in self._largest_parts()]
        left = len(parts) - _MOST_PARTS
        more = [(f"{left} more", "", "")] if left > 0 else []
        return html_table(repr(self), ("", f"mean {self.unit}", "share"), [*parts[:_MOST_PARTS], *more])

    def latency_quantiles(self, shares: Sequence[float] = (0.5, 0.9, 0.99)) -> NDArray[np.float64]:
        """Return the milliseconds within which these shares of the rows have their values: float64 (shares,)."""
        if self.latency is None:
            raise ParameterError("latency: was not requested; use cost(..., latency=True)")
        return np.quantile(self.latency, list(shares), method="inverted_cdf")

    def _largest_parts(self) -> list[tuple[str, float]]:
        """Return the parts of the mean, the largest first, without those of zero."""
        computing = {name: getattr(self.evaluation, name) for name in ("learners", "comparisons", "reuse")}
        every = [*self.by_feature.items(), *self.by_resource.items(), *computing.items()]
        return sorted([part for part in every if part[1]], key=lambda part: -part[1])

    @classmethod
    def of(
        cls,
        prices: PriceArrays,
        charges: Charges,
        weight: NDArray[np.float64],
        rounds: NDArray[np.int64] | None = None,
        max_cost: float | None = None,
        latency: NDArray[np.float64] | None = None,
    ) -> CostReport:
        """Take weighted means of charges; under a cap, a row's cost is at most the cap, without rounding errors."""
        scale = 1.0 / total if (total := exact_sum(weight)) > 0 else 0.0  # evaluate() keeps this finite
        parts = charges.learners, charges.comparisons, charges.reuse
        per_row = sum((part for part in parts if part is not None), charges.acquisition)
        if max_cost is not None:
            per_row = np.minimum(per_row, max_cost)
        features = prices.cost * charges.feature_weight * scale
        resources = prices.resource_cost * charges.resource_weight * scale
        evaluation = Evaluation(*(0.0 if part is None else weighted_sum(part, weight) * scale for part in parts))
        return cls(
            per_row=per_row,
            mean=weighted_sum(per_row, weight) * scale,
            fixed=float(_bought_by_any(charges.acquired, weight) @ prices.once) if prices.once.any() else 0.0,
            by_feature=dict(zip(prices.names, features.tolist(), strict=True)),
            by_resource=dict(zip(prices.resource_names, resources.tolist(), strict=True)),
            evaluation=evaluation,
            acquired=charges.acquired,
            by_stage=charges.stage_weight * scale,
            rounds=rounds,
            predictions=None if charges.predictions is None else squeeze(charges.predictions),
            unit=prices.unit,
            feature_names=prices.names,
            cut=charges.cut,
            latency=latency,
        )


def weighted_sum(values: NDArray[np.float64], weight: NDArray[np.float64], workers: Workers = ALONE) -> float:
    """Return the sum of values times weights over all workers' rows: the same digits in any order of rows."""
    return exact_sum(values * weight, workers)


def _bought_by_any(
    acquired: NDArray[np.bool_] | NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that any row acquires each feature, for independent rows: float64 (d,)."""
    if acquired.dtype == np.bool_:
        return np.asarray(acquired[weight > 0].any(axis=0), np.float64)
    return np.asarray(1.0 - np.prod((1.0 - acquired) ** weight[:, None], axis=0))
