"""Least squares from one Gram matrix at prices, symmetric positive systems, smooth minimization, threads of BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy import sparse
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.learners.outputs import BankOutputs, mirror
from costframe.core.machine import run_parallel, thread_count
from costframe.core.sums import exact_sum

_ADDED = (1e-12, 1e-9, 1e-6)  # to unit diagonals: the first that makes the matrix positive in spite of rounding
_WORTH_INVERTING = 0.7
_LARGE = 3e8  # multiplications


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(count: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS; None changes nothing."""
    if count is None:
        return nullcontext()
    context: AbstractContextManager[Any] = _pools().limit(limits=count, user_api="blas")
    return context


def blas_for(
    n_rows: int, n_outputs: int, *, small: int | None = 1, large: int | None = None
) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS by the size of a Gram matrix.

    For a small one, two threads on a busy machine would wait longer than they work.
    """
    return blas_threads(small if n_rows * n_outputs**2 < _LARGE else large)


@cache
def _pools_of_scipy() -> ThreadpoolController:
    """Return the thread pools of SciPy's BLAS; wheels of SciPy and NumPy bring one each."""
    own = [pool["filepath"] for pool in _pools().info() if "scipy.libs" in pool["filepath"]]
    return _pools().select(filepath=own) if own else _pools()


def minimize_smooth(
    value: Callable[[F8], tuple[float, F8]],
    begin: F8,
    options: dict[str, Any],
    callback: Callable[[F8], None] | None = None,
    **more: Any,
) -> Any:
    """Minimize by L-BFGS a function that returns its value and its derivatives; SciPy's BLAS uses one thread.

    The minimizer solves small systems at each step; several threads would wait milliseconds for each other.
    `callback` gets the vector after each step.
    """
    asked: dict[str, Any] = {"fun": value, "jac": True, "method": "L-BFGS-B", "options": options, "callback": callback}
    with _pools_of_scipy().limit(limits=1, user_api="blas"):
        return minimize(x0=begin, **asked, **more)


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
    found, _ = dpotrs(factor, unit[:, np.newaxis] * right, lower=1, overwrite_b=1)
    return np.ascontiguousarray(unit[:, np.newaxis] * found)


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
    def lost_alone(self) -> F8:
        """The rise of loss + ridge if one unknown is removed and the others are fitted again: float64 (s,)."""
        return np.asarray(0.5 * np.square(self.weights).sum(axis=1) / self._inverse[self._at, self._at])

    def lost(self, gone: I8) -> float:
        """Return the rise if several are removed, by their places in the support: 1/2 tr b_R' ((M^-1)_RR)^-1 b_R."""
        if 2 * len(gone) > len(self.support):
            return self._lost_but_few(gone)
        at, part = self._at[gone], self.weights[gone]
        return 0.5 * float((part * solve_scaled(self._inverse[np.ix_(at, at)], part)).sum())

    def _lost_but_few(self, gone: I8) -> float:
        """Fit the few others directly: a fit lowers loss + ridge by 1/2 tr b' r from that of zero weights."""
        left = np.delete(self.support, gone)
        there = float((self.weights * self._right[self.support]).sum())
        few, penalty = self._matrix[np.ix_(left, left)], np.full(len(left), self._ridge)
        return 0.5 * (there - float((solve_scaled(few, self._right[left], penalty) * self._right[left]).sum()))

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


_LEAST = 1e-12  # of a standard deviation to the mean, below which an output is constant


