"""Laws of hard caps and unavailable features: no row exceeds its cap, and every row has an answer."""

# ruff: noqa: D401 - a law's docstring is the law itself, a sentence that is true

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.testing.case import expect, same_bits
from costframe.testing.counting import CountingSource
from costframe.testing.data import COSTS
from costframe.testing.law import law
from costframe.testing.laws_of_cost import all_prices_for, expect_close

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.prices.costs import CostModel
    from costframe.testing.case import Case

__all__: list[str] = []

SOME = 10  # rows to step through one by one
SHARES = (0.0, 0.1, 0.35, 0.7, 0.95)  # caps, as shares of the cost of the most expensive row
OUT_OF_REACH = (("scan",), ("blood",), ("visit", "cheap"), COSTS.names)
ACQUISITIONS = ("path", "learner")


def _predictor(case: Case) -> Any:
    """Return the predictor to check, or None if it refuses limits by name."""
    predictor = case.fitted(0.0).predictor_
    tried: dict[str, dict[str, Any]] = {"max_cost": {"max_cost": 1.0}, "unavailable": {"unavailable": ("scan",)}}
    for name, limits in tried.items():
        try:
            predictor.inquire(COSTS, **limits)
        except CostframeError as error:
            expect(name in str(error), f"{name} is refused without naming it: {error}")
            return None
    return predictor


def _all_limits(predictor: Any, rows: NDArray[np.float64]) -> Iterator[tuple[CostModel, str, dict[str, Any]]]:
    """Yield prices, acquisition and limits to try: caps, unavailable features, and both."""
    for prices in (COSTS, all_prices_for(predictor)):
        for acquisition in ACQUISITIONS:
            most = float(predictor.cost(rows, prices, acquisition=acquisition).per_row.max())
            for share in SHARES:
                yield prices, acquisition, {"max_cost": share * most}
            for names in OUT_OF_REACH:
                yield prices, acquisition, {"unavailable": names}
            yield prices, acquisition, {"max_cost": 0.5 * most, "unavailable": ("cheap",)}


def _step(
    predictor: Any, row: NDArray[np.float64], prices: CostModel, acquisition: str, **limits: Any
) -> tuple[Prediction, CountingSource]:
    """Step through one row with a counting source; the inquiry must not ask for unavailable features."""
    source = CountingSource(dict(zip(predictor.feature_names, row.tolist(), strict=True)), prices)
    barred = _barred(limits.get("unavailable", ()))
    inquiry = predictor.inquire(prices, acquisition, **limits)
    while needs := inquiry.needs:
        expect(not barred.intersection(needs), f"asks for {needs}, though {sorted(barred)} are unavailable")
        inquiry.supply(source(needs))
    return inquiry.answer, source


def _barred(names: tuple[str, ...]) -> set[str]:
    """Return the features that are unavailable without these features and resources."""
    needed = {"blood": ("iron", "sugar"), "scanner": ("scan",), "visit": ("scan",)}
    return {feature for name in names for feature in needed.get(name, (name,))}


@law
def no_row_exceeds_its_cap(case: Case) -> None:
    """No row is charged more than its cap, by prices of any kind, and it always has a finite answer."""
    rows = case.table.fresh
    if (predictor := _predictor(case)) is None:
        return
    for prices, acquisition, limits in _all_limits(predictor, rows):
        cap = limits.get("max_cost", np.inf)
        report = predictor.cost(rows, prices, acquisition=acquisition, **limits)
        most = float(report.per_row.max())
        expect(most <= cap, f"{acquisition}: a row is charged {most:g}, more than its cap {cap:g}")
        expect(np.isfinite(report.predictions).all(), f"{acquisition}: no finite answer with {limits}")
        expect(
            report.cut is not None and f"cut={report.cut.sum()}" in repr(report), "the report does not say what is cut"
        )
        for i, row in enumerate(rows[:SOME]):
            end, source = _step(predictor, row, prices, acquisition, **limits)
            spent = max(end.cost, source.charged * (1 - 1e-9))
            expect(spent <= cap, f"row {i}, {acquisition}: charged {spent:g}, more than its cap {cap:g}")
            expect(np.isfinite(end.value).all(), f"row {i}, {acquisition}: no finite answer with {limits}")


@law
def what_is_unavailable_is_never_asked_for(case: Case) -> None:
    """No row acquires an unavailable feature, or one that needs an unavailable resource, unless its value is known."""
    rows = case.table.fresh[:SOME]
    if (predictor := _predictor(case)) is None:
        return
    for names in OUT_OF_REACH:
        barred = _barred(names)
        report = predictor.cost(rows, unavailable=names)
        columns = [name in barred for name in report.feature_names]
        expect(not report.acquired[:, columns].any(), f"reports that it acquires what is unavailable: {sorted(barred)}")
        for i, row in enumerate(rows):
            end, _ = _step(predictor, row, COSTS, "path", unavailable=names)
            values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
            known = predictor.inquire(COSTS, known=values, unavailable=names)
            expect(not known.needs, f"row {i}: asks for {known.needs} although all values are known")
            expect(known.answer.reason == "complete", f"row {i}: a feature that is known counts as unavailable")
            expect(end.reason in {"complete", "unavailable"}, f"row {i}: the reason is {end.reason!r} without a cap")


