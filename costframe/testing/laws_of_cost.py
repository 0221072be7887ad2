"""Laws of a trained predictor: the cost it reports is the cost it causes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.errors import CostframeError, CostModelError, StorageError
from costframe.core.predictors.importances import importances
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import exact
from costframe.testing.case import COSTS, Case, expect, fit, law, priced, same_bits
from costframe.testing.counting import acquired_names, expect_as_reported, expect_close, inquire

SOME = 20  # rows to step through one by one
FILLERS = (np.nan, -1e3, 0.0, 1e3)
ROUNDS = evolve(COSTS, resources=tuple(evolve(resource, round=1.75) for resource in COSTS.resources))
EVERY_PRICE = priced(split=0.01, learner=0.02, reuse=0.005)


@law
def cost_reported_is_cost_fetched(case: Case) -> None:
    """The report's cost of a row equals the charges of a counting source during an inquiry, of further rounds too."""
    rows = case.table.fresh[:SOME]
    for tradeoff in (0.0, 0.01):
        estimator = case.fitted(tradeoff)
        predictor = estimator.predictor_
        report = predictor.cost(rows, rounds=True)
        expect(predictor.costs == COSTS, "predictor_ does not have the prices that the estimator was given")
        sure = [predictor.feature_names.index(name) for name in predictor.sure_features]
        expect(bool(report.acquired[:, sure].all()), "a row does not acquire all of sure_features")
        for i, row in enumerate(rows):
            expect_as_reported(report, i, *inquire(predictor, row, COSTS), f"row {i}")
        whole = estimator.cost(rows)
        expect(same_bits(whole.per_row, report.per_row), "estimator.cost differs from predictor_.cost")
        report = predictor.cost(rows, ROUNDS)
        for i, row in enumerate(rows):
            expect_as_reported(report, i, *inquire(predictor, row, ROUNDS), f"row {i}, at prices of further rounds")


@law
def every_price_is_reported(case: Case) -> None:
    """With prices for comparisons, learners and reuse too, and with either acquisition, report and inquiry agree."""
    estimator, rows = case.fitted(0.0), case.table.fresh[:SOME]
    predictor = estimator.predictor_
    prices = all_prices_for(predictor)
    for acquisition in ("path", "learner"):
        report = predictor.cost(rows, prices, acquisition=acquisition)
        whole = estimator.cost(rows, prices, acquisition=acquisition)
        expect(same_bits(whole.per_row, report.per_row), "estimator.cost(X, prices) differs from predictor_.cost")
        for i, row in enumerate(rows):
            end, source = inquire(predictor, row, prices, acquisition)
            expect_as_reported(report, i, end, source, f"row {i}, {acquisition}", by_the_book=False)
            expect(exact(end.cost) >= source.paid, f"row {i}: charged less than its features cost")


def all_prices_for(predictor: Any) -> CostModel:
    """Return prices of all kinds, or only of features and resources if the predictor refuses the others."""
    try:
        predictor.inquire(EVERY_PRICE)
    except CostModelError:
        return COSTS
    return EVERY_PRICE


@law
def importances_are_shares(case: Case) -> None:
    """Importances by gain and by money are numbers >= 0 that add up to one, or all zero."""
    predictor, rows = case.fitted(0.01).predictor_, case.table.fresh[:SOME]
    for by in ("gain", "money"):
        shares = list(importances(predictor, rows, by).values())
        total = sum(shares)
        expect(min(shares) >= 0 and (total == 0 or abs(total - 1) < 1e-9), f"importances by {by} add up to {total}")


@law
def resources_are_charged_once(case: Case) -> None:
    """A row pays each resource once, for any number of features that need it, and the resources that it needs."""
    predictor = case.fitted(0.0).predictor_
    report = predictor.cost(case.table.fresh)
    closed = {"iron": ["blood"], "sugar": ["blood"], "scan": ["scanner", "visit"]}
    prices = {"blood": 2.0, "scanner": 5.0, "visit": 1.0}
    alone = {"free": 0.0, "cheap": 1.0, "noise": 1.5, "iron": 0.5, "sugar": 0.25, "scan": 4.0}
    for i in range(len(report.per_row)):
        bought = acquired_names(report, i)
        resources = {resource for name in bought for resource in closed.get(name, [])}
        by_hand = sum(alone[name] for name in bought) + sum(prices[resource] for resource in resources)
        expect_close(report.per_row[i], by_hand, f"row {i}, which acquired {bought}")


