"""Laws of hard caps, unavailable features, and plans at other prices."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from costframe.core.arrays import B1, F8
from costframe.core.errors import CostframeError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import exact
from costframe.testing.case import COSTS, Case, expect, expect_likeliest, law, priced, same_bits
from costframe.testing.counting import acquired_names, expect_as_reported, inquire, unavailable_features
from costframe.testing.laws_of_cost import ROUNDS, all_prices_for, expect_parts

SOME = 10  # rows to step through one by one
SHARES = (0.0, 0.1, 0.35, 0.7, 0.95)  # caps, as shares of the cost of the most expensive row
FEW = 4
TENTHS = priced(features={"cheap": 0.1, "noise": 0.2, "scan": {"cost": 0.7, "needs": ["scanner"]}})
HUGE = priced(features={"free": 1 / 3, "cheap": 4e-8, "noise": 1e9 + 0.4}, resources={"blood": 1e9, "visit": 1e-12})
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


def _all_limits(predictor: Any, rows: F8) -> Iterator[tuple[CostModel, str, dict[str, Any]]]:
    """Yield prices, acquisition and limits to try: caps, unavailable features, and both."""
    for prices in (COSTS, ROUNDS, all_prices_for(predictor)):
        for acquisition in ACQUISITIONS:
            most = float(predictor.cost(rows, prices, acquisition=acquisition).per_row.max())
            for share in SHARES:
                yield prices, acquisition, {"max_cost": share * most}
            for names in OUT_OF_REACH:
                yield prices, acquisition, {"unavailable": names}
            yield prices, acquisition, {"max_cost": 0.5 * most, "unavailable": ("cheap",)}


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
            report.cut is not None and f"{report.cut.sum()} cut" in repr(report),
            "the report does not name the cut rows",
        )
        for i, row in enumerate(rows[:SOME]):
            end, source = inquire(predictor, row, prices, acquisition, **limits)
            spent = max(Fraction(str(float(end.cost))), source.paid)
            expect(
                spent <= (exact(cap) if np.isfinite(cap) else cap),
                f"row {i}, {acquisition}: charged {float(spent):g}, more than its cap {cap:g}",
            )
            expect(np.isfinite(end.value).all(), f"row {i}, {acquisition}: no finite answer with {limits}")


@law
def caps_are_kept_to_the_last_digit(case: Case) -> None:
    """A cost is the sum of the prices as people write them, of tiny beside huge ones too, and within its cap."""
    rows = case.table.fresh
    if (predictor := _predictor(case)) is None:
        return
    for prices in (TENTHS, HUGE):
        costs = sorted(set(predictor.cost(rows, prices).per_row.tolist()))
        for cap in {cap for cost in (costs[0], costs[len(costs) // 2], costs[-1]) for cap in (cost, 0.9 * cost)}:
            for max_cost in (cap, max(0.0, float(np.nextafter(cap, 0.0)))):
                report = predictor.cost(rows, prices, max_cost=max_cost)
                expect_parts(report, f"max_cost={max_cost!r}")
                for i, row in enumerate(rows[:FEW]):
                    where = f"row {i}, max_cost={max_cost!r}"
                    end, source = inquire(predictor, row, prices, max_cost=max_cost)
                    expect(source.paid <= exact(max_cost), f"{where}: pays {source.paid}, more than its cap")
                    expect(
                        end.cost == report.per_row[i], f"{where}: {end.cost!r} charged, {report.per_row[i]!r} reported"
                    )
                    below = exact(np.nextafter(end.cost, -np.inf))
                    expect(below < source.paid <= exact(end.cost), f"{where}: {end.cost!r} charged, {source.paid} paid")


@law
def what_is_unavailable_is_never_asked_for(case: Case) -> None:
    """No row acquires an unavailable feature, or one that needs an unavailable resource, unless its value is known."""
    rows = case.table.fresh[:SOME]
    if (predictor := _predictor(case)) is None:
        return
    for names in OUT_OF_REACH:
        barred = unavailable_features(names)
        report = predictor.cost(rows, unavailable=names)
        columns = [name in barred for name in report.feature_names]
        expect(
            not report.acquired[:, columns].any(), f"reports that it acquires unavailable features: {sorted(barred)}"
        )
        for i, row in enumerate(rows):
            end, _ = inquire(predictor, row, COSTS, "path", unavailable=names)
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
            end, source = inquire(predictor, row, prices, acquisition, **limits)
            expect_as_reported(report, i, end, source, where, by_the_book=prices in (COSTS, ROUNDS))
        if prices is COSTS and acquisition == "path":
            same = same_bits(predictor.predict(rows, **limits), report.predictions)
            expect(same, f"{limits}: predict and the report differ")


@law
def a_cap_beyond_reach_changes_nothing(case: Case) -> None:
    """With a cap not below a row's cost, its answer and cost are the same as without, to the last bit."""
    rows = case.table.fresh
    if (predictor := _predictor(case)) is None:
        return
    for prices in (COSTS, ROUNDS, all_prices_for(predictor)):
        for acquisition in ACQUISITIONS:
            plain = predictor.cost(rows, prices, acquisition=acquisition)
            report = predictor.cost(rows, prices, acquisition=acquisition, max_cost=float(plain.per_row.max()))
            expect(not report.cut.any(), f"{acquisition}: rows are cut by a cap that all can pay")
            for name in ("per_row", "predictions", "acquired"):
                same = same_bits(getattr(report, name), getattr(plain, name))
                expect(same, f"{acquisition}: a cap that all can pay changes {name}")
            for i, row in enumerate(rows[:SOME]):
                end, source = inquire(predictor, row, prices, acquisition, max_cost=float(plain.per_row[i]))
                expect(end.reason == "complete", f"row {i}, {acquisition}: is cut by a cap equal to its cost")
                expect(same_bits(end.value, plain.predictions[i]), f"row {i}: a cap that it can pay changes its answer")
                same = acquired_names(plain, i) == set(source.fetched)
                expect(same, f"row {i}: a cap that it can pay changes its acquisitions")


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
        expected = estimator.predictor_.cost(rows, **limits)
        expect(same_bits(report.per_row, expected.per_row), f"{limits}: estimator.cost differs from predictor_.cost")
        predicted, values = estimator.predict(rows, **limits), estimator.predictor_.predict(rows, **limits)
        if not case.is_classifier:
            expect(same_bits(predicted, values), f"{limits}: predict differs from the predictor's")
            continue
        p = estimator.predict_proba(rows, **limits)
        same = same_bits(p if values.ndim == 2 else p[:, 1], values)
        expect(same, f"{limits}: predict_proba differs from the predictor's")
        expect(np.allclose(p.sum(axis=1), 1.0) and (p >= 0).all(), f"{limits}: probabilities do not add up to one")
        expect_likeliest(estimator, rows, **limits)
        scores = estimator.decision_function(rows, **limits)
        expect(np.isfinite(scores).all() and len(scores) == len(rows), f"{limits}: no finite scores")


