"""The shape of a stage tree: which node follows which, and where rows leave it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Topology"]


@frozen(eq=False)
class Topology:
    """A binary tree of K nodes, parents before their children.

    A node with two terminal children routes nothing: it is a leaf, and its terminal elements count as one. So every
    node has at most one exit, which answers with the node's prediction.

    Attributes
    ----------
    children : int64 (K, 2)
        The nodes below and above; -1 is a terminal element.
    """

    children: NDArray[np.int64]

    @classmethod
    def full(cls, depth: int) -> Topology:
        """Return the balanced tree of `depth` levels: 2^depth - 1 nodes, in the order of their levels."""
        count = 2**depth - 1
        numbers = 2 * np.arange(count)[:, np.newaxis] + [1, 2]
        return cls(np.where(numbers < count, numbers, -1))

    @classmethod
    def chain(cls, n_stages: int) -> Topology:
        """Return a chain: a row leaves at each node below its threshold, and all that are left at the last."""
        below_above = np.stack([np.full(n_stages, -1), np.arange(1, n_stages + 1)], axis=1)
        below_above[-1] = -1
        return cls(below_above)

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.children)

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The node before each, -1 before the root: int64 (K,)."""
        found = np.full(len(self), -1)
        for node, below_above in enumerate(self.children):
            found[below_above[below_above >= 0]] = node
        return found

    @cached_property
    def routes(self) -> NDArray[np.bool_]:
        """Which nodes have a child that is a node: bool (K,)."""
        return np.asarray((self.children >= 0).any(axis=1))

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Which nodes have an exit: bool (K,)."""
        return np.asarray((self.children < 0).any(axis=1))

    @cached_property
    def paths(self) -> NDArray[np.bool_]:
        """Which nodes are on the way to each, itself included: bool (K, K)."""
        found = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                found[node] |= found[parent]
        return found

    def without(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Turn a node into an exit of its parent; return also which nodes are left, in the new order."""
        return self._numbered(np.where(self.children == node, -1, self.children))

    def ending_at(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Let a node have no children; return also which nodes are left, in the new order."""
        children = self.children.copy()
        children[node] = -1
        return self._numbered(children)

    def dividing(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Give a leaf two children; return also which node is which in the new order, the new ones counted last."""
        children = np.vstack([self.children, [[-1, -1], [-1, -1]]])
        children[node] = len(self), len(self) + 1
        return self._numbered(children)

    def with_leaf(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Put a leaf in place of a node's exit; return also which node is which, the new one counted last."""
        children = np.vstack([self.children, [[-1, -1]]])
        children[node, children[node] < 0] = len(self)
        return self._numbered(children)

    def bypassing(self, node: int, side: int) -> tuple[Topology, NDArray[np.int64]]:
        """Put a node's child below (0) or above (1) in its place; return also which are left, in the new order."""
        stays = int(self.children[node, side])
        return self._numbered(np.where(self.children == node, stays, self.children), stays if node == 0 else 0)

    @staticmethod
    def _numbered(children: NDArray[np.int64], root: int = 0) -> tuple[Topology, NDArray[np.int64]]:
        """Renumber the nodes that can be reached, level by level."""
        order = [root]
        for node in order:  # grows
            order += [int(child) for child in children[node] if child >= 0]
        number = np.full(len(children) + 1, -1)
        number[order] = np.arange(len(order))
        return Topology(number[children[order]]), np.array(order)
