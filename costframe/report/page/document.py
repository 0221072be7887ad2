"""The page as one HTML document, without anything from elsewhere."""

from __future__ import annotations

import importlib.resources
import json
from typing import TYPE_CHECKING

from costframe.core.amounts import cost, saving
from costframe.core.errors import format_count
from costframe.report.page.cards import draw_card, draw_facts
from costframe.report.page.elements import element, to_html
from costframe.report.page.picture import Picture
from costframe.report.page.scale import CostScale

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from costframe.report.page.content import FrontierView, Page, Spot

__all__ = ["render_page"]

# The page may run its own script and style, and load nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
ANY_BUDGET = "Recommended at any budget"
COLUMNS = ("model", "score", "cost", "saves", "test score", "test cost", "features", "algorithm")
TIMES = ("latency", "95 % within")  # columns of prices with times, after the costs


def render_page(page: Page) -> str:
    """Return the page as an HTML document: equal content gives equal text."""
    title = f"costframe: {page.title}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        _own("style", "page.css"),
    )
    lead = [element("p", page.lead, class_="lead")] if page.lead else []
    header = element("header", element("h1", page.title), *lead, draw_facts(page.facts))
    if page.frontier is None:
        body = [draw_card(card, page.unit, number=i, shown=True) for i, card in enumerate(page.cards)]
        script, kind = None, "alone"
    else:
        body, script, kind = _draw_frontier(page, page.frontier), _own("script", "page.js"), None
    root = element("html", head, element("body", header, element("main", *body), script, class_=kind), lang="en")
    return "<!DOCTYPE html>\n" + to_html(root) + "\n"


def _own(tag: str, file: str) -> ET.Element:
    """Return a style or script of this package."""
    made = element(tag)
    made.text = importlib.resources.files("costframe.report.page").joinpath(file).read_text(encoding="utf-8")
    return made


def _draw_frontier(page: Page, view: FrontierView) -> list[ET.Element]:
    """Return picture, budget, cards and tables; the card of the first choice is shown."""
    numbers = {card.name: i for i, card in enumerate(page.cards)}
    scale = CostScale.of([*(spot.cost for spot in view.spots), view.full_cost])
    stops = scale.stops()
    budget = stops[-1] if view.start is None else view.start
    start = view.choice(budget)
    cards = [draw_card(card, page.unit, number=i, shown=card.name == start) for i, card in enumerate(page.cards)]
    occasion = ANY_BUDGET if budget >= stops[-1] else f"Within {budget:.12g} {view.unit} per row"
    left = element(
        "div", Picture(view, scale, numbers).draw(), _draw_budget(view, stops, budget, numbers), class_="left"
    )
    right = element(
        "div", element("p", occasion, id="occasion"), *cards, _draw_nothing(view, shown=start is None), class_="right"
    )
    return [element("div", left, right, class_="columns"), *_draw_tables(view)]


def _draw_nothing(view: FrontierView, *, shown: bool) -> ET.Element:
    """Return the card of budgets that buy no model."""
    least = view.choices[0]
    text = f"The cheapest one, {least.name}, costs {least.cost:.6g} {view.unit} per row."
    heading = element("h2", "No model")
    sentence = f"no model. {text}"
    return element(
        "article", heading, element("p", text), class_="card", data_card=-1, data_sentence=sentence, hidden=not shown
    )


def _draw_budget(view: FrontierView, stops: list[float], budget: float, numbers: dict[str, int]) -> ET.Element:
    """Return slider and number for the budget, hidden until the script runs, and room for the choice in words."""
    slider = element(
        "input", type="range", id="slider", min=0, max=len(stops) - 1, step=1, value=len(stops) - 1, aria_label="Budget"
    )
    value = repr(budget).removesuffix(".0")
    number = element("input", type="number", id="budget", min=0, step="any", value=value, inputmode="decimal")
    label = element("label", "Budget per row", for_="budget")
    asked = element("div", label, element("span", number, f" {view.unit}"), class_="asked")
    field = element(
        "fieldset",
        asked,
        slider,
        id="control",
        aria_label="Budget",
        hidden=True,
        data_stops=json.dumps(stops),
        data_choices=json.dumps([[one.cost, numbers[one.name]] for one in view.choices]),
        data_unit=view.unit,
        data_any=ANY_BUDGET,
    )
    said = element("output", id="said", class_="spoken", for_="slider budget", aria_live="polite")
    return element("div", field, said, class_="budget")


def _draw_tables(view: FrontierView) -> list[ET.Element]:
    """Return the models of the frontier and of the choices as a table, and all models as another, folded."""
    chosen = {choice.name for choice in view.choices}
    ordered = sorted(view.spots, key=lambda spot: (spot.cost, -spot.score))
    good = [spot for spot in ordered if spot.non_dominated or spot.name in chosen]
    drawn = [element("h2", "The best models at each cost"), _draw_table(view, good, "The best models at each cost")]
    if len(good) < len(ordered):
        every = f"All {format_count(len(ordered), 'model')}"
        drawn.append(element("details", element("summary", every), _draw_table(view, ordered, every)))
    return [element("section", *drawn, class_="tables")]


def _draw_table(view: FrontierView, spots: list[Spot], name: str) -> ET.Element:
    times = TIMES if any(spot.latency for spot in view.spots) else ()
    columns = (*COLUMNS[:4], *times, *COLUMNS[4:])
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    table = element("table", element("thead", head), element("tbody", *(_draw_line(view, spot) for spot in spots)))
    # It scrolls by itself where the window is narrow, also by keyboard.
    return element("div", table, class_="scroll", role="region", aria_label=name, tabindex=0)


def _draw_line(view: FrontierView, spot: Spot) -> ET.Element:
    score, paid = ("-", "-") if spot.tested is None else (f"{spot.tested[0]:.4f}", cost(spot.tested[1]))
    cells = [f"{spot.score:.4f} ± {spot.error:.4f}", cost(spot.cost), saving(spot.cost, view.full_cost)]
    cells += [*(spot.latency or ()), score, paid, str(spot.n_features), spot.algorithm]
    return element("tr", element("th", spot.name, scope="row"), *(element("td", cell) for cell in cells))
