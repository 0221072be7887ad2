"""Each feature's best split of one leaf, kept until the leaf is split or the tree is done.

A price depends on the leaf and the feature but not on the threshold. So whatever prices do later, the best split of a
leaf is that of the feature with the largest `gain - price`, and no histogram is needed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.packing import Sums

__all__ = ["Candidates", "Limits"]


@frozen
class Limits:
    """What both children of a split must have.

    Parameters
    ----------
    l2 : float
        Added to the hessian wherever it divides.
    min_samples_leaf : int
        Rows, at least one.
    min_hessian_leaf : float
        Sum of hessians; it must be positive together with `l2` in any case.
    """

    l2: float
    min_samples_leaf: int
    min_hessian_leaf: float

    def as_array(self) -> NDArray[np.float64]:
        """float64 (3,): as kernels take them."""
        return np.array([self.l2, self.min_samples_leaf, self.min_hessian_leaf], np.float64)


@frozen(eq=False)
class Candidates:
    """The best split of one leaf on every feature, before prices.

    Parameters
    ----------
    gain : float64 (d,)
        What it gains; -inf where there is none.
    bin : uint8 (d,)
        Highest bin that goes left.
    missing_left : bool (d,)
        Whether missing values go left.
    left : int64 (d, 2)
        Sums of packed gradients that go left.
    left_bins : uint64 (d, 4), or (0, 4) if no feature is categorical
        Sets of bins that go left, the missing one included; of categorical features, which have no `bin`.
    """

    gain: NDArray[np.float64]
    bin: NDArray[np.uint8]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    left_bins: NDArray[np.uint64]

    @classmethod
    def none(cls, n_features: int, *, categories: bool = False) -> Candidates:
        """No split on any feature yet; `categories` says whether some are categorical."""
        return cls(
            np.full(n_features, -np.inf),
            np.empty(n_features, np.uint8),
            np.empty(n_features, np.bool_),
            np.empty((n_features, 2), np.int64),
            np.empty((n_features if categories else 0, 4), np.uint64),
        )

    def left_sums(self, feature: int) -> Sums:
        """Return what the rows that go left add up to."""
        from costframe.trees.packing import Sums

        return Sums(int(self.left[feature, 0]), int(self.left[feature, 1]))