@frozen(eq=False)
class NormalEquations:
    """The weighted mean of squares 1/2 |y - a - B'h(x)|^2, as a function of B with the best constants a.

    Attributes
    ----------
    gram : float64 (C, C)
        Covariances of the outputs.
    right : float64 (C, M)
        Covariances of outputs and labels.
    mean, target_mean : float64 (C,), float64 (M,)
    target_variance : float64
        Sum over the M labels.
    """

    gram: F8
    right: F8
    mean: F8
    target_mean: F8
    target_variance: float

    @classmethod
    def of(cls, outputs: BankOutputs, y: F8, weight: F8) -> NormalEquations:
        """Sum over rows with labels (n, M) and weights (n,), divided by the sum of weights."""
        w = weight / exact_sum(weight)
        mean = outputs.mean(w)
        target_mean = w @ y
        y = y - target_mean
        with blas_for(int(np.count_nonzero(w)), len(mean), small=None, large=thread_count()):
            gram, right = outputs.centered(mean).products(w, y)
        return cls(gram, right, mean, target_mean, float(w @ np.square(y).sum(axis=1)))

    @property
    def varies(self) -> B1:
        """Which outputs are not constant: bool (C,)."""
        return np.asarray(self.deviation > _LEAST * np.maximum(np.abs(self.mean), np.finfo(np.float64).tiny))

    @property
    def deviation(self) -> F8:
        """Standard deviations: float64 (C,)."""
        return np.sqrt(np.diag(self.gram))

    @property
    def unit(self) -> float:
        """The unit of a ridge: the median variance of the outputs that vary."""
        return float(np.median(np.diag(self.gram)[self.varies])) if self.varies.any() else 0.0

    def columns(self, chosen: I8) -> NormalEquations:
        """Keep some outputs, in the given order; copy nothing if these are all."""
        if np.array_equal(chosen, np.arange(len(self.right))):
            return self
        gram = self.gram[np.ix_(chosen, chosen)]
        return evolve(self, gram=gram, right=self.right[chosen], mean=self.mean[chosen])

    def loss(self, weights: F8) -> float:
        """Mean of 1/2 |y - a - B'h|^2 for weights (C, M)."""
        return 0.5 * float(self.target_variance + (weights * (self.gram @ weights - 2 * self.right)).sum())

    def intercept(self, weights: F8) -> F8:
        """Return the best constants: float64 (M,)."""
        return np.asarray(self.target_mean - self.mean @ weights)

    def solve(self, penalty: F8) -> F8:
        """Minimize loss + 1/2 sum_c penalty_c |B_c|^2, eq. 14: float64 (C, M)."""
        return solve_scaled(self.gram, self.right, penalty)


_PATIENCE = 50  # learners added without a better support
_WORTH_THREADS = 1000  # outputs; below, threads wait longer for each other than they solve
USUAL_RIDGE = 1e-2
_MOST = 1e100  # largest price in units of loss: more makes no difference, and its products would overflow
_LARGEST = np.finfo(np.float64).max


def forward_select(normal: NormalEquations, prices: SampledPrices, ridge: float) -> B1:
    """Return the best of a series of growing supports, bool (C,): each has one output more than the one before.

    The next output has the largest fall of loss + ridge less price; if no fall exceeds its price, the largest fall per
    price. Ridge regression on a growing support is a pivoted Cholesky factorization: all steps together take the time
    of one fit.
    """
    member, support = prices.groups.member, np.zeros(len(normal.right), np.bool_)
    engine.select_forward(
        np.ascontiguousarray(normal.gram), np.array(normal.right, order="C"), ridge,
        member.indptr.astype(np.int64), member.indices.astype(np.int64), np.ascontiguousarray(prices.groups.price),
        np.ascontiguousarray(prices.reads), prices.paid.copy(), np.ascontiguousarray(prices.mass),
        prices.offers.copy(), _PATIENCE, support,
    )  # fmt: skip
    return support


def prune(normal: NormalEquations, groups: PricedGroups, weights: F8, ridge: float) -> F8:
    """Remove groups while loss + ridge + price falls; weights (C, M) are a ridge fit to their support."""
    support = np.flatnonzero(weights.any(axis=1))
    if not len(support):
        return weights
    fit = ShrinkingInverse(normal.gram, normal.right, support, ridge)
    while len(fit.support):
        gone = _worst(fit, groups.restrict(fit.support))
        if gone is None:
            break
        fit.remove(gone)
    if len(fit.support) == len(support):
        return weights
    found = np.zeros_like(weights)
    found[fit.support] = normal.columns(fit.support).solve(np.full(len(fit.support), ridge))
    return found


def _worst(fit: ShrinkingInverse, groups: PricedGroups) -> I8 | None:
    """Return the weights to remove, by their places in the support, or None if all are worth their price.

    The loss of a group is at least that of each of its weights alone; it skips groups that this bound rules out.
    """
    member, saved = _savings(groups)
    if not len(saved):
        return None
    at_least = np.maximum.reduceat(fit.lost_alone[member.indices], member.indptr[:-1])
    hope = saved - at_least
    best, gone = 0.0, None
    for group in np.argsort(-hope, kind="stable"):
        if hope[group] <= best:
            break
        inside = member.indices[member.indptr[group] : member.indptr[group + 1]]
        worth = float(saved[group]) - (fit.lost(inside) if len(inside) > 1 else float(at_least[group]))
        if worth > best:
            best, gone = worth, inside
    return gone