@law
def parts_add_up(case: Case) -> None:
    """The parts of a report add up to its mean, and the mean is the mean of the rows."""
    predictor = case.fitted(0.0).predictor_
    report = predictor.cost(case.table.fresh, all_prices_for(predictor))
    expect_parts(report, "without limits")
    expect_close(report.mean, float(np.mean(report.per_row)), "mean against the mean of the rows")


def expect_parts(report: Any, where: str) -> None:
    """Expect that the parts of a report add up to its mean, to the last digits."""
    parts = math.fsum([*report.by_feature.values(), *report.by_resource.values(), report.evaluation.total])
    close = math.isclose(report.mean, parts, rel_tol=1e-14)
    expect(close, f"{where}: mean {report.mean!r} against the sum of its parts {parts!r}")


@law
def an_inquiry_predicts_the_same(case: Case) -> None:
    """An inquiry ends in the same value as `predict`, to the last bit, and takes None for a missing value."""
    predictor, rows = case.fitted().predictor_, case.table.fresh[:SOME]
    values = predictor.predict(rows)
    for i, row in enumerate(rows):
        named = zip(predictor.feature_names, row.tolist(), strict=True)
        for given in (row, {name: None if np.isnan(value) else value for name, value in named}):
            end, _ = inquire(predictor, given, COSTS)
            expect(
                same_bits(end.value, values[i]), f"row {i}: the inquiry ends in {end.value}, predict gives {values[i]}"
            )


@law
def rows_are_independent(case: Case) -> None:
    """Predictions and costs of a row do not depend on the rows beside it."""
    predictor, rows = case.fitted().predictor_, case.table.fresh
    values, cost = predictor.predict(rows), predictor.cost(rows).per_row
    for i in range(SOME):
        row = rows[i : i + 1]
        expect(same_bits(predictor.predict(row)[0], values[i]), f"row {i}: predicted otherwise alone")
        expect(same_bits(predictor.cost(row).per_row[0], cost[i]), f"row {i}: costs otherwise alone")


@law
def nothing_unacquired_matters(case: Case) -> None:
    """Features that a row did not acquire change neither its prediction nor its cost, at any values."""
    predictor, rows = case.fitted().predictor_, case.table.fresh
    report, values = predictor.cost(rows), predictor.predict(rows)
    acquired = report.acquired.astype(bool)
    for filler in FILLERS:
        other = np.where(acquired, rows, filler)
        expect(
            same_bits(predictor.predict(other), values), f"predictions change with unacquired features set to {filler}"
        )
        again = predictor.cost(other)
        expect(
            np.array_equal(again.acquired, acquired), f"acquisitions change with unacquired features set to {filler}"
        )


@law
def reasons_are_of_what_is_asked(case: Case) -> None:
    """An inquiry gives reasons for what it asks, and no more, at the price that it charges; that changes nothing."""
    predictor = case.fitted(0.0).predictor_
    for i, row in enumerate(case.table.fresh[:SOME]):
        values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
        inquiry, plain = predictor.inquire(COSTS), predictor.inquire(COSTS)
        while needs := inquiry.needs:
            why = inquiry.why()
            told = {name for reason in why.asks for name in reason.names}
            expect(told == {*needs} and why.stops is None, f"row {i}: asks for {needs}, and gives reasons for {told}")
            for one in (inquiry, plain):
                before = one.cost
                one.supply({name: values[name] for name in needs})
            paid = inquiry.cost - before
            expect(math.isclose(paid, why.price, abs_tol=1e-9), f"row {i}: {needs} cost {paid}, not {why.price}")
            expect(inquiry.needs == plain.needs, f"row {i}: reasons change what it asks for next")
        expect(inquiry.why().stops is not None, f"row {i}: it does not say why it stopped")
        expect(same_bits(inquiry.answer.value, plain.answer.value), f"row {i}: reasons change the answer")


@law
def needs_are_read(case: Case) -> None:
    """An inquiry asks only for features that it acquires for any values of the unknown ones: it never speculates."""
    predictor = case.fitted(0.0).predictor_
    names = predictor.feature_names
    for row in case.table.fresh[:5]:
        values = dict(zip(names, row.tolist(), strict=True))
        inquiry, known = predictor.inquire(COSTS), dict[str, float]()
        while needs := inquiry.needs:
            _expect_read(predictor, needs, known)
            fetched = {name: values[name] for name in needs}
            known |= fetched
            inquiry.supply(fetched)


