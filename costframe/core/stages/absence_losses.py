"""The expected loss of an ensemble by what is absent: a regression whose predictions never fall when more is."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import B1, F8, frozen_flags, frozen_floats
from costframe.core.errors import StageError
from costframe.core.sums import exact_mean, to_grid

_BLOCK = 8_192  # rows
_RIDGE = 1e-3  # share of the rows' weight, added to the squares of each column


@frozen(eq=False)
class AbsenceLosses:
    """Expected losses by what is absent.

    Parameters
    ----------
    least : float
        Where nothing is absent.
    sets : bool (s, d)
        Sets of features.
    some, every : float64 (s,)
        Not negative: what is added where some, and where all, of a set's features are absent.
    """

    least: float
    sets: B1 = field(converter=frozen_flags)
    some: F8 = field(converter=frozen_floats)
    every: F8 = field(converter=frozen_floats)

    @classmethod
    def none(cls, n_features: int) -> AbsenceLosses:
        """Make losses that no absence of any of the features adds to."""
        return cls(0.0, np.empty((0, n_features), np.bool_), np.empty(0), np.empty(0))

    @classmethod
    def regress(
        cls, losses: F8, weight: F8, there: B1, n_whole: int, sets: Iterable[Iterable[int]] = ()
    ) -> AbsenceLosses:
        """Regress the losses of rows that lack features, less those of the same rows whole.

        Parameters
        ----------
        losses, weight : float64 (n,)
        there : bool (n, d)
            The features that each row has.
        n_whole : int
            The first rows are whole, and all others repeat them in their order.
        sets : sets of columns
            The regression has columns for whether a row lacks some, and all, of each, and of each single feature.
        """
        from scipy.optimize import nnls  # slow to load

        members = np.vstack([np.eye(there.shape[1], dtype=np.bool_), *(_row(each, there.shape[1]) for each in sets)])
        weight, size = to_grid(weight), 2 * len(members)
        added = losses - np.tile(losses[:n_whole], len(losses) // n_whole)
        lowest = float(added.min(initial=0.0))
        pulls = to_grid(weight * (added - lowest))  # on a grid, sums depend on no order
        square, pulled, counted = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        for begin in range(n_whole, len(losses), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            columns = np.hstack(_absences(members, there[part]))
            square += columns.T @ (columns * weight[part, np.newaxis])
            pulled += columns.T @ pulls[part]
            counted += columns.T @ weight[part]
        square += _RIDGE * weight.sum() * np.eye(size)
        root = np.linalg.cholesky(square)
        some, every = np.split(nnls(root.T, np.linalg.solve(root, pulled + lowest * counted))[0], 2)
        kept = (some > 0) | (every > 0)
        return cls(exact_mean(losses[:n_whole], weight[:n_whole]), members[kept], some[kept], every[kept])

    def check(self, n_features: int) -> None:
        """Refuse sets of other features, and losses that fall or are not finite."""
        if self.sets.ndim != 2 or self.sets.shape[1] != n_features:
            raise StageError(f"spare: sets: expected a table of {n_features} columns, got the shape {self.sets.shape}")
        for name in ("some", "every"):
            values = getattr(self, name)
            if values.shape != (len(self.sets),) or not (np.isfinite(values) & (values >= 0)).all():
                raise StageError(f"spare: {name}: expected {len(self.sets)} finite numbers >= 0, got {values}")
        if not np.isfinite(self.least):
            raise StageError(f"spare: least: expected a finite number, got {self.least}")

    def of(self, there: B1) -> F8:
        """Return the expected losses of answers from the features that are there, bool (any, d): float64 (any,)."""
        some, every = _absences(self.sets, there)
        added = np.hstack([some * self.some, every * self.every])
        return np.array([math.fsum([self.least, *row]) for row in added.tolist()])  # the same bits everywhere

    def of_counts(self, found: F8) -> F8:
        """Return nearly the same, given how many features of each set are there: float64 (any, s) to (any,)."""
        some, every = _lacking(self.sets, found)
        return np.asarray(self.least + some @ self.some + every @ self.every)


def _row(features: Iterable[int], d: int) -> B1:
    row = np.zeros((1, d), np.bool_)
    row[0, list(features)] = True
    return row


def _absences(sets: B1, there: B1) -> tuple[F8, F8]:
    """Return whether rows lack some, and all, of each set, as 1 and 0: float64 (any, s) each."""
    return _lacking(sets, there.astype(np.float64) @ sets.T.astype(np.float64))


def _lacking(sets: B1, found: F8) -> tuple[F8, F8]:
    """Return the same, given how many features of each set rows have: float64 (any, s)."""
    size = sets.sum(axis=1)
    return (found < size).astype(np.float64), ((found == 0) & (size > 0)).astype(np.float64)
