"""Rankers whose grades become targets from -1 to 1."""

from __future__ import annotations

import numpy as np
from attrs import define, evolve, field

from costframe.core.arrays import F8
from costframe.core.checks import resolve
from costframe.core.errors import ParameterError
from costframe.core.predictors.stage_tree import StageTree
from costframe.training.data import Rows, TrainingData
from costframe.training.estimator import CostAwareRanker


@define(slots=False, eq=False, repr=False)
class GradedRanker(CostAwareRanker):
    """Trains on targets from -1 to 1 in the place of grades."""

    relevant: float | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        relevant = resolve("relevant", self.relevant, self._usually_relevant(data), strict=True)
        return super()._train(with_targets(data, relevant))  # type: ignore[return-value,safe-super] # as above

    def _usually_relevant(self, data: TrainingData) -> float | None:  # noqa: ARG002 - for those that divide grades
        """Return the least relevant grade by default; None keeps degrees."""
        return None


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


def _targets(grades: F8, most: float, relevant: float | None) -> F8:
    if relevant is not None:
        return np.where(grades >= relevant, 1.0, -1.0)
    return 2.0 * (grades / most if most > 0 else np.zeros_like(grades)) - 1.0