def _expect_read(predictor: Any, needs: tuple[str, ...], known: Mapping[str, float]) -> None:
    guesses = np.array([[known.get(name, filler) for name in predictor.feature_names] for filler in FILLERS])
    report = predictor.cost(guesses, COSTS)
    for i, filler in enumerate(FILLERS):
        acquired = acquired_names(report, i)
        expect(
            set(needs) <= acquired, f"asks for {needs}, but with unknown values {filler} it acquires only {acquired}"
        )


@law
def what_is_known_is_free(case: Case) -> None:
    """An inquiry never asks for features given with their values, nor charges them or paid resources again.

    Given all features that it would have asked for, a model ends at the same place. This does not hold for a plan made
    for its own prices, or whose sets do not grow: features that are free now may lead to another stop.
    """
    predictor = case.fitted(0.0).predictor_
    for i, row in enumerate(case.table.fresh[:5]):
        end, source = inquire(predictor, row, COSTS)
        values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
        known = {name: values[name] for name in source.fetched}
        again, more = inquire(predictor, row, COSTS, known=known)
        asked = set(more.fetched)
        expect(not asked & set(known), f"row {i}: asks for {asked & set(known)} although their values were given")
        added = COSTS.full_cost([*known, *asked]) - COSTS.full_cost(list(known))
        expect_close(again.cost, added, f"row {i}: charged when {list(known)} are paid for")
        whole, rest = inquire(predictor, row, COSTS, known=values)
        expect(not rest.fetched and whole.cost == 0, f"row {i}: asks or charges although all values were given")
        if not isinstance(predictor, PlannedPredictor) or predictor.grows:
            expect(not asked, f"row {i}: asks for {asked} although all that it asked for was given")
            expect(same_bits(again.value, end.value), f"row {i}: predicts otherwise when values are given at once")


@law
def saved_is_loaded(case: Case) -> None:
    """A saved stage tree or plan comes back with the same predictions, prices and inquiries; others may refuse."""
    import tempfile
    from pathlib import Path

    from costframe.core.storage.loading import load
    from costframe.core.storage.saving import save

    predictor, rows = case.fitted().predictor_, case.table.fresh
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.costframe"
        try:
            save(predictor, file)
        except StorageError:
            expect(not isinstance(predictor, StageTree | PlannedPredictor), "a stage tree or plan cannot be saved")
            return
        opaque = {learner.name: learner.function for learner in predictor.bank.opaques}
        loaded: Any = load(file, opaque)
    expect(same_bits(loaded.predict(rows), predictor.predict(rows)), "predictions differ after loading")
    expect(same_bits(loaded.decision_function(rows), predictor.decision_function(rows)), "scores differ after loading")
    expect(loaded.costs == predictor.costs, "prices differ after loading")
    expect(same_bits(loaded.cost(rows).per_row, predictor.cost(rows).per_row), "costs differ after loading")
    capped = [
        model.predict(rows, max_cost=0.5 * float(model.cost(rows).per_row.max())) for model in (loaded, predictor)
    ]
    expect(same_bits(*capped), "predictions under a cap differ after loading")
    for i, row in enumerate(rows[:5]):
        ends = [inquire(model, row, COSTS)[0] for model in (loaded, predictor)]
        expect(ends[0].acquired == ends[1].acquired, f"row {i}: an inquiry acquires otherwise after loading")


@law
def each_price_kind_counts_in_training(case: Case) -> None:
    """Training uses prices of every kind, so that no row pays a very high one, or refuses the kind by name."""
    dear = {name: {"cost": 0.0, "once": 1e6} for name in COSTS.names}
    free = dict.fromkeys(COSTS.names, 0.0)
    tables: dict[str, dict[str, Any]] = {
        "once": {"features": dear},
        "split": {"features": free, "split": 1e6},
        "learner": {"features": free, "learner": 1e6},
        "reuse": {"features": free, "reuse": 1e6},
        "round": {
            "features": {name: {"cost": 0.0, "needs": ["shared"]} for name in COSTS.names},
            "resources": {"shared": {"cost": 0.0, "round": 1e6}},
        },
    }
    paid: dict[str, float] = {}  # by all kinds that training ignores
    for word, prices in tables.items():
        try:
            estimator = fit(case.make(prices, tradeoff=1.0), case.table)
        except CostframeError as error:
            expect(word in str(error), f"prices of the kind {word!r} are refused without naming it: {error}")
            continue
        report = estimator.cost(case.table.X)
        if total := report.mean + report.fixed:
            paid[word] = total
    what = ", ".join(f"{total:g} of the kind {word!r}" for word, total in paid.items())
    expect(not paid, f"prices are so high that nothing is worth them, yet {what} is paid")
