"""The cost of stages made smooth for training: mixed norms of their weights in place of 0/1 (Cronus, CSTC, Adapt).

The evaluator (`expected.py`) is exact; this is what an optimizer can follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import Factory, field, frozen

from costframe.core.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.groups import PricedGroups

__all__ = ["RelaxedCost", "RelaxedGradient", "auxiliary", "floored_root"]


def auxiliary(square: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return the z >= floor that minimizes 1/2 (g/z + z), for g = `square`: Lemma 1 of Cronus."""
    return np.maximum(np.sqrt(square), floor)


def floored_root(square: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return min over z >= floor of 1/2 (g/z + z): the root of g = `square`, and a parabola below the floor."""
    z = auxiliary(square, floor)
    return 0.5 * (_over(square, z) + z)


@frozen(eq=False)
class RelaxedGradient:
    """Derivatives of a relaxed cost.

    Attributes
    ----------
    weights : float64 (K, C) or (K, C, M)
    reach : float64 (K,)
        By d_k.
    share : float64 (L,)
        By p^l.
    """

    weights: NDArray[np.float64]
    reach: NDArray[np.float64]
    share: NDArray[np.float64]


def _as_paths(paths: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(paths, np.bool_)
    if array.ndim != 2 or 0 in array.shape:
        raise StageError(f"paths: expected a table of paths and stages, got shape {array.shape}")
    return array


@frozen(eq=False)
class RelaxedCost:
    """The relaxed cost of K stages with C weights each, over L ways through them.

        sum_l p^l sum_g price_g sqrt( sum_{k on l} sum_c G_gc (d_k B_kc)^2 )

    A chain is one way with p = 1, and d_k the share of rows that reach stage k (Cronus, eq. 8); a single stage has d =
    1 (eq. 7); in a tree each way to an exit has the probability p^l, and d = 1 (CSTC); gate and cheap model are two
    stages on one way (Adapt). Weights of several outputs, (K, C, M), count together.

    Attributes
    ----------
    groups : PricedGroups
    paths : bool (L, K)
        Which stages are on each way; one stage by default.
    floor : float
        Below it a root becomes a parabola, z/2 above zero at zero; 0 is the norm itself, whose slope is 0 at zero.
    """

    groups: PricedGroups
    paths: NDArray[np.bool_] = field(converter=_as_paths, default=Factory(lambda: np.ones((1, 1), np.bool_)))
    floor: float = 0.0

    @classmethod
    def chain(cls, groups: PricedGroups, n_stages: int, floor: float = 0.0) -> RelaxedCost:
        """Relax the cost of a cascade: one way through all stages."""
        return cls(groups, np.ones((1, n_stages), np.bool_), floor)

    def value(
        self, weights: NDArray[np.float64], reach: ArrayLike | None = None, share: ArrayLike | None = None
    ) -> float:
        """Return the relaxed cost of weights, (K, C) or (K, C, M), for d (K,) and p (L,), ones by default."""
        d, p = self._settled(weights, reach, share)
        return float(p @ floored_root(self._squares(weights, d), self.floor) @ self.groups.price)

    def gradient(
        self, weights: NDArray[np.float64], reach: ArrayLike | None = None, share: ArrayLike | None = None
    ) -> RelaxedGradient:
        """Differentiate `value` by all that it is given."""
        return self.bound_gradient(weights, self.auxiliaries(weights, reach), reach, share)

    def auxiliaries(self, weights: NDArray[np.float64], reach: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the best z, float64 (L, G): at it `bound` touches `value`."""
        d, _ = self._settled(weights, reach, None)
        return auxiliary(self._squares(weights, d), self.floor)

    def bound(
        self,
        weights: NDArray[np.float64],
        z: NDArray[np.float64],
        reach: ArrayLike | None = None,
        share: ArrayLike | None = None,
    ) -> float:
        """Return sum_l p^l sum_g price_g 1/2 (g/z + z), quadratic in the weights and never below `value`."""
        d, p = self._settled(weights, reach, share)
        return float(p @ (0.5 * (_over(self._squares(weights, d), z) + z)) @ self.groups.price)

    def bound_gradient(
        self,
        weights: NDArray[np.float64],
        z: NDArray[np.float64],
        reach: ArrayLike | None = None,
        share: ArrayLike | None = None,
    ) -> RelaxedGradient:
        """Differentiate `bound` by all that it is given but z."""
        d, p = self._settled(weights, reach, share)
        pull = self._pull(z, p)
        slope = np.asarray(d[:, np.newaxis] ** 2 * (pull @ self.groups.member))
        return RelaxedGradient(
            weights * (slope if weights.ndim == 2 else slope[:, :, np.newaxis]),
            d * (pull * self._energies(weights)).sum(axis=1),
            (0.5 * (_over(self._squares(weights, d), z) + z)) @ self.groups.price,
        )

    def curvature(
        self, z: NDArray[np.float64], reach: ArrayLike | None = None, share: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the second derivatives of `bound` by each weight, float64 (K, C): Lambda of eq. 13 without rho."""
        d, p = self._given(reach, self.paths.shape[1], "reach"), self._given(share, len(self.paths), "share")
        return np.asarray(d[:, np.newaxis] ** 2 * (self._pull(z, p) @ self.groups.member))

    def charged(
        self, weights: NDArray[np.float64], reach: ArrayLike | None = None, share: ArrayLike | None = None
    ) -> float:
        """Return the cost itself, with 0/1 in place of norms.

        A way's price of a group is paid at the first stage that uses it, whose d_k is the largest: d must not rise.
        """
        d, p = self._settled(weights, reach, share)
        paid = self.groups.used(weights) * d[:, np.newaxis]
        most = np.stack([paid[on].max(axis=0, initial=0.0) for on in self.paths])
        return float(p @ most @ self.groups.price)

    def _energies(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum squared weights: float64 (K, G)."""
        squares = np.square(weights)
        squares = squares if weights.ndim == 2 else squares.sum(axis=2)
        return np.asarray((self.groups.member @ squares.T).T)

    def _squares(self, weights: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the roots are taken of: float64 (L, G)."""
        return np.asarray((self.paths * d**2) @ self._energies(weights))

    def _pull(self, z: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over ways of p price / z, float64 (K, G); zero where z is."""
        return self.paths.T.astype(np.float64) @ (p[:, np.newaxis] * _over(self.groups.price, z, nothing=True))

    def _settled(
        self, weights: NDArray[np.float64], reach: ArrayLike | None, share: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        expected = self.paths.shape[1], self.groups.member.shape[1]
        if weights.ndim not in {2, 3} or weights.shape[:2] != expected:
            raise StageError(f"weights: expected shape {expected}, with or without outputs, got {weights.shape}")
        return self._given(reach, expected[0], "reach"), self._given(share, len(self.paths), "share")

    @staticmethod
    def _given(values: ArrayLike | None, count: int, name: str) -> NDArray[np.float64]:
        array = np.ones(count) if values is None else np.asarray(values, np.float64)
        if array.shape != (count,):
            raise StageError(f"{name}: expected shape ({count},), got {array.shape}")
        return array


def _over(above: NDArray[np.float64], below: NDArray[np.float64], *, nothing: bool = False) -> NDArray[np.float64]:
    """Divide; 0/0 is 0, and with `nothing` so is everything over 0."""
    above = np.broadcast_to(above, below.shape)
    rest = np.zeros(below.shape) if nothing else np.where(above > 0, np.inf, 0.0)
    return np.divide(above, below, out=rest, where=below > 0)
