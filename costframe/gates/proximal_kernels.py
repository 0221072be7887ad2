"""Minimization of a quadratic with overlapping group norms, compiled: accelerated steps with exact proximal maps.

Weights are M outputs of C columns and, last, an intercept outside all groups. Group j of columns has the norm radius_j
* sqrt(sum of squares of all weights of its columns, each divided by the column's scale).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    B1 = NDArray[np.bool_]
    F8 = NDArray[np.float64]
    I8 = NDArray[np.int64]

__all__ = ["minimize_quadratic", "shrink"]

HALVED = 100  # most steps for the secular equation; a few are enough
PASSES = 30  # over all groups in one proximal map; nested groups need two, and the next map continues
SETTLED = 1e-11  # change of a group's dual, relative to its radius
TOUCHING = 1 + 1e-9  # times the radius: a group within this is zero, as passes end slightly outside


@kernel
def _project(wanted: F8, metric: F8, radius: float, found: F8) -> bool:
    """Find the nearest point y of the ball, by sum (wanted - y)^2 / metric; return whether `wanted` is (almost) inside.

    y = wanted / (1 + m * metric) with m the root of 1/|y(m)| = 1/radius, a concave function that Newton's steps from
    m = 0 approach from the left; with equal metrics the first step is exact.
    """
    n_outputs, n_members = wanted.shape
    m, norm, touching = 0.0, 0.0, False
    for _ in range(HALVED):
        square, slope = 0.0, 0.0
        for k in range(n_outputs):
            for j in range(n_members):
                shrunk = 1.0 + m * metric[k, j]
                value = wanted[k, j] / shrunk
                found[k, j] = value
                square += value * value
                slope += value * value * metric[k, j] / shrunk
        norm = np.sqrt(square)
        if m == 0.0 and norm <= radius:
            return True
        touching = touching or (m == 0.0 and norm <= radius * TOUCHING)
        if norm <= radius * (1.0 + 1e-14):
            break
        m += (norm / radius - 1.0) * square / slope
    for k in range(n_outputs):
        for j in range(n_members):
            found[k, j] *= radius / norm
    return touching


@kernel
def shrink(
    residual: F8, metric: F8, first: I8, member: I8, radius: F8, dual: F8, once: bool, zero: B1, scratch: F8
) -> int:
    """Minimize sum metric/2 (u - a)^2 + sum_j radius_j |u_j| in the dual, group by group; return the number of passes.

    Parameters
    ----------
    residual : float64 (M, C + 1)
        metric * a minus the duals of all groups; in the end metric * u.
    metric : float64 (M, C + 1)
    first : int64 (J + 1,)
    member : int64 (entries,)
        Columns of group j from first[j] on.
    radius : float64 (J,)
        Positive.
    dual : float64 (M, entries)
        The start, then the solution.
    once : bool
        Whether one pass is exact, as groups are disjoint.
    zero : bool (C + 1,)
        Set to the columns of groups whose norms are zero in the solution.
    scratch : float64 (3, M, C)
    """
    n_outputs, passes = residual.shape[0], 0
    wanted, sized, found = scratch[0], scratch[1], scratch[2]
    for _ in range(PASSES):
        passes += 1
        zero[:] = False
        change = 0.0
        for g in range(radius.shape[0]):
            begin, size = first[g], first[g + 1] - first[g]
            for k in range(n_outputs):
                for j in range(size):
                    wanted[k, j] = residual[k, member[begin + j]] + dual[k, begin + j]
                    sized[k, j] = metric[k, member[begin + j]]
            inside = _project(wanted[:, :size], sized[:, :size], radius[g], found[:, :size])
            for k in range(n_outputs):
                for j in range(size):
                    change = max(change, abs(found[k, j] - dual[k, begin + j]) / radius[g])
                    dual[k, begin + j] = found[k, j]
                    residual[k, member[begin + j]] = wanted[k, j] - found[k, j]
            if inside:
                for j in range(size):
                    zero[member[begin + j]] = True
        if once or change <= SETTLED:
            break
    return passes


@kernel
def _slope(hessian: F8, gradient: F8, moved: F8, slope: F8) -> None:
    """Set slope = gradient + hessian * moved for each output; skip columns that have not moved."""
    n_outputs, width = moved.shape
    for k in range(n_outputs):
        slope[k] = gradient[k]
        for j in range(width):
            by = moved[k, j]
            if by != 0.0:
                for i in range(width):
                    slope[k, i] += hessian[k, j, i] * by


@kernel
def minimize_quadratic(
    hessian: F8,
    gradient: F8,
    weights: F8,
    lipschitz: F8,
    scale: F8,
    first: I8,
    member: I8,
    radius: F8,
    dual: F8,
    once: bool,
    most: int,
    tolerance: float,
) -> F8:
    """Minimize <gradient, D> + D'HD/2 + sum_j radius_j |(weights + D)/scale|_j over D; return weights + D.

    Accelerated proximal gradient steps, restarted where momentum points uphill. Zeros are exact.

    Parameters
    ----------
    hessian : float64 (M, C + 1, C + 1)
    gradient, weights : float64 (M, C + 1)
    lipschitz : float64 (M,)
        At least the largest eigenvalue of each hessian; positive.
    scale : float64 (C + 1,)
    first, member, radius, dual, once
        As in `shrink`.
    most : int
        Steps.
    tolerance : float
        Of a step's length, relative to the first one's.
    """
    n_outputs, width = weights.shape
    metric = np.empty((n_outputs, width))
    for k in range(n_outputs):
        metric[k] = lipschitz[k] * scale * scale
    zero = np.zeros(width, np.bool_)
    scratch = np.empty((3, n_outputs, width))
    slope, residual = np.empty((n_outputs, width)), np.empty((n_outputs, width))
    last, ahead, momentum, longest = weights.copy(), weights.copy(), 1.0, 0.0
    for step in range(most):
        _slope(hessian, gradient, ahead - weights, slope)
        for k in range(n_outputs):
            for i in range(width):
                residual[k, i] = (lipschitz[k] * ahead[k, i] - slope[k, i]) * scale[i]
            for entry in range(member.shape[0]):
                residual[k, member[entry]] -= dual[k, entry]
        shrink(residual, metric, first, member, radius, dual, once, zero, scratch)
        new = np.empty((n_outputs, width))
        length, uphill = 0.0, 0.0
        for k in range(n_outputs):
            for i in range(width):
                new[k, i] = 0.0 if zero[i] else residual[k, i] / (lipschitz[k] * scale[i])
                back = ahead[k, i] - new[k, i]
                length += lipschitz[k] * back * back
                uphill += lipschitz[k] * back * (new[k, i] - last[k, i])
        longest = length if step == 0 else longest
        if length <= tolerance * tolerance * longest:
            return new
        if uphill > 0.0:
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        ahead = new + (momentum - 1.0) / following * (new - last)
        last, momentum = new, following
    return last
