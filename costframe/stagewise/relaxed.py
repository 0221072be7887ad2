"""A smooth cost of stages for the printed trainings of Cronus and CSTC: mixed norms of weights in place of 0/1.

With it a stage has a convex start, by eqs. 11, 13 and 14 of Cronus.

The evaluator (`costframe.core.cost`) is exact, but has no derivatives.
"""

from __future__ import annotations

import numpy as np
from attrs import Factory, evolve, frozen

from costframe.core.arrays import B1, F8
from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.bank_rows import BankRows
from costframe.stagewise.linear_systems import solve_scaled
from costframe.stagewise.normal_equations import NormalEquations
from costframe.stagewise.soft_tree import SoftTree, WeightedSum

LOG_ODDS = 2.0  # a score fitted to -1 and 1 by squares is half the log odds, and its sign is the class
_ROUNDS = 1000
_FLOOR = 1e-6  # least auxiliary; weights that should be zero end below it
_NEGLIGIBLE = 1e-7  # of the labels' deviation: outputs that change scores by less leave the alternation


def auxiliary(square: F8, floor: float) -> F8:
    """Return the z >= floor that minimizes 1/2 (g/z + z), for g = `square`: Lemma 1 of Cronus."""
    return np.maximum(np.sqrt(square), floor)


def floored_root(square: F8, floor: float) -> F8:
    """Return min over z >= floor of 1/2 (g/z + z): the root of g = `square`, and a parabola below the floor."""
    return _parabola(square, auxiliary(square, floor))


@frozen(eq=False)
class RelaxedGradient:
    """Derivatives of a relaxed cost, or of the bound on it."""

    weights: F8  # (K, C, M)
    reach: F8  # (K,): by d_k
    share: F8  # (L,): by p^l; the cost is linear in these


@frozen(eq=False)
class RelaxedCost:
    """The relaxed cost of K stages with weights (K, C, M) of C outputs, over L ways through them.

        sum_l p^l sum_g price_g sqrt( sum_{k on l} sum_c G_gc |d_k B_kc|^2 )

    A chain is one way with p = 1, and d_k the share of rows that reach stage k (Cronus, eq. 8); a single stage has d =
    1 (eq. 7); in a tree each way to an exit has the probability p^l, and d = 1 (CSTC). All methods take d, float64
    (K,), as `reach` and p, float64 (L,), as `share`; ones by default.
    """

    groups: PricedGroups
    # (L, K): which stages are on each way; one stage by default
    paths: B1 = Factory(lambda: np.ones((1, 1), np.bool_))
    # least z: below it a root becomes a parabola, z/2 at zero. At floor 0 the slope of the norm at zero is 0
    floor: float = 0.0

    @classmethod
    def chain(cls, groups: PricedGroups, n_stages: int, floor: float = 0.0) -> RelaxedCost:
        """Relax the cost of a cascade: one way through all stages."""
        return cls(groups, np.ones((1, n_stages), np.bool_), floor)

    def value(self, weights: F8, reach: F8 | float = 1.0, share: F8 | float = 1.0) -> float:
        """Return the relaxed cost of weights."""
        roots = floored_root(self._squares(weights, self._by_stage(reach)), self.floor)
        return float(self._by_way(share) @ roots @ self.groups.price)

    def auxiliaries(self, weights: F8, reach: F8 | float = 1.0) -> F8:
        """Return the best z, float64 (L, G), at which the bound equals `value`."""
        return auxiliary(self._squares(weights, self._by_stage(reach)), self.floor)

    def gradient(self, weights: F8, z: F8, reach: F8 | float = 1.0, share: F8 | float = 1.0) -> RelaxedGradient:
        """Differentiate the bound sum_l p^l sum_g price_g 1/2 (g/z + z) by all but z.

        It is quadratic in the weights and never below `value`; with the best z, these are the derivatives of both.
        """
        d, pull = self._by_stage(reach), self._pull(z, share)
        slope = np.asarray(d[:, np.newaxis] ** 2 * (pull @ self.groups.member))
        return RelaxedGradient(
            weights * slope[:, :, np.newaxis],
            d * (pull * self._energies(weights)).sum(axis=1),
            _parabola(self._squares(weights, d), z) @ self.groups.price,
        )

    def curvature(self, z: F8, reach: F8 | float = 1.0, share: F8 | float = 1.0) -> F8:
        """Return the bound's second derivatives by each weight, float64 (K, C): Lambda of eq. 13 without rho."""
        d = self._by_stage(reach)
        return np.asarray(d[:, np.newaxis] ** 2 * (self._pull(z, share) @ self.groups.member))

    def exact_cost(self, weights: F8, reach: F8 | float = 1.0, share: F8 | float = 1.0) -> float:
        """Return the exact cost, with 0/1 in place of norms.

        On each way, the first stage that uses a group pays for it. Its d_k must be the largest: d must not rise.
        """
        paid = self.groups.used(weights) * self._by_stage(reach)[:, np.newaxis]
        most = np.stack([paid[on].max(axis=0, initial=0.0) for on in self.paths])
        return float(self._by_way(share) @ most @ self.groups.price)

    def _energies(self, weights: F8) -> F8:
        """Sum squared weights: float64 (K, G)."""
        return np.asarray((self.groups.member @ np.square(weights).sum(axis=2).T).T)

    def _squares(self, weights: F8, d: F8) -> F8:
        """Return the squares under the roots: float64 (L, G)."""
        return np.asarray((self.paths * d**2) @ self._energies(weights))

    def _pull(self, z: F8, share: F8 | float) -> F8:
        """Sum p price / z over ways, float64 (K, G); 0 where z is 0."""
        per_root = np.divide(self.groups.price, z, out=np.zeros(z.shape), where=z > 0)
        return self.paths.T.astype(np.float64) @ (self._by_way(share)[:, np.newaxis] * per_root)

    def _by_stage(self, reach: F8 | float) -> F8:
        return np.broadcast_to(reach, self.paths.shape[1])

    def _by_way(self, share: F8 | float) -> F8:
        return np.broadcast_to(share, len(self.paths))


