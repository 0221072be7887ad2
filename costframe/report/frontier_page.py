"""The page of a frontier: its cards, and the choice within every budget."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context
from typing import Any

from costframe.choices import Frontier, Point
from costframe.choices.buys import next_buys
from costframe.choices.figures import figures_of, name_worth
from costframe.choices.sentences import describe_model, wording_of
from costframe.core.arrays import F8
from costframe.core.cost.expected import ExpectedCost
from costframe.core.display import format_cost
from costframe.core.errors import ParameterError, format_count
from costframe.core.predictors.fitted import as_predictor
from costframe.core.prices.costs import CostModel
from costframe.core.terms.outages import Outages
from costframe.report.frontier_view import Choice, FrontierView
from costframe.report.page import ModelCard, Page
from costframe.report.payments import payments
from costframe.report.stage_boxes import StageBox, view_stages
from costframe.study.fit_files import MODELS
from costframe.study.points import at_tradeoff, score_and_cost

MOST_CARDS = 30
_MOST_ROWS = 20_000  # whose payments cards show: enough for shares of rows to a third of a percent


def frontier_page(
    frontier: Frontier,
    X: F8,
    costs: CostModel,
    *,
    title: str,
    part: str = "test",
    facts: Iterable[tuple[str, str]] = (),
    budget: float | None = None,
    outages: Mapping[Point, Outages] | None = None,
) -> Page:
    """Return the page of a frontier.

    Parameters
    ----------
    frontier : Frontier
        With its models, the page shows what they pay for.
    X : float64 (n, d)
        Rows whose payments the page shows, in which empty cells are answers; of more than 20,000 every second, third,
        ... one.
    costs : CostModel
        Prices of its columns.
    title : str
    part : str
        The part of the table that has these rows.
    facts : iterable of (label, text)
        Lines below the title.
    budget : float, optional
        Mean cost per row that the page opens with; by default it opens without a limit.
    outages : mapping of Point to Outages, optional
        What outages cost the models of some points.
    """
    X = X[:: -(-len(X) // _MOST_ROWS) or 1]
    names = {point: point.name or f"{point.algorithm}-{place}" for place, point in enumerate(frontier.points, 1)}
    chosen = _choose(frontier)
    limits = [*(limit for limit, _ in chosen[1:]), math.inf]
    choices = tuple(
        Choice(limit, names[point], _round_between(limit, end))
        for (limit, point), end in zip(chosen, limits, strict=True)
    )
    # The page can show any choice; models of the frontier that no budget chooses fill the room that is left.
    shown = list(dict.fromkeys([*(point for _, point in chosen), *frontier.non_dominated()]))
    shown = sorted(shown[: max(MOST_CARDS, len({point for _, point in chosen}))], key=_cost_of)
    paid_by = format_count(len(X), f"{part} row")
    told = outages or {}
    cards = tuple(_frontier_card(frontier, point, names[point], X, costs, paid_by, told.get(point)) for point in shown)
    view = FrontierView(frontier, names, choices, budget)
    return Page(title, tuple(facts), frontier.unit, cards, view, _lead(frontier, budget))


def _lead(frontier: Frontier, budget: float | None) -> str:
    """Return the sentence about the choice within a budget, or nothing if no model is within it."""
    try:
        return f"Recommended: {describe_model(frontier, frontier.recommended(budget))}"
    except ParameterError:
        return ""


def _choose(frontier: Frontier) -> list[tuple[float, Point]]:
    """Return each budget from which on `Frontier.recommended` chooses another point, with that point, ascending."""
    choices: list[tuple[float, Point]] = []
    nothing = (-math.inf, -math.inf)
    seen: tuple[Any, ...] = (nothing, nothing, False)
    for limit, alike in itertools.groupby(sorted(frontier.points, key=_cost_of), _cost_of):
        before = seen
        for point in alike:
            now = (frontier.rank(point), nothing) if point.n_features else (nothing, score_and_cost(point))
            seen = tuple(map(max, seen, (*now, point in frontier.above_constant)))
        # Dearer points change the choice only as a new best one, a new constant, or the first above the constant.
        if seen != before or frontier.has_bills:
            chosen = frontier.recommended(limit)
            choices += [] if choices and choices[-1][1] == chosen else [(limit, chosen)]
    return choices


def _cost_of(point: Point) -> float:
    return point.cost


def _round_between(low: float, high: float) -> float:
    """Return a number of few digits from `low` on and below `high`."""
    rounded = (
        float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(low)) for digits in range(3, 18)
    )
    return next((number for number in rounded if number < high), low)


def _frontier_card(
    frontier: Frontier, point: Point, name: str, X: F8, costs: CostModel, paid_by: str, outages: Outages | None
) -> ModelCard:
    """Return the card of a point, with payments and stages if the frontier has its model."""
    figures, sentence = (_bills if frontier.has_bills else _scores)(frontier, point)
    facts = [("algorithm", at_tradeoff(point))]
    reads, once = figures_of(frontier, point, "size", "once per batch")
    facts.append(("reads", reads if point.n_features else "nothing: it gives all rows the same answer"))
    if point.fixed:
        facts.append(("once per batch", once))
    if (seems := wording_of(frontier).in_records(point)) is not None:
        facts.append(("in the records", seems))
    facts += [("a bit more buys", str(buy)) for buy in next_buys(frontier, point, 1)]
    facts += [] if outages is None else outages.facts()
    file, paid = frontier.file(point), None
    stages: tuple[StageBox, ...] = ()
    if frontier.has_model(point):
        predictor = as_predictor(frontier.model(point))
        report = ExpectedCost(costs).evaluate(predictor, X, made=True)
        paid, stages = tuple(payments(report, costs)), view_stages(predictor, costs, X)
    path = None if file is None else f"{MODELS}/{file.name}"
    words = f"{name}, algorithm {point.algorithm}, {sentence}"
    return ModelCard(name, words, tuple(figures), tuple(facts), paid, paid_by, stages, path)


def _scores(frontier: Frontier, point: Point) -> tuple[list[tuple[str, str, str]], str]:
    """Return the figures of a point with a score, and all of them in words."""
    label, unit = name_worth(frontier), frontier.unit
    score, interval, paid, saved = figures_of(frontier, point, "score alone", "90% interval", "cost", "saves")
    between = f"90% interval {interval}"
    figures = [(label, score, between), ("cost per row", paid, unit), _saves(frontier, saved)]
    sentence = f"{label} {score}, {between}; costs {paid} {unit} per row, saves {saved}"
    if point.test_score is not None:
        on_test, paid_there = figures_of(frontier, point, "test score", "test cost")
        figures.append((f"{label} on test", on_test, f"at {paid_there} per row"))
        sentence += f"; on test {on_test} at {paid_there}"
    return figures, sentence


def _bills(frontier: Frontier, point: Point) -> tuple[list[tuple[str, str, str]], str]:
    """Return the figures of a point with a bill, and all of them in words."""
    unit = frontier.unit
    bill, errors, paid, saved = figures_of(frontier, point, "bill", "errors", "cost", "saves")
    figures = [("bill per row", bill, unit), ("cost per row", paid, f"and {errors} for errors")]
    sentence = f"bill {bill}, of which errors {errors}; costs {paid} {unit} per row, saves {saved}"
    if point.test_score is not None:
        on_test, paid_there = figures_of(frontier, point, "test bill", "test cost")
        figures.append(("bill on test", on_test, f"at {paid_there} per row"))
        sentence += f"; bill on test {on_test}"
    return [*figures, _saves(frontier, saved)], sentence


def _saves(frontier: Frontier, saved: str) -> tuple[str, str, str]:
    return "saves", saved, f"of {format_cost(frontier.full_cost)} for all features"
