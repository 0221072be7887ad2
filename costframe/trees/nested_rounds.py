"""Held-out scores after rounds that other folds choose: unlike the least loss of all, no label chose its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define
from numpy.typing import NDArray

from costframe.core.arrays import F8


@define(eq=False)
class NestedRounds:
    """For each fold left out, its scores after the rounds of least loss of the other folds' rows.

    Attributes
    ----------
    left_out : sequence of int32 (any,)
        The rows of each fold.
    scores : float64 (n, K)
        Of each row, by the ensemble without its fold.
    least : float64 (folds,)
        The sum of the losses of the other folds' rows after these rounds.
    """

    left_out: Sequence[NDArray[np.int32]]
    scores: F8
    least: F8

    @classmethod
    def begin(cls, left_out: Sequence[NDArray[np.int32]], scores: F8, losses: F8) -> NestedRounds:
        """Begin at scores (n, K) before any round, with the sum of each fold's losses, float64 (folds,)."""
        return cls(left_out, scores.copy(), losses.sum() - losses)

    def follow(self, losses: F8, scores: Sequence[F8]) -> None:
        """Take further rounds in where they are better: losses (folds, rounds), and each fold's scores by round."""
        others = losses.sum(axis=0) - losses
        for number, place in enumerate(others.argmin(axis=1).tolist()):
            if others[number, place] < self.least[number]:
                self.least[number] = others[number, place]
                self.scores[self.left_out[number]] = scores[number][place]
