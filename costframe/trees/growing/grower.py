"""The two orders of growth, and splitting a leaf."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import attrs
import numpy as np

from costframe.trees.binning.category_bins import going_left
from costframe.trees.binning.scaling import power_of_two
from costframe.trees.growing.finish import GrowingNodes
from costframe.trees.growing.leaf import Leaf
from costframe.trees.growing.monotone import bound_children, clipped
from costframe.trees.growing.packing import Sums
from costframe.trees.growing.partition import RowSplit, part_rows
from costframe.trees.growing.search import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.trees.growing.prices import SplitPrices
    from costframe.trees.growing.search import SplitSearch

__all__ = ["Grower"]


@attrs.define(eq=False)
class Grower:
    """A tree under way.

    Parameters
    ----------
    search : SplitSearch
        Finds candidates.
    prices : SplitPrices
        What splits cost.
    root : Leaf
        All rows to grow on, in an array that is permuted as leaves are split.
    max_depth : int
        Comparisons on a path, at most.
    """

    search: SplitSearch
    prices: SplitPrices
    root: Leaf
    max_depth: int
    nodes: GrowingNodes = attrs.field(factory=GrowingNodes, init=False)
    _leaves: dict[int, Leaf] = attrs.field(factory=dict, init=False)
    _scratch: NDArray[np.int32] = attrs.field(init=False)
    _price_unit: float = attrs.field(init=False)
    _best_feature: Callable[..., tuple[int, float]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        from costframe.trees.growing.split_kernels import best_feature

        self._best_feature = best_feature
        self._scratch = np.empty_like(self.root.rows)
        # A gain is G^2/H, with G in units of the largest possible sum.
        self._price_unit = power_of_two(-2 * self.search.packed.gradient_exponent)

    def grow_breadth_first(self, max_leaves: int) -> None:
        """Give each leaf its turn in the order of creation; the rows of a level are moved and searched together."""
        level = self._plant()
        while level:
            splits: list[Leaf] = []
            for leaf in level:
                if len(self._leaves) + len(splits) >= max_leaves:
                    break
                self._compare(leaf)
                if leaf.value > 0:
                    self.prices.paid(leaf, leaf.feature)
                    splits.append(leaf)
            level = self._split(splits, last=len(self._leaves) + len(splits) >= max_leaves)

    def grow_best_first(self, max_leaves: int) -> None:
        """Split the leaf that is worth most, as long as one is worth anything."""
        queue = [self._queued(leaf) for leaf in self._plant()]
        while queue and len(self._leaves) < max_leaves:
            best = heapq.heappop(queue)[2]
            if not best.value > 0:
                return
            changed = self.prices.paid(best, best.feature)
            for child in self._split([best], last=len(self._leaves) + 1 >= max_leaves):
                heapq.heappush(queue, self._queued(child))
            if changed:
                queue = [self._queued(leaf) for _, _, leaf in queue]
                heapq.heapify(queue)

    def finished_leaves(self) -> list[Leaf]:
        """Return all leaves, by where their rows lie; none is searched any more."""
        for leaf in self._leaves.values():
            self.search.release(leaf)
        return sorted(self._leaves.values(), key=lambda leaf: leaf.begin)

    def _plant(self) -> list[Leaf]:
        self.prices.begin_tree()
        self._leaves[0] = self.root
        if not self._may_split(self.root):
            return []
        self.search.search([Family(self.root)])
        return [self.root]

    def _compare(self, leaf: Leaf) -> None:
        """Find the leaf's best feature at current prices."""
        if leaf.slot >= 0:
            gain = self.search.candidates.gain[leaf.slot]
            leaf.feature, leaf.value = self._best_feature(gain, self.prices.prices(leaf), self._price_unit)

    def _queued(self, leaf: Leaf) -> tuple[float, int, Leaf]:
        """Sort by worth at current prices, then by age."""
        self._compare(leaf)
        return -leaf.value, leaf.node, leaf

    def _may_split(self, leaf: Leaf) -> bool:
        """Mark a leaf as one to be searched, if it is large and high enough."""
        search = self.search
        enough = search.packed.count(leaf.sums) >= 2 * search.limits.min_samples_leaf
        if enough and leaf.depth < self.max_depth and search.wide_blocks:
            leaf.slot = search.candidates.take()
        return leaf.slot >= 0

    def _split(self, leaves: Sequence[Leaf], *, last: bool) -> list[Leaf]:
        """Split leaves on their best features, and return the children that were searched; the last are not."""
        families, searched = [], []
        for leaf, (left, right) in zip(leaves, self._divide(leaves), strict=True):
            if last or not (found := [child for child in (left, right) if self._may_split(child)]):
                self.search.release(leaf)
                continue
            self.prices.divided(leaf, left, right)
            small, large = (left, right) if left.count <= right.count else (right, left)
            families.append(Family(small, large, leaf.histogram))
            searched += found
        self.search.search(families)
        for family in families:
            for child in family.leaves:
                if child.slot < 0 or child.depth + 1 >= self.max_depth:
                    self.search.release(child)  # no search below will subtract from it
        return searched

    def _divide(self, leaves: Sequence[Leaf]) -> list[tuple[Leaf, Leaf]]:
        """Move rows, and make two leaves of each."""
        found, categorical = self.search.candidates, self.search.data.mapper.categorical
        tests = []
        for leaf in leaves:
            slot, feature = leaf.slot, leaf.feature
            scratch = self._scratch[leaf.begin : leaf.begin + leaf.count]
            left_bins = going_left(found.left_bins[slot, feature]) if categorical[feature] else None
            bin_, missing_left = int(found.bin[slot, feature]), bool(found.missing_left[slot, feature])
            tests.append(RowSplit(leaf.rows, scratch, feature, bin_, missing_left, left_bins))
        counts = part_rows(self.search.data.columns, tests, n_threads=self.search.n_threads)
        return [self._replace(leaf, test, count) for leaf, test, count in zip(leaves, tests, counts, strict=True)]

    def _replace(self, leaf: Leaf, test: RowSplit, n_left: int) -> tuple[Leaf, Leaf]:
        node = self.nodes.split(leaf.node, test.feature, test.bin, test.missing_left, test.left_bins)
        left = self.search.candidates.left_sums(leaf.slot, leaf.feature)
        right = Sums(leaf.sums.word - left.word, leaf.sums.hessian_word - left.hessian_word)
        tested = leaf.tested | {leaf.feature}
        children = (
            Leaf(node, leaf.depth + 1, leaf.begin, leaf.rows[:n_left], left, tested),
            Leaf(node + 1, leaf.depth + 1, leaf.begin + n_left, leaf.rows[n_left:], right, tested),
        )
        if self.search.signs is not None:
            self._bound(leaf, *children, test)
        del self._leaves[leaf.node]
        self._leaves[node], self._leaves[node + 1] = children
        self.search.candidates.release(leaf.slot)
        leaf.slot = -1
        return children

    def _bound(self, leaf: Leaf, left: Leaf, right: Leaf, test: RowSplit) -> None:
        """Keep outputs on both sides of a constrained feature apart, unless the split only tells missing values."""
        packed, l2 = self.search.packed, self.search.limits.l2
        among_values = test.bin < self.search.data.mapper.n_bins[test.feature] - 1
        sign = int(self.search.signs[test.feature]) if among_values else 0  # type: ignore[index] # there are some
        values = [clipped(packed, child.sums, l2, leaf) for child in (left, right)]
        bound_children(leaf, left, right, sign, values[0] / 2 + values[1] / 2)
