"""Each feature's best split of one leaf, kept until the leaf is split or the tree is done.

A price depends on the leaf and the feature but not on the threshold. So whatever prices do later, the best split of a
leaf is that of the feature with the largest `gain - price`, and no histogram is needed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.trees.growing.packing import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Candidates", "Limits"]

_SLOTS = 16  # at first


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


@define(eq=False)
class Candidates:
    """The best split of each open leaf on every feature, before prices. Each leaf has a slot; slots are used again.

    Parameters
    ----------
    gain : float64 (slots, d)
        What it gains; -inf where there is none.
    bin : uint8 (slots, d)
        Highest bin that goes left.
    missing_left : bool (slots, d)
        Whether missing values go left.
    left : int64 (slots, d, 2)
        Sums of packed gradients that go left.
    left_bins : uint64 (slots, d, 4), or (slots, 0, 4) if no feature is categorical
        Sets of bins that go left, the missing one included; of categorical features, which have no `bin`.
    """

    gain: NDArray[np.float64]
    bin: NDArray[np.uint8]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    left_bins: NDArray[np.uint64]
    _free: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._free = list(range(len(self.gain)))[::-1]

    @classmethod
    def none(cls, n_features: int, *, categories: bool = False, slots: int = _SLOTS) -> Candidates:
        """No split on any feature yet; `categories` says whether some are categorical."""
        return cls(
            np.full((slots, n_features), -np.inf),
            np.empty((slots, n_features), np.uint8),
            np.empty((slots, n_features), np.bool_),
            np.empty((slots, n_features, 2), np.int64),
            np.empty((slots, n_features if categories else 0, 4), np.uint64),
        )

    def take(self) -> int:
        """Return a slot of no leaf; features that are not searched have no gain in it."""
        if not self._free:
            self._double()
        return self._free.pop()

    def release(self, slot: int) -> None:
        """Take back the slot of a leaf that is no longer open."""
        self._free.append(slot)

    def left_sums(self, slot: int, feature: int) -> Sums:
        """Return what the rows that go left add up to."""
        return Sums(*self.left[slot, feature].tolist())

    def _double(self) -> None:
        slots = len(self.gain)
        self.gain = np.concatenate([self.gain, np.full_like(self.gain, -np.inf)])
        for name in ("bin", "missing_left", "left", "left_bins"):
            values = getattr(self, name)
            setattr(self, name, np.concatenate([values, np.empty_like(values)]))
        self._free = list(range(slots, 2 * slots))[::-1]
