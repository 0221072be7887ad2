"""Least squares at prices, from one Gram matrix: a support grows, then groups that are not worth their price go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.machine import run_parallel, thread_count
from costframe.stagewise.linear_systems import ShrinkingInverse
from costframe.stagewise.normal_equations import NormalEquations
from costframe.training.blas import blas_threads

_PATIENCE = 50  # learners added without a better support
_WORTH_THREADS = 1000  # outputs; below, threads wait longer for each other than they solve
USUAL_RIDGE = 1e-2


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


def prune_groups(normal: NormalEquations, groups: PricedGroups, weights: F8, ridge: float) -> F8:
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
    solution = np.zeros_like(weights)
    solution[fit.support] = normal.columns(fit.support).solve(np.full(len(fit.support), ridge))
    return solution


def _worst(fit: ShrinkingInverse, groups: PricedGroups) -> I8 | None:
    """Return the weights to remove, by their places in the support, or None if all are worth their price.

    The loss of a group is at least that of each of its weights alone; it skips groups that this bound rules out.
    """
    member, saved = _savings(groups)
    if not len(saved):
        return None
    at_least = np.maximum.reduceat(fit.rises_alone[member.indices], member.indptr[:-1])
    hope = saved - at_least
    best, gone = 0.0, None
    for group in np.argsort(-hope, kind="stable"):
        if hope[group] <= best:
            break
        inside = member.indices[member.indptr[group] : member.indptr[group + 1]]
        worth = float(saved[group]) - (fit.rise_without(inside) if len(inside) > 1 else float(at_least[group]))
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
    part, priced = normal.columns(varying), prices.in_loss(price).restrict(varying)
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
        fitted = normal.fit_ridge(support, ridge)
        return fitted if support.all() else prune_groups(normal, prices.priced(support), fitted, ridge)

    n_threads = thread_count() if len(normal.right) >= _WORTH_THREADS else 1
    # Up to three threads solve systems side by side. Those of one Cholesky factorization wait for each other: on a busy
    # machine, two take up to twenty times as long as one.
    with blas_threads(max(1, thread_count() // 3)):
        candidates = run_parallel(fit, supports, n_threads)
    return min([*candidates, np.zeros(normal.right.shape)], key=objective)
