"""A node while the tree grows; the finished tree is arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.trees.growing.packing import Sums

__all__ = ["Leaf"]


@attrs.define(eq=False)
class Leaf:
    """A leaf of a growing tree.

    Parameters
    ----------
    node : int
        Its number in the tree; older leaves have lower ones.
    depth : int
        Comparisons made before it.
    begin : int
        Where its rows begin among those of the tree.
    rows : int32 (m,)
        Its training rows, ascending; a view that lasts until the leaf is split.
    sums : Sums
        What their packed gradients add up to.
    """

    node: int
    depth: int
    begin: int
    rows: NDArray[np.int32]
    sums: Sums
    tested: frozenset[int] = frozenset()
    histogram: NDArray[np.int64] | None = None
    slot: int = -1  # where its candidates are; -1: not to be split
    feature: int = -1  # the best one at current prices
    value: float = -float("inf")  # and its gain less its price
    low: float = -float("inf")  # the least and the largest output, where some feature must rise or fall
    high: float = float("inf")

    @property
    def count(self) -> int:
        """Number of its rows."""
        return len(self.rows)
