"""Symmetric positive systems, and ridge fits whose unknowns are removed step by step."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from costframe.core.arrays import F8, I8
from costframe.core.learners.outputs import mirror

_ADDED = (1e-12, 1e-9, 1e-6)  # to unit diagonals: the first that makes the matrix positive in spite of rounding
_WORTH_INVERTING = 0.7


def solve_scaled(matrix: F8, right: F8, penalty: F8 | None = None) -> F8:
    """Solve a symmetric positive system, also with a diagonal of very different sizes.

    Parameters
    ----------
    matrix, right : float64 (C, C), float64 (C, M)
    penalty : float64 (C,), optional
        Added to the diagonal.
    """
    if not len(matrix):
        return np.zeros_like(right)
    factor, unit = _factor(matrix, penalty)
    solution, _ = dpotrs(factor, unit[:, np.newaxis] * right, lower=1, overwrite_b=1)
    return np.ascontiguousarray(unit[:, np.newaxis] * solution)


def invert(matrix: F8, ridge: float) -> F8:
    """Invert a symmetric positive matrix plus a ridge."""
    if not len(matrix):
        return matrix.copy()
    factor, unit = _factor(matrix, np.full(len(matrix), ridge))
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    mirror(inverse.T)
    inverse *= unit
    inverse *= unit[:, np.newaxis]
    return np.asarray(inverse.T)


def _factor(matrix: F8, penalty: F8 | None) -> tuple[F8, F8]:
    """Return the lower Cholesky factor of the matrix scaled to a unit diagonal, and the scale (C,)."""
    unit = 1.0 / np.sqrt(matrix.diagonal() if penalty is None else matrix.diagonal() + penalty)
    for added in _ADDED:
        scaled = np.multiply(matrix, unit, order="C")
        scaled *= unit[:, np.newaxis]
        scaled[np.diag_indices(len(scaled))] = 1.0 + added
        factor, failed = dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)  # its transpose, as it is symmetric
        if not failed:
            return factor, unit
    raise LinAlgError(f"a matrix of {len(matrix)} unknowns is not positive")


class ShrinkingInverse:
    """A ridge fit b = M^-1 r, M = S + ridge I, whose unknowns are removed step by step.

    After removal of the unknowns R, the inverse on the others is M^-1 - (M^-1)_.R ((M^-1)_RR)^-1 (M^-1)_R., and b falls
    by (M^-1)_.R ((M^-1)_RR)^-1 b_R (Schur complements). Now and then it inverts M again.

    Attributes
    ----------
    support : int64 (s,)
        The unknowns left, of C.
    weights : float64 (s, M)
        b on the support.
    """

    def __init__(self, matrix: F8, right: F8, support: I8, ridge: float) -> None:
        self._matrix, self._right, self._ridge, self.support = matrix, right, ridge, support
        self._invert()

    def _invert(self) -> None:
        self._inverse = invert(self._matrix[np.ix_(self.support, self.support)], self._ridge)
        self.weights = self._inverse @ self._right[self.support]
        self._at = np.arange(len(self.support))  # places of the support in the inverse

    @property
    def rises_alone(self) -> F8:
        """The rise of loss + ridge if one unknown is removed and the others are fitted again: float64 (s,)."""
        return np.asarray(0.5 * np.square(self.weights).sum(axis=1) / self._inverse[self._at, self._at])

    def rise_without(self, gone: I8) -> float:
        """Return the rise if several are removed, by their places in the support: 1/2 tr b_R' ((M^-1)_RR)^-1 b_R."""
        if 2 * len(gone) > len(self.support):
            return self._rise_with_few_left(gone)
        at, part = self._at[gone], self.weights[gone]
        return 0.5 * float((part * solve_scaled(self._inverse[np.ix_(at, at)], part)).sum())

    def _rise_with_few_left(self, gone: I8) -> float:
        """Fit the few others directly: a fit lowers loss + ridge by 1/2 tr b' r from that of zero weights."""
        left = np.delete(self.support, gone)
        decrease = float((self.weights * self._right[self.support]).sum())
        few, penalty = self._matrix[np.ix_(left, left)], np.full(len(left), self._ridge)
        return 0.5 * (decrease - float((solve_scaled(few, self._right[left], penalty) * self._right[left]).sum()))

    def remove(self, gone: I8) -> None:
        """Remove unknowns, by their places in the support."""
        at, part = self._at[gone], self.weights[gone]
        self.support, self._at = np.delete(self.support, gone), np.delete(self._at, gone)
        if len(self.support) < _WORTH_INVERTING * len(self._inverse):
            self._invert()
            return
        across = np.ascontiguousarray(self._inverse[at])  # (R, all): columns of unknowns removed before have no effect
        both = solve_scaled(across[:, at], np.hstack([across, part]))
        self.weights = np.delete(self.weights, gone, axis=0) - across[:, self._at].T @ both[:, across.shape[1] :]
        # in place on the transpose, which is equal and in Fortran order
        changed = dgemm(-1.0, across.T, both[:, : across.shape[1]], beta=1.0, c=self._inverse.T, overwrite_c=1)
        self._inverse = changed.T
