"""The report of a frontier as one HTML page: its points, the choice within every budget, and the models to choose."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from costframe.core.amounts import cost, milliseconds, saving
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import ParameterError, format_count
from costframe.core.predictors.fitted import as_predictor
from costframe.frontier.buys import next_buys
from costframe.frontier.finished import MODELS
from costframe.frontier.points import at_tradeoff, best_first
from costframe.frontier.words import describe_model
from costframe.report.page.content import BudgetChoice, FrontierView, ModelCard, Page, Spot
from costframe.report.page.document import render_page
from costframe.report.page.stages import view_stages
from costframe.report.tables import payments
from costframe.training.scoring import score_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.prices.costs import CostModel
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["frontier_page", "render_report"]

MOST_CARDS = 30
_MOST_ROWS = 20_000  # whose payments cards show: enough for shares of rows to a third of a percent


def render_report(
    frontier: Frontier,
    X: NDArray[np.float64],
    costs: CostModel,
    *,
    title: str,
    part: str = "test",
    facts: Iterable[tuple[str, str]] = (),
    budget: float | None = None,
    time_budget: float | None = None,
) -> str:
    """Return one self-contained HTML page about a frontier.

    Parameters
    ----------
    frontier : Frontier
        With its models, the page shows what they pay for.
    X : float64 (n, d)
        Rows whose payments the page shows; of more than 20,000 every second, third, ... one.
    costs : CostModel
        Prices of its columns.
    title : str
    part : str
        The part of the table that has these rows.
    facts : iterable of (label, text)
        Lines below the title.
    budget : float, optional
        Mean cost per row that the page opens with; by default it opens without a limit.
    time_budget : float, optional
        Bound on the latency of 95 % of the rows of all models that the page chooses, in milliseconds.
    """
    return render_page(
        frontier_page(frontier, X, costs, title=title, part=part, facts=facts, budget=budget, time_budget=time_budget)
    )


def frontier_page(
    frontier: Frontier,
    X: NDArray[np.float64],
    costs: CostModel,
    *,
    title: str,
    part: str = "test",
    facts: Iterable[tuple[str, str]] = (),
    budget: float | None = None,
    time_budget: float | None = None,
) -> Page:
    """Return the content of the page that `render_report` renders."""
    X = X[:: -(-len(X) // _MOST_ROWS) or 1]
    names = _name_points(frontier)
    in_time = frontier.within_time(time_budget)
    chosen = _choose(in_time)
    if time_budget is not None:
        facts = [*facts, ("chosen models", f"have 95 % of the rows within {milliseconds(time_budget)}")]
    choices = tuple(BudgetChoice(limit, names[point]) for limit, point in chosen)
    good = dict.fromkeys(frontier.non_dominated())
    spots = tuple(_spot(point, name, non_dominated=point in good) for point, name in names.items())
    # The page can show any choice; models of the frontier that no budget chooses fill the room that is left.
    shown = list(dict.fromkeys([*(point for _, point in chosen), *good]))
    shown = shown[: max(MOST_CARDS, len(set(choices)))]
    shown.sort(key=lambda point: point.cost)
    cards = tuple(_card(frontier, in_time, point, names, X, costs, part) for point in shown)
    view = FrontierView(spots, choices, score_label(frontier.score_name), frontier.unit, frontier.full_cost, budget)
    return Page(title, tuple(facts), frontier.unit, cards, view, _lead(in_time, budget))


def _lead(frontier: Frontier, budget: float | None) -> str:
    """Return the sentence about the choice within a budget, or nothing if no model is within it."""
    try:
        return f"Recommended: {describe_model(frontier, frontier.recommended(budget))}"
    except ParameterError:
        return ""


def _name_points(frontier: Frontier) -> dict[Point, str]:
    """Return the name of each point; one without a name has its algorithm and place."""
    return {point: point.name or f"{point.algorithm}-{place}" for place, point in enumerate(frontier.points, 1)}


def _choose(frontier: Frontier) -> list[tuple[float, Point]]:
    """Return each budget from which on `Frontier.recommended` chooses another point, with that point, ascending."""
    choices: list[tuple[float, Point]] = []
    nothing = (-math.inf, -math.inf)
    seen: tuple[Any, ...] = (nothing, nothing, False)
    for limit, alike in itertools.groupby(sorted(frontier.points, key=_cost_of), _cost_of):
        before = seen
        for point in alike:
            now = (frontier.rank(point), nothing) if point.n_features else (nothing, best_first(point))
            seen = tuple(map(max, seen, (*now, point in frontier.above_constant)))
        # Dearer points change the choice only as a new best one, a new constant, or the first above the constant.
        if seen != before:
            chosen = frontier.recommended(limit)
            choices += [] if choices and choices[-1][1] == chosen else [(limit, chosen)]
    return choices


def _cost_of(point: Point) -> float:
    return point.cost


def _spot(point: Point, name: str, *, non_dominated: bool) -> Spot:
    tested = None if point.test_score is None or point.test_cost is None else (point.test_score, point.test_cost)
    return Spot(
        name=name,
        algorithm=point.algorithm,
        cost=point.cost,
        score=point.score,
        error=point.score_error,
        tested=tested,
        n_features=point.n_features,
        latency=None if point.latency is None else (milliseconds(point.latency), milliseconds(point.latency_p95)),
        non_dominated=non_dominated,
    )


def _card(
    frontier: Frontier,
    in_time: Frontier,
    point: Point,
    names: Mapping[Point, str],
    X: NDArray[np.float64],
    costs: CostModel,
    part: str,
) -> ModelCard:
    """Return the card of a point, with payments and stages if the frontier has its model.

    `in_time` has the points within the time budget.
    """
    label, unit, name = score_label(frontier.score_name), frontier.unit, names[point]
    low, high = frontier.score_interval(point)
    between = f"90% interval {low:.4f} to {high:.4f}"
    saved = saving(point.cost, frontier.full_cost)
    figures = [(label, f"{point.score:.4f}", between), ("cost per row", cost(point.cost), unit)]
    figures.append(("saves", saved, f"of {cost(frontier.full_cost)} for all features"))
    sentence = f"{name}, algorithm {point.algorithm}, {label} {point.score:.4f}, {between}; "
    sentence += f"costs {cost(point.cost)} {unit} per row, saves {saved}"
    if point.latency is not None:
        within = f"95 % of the rows within {milliseconds(point.latency_p95)}"
        figures.append(("latency per row", milliseconds(point.latency), within))
        sentence += f"; latency {milliseconds(point.latency)} per row, {within}"
    if point.test_score is not None:
        figures.append((f"{label} on test", f"{point.test_score:.4f}", f"at {cost(point.test_cost)} per row"))
        sentence += f"; on test {point.test_score:.4f} at {cost(point.test_cost)}"
    file = frontier.file(point)
    predictor = as_predictor(frontier.model(point)) if frontier.has_model(point) else None
    report = None if predictor is None else ExpectedCost(costs).evaluate(predictor, X)
    return ModelCard(
        name=name,
        sentence=sentence,
        figures=tuple(figures),
        facts=_facts(in_time if point in in_time.points else frontier, point),
        payments=None if report is None else tuple(payments(report, costs)),
        paid_by=format_count(len(X), f"{part} row"),
        stages=() if predictor is None else view_stages(predictor, costs, X),
        path=None if file is None else f"{MODELS}/{file.name}",
    )


def _facts(frontier: Frontier, point: Point) -> tuple[tuple[str, str], ...]:
    facts = [("algorithm", at_tradeoff(point))]
    size = f"{format_count(point.n_features, 'feature')}, {format_count(point.n_learners, 'learner')}"
    facts.append(("reads", size if point.n_features else "nothing: it gives all rows the same answer"))
    if point.fixed:
        facts.append(("once per batch", f"{cost(point.fixed)} {frontier.unit}"))
    facts += [("a bit more buys", str(buy)) for buy in next_buys(frontier, point, 1)]
    return tuple(facts)
