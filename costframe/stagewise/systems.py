"""Symmetric positive systems that lose unknowns: solved in place, and inverses from which unknowns are taken."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from threadpoolctl import ThreadpoolController

from costframe.core.learners.outputs import mirror
from costframe.core.threads import thread_count

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from numpy.typing import NDArray

__all__ = [
    "ShrinkingInverse",
    "ShrinkingSystem",
    "blas_alone",
    "blas_for",
    "blas_side_by_side",
    "blas_together",
    "invert",
    "scipy_blas_alone",
    "solve_scaled",
]

_ADDED = (1e-12, 1e-9, 1e-6)  # to unit diagonals: the first that makes the matrix positive in spite of rounding
_WORTH_COPYING = 0.9  # of a system's unknowns are left, or fewer: a copy without the others costs less than they do
_WORTH_INVERTING = 0.7
_LARGE = 3e8  # multiplications


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def blas_side_by_side() -> AbstractContextManager[Any]:
    """Let BLAS use a third of the threads, at least one, as up to three systems are solved side by side.

    The threads of a Cholesky factorization wait for each other so often that on a busy machine two take up to twenty
    times as long as one; solutions in threads of their own do not wait.
    """
    context: AbstractContextManager[Any] = _pools().limit(limits=max(1, thread_count() // 3), user_api="blas")
    return context


def blas_for(n_rows: int, n_outputs: int) -> AbstractContextManager[Any]:
    """Let BLAS use one thread where a Gram matrix is small: on a busy machine two would wait longer than they work."""
    small = n_rows * n_outputs**2 < _LARGE
    context: AbstractContextManager[Any] = _pools().limit(limits=1, user_api="blas") if small else nullcontext()
    return context


def blas_alone() -> AbstractContextManager[Any]:
    """Let BLAS use one thread, where most products are small and threads would wait longer than they work."""
    context: AbstractContextManager[Any] = _pools().limit(limits=1, user_api="blas")
    return context


def blas_together(n_rows: int, n_outputs: int) -> AbstractContextManager[Any]:
    """Let BLAS use all threads for a Gram matrix, if that is large."""
    large = n_rows * n_outputs**2 >= _LARGE
    context: AbstractContextManager[Any] = (
        _pools().limit(limits=thread_count(), user_api="blas") if large else nullcontext()
    )
    return context


@cache
def _pools_of_scipy() -> ThreadpoolController:
    """Return the pools of SciPy's own BLAS, which is another one than NumPy's where both come as wheels."""
    own = [pool["filepath"] for pool in _pools().info() if "scipy.libs" in pool["filepath"]]
    return _pools().select(filepath=own) if own else _pools()


def scipy_blas_alone() -> AbstractContextManager[Any]:
    """Let SciPy's BLAS use one thread.

    Its minimizer solves small systems at each step, whose threads would wait for each other for milliseconds.
    """
    context: AbstractContextManager[Any] = _pools_of_scipy().limit(limits=1, user_api="blas")
    return context


def solve_scaled(
    matrix: NDArray[np.float64],
    right: NDArray[np.float64],
    penalty: NDArray[np.float64] | None = None,
    live: NDArray[np.bool_] | None = None,
    buffer: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Solve a symmetric positive system whose diagonal may hold numbers of very different sizes.

    Parameters
    ----------
    matrix, right : float64 (C, C), float64 (C, M)
    penalty : float64 (C,), optional
        Added to the diagonal.
    live : bool (C,), optional
        Unknowns to solve for; the others are zero. By default all.
    buffer : float64 (C, C), optional
        What to work in; it is overwritten. The matrix itself is not.
    """
    if not len(matrix):
        return np.zeros_like(right)
    factor, unit = _factor(matrix, penalty, live, buffer)
    found, _ = dpotrs(factor, unit[:, np.newaxis] * right, lower=1, overwrite_b=1)
    return np.ascontiguousarray(unit[:, np.newaxis] * found)


