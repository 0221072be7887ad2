"""The rounds in which rows ask for features: what their trips, and their waiting, follow from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import I8


@frozen(eq=False)
class AskedRounds:
    """The round in which each row asks for each feature.

    Attributes
    ----------
    columns : int64 (F,)
        The features that some row may ask for.
    rounds : int32 (n, F)
        Number of the round, from 1 on; 0 for a feature that the row does not ask for.
    """

    columns: I8
    rounds: NDArray[np.int32]

    @classmethod
    def join(cls, parts: Sequence[AskedRounds]) -> AskedRounds:
        """Return those of consecutive rows of one model."""
        return cls(parts[0].columns, np.concatenate([part.rounds for part in parts]))

    def with_first(self, columns: Sequence[int]) -> AskedRounds:
        """Return the rounds of rows that also ask for some columns in their first round, and not later."""
        every = np.union1d(self.columns, np.array(columns, np.int64))
        rounds = np.zeros((len(self.rounds), len(every)), np.int32)
        rounds[:, np.searchsorted(every, self.columns)] = self.rounds
        rounds[:, np.searchsorted(every, np.array(columns, np.int64))] = 1
        return AskedRounds(every, rounds)

    def count(self) -> I8:
        """Return the number of rounds of each row: int64 (n,)."""
        last = int(self.rounds.max(initial=0))
        has = [(self.rounds == number).any(axis=1) for number in range(1, last + 1)]
        return np.sum(has, axis=0, dtype=np.int64) if has else np.zeros(len(self.rounds), np.int64)
