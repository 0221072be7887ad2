"""Cards of models: figures, payments, stages, and how to load the model."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from costframe.core.amounts import cost, whole_percent
from costframe.report.page.elements import element, listing
from costframe.report.tables import KINDS

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from costframe.report.page.content import ModelCard, StageView
    from costframe.report.stage_statistics import Acquired
    from costframe.report.tables import Payment

__all__ = ["draw_card", "draw_facts"]

MOST_PAYMENTS, MOST_FEATURES, MOST_ACQUIRED, MOST_STAGES, MOST_PRICES = 15, 40, 8, 30, 200
TITLES = {"resource": "Resources", "feature": "Features", "computing": "Computing"}


def draw_card(card: ModelCard, unit: str, *, number: int, shown: bool) -> ET.Element:
    """Return the card of a model as an element, hidden unless it is `shown`."""
    heading = f"card-{number}"
    return element(
        "article",
        element("h2", card.name, id=heading),
        element("dl", *map(_draw_figure, card.figures), class_="figures") if card.figures else None,
        draw_facts(card.facts),
        *_draw_payments(card, unit),
        *_draw_loading(card.path),
        *_draw_stages(card.stages),
        *_draw_prices(card),
        class_="card",
        data_card=number,
        data_sentence=card.sentence,
        aria_labelledby=heading,
        hidden=not shown,
    )


def draw_facts(facts: tuple[tuple[str, str], ...]) -> ET.Element | None:
    """Return labels and texts as a list of definitions."""
    if not facts:
        return None
    pairs = [element("div", element("dt", label), element("dd", text)) for label, text in facts]
    return element("dl", *pairs, class_="facts")


def _draw_figure(figure: tuple[str, str, str]) -> ET.Element:
    label, value, remark = figure
    return element("div", element("dt", label), element("dd", value), element("dd", remark, class_="faint"))


def _draw_payments(card: ModelCard, unit: str) -> list[ET.Element]:
    """Return what rows pay for, by kind, and how often they acquire each feature."""
    if card.payments is None:
        return []
    paid = [payment for payment in card.payments if payment.mean > 0]
    heading = element("h3", "Where its money goes")
    if not paid:
        return [heading, element("p", f"{card.paid_by}: none pays anything."), *_draw_frequencies(card)]
    most, total = max(payment.mean for payment in paid), sum(payment.mean for payment in paid)
    columns = ("", "rows that pay", f"{unit} per row")
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    bodies = [_draw_kind(kind, [p for p in paid if p.kind == kind], most) for kind in KINDS]
    foot = element("tr", element("th", "Mean cost per row", scope="row"), element("td", cost(total), colspan=2))
    table = element("table", element("thead", head), *bodies, element("tfoot", foot), class_="payments")
    once = sum(payment.once for payment in card.payments)
    batch = f", and {cost(once)} {unit} once for all of them" if once else ""
    return [heading, element("p", f"Means of {card.paid_by}{batch}", class_="faint"), table, *_draw_frequencies(card)]


def _draw_kind(kind: str, payments: list[Payment], most: float) -> ET.Element | None:
    """Return the payments of a kind, the largest first; those beyond `MOST_PAYMENTS` as one sum."""
    if not payments:
        return None
    ranked = sorted(payments, key=lambda payment: -payment.mean)
    lines = [element("tr", element("th", TITLES[kind], scope="rowgroup", colspan=3), class_="kind")]
    lines += [_draw_payment(p.name, p.share, p.mean, most) for p in ranked[:MOST_PAYMENTS]]
    if rest := ranked[MOST_PAYMENTS:]:
        lines.append(_draw_payment(f"{len(rest):,} more", None, sum(p.mean for p in rest), most))
    return element("tbody", *lines)


def _draw_payment(name: str, share: float | None, mean: float, most: float) -> ET.Element:
    rows = element("td") if share is None else element("td", f"{share:.1%}", _draw_bar(share, "share"))
    return element("tr", element("th", name, scope="row"), rows, element("td", cost(mean), _draw_bar(mean / most)))


def _draw_frequencies(card: ModelCard) -> list[ET.Element]:
    """Return the features by the share of rows that acquire them."""
    features = sorted(
        (payment for payment in card.payments or () if payment.kind == "feature"), key=lambda p: -(p.share or 0.0)
    )
    if not features:
        return []
    items = [
        element("li", element("span", p.name), element("b", f"{p.share:.1%}"), _draw_bar(p.share or 0.0, "share"))
        for p in features[:MOST_FEATURES]
    ]
    if rest := features[MOST_FEATURES:]:
        items.append(element("li", f"{len(rest):,} more, each at most {rest[0].share:.1%}"))
    return [element("h3", "How often it looks at each feature"), element("ul", *items, class_="often")]


def _draw_bar(part: float, kind: str = "") -> ET.Element:
    return element("i", class_=f"bar {kind}".strip(), style=f"width:{100 * min(part, 1.0):.1f}%")


def _draw_stages(stages: tuple[StageView, ...]) -> list[ET.Element]:
    if not stages:
        return []
    shown = [_draw_stage(stage) for stage in stages[:MOST_STAGES]]
    if rest := len(stages) - len(shown):
        shown.append(element("li", f"and {rest:,} more"))
    return [element("details", element("summary", "Stage by stage"), element("ol", *shown, class_="stages"))]


def _draw_stage(stage: StageView) -> ET.Element:
    lines = [element("span", line) for line in stage.lines]
    acquired = [_draw_acquired(one) for one in stage.acquired[:MOST_ACQUIRED]]
    if rest := len(stage.acquired) - len(acquired):
        acquired.append(element("li", f"and {rest} more"))
    bought = element("ul", *acquired) if acquired else element("span", "acquires nothing new", class_="faint")
    return element("li", element("b", stage.title), *lines, bought)


def _draw_acquired(one: Acquired) -> ET.Element:
    share = "" if one.share >= 1 else f" ({whole_percent(one.share)})"
    return element("li", f"{one.name}{share}", class_="resource" if one.is_resource else None)


def _draw_loading(path: str | None) -> list[ET.Element]:
    if path is None:
        return []
    python = f"import costframe as cf\n\nmodel = cf.load({path!r})\nmodel.predict(rows)"
    shell = f"costframe predict {shlex.quote(path)} new.csv --output out.csv"
    return [element("h3", "How to load it"), listing(python), listing(shell)]


def _draw_prices(card: ModelCard) -> list[ET.Element]:
    """Return a folded table of prices."""
    if not card.prices:
        return []
    head = element("tr", *(element("th", column, scope="col") for column in ("", "price", "needs")))
    lines = [
        element("tr", element("th", name, scope="row"), element("td", cost(price)), element("td", ", ".join(needs)))
        for name, price, needs in card.prices[:MOST_PRICES]
    ]
    if rest := len(card.prices) - len(lines):
        lines.append(element("tr", element("th", f"{rest:,} more", scope="row", colspan=3)))
    table = element("table", element("thead", head), element("tbody", *lines), class_="payments prices")
    return [element("details", element("summary", "Prices of what it reads"), table)]
