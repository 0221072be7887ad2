"""Reports as one self-contained HTML page: a frontier with the choice within every budget, or one model."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
from attrs import frozen

from costframe.choices.buys import next_buys
from costframe.choices.frontier import Frontier
from costframe.choices.sentences import describe_model
from costframe.choices.tables import columns_of, to_cells
from costframe.core.arrays import F8
from costframe.core.checks import needed
from costframe.core.cost.expected import ExpectedCost
from costframe.core.cost.report import CostReport
from costframe.core.display import compare_cost, cost, milliseconds, saving
from costframe.core.errors import ParameterError, format_count, printable
from costframe.core.predictors.fitted import as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.report.frontier_display import FrontierDisplay
from costframe.report.payments import Payment, payments
from costframe.report.pictures import COLORS, GRAY, INK, PALE
from costframe.report.stages_display import view_stages
from costframe.report.stages_drawing import StageBox
from costframe.study.fit_files import MODELS
from costframe.study.points import Point, at_tradeoff, best_first
from costframe.training.scoring import score_label

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_CARDS = 30
MOST_ROWS = 20_000  # whose payments cards show: enough for shares of rows to a third of a percent
ANY_BUDGET = "Recommended at any budget"
COLUMNS = ("model", "score", "cost", "saves", "test score", "test cost", "features", "algorithm")
PICTURE = 5.6, 4.0  # inches
# The page's own colors, which differ in the dark, instead of the picture's.
PAINTS = {color.lower(): f"var(--c{number})" for number, color in enumerate(COLORS)}
PAINTS |= {INK: "var(--ink)", GRAY: "var(--faint)", PALE: "var(--faint)", "#ffffff": "var(--card)"}


@frozen
class Card:
    """What the page shows of one model."""

    name: str
    sentence: str  # all of its figures in words, for a screen reader
    figures: tuple[tuple[str, str, str], ...]  # label, value and remark; the first ones matter most
    facts: tuple[tuple[str, str], ...]  # label and text
    payments: tuple[Payment, ...] | None  # None without rows
    paid_by: str  # the rows that pay, as a text
    stages: tuple[StageBox, ...]
    path: str | None  # file of the model, as seen from the page
    prices: tuple[tuple[str, float, tuple[str, ...]], ...] = ()  # of features and resources, each with what it needs

    @property
    def code(self) -> tuple[list[str], ...]:
        """Lines that load the model, in Python and in a shell."""
        python = f"import costframe as cf\n\nmodel = cf.load({self.path!r})\nmodel.predict(rows)"
        shell = f"costframe predict {shlex.quote(str(self.path))} new.csv --output out.csv"
        return python.split("\n"), shell.split("\n")


@frozen
class Choice:
    """The model that is chosen from a budget on, up to the next choice."""

    cost: float
    name: str
    budget: float  # a round one that buys it


@frozen(eq=False)
class FrontierView:
    """A frontier with the name of each point, and the choice for every budget.

    The choices ascend by cost; budgets below the first buy no model. `start` is the budget that the page opens with;
    None is one without a limit.
    """

    frontier: Frontier
    names: dict[Point, str]
    choices: tuple[Choice, ...]
    start: float | None = None

    def choice(self, budget: float) -> str | None:
        """Return the name of the model chosen within a budget, or None below the cheapest."""
        return next((one.name for one in reversed(self.choices) if one.cost <= budget), None)


@frozen(eq=False)
class Page:
    """A page for some models: with a frontier it shows the card that the budget chooses, else its one card.

    It opens with the `lead`, a sentence.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    unit: str
    cards: tuple[Card, ...]
    frontier: FrontierView | None = None
    lead: str = ""


