"""The end of an inquiry: a prediction and its cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8
from costframe.core.errors import brief, format_count, shown


@frozen(eq=False, repr=False)
class Prediction:
    """The end of an inquiry: its prediction and its cost.

    Attributes
    ----------
    value : float, or float64 (K,)
        Prediction for the row, as from `predict`.
    cost : float
        Cost of the row in the cost model's unit, without once-per-batch prices.
    acquired : tuple of str
        Features paid for, in the order of acquisition, without known ones.
    rounds : int
        Trips to the sources.
    exit : int
        Index of the answering stage, or of a route at which the row was cut; 0 for a model without stages.
    reason : str
        "complete", "certain" (the rest could not change what was asked for), or why the row was cut: "max_cost" (its
        cap), "unavailable" (a feature or resource was unavailable) or "deadline" (its time was over). If both of the
        first two, "unavailable".
    failed_cost : float
        Price of what sources were asked for in vain; not part of `cost`.
    failures : tuple of str
        Features that a source was asked for and that did not come, or came late, at some time.
    label : class label, or None
        Class of the row, as from an estimator's `predict`; None if the model knows no classes.
    paid : float or None
        What sources were really paid for the row, rounded up, beside `cost`, which is by the price list: failed calls
        are in it, answers that a source has kept are not. None if no source says what it is paid; see `PaidCall`.
    """

    value: float | F8
    cost: float
    acquired: tuple[str, ...]
    rounds: int
    exit: int
    reason: str = "complete"
    failed_cost: float = 0.0
    failures: tuple[str, ...] = ()
    label: Any = None
    paid: float | None = None

    def __repr__(self) -> str:
        """Name value, cost, and why and when it ended, in one line."""
        bought = f"{format_count(len(self.acquired), 'feature')} in {format_count(self.rounds, 'round')}"
        label = () if self.label is None else (shown(self.label),)
        value, cost = f"{np.round(self.value, 6)}", f"cost {self.cost:g}"
        paid = () if self.paid is None else (f"paid {self.paid:g}",)
        return brief(self, *label, value, cost, *paid, bought, f"exit {self.exit}", self.reason)
