"""The content of a page: plain texts and numbers, without models or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from costframe.report.stage_statistics import Acquired
    from costframe.report.tables import Payment

__all__ = ["BudgetChoice", "FrontierView", "ModelCard", "Page", "Spot", "StageView"]


@frozen
class StageView:
    """One stage or stop: the texts about its rows and its decision, and what it acquires first."""

    title: str
    lines: tuple[str, ...]
    acquired: tuple[Acquired, ...]


@frozen
class ModelCard:
    """What the page shows of one model."""

    name: str
    sentence: str  # all of its figures in words, for a screen reader
    figures: tuple[tuple[str, str, str], ...]  # label, value and remark; the first ones matter most
    facts: tuple[tuple[str, str], ...]  # label and text
    payments: tuple[Payment, ...] | None  # None without rows
    paid_by: str  # the rows that pay, as a text
    stages: tuple[StageView, ...]
    path: str | None  # file of the model, as seen from the page
    prices: tuple[tuple[str, float, tuple[str, ...]], ...] = ()  # of features and resources, each with what it needs


@frozen
class Spot:
    """A point of the picture, and a line of the table."""

    name: str
    algorithm: str
    cost: float
    score: float
    error: float
    tested: tuple[float, float] | None  # score and cost on test
    n_features: int
    non_dominated: bool
    latency: tuple[str, str] | None = None  # in the mean, and of 95 % of the rows


@frozen
class BudgetChoice:
    """The model that is chosen from a budget on, up to the next choice."""

    cost: float
    name: str


@frozen
class FrontierView:
    """The points of a frontier, and the choice for every budget.

    The choices ascend by cost; budgets below the first buy no model. `start` is the budget that the page opens with;
    None is one without a limit.
    """

    spots: tuple[Spot, ...]
    choices: tuple[BudgetChoice, ...]
    score_label: str
    unit: str
    full_cost: float
    start: float | None = None

    def choice(self, budget: float) -> str | None:
        """Return the name of the model chosen within a budget, or None below the cheapest."""
        return next((one.name for one in reversed(self.choices) if one.cost <= budget), None)


@frozen
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