def _parabola(square: F8, z: F8) -> F8:
    """Return 1/2 (g/z + z), where 0/0 is 0."""
    return 0.5 * (np.divide(square, z, out=np.where(square > 0, np.inf, 0.0), where=z > 0) + z)


def relax(
    normal: NormalEquations,
    groups: PricedGroups,
    l1: float = 0.0,
    bought: F8 | None = None,
    reach: float = 1.0,
    *,
    rounds: int = _ROUNDS,
    floor: float = _FLOOR,
) -> F8:
    """Minimize loss + rho |B|_1 + sum_g price_g sqrt(bought_g + d^2 sum_c G_gc |B_c|^2) from weights of one, (C, M).

    For a single stage this is eq. 7, for a last stage eq. 8 of Cronus or eq. 5 of CSTC.

    Parameters
    ----------
    normal : NormalEquations
        Of the rows that reach the stage.
    groups : PricedGroups
        In units of this loss.
    l1 : float
        rho, in the same units.
    bought : float64 (G,), optional
        The part of earlier stages under the roots, a of eq. 12; zero by default.
    reach : float
        d_k of this stage.
    """
    before = np.zeros(len(groups.price)) if bought is None else bought
    gram, right, places = normal.gram, normal.right, np.arange(len(normal.right))
    now, deviation, unit = np.ones_like(right), normal.deviation, np.sqrt(normal.target_variance)
    squares, live = np.square(now).sum(axis=1), np.ones(len(now), np.bool_)
    weighed = groups.member @ squares
    for _ in range(rounds):
        if not live.all():
            left = np.flatnonzero(live)
            gram, right, places = gram[np.ix_(left, left)], right[left], places[left]
            now, squares, deviation, groups = now[left], squares[left], deviation[left], groups.restrict(left)
        pull = groups.price / auxiliary(before + reach**2 * weighed, floor)
        after = solve_scaled(gram, right, reach**2 * (pull @ groups.member) + l1 / auxiliary(squares, floor))
        moved = np.sqrt(np.square(after - now).sum(axis=1)) * deviation
        now, squares = after, np.square(after).sum(axis=1)
        weighed, live = groups.member @ squares, np.sqrt(squares) * deviation > _NEGLIGIBLE * unit
        if not live.any() or moved.max() <= floor * unit:
            break
    weights = np.zeros_like(normal.right)
    weights[places] = now
    return weights


def fit_relaxed(
    rows: BankRows, passes: F8, groups: PricedGroups, l1: float, bought: F8 | None = None, reach: float = 1.0
) -> WeightedSum:
    """Minimize a stage's relaxed objective as if it were the last, by closed forms in turns (eqs. 11, 13 and 14).

    Parameters
    ----------
    rows : BankRows
    passes : float64 (n,)
        The rows' probabilities to reach the stage.
    groups : PricedGroups
        In units of loss.
    l1 : float
        rho.
    bought : float64 (G,), optional
        The part of earlier stages under the roots.
    reach : float
        The factor d_k of this stage's weights under the roots.
    """
    come = rows.loss_weight * passes
    normal, total = NormalEquations.of(rows.outputs, rows.target, come), float(come.sum())
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if len(varying):
        reached = groups.restrict(varying).times(1.0 / total)  # the loss is a mean over the rows that reach the stage
        weights[varying] = relax(normal.columns(varying), reached, l1 / total, bought, reach)
    return WeightedSum(weights, normal.intercept(weights))


def as_log_odds(tree: SoftTree) -> SoftTree:
    """Turn answers fitted to -1 and 1 into log odds without a fit: the class is the sign of the score."""
    return evolve(tree, calibration=np.tile([LOG_ODDS, 0.0], (len(tree), 1)))
