"""The expected losses of a model by the set of features that a row has: sets that were tried, and others."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import B1, F8, frozen_flags, frozen_floats
from costframe.core.errors import StageError
from costframe.core.stages.absence_losses import AbsenceLosses


@frozen(eq=False)
class SetLosses:
    """Expected losses by the set of features that a row has, of the U features that a model uses.

    Parameters
    ----------
    absence : AbsenceLosses
        Of any set.
    sets : bool (m, U)
        Sets that were tried.
    losses : float64 (m,)
        Their losses on rows.
    """

    absence: AbsenceLosses
    sets: B1 = field(converter=frozen_flags)
    losses: F8 = field(converter=frozen_floats)

    @classmethod
    def untried(cls, absence: AbsenceLosses) -> SetLosses:
        """Make losses of sets none of which was tried."""
        return cls(absence, np.empty((0, absence.sets.shape[1]), np.bool_), np.empty(0))

    def check(self) -> None:
        """Refuse sets of other features, and losses that are not finite."""
        self.absence.check(n_features := self.absence.sets.shape[-1])
        if self.sets.ndim != 2 or self.sets.shape != (len(self.losses), n_features):
            expected = len(self.losses), n_features
            raise StageError(f"set_losses: sets: expected the shape {expected}, got {self.sets.shape}")
        if not np.isfinite(self.losses).all():
            raise StageError(f"set_losses: losses: expected finite numbers, got {self.losses}")
