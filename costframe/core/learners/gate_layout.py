"""Small trees laid out as gates: each comparison that a row fails clears the leaves on its left in a set of bits.

The first bit left is the row's leaf (QuickScorer of Lucchese et al., 2015). A gate works on many rows at once, and no
row waits for the node before, so that 31 leaves take less time than five levels of a walk. Gates on bytes follow
RapidScorer (Ye et al., 2018): most comparisons have leaves on their left in one byte only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.learners.tree_table import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LEAVES = 64
LEVEL = 16  # gates that take about as long as one level of a walk
# The first bit of a 32-bit word, times this number, has another five highest bits for each place.
PLACES = 0x077CB531


class GateLayout(NamedTuple):
    """Gates of each tree, and the nodes at which rows end; a tree that is walked has none."""

    n_words: NDArray[np.int64]  # (trees,): words of 32 leaves, 0 if the tree is walked
    gate_first: NDArray[np.int64]  # (trees + 1,): gates
    column: NDArray[np.int64]  # (gates,): code column
    rank: NDArray[np.unsignedinteger]  # (gates,), of the codes' type; a row fails if its code is above
    byte: NDArray[np.int64]  # (gates,)
    kept: NDArray[np.uint8]  # (gates,): bits of the byte that stay
    exit_first: NDArray[np.int64]  # (trees,)
    exit: NDArray[np.uint32]  # nodes, 32 for each word, by the five highest bits that `PLACES` names


def lay_out_gates(
    levels: list[NDArray[np.int64]],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    tree: NDArray[np.int64],
    column: NDArray[np.int64],
    rank: NDArray[np.unsignedinteger],
    depth: NDArray[np.int32],
    walked: NDArray[np.bool_],
) -> GateLayout:
    """Lay out the trees that have few leaves for their depth, and are not `walked`, bool (trees,).

    `levels` lists the nodes of each level, roots first; the other arrays, (nodes,), have an entry for each node, and
    `left` and `right` are -1 at leaves.
    """
    count, begin = np.ones(len(left), np.int64), np.zeros(len(left), np.int64)  # leaves below, and on the left
    inner = [nodes[left[nodes] >= 0] for nodes in levels]
    for nodes in reversed(inner):
        count[nodes] = count[left[nodes]] + count[right[nodes]]
    for nodes in inner:
        begin[left[nodes]] = begin[nodes]
        begin[right[nodes]] = begin[nodes] + count[left[nodes]]
    node = np.flatnonzero(left >= 0)
    end = begin[node] + count[left[node]]
    bytes_ = (end - 1) // 8 - begin[node] // 8 + 1
    n_gates = np.bincount(tree[node], weights=bytes_, minlength=len(depth)).astype(np.int64)
    n_leaves = np.bincount(tree[left < 0], minlength=len(depth))
    walked = walked | (n_leaves > MOST_LEAVES) | (n_gates > LEVEL * depth)
    chosen = ~walked[tree[node]]
    node, end, bytes_ = node[chosen], end[chosen], bytes_[chosen].astype(np.int32)
    gate, byte = np.repeat(np.arange(len(node)), bytes_), ranges(begin[node] // 8, bytes_)
    low, high = (np.clip(bit[gate] - 8 * byte, 0, 8) for bit in (begin[node], end))
    order = np.lexsort((column[node][gate], byte, tree[node][gate]))
    n_words = np.where(walked, 0, -(-n_leaves // 32))
    exit_first = 32 * (np.cumsum(n_words) - n_words)
    leaf = np.flatnonzero((left < 0) & ~walked[tree])
    exits = np.zeros(32 * int(n_words.sum()), np.uint32)
    place = ((1 << begin[leaf] % 32) * PLACES & 0xFFFFFFFF) >> 27
    exits[exit_first[tree[leaf]] + 32 * (begin[leaf] // 32) + place] = leaf
    return GateLayout(
        n_words=n_words,
        gate_first=np.concatenate([[0], np.cumsum(np.where(walked, 0, n_gates))]),
        column=column[node][gate][order],
        rank=rank[node][gate][order],
        byte=byte[order],
        kept=(255 ^ ((1 << high) - (1 << low))).astype(np.uint8)[order],
        exit_first=exit_first,
        exit=exits,
    )
