"""The cost report: the cost of predicting rows, and its parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.row_prices import reprice
from costframe.core.cost.totals import Charges, Totals
from costframe.core.display import html_table
from costframe.core.errors import ParameterError, brief, format_count
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.ends import Ends
from costframe.core.stages.links import squeeze
from costframe.core.sums import as_fraction, exact_digits, exact_squares, from_digits

BY_ROW = (
    "per_row",
    "acquired",
    "rounds",
    "predictions",
    "places",
    "cut",
    "latency",
    "errors",
)  # arrays of a report with a value a row
_MOST_PARTS = 20  # in a notebook


@frozen
class EvaluationCost:
    """Mean cost per row of evaluation, by kind."""

    learners: float
    comparisons: float
    reuse: float

    @property
    def total(self) -> float:
        """Sum of all three."""
        return self.learners + self.comparisons + self.reuse


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
    places : int64 (rows,), or None
        Number of each row's class, where predictions do not tell it.
    unit : str
    feature_names : tuple of str (d,)
    cut : bool (rows,), or None
        Rows answered early because of limits, or because they were certain (see
        `costframe.certain`); None without either.
    latency : float64 (rows,), or None
        Milliseconds that each row waits for its sources, if requested: the sum over rounds of the slowest trip.
    errors : float64 (rows,), or None
        Cost of each row's error; None without labels.
    copies : tuple of CostReport
        Of rows that lack tests: the report of each completed copy of them. This one has their means, also of arrays
        with a value a row, in which `acquired`, `cut` and `rounds` are float64, and no `places`. Empty where no row
        lacks any.
    totals : Totals
        Sums over the rows, for `merge`.
    """

    per_row: F8
    mean: float
    fixed: float
    by_feature: dict[str, float]
    by_resource: dict[str, float]
    evaluation: EvaluationCost
    acquired: B1 | F8
    by_stage: F8
    rounds: I8 | None
    predictions: F8 | None
    unit: str
    feature_names: tuple[str, ...]
    cut: B1 | None = None
    latency: F8 | None = None
    errors: F8 | None = None
    places: I8 | None = None
    copies: tuple[CostReport, ...] = field(default=(), kw_only=True, repr=False)
    totals: Totals = field(kw_only=True, repr=False)

    def __repr__(self) -> str:
        """Name the mean and its largest parts; the arrays would fill pages."""
        cut = "" if self.cut is None else f"{round(self.cut.sum()) if self.copies else np.count_nonzero(self.cut)} cut"
        fixed = f"{self.fixed:g} once per batch" if self.fixed else ""
        largest = [f"{name} {100 * part / self.mean:.0f} %" for name, part in self._largest_parts()[:3]]
        completed = f"completed in {len(self.copies)} copies" if self.copies else ""
        facts: tuple[str, ...] = (
            format_count(len(self.per_row), "row"),
            completed,
            cut,
            f"mean {self.mean:g} {self.unit}",
            fixed,
        )
        if self.errors is not None:
            facts = (*facts, f"bill {self.mean_bill:g} ± {self.bill_error:.2g} with errors of {self.mean_errors:g}")
        if self.latency is not None and len(self.latency):
            middle, late = self.latency_quantiles((0.5, 0.99))
            facts = (*facts, f"latency {middle:.4g} ms, 99 % within {late:.4g}")
        return brief(self, *facts, "of it " * bool(largest) + ", ".join(largest))

    def _repr_html_(self) -> str:
        parts = [(name, f"{part:.4g}", f"{part / self.mean:.1%}") for name, part in self._largest_parts()]
        left = len(parts) - _MOST_PARTS
        more = [(f"{left} more", "", "")] if left > 0 else []
        return html_table(repr(self), ("", f"mean {self.unit}", "share"), [*parts[:_MOST_PARTS], *more])

    def with_errors(self, errors: F8, weight: F8) -> CostReport:
        """Return the report with the cost of each row's error, float64 (rows,); rows have these weights."""
        bill = self.per_row + errors
        squares = np.sum([exact_digits(part * weight) for part in exact_squares(bill)], axis=0)
        sums = {"errors": exact_digits(errors * weight), "bill": exact_digits(bill * weight), "squared_bill": squares}
        return evolve(self, errors=errors, totals=evolve(self.totals, **sums))

    @property
    def ends(self) -> Ends:
        """Predictions of the rows, and what tells their classes; not with soft routing."""
        if self.predictions is None:
            raise ParameterError("routing: rows of a softened routing go all ways; use routing='hard'")
        return Ends(self.predictions, self.places)

    @property
    def bill(self) -> F8:
        """What each row costs with its error, float64 (rows,)."""
        return self.per_row + self._known_errors()

    def at_row_prices(self, prices: Mapping[str, ArrayLike]) -> F8:
        """Return what each row costs if the price of some features differs by row, float64 (rows,).

        A model decides by the constant prices of its `CostModel`, and acquires the same.

        Parameters
        ----------
        prices : mapping of str to array-like (rows,)
            By feature, in place of its constant price: for example tokens of the row times the price of one.

        Raises
        ------
        ParameterError
            If a name is a resource or no feature, a price is not finite or below 0, or with soft routing.
        """
        return reprice(self.per_row, self.acquired, self.totals.prices, prices)

    @property
    def mean_errors(self) -> float:
        """Weighted mean of `errors`; 0 for no rows."""
        self._known_errors()
        return from_digits(self.totals.errors) / (self.totals.total_weight or math.inf)

    @property
    def mean_bill(self) -> float:
        """Weighted mean of `bill`: `mean` and `mean_errors` together."""
        return self.mean + self.mean_errors

    @property
    def bill_error(self) -> float:
        """Standard error of `mean_bill`, over rows drawn like these; a weight of two is two rows. NaN for one row."""
        self._known_errors()
        if self.copies:
            return error_over_copies(*zip(*((copy.mean_bill, copy.bill_error) for copy in self.copies), strict=True))
        total, bill, squares = map(as_fraction, (self.totals.weight, self.totals.bill, self.totals.squared_bill))
        if total <= 1:
            return math.nan
        if not math.isfinite(from_digits(self.totals.squared_bill)):
            return math.inf
        return math.sqrt(max(0.0, float((squares - bill * bill / total) / total / (total - 1))))

    def _known_errors(self) -> F8:
        if self.errors is None:
            raise ParameterError("errors: are known with labels only; use cost(X, y) at prices with errors")
        return self.errors

    def latency_quantiles(self, shares: Sequence[float] = (0.5, 0.9, 0.99)) -> F8:
        """Return the milliseconds within which these shares of the rows have their values: float64 (shares,).

        NaN for no rows.
        """
        if self.latency is None:
            raise ParameterError("latency: was not requested; use cost(..., latency=True)")
        if not len(self.latency):
            return np.full(len(shares), np.nan)
        return np.quantile(self.latency, list(shares), method="inverted_cdf")

    def _largest_parts(self) -> list[tuple[str, float]]:
        """Return the parts of the mean, the largest first, without those of zero."""
        computing = {name: getattr(self.evaluation, name) for name in ("learners", "comparisons", "reuse")}
        every = [*self.by_feature.items(), *self.by_resource.items(), *computing.items()]
        return sorted([part for part in every if part[1]], key=lambda part: -part[1])

    @classmethod
    def of(
        cls, prices: PriceArrays, charges: Charges, weight: F8, rounds: I8 | None = None, latency: F8 | None = None
    ) -> CostReport:
        """Take weighted means of charges."""
        per_row = charges.row_costs
        return cls._of_totals(
            Totals.of(prices, charges, per_row, weight),
            per_row=per_row,
            acquired=charges.acquired,
            rounds=rounds,
            predictions=None if charges.predictions is None else squeeze(charges.predictions),
            places=charges.places,
            cut=charges.cut,
            latency=latency,
        )

    @classmethod
    def merge(cls, reports: Iterable[CostReport]) -> CostReport:
        """Return the report of all rows of several reports, of one model at equal prices.

        It equals the report of all rows at once: to the last digit where weights are whole numbers, else to rounding
        errors. Prices of a whole batch are paid once if any row of all acquired the feature. Weights must not be
        beyond 1e100, or all below 1e-100.

        Raises
        ------
        ParameterError
            If there are no reports, or those of different models, prices or requests.
        """
        parts = list(reports)
        if not parts:
            raise ParameterError("reports: expected at least one, got none")

        def join(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            if len({value is None for value in values}) > 1:
                raise ParameterError(f"reports: some have {name} and others not; request the same of all")
            return None if values[0] is None else np.concatenate(values)

        if count := max(len(part.copies) for part in parts):
            by_copy = ([part.copies[place] if part.copies else part for part in parts] for place in range(count))
            return cls.pool([cls.merge(copies) for copies in by_copy])
        return cls._of_totals(Totals.merge([part.totals for part in parts]), **{name: join(name) for name in BY_ROW})

    @classmethod
    def pool(cls, copies: Sequence[CostReport]) -> CostReport:
        """Return the report of rows that lack tests, from one of each completed copy of them: the means."""
        first = copies[0]
        means = {
            name: np.mean([getattr(copy, name) for copy in copies], axis=0)
            for name in BY_ROW
            if getattr(first, name) is not None
        }
        blank: dict[str, Any] = dict.fromkeys(BY_ROW)
        pooled = cls._of_totals(Totals.merge([copy.totals for copy in copies]), **(blank | means | {"places": None}))
        return evolve(pooled, copies=tuple(copies))

    @classmethod
    def _of_totals(cls, totals: Totals, **by_row: Any) -> CostReport:
        """Take the means."""
        prices, total = totals.prices, totals.total_weight
        total = total if total > 0 else math.inf  # evaluate() keeps sums finite
        features = prices.cost * totals.feature_weight / total
        resources = (
            prices.resource_cost * totals.resource_weight + prices.resource_round * totals.round_weight
        ) / total
        return cls(
            mean=from_digits(totals.cost) / total,
            fixed=float((1.0 - totals.none_acquired) @ prices.once) if prices.once.any() else 0.0,
            by_feature=dict(zip(prices.names, features.tolist(), strict=True)),
            by_resource=dict(zip(prices.resource_names, resources.tolist(), strict=True)),
            evaluation=EvaluationCost(
                *(from_digits(part) / total for part in (totals.learners, totals.comparisons, totals.reuse))
            ),
            by_stage=totals.stage_weight / total,
            unit=prices.unit,
            feature_names=prices.names,
            totals=totals,
            **by_row,
        )


def error_over_copies(means: Sequence[float] | F8, errors: Sequence[float], *, turns: float = 1.0) -> float:
    """Return the standard error of the mean over completed copies of rows, by Rubin's rules.

    Its variance is W + (1 + 1/M) B / `turns`, of the mean variance W within M copies, and that between them, B.
    """
    return math.sqrt(float(np.mean(np.square(errors)) + np.square(spread_over_copies(means)).sum() / turns))


def spread_over_copies(means: Sequence[float] | F8) -> F8:
    """Return what M copies differ by from their mean, float64 (M,), with the sum of squares (1 + 1/M) B."""
    values, n = np.asarray(means, np.float64), len(means)
    return np.asarray((values - values.mean()) * math.sqrt((1 + 1 / n) / (n - 1)))