@law
def a_capped_report_is_what_is_fetched(case: Case) -> None:
    """A report, a prediction and an inquiry with a counting source agree under limits too."""
    rows = case.table.fresh[:SOME]
    if (predictor := _predictor(case)) is None:
        return
    for prices, acquisition, limits in _all_limits(predictor, rows):
        report = predictor.cost(rows, prices, acquisition=acquisition, rounds=True, **limits)
        for i, row in enumerate(rows):
            where = f"row {i}, {acquisition}, {limits}"
            end, source = _step(predictor, row, prices, acquisition, **limits)
            bought = {name for name, one in zip(report.feature_names, report.acquired[i], strict=True) if one}
            expect_close(report.per_row[i], end.cost, f"{where}: reported against charged")
            expect(bought == set(source.fetched), f"{where}: {bought} reported, {source.fetched} fetched")
            expect(same_bits(report.predictions[i], end.value), f"{where}: the report predicts otherwise")
            expect(
                report.cut[i] == (end.reason != "complete"), f"{where}: cut is reported, the reason is {end.reason!r}"
            )
            expect(
                report.rounds[i] == source.calls, f"{where}: {report.rounds[i]} rounds reported, {source.calls} made"
            )
            if prices is COSTS:
                expect_close(end.cost, source.charged, f"{where}: charged against fetched")
        if prices is COSTS and acquisition == "path":
            same = same_bits(predictor.predict(rows, **limits), report.predictions)
            expect(same, f"{limits}: predict and the report differ")


@law
def a_cap_beyond_reach_changes_nothing(case: Case) -> None:
    """With a cap not below a row's cost, its answer and cost are the same as without, to the last bit."""
    rows = case.table.fresh
    if (predictor := _predictor(case)) is None:
        return
    for prices in (COSTS, all_prices_for(predictor)):
        for acquisition in ACQUISITIONS:
            plain = predictor.cost(rows, prices, acquisition=acquisition)
            report = predictor.cost(rows, prices, acquisition=acquisition, max_cost=float(plain.per_row.max()))
            expect(not report.cut.any(), f"{acquisition}: rows are cut by a cap that all can pay")
            for name in ("per_row", "predictions", "acquired"):
                same = same_bits(getattr(report, name), getattr(plain, name))
                expect(same, f"{acquisition}: a cap that all can pay changes {name}")
            for i, row in enumerate(rows[:SOME]):
                end, source = _step(predictor, row, prices, acquisition, max_cost=float(plain.per_row[i]))
                expect(end.reason == "complete", f"row {i}, {acquisition}: is cut by a cap of just what it costs")
                expect(same_bits(end.value, plain.predictions[i]), f"row {i}: a cap that it can pay changes its answer")
                bought = {name for name, one in zip(plain.feature_names, plain.acquired[i], strict=True) if one}
                expect(bought == set(source.fetched), f"row {i}: a cap that it can pay changes what is acquired")


@law
def estimators_pass_limits_on(case: Case) -> None:
    """An estimator treats limits like its predictor: in costs, predictions, scores and probabilities."""
    if _predictor(case) is None:
        return
    estimator, rows = case.fitted(0.0), case.table.fresh
    cap = 0.35 * float(estimator.cost(rows).per_row.max())
    for limits in ({"max_cost": cap}, {"unavailable": ("blood", "cheap")}):
        report = estimator.cost(rows, **limits)
        expect(report.cut is not None, "estimator.cost does not say which rows are cut")
        own = estimator.predictor_.cost(rows, **limits)
        expect(same_bits(report.per_row, own.per_row), f"{limits}: estimator.cost differs from predictor_.cost")
        found, values = estimator.predict(rows, **limits), estimator.predictor_.predict(rows, **limits)
        if not case.is_classifier:
            expect(same_bits(found, values), f"{limits}: predict differs from the predictor's")
            continue
        p = estimator.predict_proba(rows, **limits)
        expect(
            same_bits(p if values.ndim == 2 else p[:, 1], values),
            f"{limits}: predict_proba differs from the predictor's",
        )
        expect(np.allclose(p.sum(axis=1), 1.0) and (p >= 0).all(), f"{limits}: probabilities do not add up to one")
        expect(
            np.array_equal(estimator.classes_[p.argmax(axis=1)], found), f"{limits}: predict is not the likeliest class"
        )
        scores = estimator.decision_function(rows, **limits)
        expect(np.isfinite(scores).all() and len(scores) == len(rows), f"{limits}: no finite scores")
