"""The charges of some rows, from which reports are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import fields, frozen

from costframe.core.arrays import B1, F8, I8


@frozen(eq=False)
class Charges:
    """Charges of some rows, from which a report takes means. Sums over rows are weighted."""

    acquired: B1 | F8  # (rows, d): 0/1, or probabilities
    acquisition: F8  # (rows,): features and resources
    learners: F8 | None  # (rows,), like the next two; None if they cost nothing
    comparisons: F8 | None
    reuse: F8 | None
    feature_weight: F8  # (d,): weight of the rows that acquired each feature
    resource_weight: F8  # (R,)
    stage_weight: F8  # (stages,)
    predictions: F8 | None = None  # (rows, K); None with soft routing
    cut: B1 | None = None  # (rows,): answered early; None without limits
    rounds: I8 | None = None  # (rows,): trips to the sources; None where a replay must count them
    per_row: F8 | None = None  # (rows,): all of it, rounded up; None: the sum of the parts
    places: I8 | None = None  # (rows,): numbers of classes that predictions do not tell; see `Ends`

    @property
    def row_costs(self) -> F8:
        """Cost of each row, (rows,)."""
        if self.per_row is not None:
            return self.per_row
        parts = (self.learners, self.comparisons, self.reuse)
        return sum((part for part in parts if part is not None), self.acquisition)


def sum_charges(parts: Sequence[Charges], acquired: B1 | F8 | None = None) -> Charges:
    """Concatenate the charges of consecutive rows; `acquired` is that of all, if the parts have views of it."""

    def join(name: str) -> Any:
        if name == "acquired" and acquired is not None:
            return acquired
        values = [getattr(part, name) for part in parts]
        if values[0] is None:
            return None
        return np.sum(values, axis=0) if name.endswith("_weight") else np.concatenate(values)

    return Charges(*(join(charge.name) for charge in fields(Charges)))
