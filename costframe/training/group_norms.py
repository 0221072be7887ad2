"""Norms of priced groups of weights; a weight that a norm holds at zero is exactly zero."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8, I8
from costframe.core.cost.groups import PricedGroups


@frozen(eq=False)
class GroupNorms:
    """sum_j radius_j * sqrt(sum of squares of (weight / scale) over all outputs and the columns of group j).

    Attributes
    ----------
    first : int64 (J + 1,)
    member : int64 (entries,)
        The columns of group j, ascending, from first[j] on. Groups differ, and smaller groups come first: one pass from
        the leaves to the root is then exact for nested groups with one scale.
    radius : float64 (J,)
        Positive.
    scale : float64 (C,)
        Positive: the unit of each column's weights in the penalty.
    """

    first: I8
    member: I8
    radius: F8
    scale: F8

    @classmethod
    def of_groups(cls, groups: PricedGroups, columns: I8, scale: F8) -> GroupNorms:
        """Keep some columns, in the given order, and add up the prices of groups with the same columns."""
        prices: dict[tuple[int, ...], float] = {}
        member = groups.restrict(columns).member
        for g, price in enumerate(groups.price.tolist()):
            held = tuple(sorted(member.indices[member.indptr[g] : member.indptr[g + 1]].tolist()))
            if held and price > 0:
                prices[held] = prices.get(held, 0.0) + price
        order = sorted(prices, key=lambda held: (len(held), held))
        return cls(
            np.cumsum([0, *map(len, order)]),
            np.array([column for held in order for column in held], np.int64),
            np.array([prices[held] for held in order], np.float64),
            scale,
        )

    @classmethod
    def none(cls, n_columns: int) -> GroupNorms:
        """Make no penalty for a number of columns."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), np.ones(n_columns))

    @property
    def disjoint(self) -> bool:
        """Whether no column is in two groups."""
        return len(np.unique(self.member)) == len(self.member)

    def value(self, weights: F8) -> float:
        """Return the penalty of weights (M, C)."""
        if not len(self.radius):
            return 0.0
        squares = np.square(weights / self.scale).sum(axis=0)[self.member]
        return float(self.radius @ np.sqrt(np.add.reduceat(squares, self.first[:-1])))