def _savings(groups: PricedGroups) -> tuple[Any, F8]:
    """List priced groups that have weights, csr (g, c), and the price saved by removing each, (g,).

    Removing a group saves the prices of all groups that it empties.
    """
    size = np.diff(groups.member.indptr)
    some = np.flatnonzero((groups.price > 0) & (size > 0))
    member: Any = groups.member[some]
    shared = sparse.coo_array(member @ member.T)
    emptied = shared.data == size[some][shared.row]
    saved = np.bincount(shared.col[emptied], weights=groups.price[some][shared.row[emptied]], minlength=len(some))
    return member, np.asarray(saved, np.float64)


def groups_in_loss(groups: PricedGroups, tradeoff: float) -> PricedGroups:
    """Turn the prices of groups into loss: lambda times each, at most 1e100."""
    with np.errstate(over="ignore"):
        return PricedGroups(groups.member, np.minimum(groups.price * min(tradeoff, _LARGEST), _MOST))


def in_loss(prices: SampledPrices, tradeoff: float) -> SampledPrices:
    """Turn sampled prices into loss: lambda times each, at most 1e100."""
    return evolve(prices, groups=groups_in_loss(prices.groups, tradeoff))


def fit_at_price(normal: NormalEquations, prices: SampledPrices, price: float, ridge: float) -> F8:
    """Minimize mean 1/2 |y - a - B'h|^2 + ridge + price * cost, approximately.

    Parameters
    ----------
    normal : NormalEquations
        Of C outputs.
    prices : SampledPrices
        Of learners not bought before.
    price : float
        In units of this loss, per unit of cost.
    ridge : float
        In units of the outputs' median variance.

    Returns
    -------
    float64 (C, M)
        Exactly zero for outputs that are not used.
    """
    return next(fit_at_ridges(normal, prices, price, [ridge], ridge))


def fit_at_ridges(
    normal: NormalEquations, prices: SampledPrices, price: float, ridges: Sequence[float], usual: float = USUAL_RIDGE
) -> Iterator[F8]:
    """Fit as `fit_at_price` with each ridge, on supports selected with the usual ridge.

    With exact cost and the ridge, the result is never worse than the fit without prices or the constant.
    """
    varying = np.flatnonzero(normal.varies)
    part, priced = normal.columns(varying), in_loss(prices, price).restrict(varying)
    supports: Sequence[B1] = []
    if priced.offers.min(initial=np.inf) <= 0.5 * normal.target_variance:  # else zero is best
        supports = [np.ones(len(varying), np.bool_), forward_select(part, priced, part.unit * usual)]
    for ridge in ridges:
        weights = np.zeros(normal.right.shape)
        weights[varying] = _fit_best(part, priced, supports, part.unit * ridge)
        yield weights


def _fit_best(normal: NormalEquations, prices: SampledPrices, supports: Sequence[B1], ridge: float) -> F8:
    """Fit on each support, remove groups that are not worth their price, and keep the best fit by exact cost."""

    def objective(weights: F8) -> float:
        ridged = normal.loss(weights) + 0.5 * ridge * float(np.square(weights).sum())
        return ridged + prices.cost(np.asarray(weights.any(axis=1)))

    def fit(support: B1) -> F8:
        fitted = fit_ridge(normal, support, ridge)
        return fitted if support.all() else prune(normal, prices.priced(support), fitted, ridge)

    n_threads = thread_count() if len(normal.right) >= _WORTH_THREADS else 1
    # Up to three threads solve systems side by side. Those of one Cholesky factorization wait for each other: on a busy
    # machine, two take up to twenty times as long as one.
    with blas_threads(max(1, thread_count() // 3)):
        candidates = run_parallel(fit, supports, n_threads)
    return min([*candidates, np.zeros(normal.right.shape)], key=objective)


def fit_ridge(normal: NormalEquations, kept: B1, ridge: float) -> F8:
    """Fit by ridge on a support; zero elsewhere."""
    weights, support = np.zeros(normal.right.shape), np.flatnonzero(kept)
    weights[support] = normal.columns(support).solve(np.full(len(support), ridge))
    return weights
