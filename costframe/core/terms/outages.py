"""What outages cost a model, measured on rows with labels: its score and cost without each of its sources."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from costframe.core.display import format_cost, with_error
from costframe.core.errors import brief, format_count, printable


@frozen
class Outage:
    """A model's figures where some features are unavailable together.

    Attributes
    ----------
    name : str
        Of the resource, source or feature that is down.
    features : frozenset of str
        The features that rows cannot have then, of those that it may read and columns that are prices of errors.
    score : float
    error : float
        Standard error of the difference to the score with everything there; of the bill, where errors have prices.
    cost : float
        Mean cost per row.
    """

    name: str
    features: frozenset[str]
    score: float
    error: float
    cost: float


@frozen(repr=False)
class Outages:
    """What each outage costs a model in score and in cost per row, beside its figures with everything there.

    Attributes
    ----------
    score_name : str
        Higher is better.
    has_bills : bool
        Whether the score is minus what errors cost, in the unit of prices.
    unit : str
        Unit of costs.
    prices : str
        Digest of the prices that the figures are at; see `prices_digest`.
    n_rows : int
        Rows that the figures are of.
    score, score_error, cost : float
        With everything there: the score, its standard error, and the mean cost per row.
    each : tuple of Outage
        The worst first.
    left_out : tuple of str
        What else may be down, for which rows pay less, without figures.
    """

    score_name: str
    has_bills: bool
    unit: str
    prices: str
    n_rows: int
    score: float
    score_error: float
    cost: float
    each: tuple[Outage, ...] = ()
    left_out: tuple[str, ...] = ()

    def of_features(self, features: Iterable[str]) -> Outage | None:
        """Return the outage of exactly these features, of those in `Outage.features`; None if it has no figures."""
        gone = frozenset(features)
        return next((outage for outage in self.each if outage.features == gone), None)

    def worth(self, outage: Outage) -> float:
        """Return the score of an outage, or minus its bill where errors have prices."""
        return outage.score - outage.cost if self.has_bills else outage.score

    @property
    def worth_name(self) -> str:
        """The name of the score, or "bill"."""
        return "bill" if self.has_bills else self.score_name

    def worth_text(self, outage: Outage | None = None) -> str:
        """Return the score or the bill of an outage, or of none, as text."""
        score, cost = (self.score, self.cost) if outage is None else (outage.score, outage.cost)
        return format_cost(cost - score) if self.has_bills else f"{score:.4f}"

    def change_text(self, outage: Outage) -> str:
        """Return the difference of the score or bill to that of no outage, with its standard error, as text."""
        change = outage.score - self.score
        if self.has_bills:
            change = outage.cost - self.cost - change
            return f"{'+' * (change >= 0)}{format_cost(change)} \u00b1{outage.error:.2g}"
        return f"{'+' * (change >= 0)}{with_error(change, outage.error)}"

    def figures(self, outage: Outage) -> str:
        """Return the score or bill, and the cost, of an outage beside those of none."""
        if (outage.score, outage.cost) == (self.score, self.cost):
            return "as with it"
        cost, whole = format_cost(outage.cost), format_cost(self.cost)
        worth = f"{printable(self.worth_name)} {self.worth_text(outage)} instead of {self.worth_text()}"
        return f"{worth} ({self.change_text(outage)}), cost {cost} instead of {whole}"

    def describe(self, outage: Outage) -> str:
        """Return a line about an outage."""
        return f"without {printable(outage.name)}: {self.figures(outage)}"

    def lines(self, most: int | None = None) -> list[str]:
        """Return a line for each outage, the worst first, at most a number of them, and one about those left out."""
        shown = self.each[:most]
        lines = [self.describe(outage) for outage in shown]
        if more := len(self.each) - len(shown) + len(self.left_out):
            lines.append(f"{format_count(more, 'further outage')} cost less, or were not measured")
        return lines

    def facts(self) -> list[tuple[str, str]]:
        """Return a label and a text for what is so without any outage, and for each one, the worst first."""
        whole = f"{self.worth_name} {self.worth_text()}, cost {format_cost(self.cost)} {self.unit} per row"
        facts = [("without outages", f"{whole}, on {format_count(self.n_rows, 'row')}")]
        return facts + [(f"without {outage.name}", self.figures(outage)) for outage in self.each]

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no outage takes away what the model reads"

    def __repr__(self) -> str:
        score = f"{self.score_name} {with_error(self.score, self.score_error)}"
        paid = f"cost {format_cost(self.cost)} {self.unit} on {format_count(self.n_rows, 'row')}"
        return brief(self, score, paid, more=self.lines())
