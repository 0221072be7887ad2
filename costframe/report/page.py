"""A page about models: what it shows, and its HTML, without anything from elsewhere."""

from __future__ import annotations

import shlex
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from costframe.core.checks import needed
from costframe.core.display import format_cost
from costframe.core.errors import printable
from costframe.report.payments import Payment
from costframe.report.stage_boxes import StageBox

if TYPE_CHECKING:
    from jinja2 import Environment


@frozen
class ModelCard:
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


class View(Protocol):
    """What a page shows beside its cards."""

    def parts(self, page: Page) -> dict[str, Any]:
        """Return what the template takes beside the page."""


@frozen(eq=False)
class Page:
    """A page for some models: with a frontier it shows the card that the budget chooses, else its one card.

    It opens with the `lead`, a sentence.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    unit: str
    cards: tuple[ModelCard, ...]
    frontier: View | None = None
    lead: str = ""


def render_page(page: Page) -> str:
    """Return the page as an HTML document: equal content gives equal text."""
    if page.frontier is None:
        return render_template("model.html", page=page)
    return render_template("frontier.html", page=page, **page.frontier.parts(page))


def render_template(name: str, **parts: Any) -> str:
    """Return the HTML of a template with its parts; its `page` has a title, a lead, facts, and a frontier or None."""
    return _templates().get_template(name).render(**parts)


@cache
def _templates() -> Environment:
    needed("jinja2", "cli")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("costframe.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # names come from files
    )  # fmt: skip
    templates.filters |= {"cost": format_cost, "share": "{:.1%}".format}
    templates.globals["parts"] = templates.get_template("parts.html").module
    return templates
