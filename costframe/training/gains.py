"""Importances by gain of a fitted model, from a sample of its training rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from costframe.core.predictors.importances import gains

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.caps.fallbacks import FallbackRows
    from costframe.core.predictors.predictor import Predictor


class Gains:
    """Importances that are computed at their first use; pickles hold them, and no rows."""

    def __init__(self, predictor: Predictor, rows: FallbackRows) -> None:
        self.rows: FallbackRows | None = rows
        self._predictor = predictor

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The importances, in the order of columns: float64 (d,)."""
        assert self.rows is not None  # noqa: S101 - without rows, there are values
        return gains(self._predictor, self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": None, "values": self.values}
