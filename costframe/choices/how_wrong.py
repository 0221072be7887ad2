"""How wrong advice from records may be: two readings of them, and the hidden suspicion that would change it."""

from __future__ import annotations

import math

from attrs import field, frozen

from costframe.core.display import format_cost
from costframe.core.errors import brief, printable
from costframe.records.suspicion import MOST_ODDS, HiddenSuspicion


@frozen(repr=False)
class InService:
    """A model's figure in service, a score, or a bill where errors have prices, by both readings of the records.

    Attributes
    ----------
    name : str
        Of the point.
    by_label : float
        If who was tested may depend on the label, beyond what is recorded.
    by_columns : float
        If it depends on recorded columns alone: the exact figure of the best model that asks for no test which some
        rows lack, and the difference to it in rows completed by this reading.
    """

    name: str
    by_label: float
    by_columns: float

    def __repr__(self) -> str:
        return brief(self, self.name, f"by label {self.by_label:.4g}", f"by columns {self.by_columns:.4g}")


@frozen(eq=False, repr=False)
class HowWrong:
    """How far figures from records may be off, and what it takes to change the advice.

    Attributes
    ----------
    chosen : InService
        The figures of the model that is asked about.
    runner_up : InService or None
        Those of the best model that asks for no test which some rows lack; if the chosen one is such a model, of the
        best other. None without any.
    low, high : float
        Least and greatest of the chosen model's figures by both readings.
    odds : float or None
        The strength of hidden suspicion from which on the runner-up may be as good: how many times the odds of a test
        may depend on its result, beyond label and columns. 1 if it is as good without any, infinity above 10, and None
        without a runner-up.
    contradicted : bool
        Whether labels of rows without tests contradict the reading by columns alone.
    figure_name : str
        "bill", or the name of the score.
    worth, gain : HiddenSuspicion
        What each row adds to the score, or to minus the bill, of the chosen model; and to its difference from the
        runner-up's, None without one. Their `interval(odds)` has what is possible at a strength.
    """

    chosen: InService
    runner_up: InService | None
    odds: float | None
    contradicted: bool
    figure_name: str
    worth: HiddenSuspicion = field(repr=False)
    gain: HiddenSuspicion | None = field(repr=False)

    @property
    def low(self) -> float:
        """The least figure of both readings."""
        return min(self.chosen.by_label, self.chosen.by_columns)

    @property
    def high(self) -> float:
        """The greatest figure of both readings."""
        return max(self.chosen.by_label, self.chosen.by_columns)

    def __repr__(self) -> str:
        return brief(self, self.chosen.name, str(self))

    def __str__(self) -> str:
        return " ".join(filter(None, (self._readings(), self._change())))

    def _readings(self) -> str:
        by_columns, by_label = (self._figure(each) for each in (self.chosen.by_columns, self.chosen.by_label))
        name = printable(self.figure_name)
        if by_columns == by_label:
            return f"In service the {name} would be {by_label}, by both readings of the records."
        if self.contradicted:
            return (
                f"In service the {name} would be {by_label}. If whoever ordered the tests knew only what is recorded, "
                f"it would be {by_columns}, but the labels of rows without tests speak against that."
            )
        return (
            f"If whoever ordered the tests knew only what is recorded, the {name} in service would be {by_columns} "
            f"instead of {by_label}."
        )

    def _figure(self, value: float) -> str:
        return format_cost(value) if self.figure_name == "bill" else f"{value:.4f}"

    def _change(self) -> str | None:
        if self.runner_up is None or self.odds is None:
            return None
        one, other = printable(self.chosen.name), printable(self.runner_up.name)
        if self.odds == 1:
            return f"On these rows {other} is as good as {one}, also without unrecorded suspicion."
        moved = "unrecorded suspicion moved the odds of a result by"
        if math.isinf(self.odds):
            return f"The advice stays, {one} is better than {other}, even if {moved} {MOST_ODDS:g} times."
        return f"The advice may change, from {one} to {other}, if {moved} more than {self.odds:.2g} times."
