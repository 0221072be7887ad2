"""What a page shows: the cards of models, and of a frontier the choice within every budget."""

from __future__ import annotations

import shlex

from attrs import frozen

from costframe.choices import Frontier, Point
from costframe.report.payments import Payment
from costframe.report.stage_boxes import StageBox


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
        return next((choice.name for choice in reversed(self.choices) if choice.cost <= budget), None)


@frozen(eq=False)
class Page:
    """A page for some models: with a frontier it shows the card that the budget chooses, else its one card.

    It opens with the `lead`, a sentence.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    unit: str
    cards: tuple[ModelCard, ...]
    frontier: FrontierView | None = None
    lead: str = ""