@law
def prices_may_change_after_training(case: Case) -> None:
    """At other prices and another tradeoff, a plan predicts and charges the same in tables and in inquiries."""
    predictor = case.fitted().predictor_
    if not isinstance(predictor, PlannedPredictor):
        return
    rows = case.table.fresh[: 2 * SOME]
    for scale, tradeoff in ((3.0, 0.01), (0.1, 0.01), (1.0, 0.0), (1.0, 0.1), (1.0, 1e9)):
        prices = _scale_prices(scale)
        values = predictor.predict(rows, costs=prices, tradeoff=tradeoff)
        report = predictor.cost(rows, prices, tradeoff=tradeoff)
        for i, row in enumerate(rows):
            end, source = inquire(predictor, row, prices, tradeoff=tradeoff)
            where = f"row {i}, prices times {scale:g}, tradeoff {tradeoff:g}"
            expect(same_bits(end.value, values[i]), f"{where}: the inquiry ends in {end.value}, not {values[i]}")
            expect_as_reported(report, i, end, source, where)


@law
def what_gets_cheaper_is_bought_no_less(case: Case) -> None:
    """A plan made without prices never buys less of a feature, or of a resource, whose price falls."""
    predictor = case.fitted().predictor_
    if not isinstance(predictor, PlannedPredictor):
        return
    predictor = predictor.with_tradeoff(predictor.tradeoff + 1e-3)
    predictor = predictor.with_costs(_scale_prices(0.5, "scan"))  # removes what is for fixed prices
    needs = COSTS.select(predictor.feature_names).needs
    mine = {name: [f] for f, name in enumerate(predictor.feature_names)}
    mine |= {name: np.flatnonzero(needs[:, r]).tolist() for r, name in enumerate(COSTS.resource_names)}
    for name, columns in mine.items():
        dear = _buyers(predictor, case, columns, COSTS)
        for share in (0.2, 0.0):
            cheap = _buyers(predictor, case, columns, _scale_prices(share, name))
            dropped = np.flatnonzero(dear & ~cheap)
            expect(not len(dropped), f"the price of {name!r} falls, and rows {dropped[:5].tolist()} no longer buy it")


@law
def a_larger_tradeoff_buys_no_more(case: Case) -> None:
    """On the rows that trained it, and at its own prices, a plan with a ladder costs no more at a larger tradeoff."""
    predictor = case.fitted().predictor_
    if not isinstance(predictor, PlannedPredictor) or not predictor.ladder:
        return
    scale = np.geomspace(1e-3, 1e3, 13) * (predictor.tradeoff or 1.0)
    costs = [predictor.cost(case.table.X, tradeoff=tradeoff).mean for tradeoff in scale.tolist()]
    for place, (before, other) in enumerate(pairwise(costs)):
        expect(
            other <= before * (1 + 1e-9),
            f"at tradeoff {scale[place]:g} rows cost {before:g}, at {scale[place + 1]:g} {other:g}, which is more",
        )


def _buyers(predictor: Any, case: Case, columns: list[int], prices: CostModel) -> B1:
    """Return the rows that buy any of the columns: bool (rows,)."""
    return np.asarray(predictor.cost(case.table.fresh, prices).acquired[:, columns].any(axis=1))


def _scale_prices(scale: float, only: str | None = None) -> CostModel:
    """Return the table's prices times a number, all of them or only one."""
    table = COSTS.to_dict()
    for group in ("features", "resources"):
        for name, entry in table[group].items():
            if only in {None, name}:
                dear = isinstance(entry, dict)
                table[group][name] = {**entry, "cost": scale * entry["cost"]} if dear else scale * entry
    return CostModel.from_dict(table)