def invert(matrix: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """Invert a symmetric positive matrix plus a ridge."""
    if not len(matrix):
        return matrix.copy()
    factor, unit = _factor(matrix, np.full(len(matrix), ridge), None, None)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    mirror(inverse.T)
    inverse *= unit
    inverse *= unit[:, np.newaxis]
    return np.asarray(inverse.T)


def _factor(
    matrix: NDArray[np.float64],
    penalty: NDArray[np.float64] | None,
    live: NDArray[np.bool_] | None,
    buffer: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower Cholesky factor of the matrix scaled to a unit diagonal, and the scale (C,)."""
    diagonal = matrix.diagonal() if penalty is None else matrix.diagonal() + penalty
    unit = 1.0 / np.sqrt(diagonal if live is None else np.where(live, diagonal, np.inf))
    for added in _ADDED:
        scaled = np.multiply(matrix, unit, out=buffer, order="C")
        scaled *= unit[:, np.newaxis]
        scaled[np.diag_indices(len(scaled))] = 1.0 + added
        factor, failed = dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)  # its transpose, as it is symmetric
        if not failed:
            return factor, unit
    raise LinAlgError(f"a matrix of {len(matrix)} unknowns is not positive")


class ShrinkingSystem:
    """Systems (S + diag p) b = r for ever new p and ever fewer unknowns.

    Unknowns that are gone stay in the matrix, with zeros, until enough of them have come together.

    Attributes
    ----------
    places : int64 (c,)
        Unknowns that are in the matrix, of C at first.
    live : bool (c,)
        Which of these are not gone.
    """

    def __init__(self, matrix: NDArray[np.float64], right: NDArray[np.float64]) -> None:
        self._matrix, self._right = matrix, right
        self._buffer = np.empty(matrix.shape)
        self.places, self.live = np.arange(len(matrix)), np.ones(len(matrix), np.bool_)

    def solve(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return b for p (c,): float64 (c, M), zero for what is gone."""
        n = len(self.places)
        buffer = self._buffer.reshape(-1)[: n * n].reshape(n, n)
        return solve_scaled(self._matrix, self._right, penalty, self.live, buffer)

    def keep(self, live: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Let unknowns go, bool (c,); return which are left in the matrix, or None if all are."""
        self.live = self.live & live
        if self.live.sum() > _WORTH_COPYING * len(self.places):
            return None
        left, places = self.live, np.flatnonzero(self.live)
        self._matrix, self._right = self._matrix[np.ix_(places, places)], self._right[places]
        self.places, self.live = self.places[places], np.ones(len(places), np.bool_)
        return left


class ShrinkingInverse:
    """A ridge fit b = M^-1 r, M = S + ridge I, on ever fewer of its unknowns.

    If the unknowns R go, the inverse of what is left of M is M^-1 - (M^-1)_.R ((M^-1)_RR)^-1 (M^-1)_R. on the others,
    and b loses (M^-1)_.R ((M^-1)_RR)^-1 b_R: Schur complements. From time to time M is inverted anew.

    Attributes
    ----------
    support : int64 (s,)
        Unknowns that are left, of C.
    weights : float64 (s, M)
        b on the support.
    """

    def __init__(
        self, matrix: NDArray[np.float64], right: NDArray[np.float64], support: NDArray[np.int64], ridge: float
    ) -> None:
        self._matrix, self._right, self._ridge, self.support = matrix, right, ridge, support
        self._invert()

    def _invert(self) -> None:
        self._inverse = invert(self._matrix[np.ix_(self.support, self.support)], self._ridge)
        self.weights = self._inverse @ self._right[self.support]
        self._at = np.arange(len(self.support))  # where in the inverse those of the support are

    @property
    def lost_alone(self) -> NDArray[np.float64]:
        """By what loss + ridge rises if one unknown goes and the others are fitted anew: float64 (s,)."""
        return np.asarray(0.5 * np.square(self.weights).sum(axis=1) / self._inverse[self._at, self._at])

    def lost(self, gone: NDArray[np.int64]) -> float:
        """Tell by what it rises if several go, by their place in the support: 1/2 tr b_R' ((M^-1)_RR)^-1 b_R."""
        if 2 * len(gone) > len(self.support):
            return self._lost_but_few(gone)
        at, part = self._at[gone], self.weights[gone]
        return 0.5 * float((part * solve_scaled(self._inverse[np.ix_(at, at)], part)).sum())

    def _lost_but_few(self, gone: NDArray[np.int64]) -> float:
        """Fit the others directly: loss + ridge of a fit is lower than that of zero by 1/2 tr b' r."""
        left = np.delete(self.support, gone)
        there = float((self.weights * self._right[self.support]).sum())
        few, penalty = self._matrix[np.ix_(left, left)], np.full(len(left), self._ridge)
        return 0.5 * (there - float((solve_scaled(few, self._right[left], penalty) * self._right[left]).sum()))

    def remove(self, gone: NDArray[np.int64]) -> None:
        """Let unknowns go, by their place in the support."""
        at, part = self._at[gone], self.weights[gone]
        self.support, self._at = np.delete(self.support, gone), np.delete(self._at, gone)
        if len(self.support) < _WORTH_INVERTING * len(self._inverse):
            self._invert()
            return
        across = np.ascontiguousarray(self._inverse[at])  # (R, all): of those gone before, nothing is read again
        both = solve_scaled(across[:, at], np.hstack([across, part]))
        self.weights = np.delete(self.weights, gone, axis=0) - across[:, self._at].T @ both[:, across.shape[1] :]
        # in place on the transpose, which is in the order of Fortran, and equal
        changed = dgemm(-1.0, across.T, both[:, : across.shape[1]], beta=1.0, c=self._inverse.T, overwrite_c=1)
        self._inverse = changed.T
