"""Charges and predictions of rows in parts, each predicted in its own way, put in the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.cost.totals import Charges
from costframe.core.errors import DataError
from costframe.core.stages.ends import Ends, join_ends

_BY_ROW = ("acquired", "acquisition", "learners", "comparisons", "reuse", "cut")


@frozen(eq=False)
class Parts:
    """Which rows of a table are in which part: numbers of rows, ascending, each in one part."""

    rows: tuple[I8, ...]

    def in_order(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of all rows in their order, given those of each part; refuse different shapes of a row."""
        kept = [part for part in values if len(part)] or list(values[:1])
        if len({part.shape[1:] for part in kept}) > 1:
            one, other = list(dict.fromkeys(part.shape[1:] for part in kept))[:2]
            raise DataError(f"second: expected predictions of shape {one} a row, as the first predictor's, got {other}")
        joined = np.concatenate(kept)
        found = np.empty_like(joined)
        found[np.concatenate(self.rows)] = joined
        return found

    def join_ends(self, parts: Sequence[Ends], half: float) -> Ends:
        """Return the ends of all rows, given those of each part."""
        return join_ends(parts, half, self.in_order)

    def join_charges(self, parts: Sequence[Charges], half: float, **others: Any) -> Charges:
        """Return the charges of all rows, given those of each part; `others` replace what parts do not tell."""
        ends = self.join_ends([Ends(np.asarray(part.predictions), part.places) for part in parts], half)
        weights = {
            name: np.sum([getattr(part, name) for part in parts], axis=0)
            for name in ("feature_weight", "resource_weight", "stage_weight")
            if name not in others
        }
        return Charges(
            **{name: self._join(parts, name) for name in _BY_ROW} | weights | others,
            predictions=ends.predictions,
            places=ends.places,
            per_row=self.in_order([part.row_costs for part in parts]),
        )

    def _join(self, parts: Sequence[Charges], name: str) -> Any:
        """Return what is charged of each row, with zeros where a part has none; None if no part has any."""
        values = [getattr(part, name) for part in parts]
        given = next((each for each in values if each is not None), None)
        if given is None:
            return None
        filled = [
            np.zeros(len(part.acquired), given.dtype) if each is None else each
            for each, part in zip(values, parts, strict=True)
        ]
        return self.in_order(filled)
