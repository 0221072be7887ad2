"""Counting sources, inquiries stepped through them, and comparisons with reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from costframe.core.arrays import F8
from costframe.core.cost.expected import CostReport
from costframe.core.predictors.prediction import Prediction
from costframe.core.prices.costs import CostModel
from costframe.testing.case import expect, same_bits


class CountingSource:
    """A source of one row's values that records every fetch and charges it by the cost model.

    It computes charges itself, in the simplest way, to compare them with the library's.

    Attributes
    ----------
    fetched : list of str
        Features in the order they were fetched.
    calls : int
        Number of trips.
    paid : Fraction
        Prices of the features fetched and of the resources they need, each resource once, and those of going to them
        in further rounds, as people write them.
    """

    def __init__(self, values: Mapping[str, float], costs: CostModel) -> None:
        self._values = dict(values)
        table = costs.to_dict()
        self._features, self._resources = table["features"], table.get("resources", {})
        self._paid: set[str] = set()
        self.fetched: list[str] = []
        self.calls = 0
        self.paid = Fraction(0)

    @property
    def charged(self) -> float:
        """What was paid, as a double."""
        return float(self.paid)

    def __call__(self, names: Sequence[str]) -> dict[str, float]:
        """Return the values of features; refuse a feature fetched before, which no inquiry should ask for."""
        self.calls += 1
        again = self._go_to([self._features[name] for name in names]) & self._paid
        self.paid += sum((Fraction(str(_entry(self._resources[name], "round", 0.0))) for name in again), Fraction(0))
        for name in names:
            if name in self.fetched:
                raise AssertionError(f"feature {name!r} was fetched twice")
            self.fetched.append(name)
            self._charge(self._features[name])
        return {name: self._values[name] for name in names}

    def _go_to(self, entries: Iterable[object]) -> set[str]:
        """Return the resources that a round goes to, all but those that are there and stay."""
        found = set[str]()
        for entry in entries:
            for name in _entry(entry, "needs", ()):
                price = self._resources[name]
                stays = _entry(price, "round_time", None) == 0.0 and not _entry(price, "round", 0.0)
                if not (stays and name in self._paid):
                    found |= {name} | self._go_to([price])
        return found

    def _charge(self, entry: float | Mapping[str, object]) -> None:
        if not isinstance(entry, dict):
            self.paid += Fraction(str(entry))
            return
        self.paid += Fraction(str(entry["cost"]))
        for name in entry.get("needs", ()):
            if name not in self._paid:
                self._paid.add(name)
                self._charge(self._resources[name])


def _entry(price: object, key: str, default: Any) -> Any:
    """Return what an entry of a price table says, where a number is a cost."""
    return price.get(key, default) if isinstance(price, Mapping) else default


def inquire(
    predictor: Any, row: F8 | Mapping[str, Any], costs: CostModel, acquisition: str = "path", **terms: Any
) -> tuple[Prediction, CountingSource]:
    """Step through one row, float64 (d,) or values by name, with the terms of an inquiry.

    The inquiry must not ask for unavailable features.
    """
    values = row if isinstance(row, Mapping) else dict(zip(predictor.feature_names, row.tolist(), strict=True))
    source, barred = CountingSource(values, costs), unavailable_features(terms.get("unavailable", ()))
    inquiry = predictor.inquire(costs, acquisition, **terms)
    while needs := inquiry.needs:
        expect(not barred.intersection(needs), f"asks for {needs}, though {sorted(barred)} are unavailable")
        inquiry.supply(source(needs))
    return inquiry.answer, source


def unavailable_features(names: Iterable[str]) -> set[str]:
    """Return the features of the table that are unavailable without these features and resources."""
    needed = {"blood": ("iron", "sugar"), "scanner": ("scan",), "visit": ("scan",)}
    return {feature for name in names for feature in needed.get(name, (name,))}


def acquired_names(report: CostReport, i: int) -> set[str]:
    """Return the features that row i of a report acquired."""
    return {name for name, is_acquired in zip(report.feature_names, report.acquired[i], strict=True) if is_acquired}


def expect_as_reported(
    report: CostReport, i: int, end: Prediction, source: CountingSource, where: str, *, by_the_book: bool = True
) -> None:
    """Expect that an inquiry agrees with row i of a report: in features, rounds, cost, and the answer under limits.

    With `by_the_book`, its cost is what the source charged, the price of features and resources alone.
    """
    bought, fetched = acquired_names(report, i), set(source.fetched)
    expect(bought == fetched, f"{where}: {bought} reported, {source.fetched} fetched")
    expect(set(end.acquired) == fetched, f"{where}: acquired {end.acquired}, fetched {source.fetched}")
    if report.rounds is not None:
        expect(report.rounds[i] == source.calls, f"{where}: {report.rounds[i]} rounds reported, {source.calls} made")
    paid, told = float(report.per_row[i]), float(end.cost)
    expect(paid == told, f"{where}: reported against charged: {paid!r} against {told!r}")
    if by_the_book:
        expect_close(end.cost, source.charged, f"{where}: charged against fetched")
    if report.cut is not None and report.predictions is not None:
        expect(same_bits(report.predictions[i], end.value), f"{where}: the report predicts otherwise")
        expect(report.cut[i] == (end.reason != "complete"), f"{where}: cut is reported, the reason is {end.reason!r}")


def expect_close(given: float, wanted: float, what: str) -> None:
    """Expect two costs to be equal up to rounding."""
    expect(abs(given - wanted) <= 1e-9 * max(1.0, abs(wanted)), f"{what}: {given!r} against {wanted!r}")