def frontier_page(
    frontier: Frontier,
    X: F8,
    costs: CostModel,
    *,
    title: str,
    part: str = "test",
    facts: Iterable[tuple[str, str]] = (),
    budget: float | None = None,
) -> Page:
    """Return the page of a frontier.

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
    """
    X = X[:: -(-len(X) // MOST_ROWS) or 1]
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
    cards = tuple(_frontier_card(frontier, point, names[point], X, costs, paid_by) for point in shown)
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
            now = (frontier.rank(point), nothing) if point.n_features else (nothing, best_first(point))
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


def _frontier_card(frontier: Frontier, point: Point, name: str, X: F8, costs: CostModel, paid_by: str) -> Card:
    """Return the card of a point, with payments and stages if the frontier has its model."""
    label, unit = score_label(frontier.score_name), frontier.unit
    low, high = frontier.score_interval(point)
    between = f"90% interval {low:.4f} to {high:.4f}"
    saved = saving(point.cost, frontier.full_cost)
    figures = [(label, f"{point.score:.4f}", between), ("cost per row", cost(point.cost), unit)]
    sentence = f"{name}, algorithm {point.algorithm}, {label} {point.score:.4f}, {between}; "
    tested, (bill, errors, on_test) = point.test_score is not None, _bill_figures(frontier, point)
    if frontier.has_bills:
        figures = [("bill per row", bill, unit), ("cost per row", cost(point.cost), f"and {errors} for errors")]
        figures += [("bill on test", on_test, f"at {cost(point.test_cost)} per row")] if tested else []
        sentence = f"{name}, algorithm {point.algorithm}, bill {bill}, of which errors {errors}; "
    figures.append(("saves", saved, f"of {cost(frontier.full_cost)} for all features"))
    sentence += f"costs {cost(point.cost)} {unit} per row, saves {saved}"
    if frontier.has_bills:
        sentence += f"; bill on test {on_test}" if tested else ""
    elif point.test_score is not None:
        figures.append((f"{label} on test", f"{point.test_score:.4f}", f"at {cost(point.test_cost)} per row"))
        sentence += f"; on test {point.test_score:.4f} at {cost(point.test_cost)}"
    size = f"{format_count(point.n_features, 'feature')}, {format_count(point.n_learners, 'learner')}"
    facts = [("algorithm", at_tradeoff(point))]
    facts.append(("reads", size if point.n_features else "nothing: it gives all rows the same answer"))
    if point.fixed:
        facts.append(("once per batch", f"{cost(point.fixed)} {unit}"))
    facts += [("a bit more buys", str(buy)) for buy in next_buys(frontier, point, 1)]
    file, paid = frontier.file(point), None
    stages: tuple[StageBox, ...] = ()
    if frontier.has_model(point):
        predictor = as_predictor(frontier.model(point))
        report = ExpectedCost(costs).evaluate(predictor, X)
        paid, stages = tuple(payments(report, costs)), view_stages(predictor, costs, X)
    path = None if file is None else f"{MODELS}/{file.name}"
    return Card(name, sentence, tuple(figures), tuple(facts), paid, paid_by, stages, path)


def _bill_figures(frontier: Frontier, point: Point) -> list[str]:
    """Return the bill of a point, its errors and its bill on test, as texts; nothing without prices of errors."""
    return to_cells(frontier, [point], ("bill", "errors", "test bill"))[0] if frontier.has_bills else ["", "", ""]


def model_page(
    predictor: Predictor,
    costs: CostModel,
    facts: tuple[tuple[str, str], ...],
    *,
    name: str,
    path: str | None,
    rows: F8 | None = None,
    report: CostReport | None = None,
    paid_by: str = "",
) -> Page:
    """Return the page of a model with its facts; with rows, (n, d), and their cost, also of their payments.

    `path` is the file of the model, and `paid_by` names the rows.
    """
    paid = None if report is None else tuple(payments(report, costs))
    stages = view_stages(predictor, costs, rows)
    figures, prices = () if report is None else _figures(report, costs), _prices(costs, predictor.used_features)
    return Page(name, (), costs.unit, (Card("In short", "", figures, facts, paid, paid_by, stages, path, prices),))


def _figures(report: CostReport, costs: CostModel) -> tuple[tuple[str, str, str], ...]:
    """Return mean and quantiles of the cost per row."""
    full, unit = costs.full_cost(report.feature_names), report.unit
    remark = f"{compare_cost(report.mean, full)} all features ({cost(full)})" if full > 0 else ""
    least, median, most = (cost(float(q)) for q in np.quantile(report.per_row, [0, 0.5, 1]))
    figures = [
        ("mean cost per row", cost(report.mean), f"{unit}, {remark}" if remark else unit),
        ("median row", median, f"from {least} to {most}"),
    ]
    if report.latency is not None:
        middle, p95, late = map(milliseconds, report.latency_quantiles((0.5, 0.95, 0.99)))
        figures.append(("median latency", middle, f"95 % of the rows within {p95}, 99 % within {late}"))
    return tuple(figures)


def _prices(costs: CostModel, used: tuple[str, ...]) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
    """Return name, price and needs of the resources and features that a row may pay for."""
    price = {feature.name: feature for feature in costs.features}
    features, needs = [price[name] for name in used], {resource.name: resource for resource in costs.resources}
    reached = dict.fromkeys(need for feature in features for need in feature.needs)
    for name in (waiting := list(reached)):
        further = [need for need in needs[name].needs if need not in reached]
        reached.update(dict.fromkeys(further))
        waiting += further
    resources = tuple((name, needs[name].cost, needs[name].needs) for name in reached)
    return resources + tuple((feature.name, feature.cost, feature.needs) for feature in features)


def render_page(page: Page) -> str:
    """Return the page as an HTML document, without anything from elsewhere: equal content gives equal text."""
    given = {} if page.frontier is None else _frontier_parts(page, page.frontier)
    return _templates().get_template("frontier.html" if given else "model.html").render(page=page, **given)


@cache
def _templates() -> Environment:
    needed("jinja2", "cli")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("costframe.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # names come from files
    )  # fmt: skip
    templates.filters |= {"cost": cost, "share": "{:.1%}".format}
    templates.globals["parts"] = templates.get_template("parts.html").module
    return templates


def _frontier_parts(page: Page, view: FrontierView) -> dict[str, Any]:
    """Return what the template of a frontier takes beside the page."""
    from markupsafe import Markup

    numbers = {card.name: number for number, card in enumerate(page.cards)}
    ordered = sorted(view.frontier.points, key=lambda point: (point.cost, -point.score))
    columns = columns_of(view.frontier, COLUMNS)
    cells = to_cells(view.frontier, ordered, columns)
    every = [(numbers.get(view.names[p]), [view.names[p], *row[1:]]) for p, row in zip(ordered, cells, strict=True)]
    good, chosen = frozenset(view.frontier.non_dominated()), {one.name for one in view.choices}
    last = view.choices[-1]
    budget = last.budget if view.start is None else view.start
    return {
        "picture": Markup(_draw(view, numbers)),  # noqa: S704 - its texts are outlines, and its titles are escaped
        "choices": [(one.cost, one.budget, numbers[one.name]) for one in view.choices],
        "budget": repr(float(budget)).removesuffix(".0"),
        "chosen": view.choice(budget),
        "occasion": ANY_BUDGET if budget >= last.cost else f"Within {budget:.12g} {page.unit} per row",
        "any_budget": ANY_BUDGET,
        "columns": columns,
        "every": every,
        "best": [row for p, row in zip(ordered, every, strict=True) if p in good or view.names[p] in chosen],
    }


def _draw(view: FrontierView, numbers: dict[str, int]) -> str:
    """Return the picture of a frontier as SVG in the page's colors, whose points have words and a card to pick."""
    frontier = view.frontier
    label = "bill" if frontier.has_bills else score_label(frontier.score_name)
    root = ET.fromstring(FrontierDisplay(frontier, mark=False).to_bytes("svg", PICTURE))  # noqa: S314 - our own
    for part in list(root.iter()):
        part.tag = part.tag.rpartition("}")[2]
        part.attrib = {name.rpartition("}")[2]: value for name, value in part.attrib.items()}
        for child in [child for child in part if child.tag.endswith(("metadata", "style"))]:
            part.remove(child)  # of matplotlib; the page has a style of its own
    root.attrib |= {"role": "img", "aria-label": f"{label} against mean cost per row; the models are in the tables"}
    for group in [group for group in root.iter("g") if str(group.get("id")).startswith("points-")]:
        places = map(int, str(group.get("id")).split("-")[1:])
        signs = [(holder, sign) for holder in group.iter("g") for sign in holder if sign.tag == "use"]
        for (holder, sign), point in zip(signs, map(frontier.points.__getitem__, places), strict=True):
            holder.remove(sign)
            name, spot = view.names[point], ET.SubElement(holder, "g", {"class": "spot"})
            if name in numbers:
                spot.set("data-card", str(numbers[name]))
            words = f"{name}: {label} {point.score:.4f} \u00b1 {point.score_error:.4f}, cost {cost(point.cost)}"
            if frontier.has_bills:
                words = f"{name}: bill {_bill_figures(frontier, point)[0]}, cost {cost(point.cost)}"
            ET.SubElement(spot, "title").text = printable(f"{words} {frontier.unit} per row")
            spot.append(sign)
            ring = {"class": "ring", "cx": str(sign.get("x")), "cy": str(sign.get("y")), "r": "9"}
            ET.SubElement(spot, "circle", ring)  # around the chosen point; of others only for a mouse
    text = ET.tostring(root, encoding="unicode")
    return re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda found: PAINTS.get(found[0], "var(--line)"), text)
