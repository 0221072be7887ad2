"""Targets from -1 to 1 for graded relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows, TrainingData

__all__ = ["with_targets"]


def with_targets(data: TrainingData, relevant: float | None) -> TrainingData:
    """Replace grades by targets: 2 y / max - 1 with the training maximum, or 1 for relevant rows and -1 for others.

    If no row has a grade above zero, all targets are -1.

    Parameters
    ----------
    data : TrainingData
        Labels are grades >= 0.
    relevant : float or None
        Least relevant grade; None keeps degrees.

    Raises
    ------
    ParameterError
        If `relevant` does not split the training rows.
    """
    least, most = float(data.train.y.min()), float(data.train.y.max())
    if relevant is not None and not least < relevant <= most:
        raise ParameterError(
            f"relevant: expected a grade that some rows reach and some do not, they are from {least:g} to {most:g}, "
            f"got {relevant:g}"
        )

    def turned(rows: Rows) -> Rows:
        return evolve(rows, y=_targets(rows.y, most, relevant))

    return evolve(data, train=turned(data.train), valid=None if data.valid is None else turned(data.valid))


def _targets(grades: NDArray[np.float64], most: float, relevant: float | None) -> NDArray[np.float64]:
    if relevant is not None:
        return np.where(grades >= relevant, 1.0, -1.0)
    return 2.0 * (grades / most if most > 0 else np.zeros_like(grades)) - 1.0
