"""A model that is certified to keep promises, and what the certificate rests on."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from costframe.core.display import format_cost, html_table
from costframe.core.errors import brief, format_count, printable
from costframe.promises.promise import Promise


@frozen
class Check:
    """One promise on the rows that certify it.

    Attributes
    ----------
    promise : Promise
    value : float
        What was promised, on these rows.
    bound : float
        With the promise's confidence it is no worse on fresh rows, taken alone.
    rows : int
        Number of rows that it is about: for a recall those of the class.
    """

    promise: Promise
    value: float
    bound: float
    rows: int

    def __str__(self) -> str:
        side = "at least" if self.promise.is_least else "at most"
        about = format_count(self.rows, "row")
        return f"{self.promise}: {self.value:.4g} on {about}, {side} {self.bound:.4g}"


@frozen
class Enough:
    """A cheaper model, and about how many rows it takes to certify it, if it is as good as on these rows."""

    name: str
    cost: float
    rows: int
    unit: str

    def __str__(self) -> str:
        rows, price = f"{self.rows:,} rows", f"{format_cost(self.cost)} {printable(self.unit)} a row"
        return f"with about {rows} it could be promised at {price} ({printable(self.name)})"


@frozen(eq=False, repr=False)
class Certified:
    """The cheapest model that is certified to keep promises.

    Attributes
    ----------
    model : estimator
        It has `predict`, `cost`, and a `predictor_` for `cf.save`.
    name : str
        Name of the point, or of the cascade of two.
    point : Point or None
        The point; None for a cascade.
    cost, cost_error : float
        Mean cost of a row on the rows that certify, and its standard error.
    unit : str
    confidence : float
        Probability that all promises hold together.
    checks : tuple of Check
    rows, groups : int, int or None
        Number of rows that certify, and of their groups, each of which counts as one.
    planned_on : int
        Number of labelled rows, apart from these, that fixed the order of tests; 0 for the study's estimates alone.
    tested : int
        Number of models that were tested.
    enough : tuple of Enough
        Cheaper models, each with the number of rows that would be enough; the cheapest last.
    """

    model: Any = field(repr=False)
    name: str
    point: Any
    cost: float
    cost_error: float
    unit: str
    confidence: float
    checks: tuple[Check, ...]
    rows: int
    groups: int | None
    planned_on: int
    tested: int
    enough: tuple[Enough, ...] = ()

    def __repr__(self) -> str:
        promised = " and ".join(str(check.promise) for check in self.checks)
        return brief(self, self.name, promised, f"cost {self.cost:.4g}", f"confidence {self.confidence:g}")

    def _repr_html_(self) -> str:
        rows = [
            (str(check.promise), f"{check.value:.4g}", f"{check.bound:.4g}", f"{check.rows:,}") for check in self.checks
        ]
        title = f"{self.name}, {format_cost(self.cost)} {self.unit} per row"
        return html_table(title, ("promise", "on these rows", f"bound ({self.confidence:g})", "rows"), rows)

    def __str__(self) -> str:
        on = f"{self.rows:,} rows that nothing chose by"
        if self.groups is not None:
            on += f", of {format_count(self.groups, 'group')} that count as one each"
        paid = f"{self.cost:.4g} \u00b1 {self.cost_error:.2g} {self.unit} per row"
        lines = [f"{self.name} costs {paid}, and keeps with a probability of {self.confidence:g}, by {on}:"]
        lines += [f"  {check}" for check in self.checks]
        if self.enough:
            lines.append(f"For less, {'; '.join(map(str, self.enough))}.")
        return "\n".join(map(printable, lines))
