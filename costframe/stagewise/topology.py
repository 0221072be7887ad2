"""The shape of a binary tree of nodes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, I8


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

    children: I8

    @classmethod
    def full(cls, depth: int) -> Topology:
        """Return the balanced tree of `depth` levels: 2^depth - 1 nodes, in the order of their levels."""
        count = 2**depth - 1
        numbers = 2 * np.arange(count)[:, np.newaxis] + [1, 2]
        return cls(np.where(numbers < count, numbers, -1))

    @classmethod
    def chain(cls, n_stages: int) -> Topology:
        """Return a chain: each node but the last answers the rows below its threshold, and the last one all others."""
        below_above = np.stack([np.full(n_stages, -1), np.arange(1, n_stages + 1)], axis=1)
        below_above[-1] = -1
        return cls(below_above)

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.children)

    @cached_property
    def parent(self) -> I8:
        """The parent of each node, -1 for the root: int64 (K,)."""
        parents = np.full(len(self), -1)
        for node, below_above in enumerate(self.children):
            parents[below_above[below_above >= 0]] = node
        return parents

    @cached_property
    def routes(self) -> B1:
        """Which nodes have a child that is a node: bool (K,)."""
        return np.asarray((self.children >= 0).any(axis=1))

    @cached_property
    def has_exit(self) -> B1:
        """Which nodes have an exit: bool (K,)."""
        return np.asarray((self.children < 0).any(axis=1))

    @cached_property
    def paths(self) -> B1:
        """Which nodes (columns) are on the way to each node (rows), itself included: bool (K, K)."""
        on_path = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                on_path[node] |= on_path[parent]
        return on_path

    def without(self, node: int) -> tuple[Topology, I8]:
        """Turn a node into an exit of its parent; return also the old numbers of the nodes left, in the new order."""
        return self._numbered(np.where(self.children == node, -1, self.children))

    def ending_at(self, node: int) -> tuple[Topology, I8]:
        """Remove the children of a node; return also the old numbers of the nodes left, in the new order."""
        children = self.children.copy()
        children[node] = -1
        return self._numbered(children)

    def dividing(self, node: int) -> tuple[Topology, I8]:
        """Give a leaf two children, K and K + 1; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1], [-1, -1]]])
        children[node] = len(self), len(self) + 1
        return self._numbered(children)

    def with_leaf(self, node: int) -> tuple[Topology, I8]:
        """Put a leaf, K, in place of a node's exit; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1]]])
        children[node, children[node] < 0] = len(self)
        return self._numbered(children)

    def bypassing(self, node: int, side: int) -> tuple[Topology, I8]:
        """Replace a node by its child below (0) or above (1); return also the old numbers of the nodes left."""
        stays = int(self.children[node, side])
        return self._numbered(np.where(self.children == node, stays, self.children), stays if node == 0 else 0)

    @staticmethod
    def _numbered(children: I8, root: int = 0) -> tuple[Topology, I8]:
        """Renumber the nodes below the root, level by level."""
        order = [root]
        for node in order:  # grows
            order += [int(child) for child in children[node] if child >= 0]
        number = np.full(len(children) + 1, -1)
        number[order] = np.arange(len(order))
        return Topology(number[children[order]]), np.array(order)
