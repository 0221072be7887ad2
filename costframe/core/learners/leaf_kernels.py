"""Compiled search for the leaves of rows in trees.

Loops work on blocks of rows whose codes fit the nearest cache. Within a block, all rows pass a small tree's gates (see
`gate_layout`) together, or walk a large one level by level: no branch depends on the data, so the processor works on
many rows while each waits for memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.jit import I4, U1, U4, U8, Codes, kernel
from costframe.core.learners import gate_layout
from costframe.core.learners.code_kernels import BLOCK
from costframe.core.learners.node_layout import COLUMN_AT, COLUMN_BITS, NAMED_AT, RANK_BITS, STEPS_AT, STEPS_BITS

if TYPE_CHECKING:
    from costframe.core.learners.gate_layout import GateLayout
    from costframe.core.learners.node_layout import NodeLayout

STEADY = 5  # levels to walk before testing whether every row is at a leaf
ALL, ONE, WORD, PLACE_AT = np.uint8(255), np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(27)
PLACES = np.uint64(gate_layout.PLACES)


class GateRoom(NamedTuple):
    """Room for the leaves that a block's rows may still reach: bytes (8, BLOCK), and one word of 32 (BLOCK,)."""

    kept: U1
    word: U4


@kernel
def pass_gates(at: U4, room: GateRoom, codes: Codes, start: int, count: int, gates: GateLayout, tree: int) -> None:
    """Set at[i] to the leaf of row start + i in a tree that has gates."""
    n_words = gates.n_words[tree]
    for byte in range(4 * n_words):
        for i in range(count):
            room.kept[byte, i] = 255
    for gate in range(gates.first[tree], gates.first[tree + 1]):
        code, left = codes[gates.column[gate], start : start + count], room.kept[gates.byte[gate]]
        rank, kept = gates.rank[gate], gates.kept[gate]
        for i in range(count):
            left[i] &= kept if code[i] > rank else ALL
    for n in range(n_words - 1, -1, -1):  # the first word that is not empty has the leaf
        first, second, third, fourth = (
            room.kept[4 * n],
            room.kept[4 * n + 1],
            room.kept[4 * n + 2],
            room.kept[4 * n + 3],
        )
        for i in range(count):
            room.word[i] = (
                np.uint32(first[i])
                | np.uint32(second[i]) << np.uint32(8)
                | np.uint32(third[i]) << np.uint32(16)
                | np.uint32(fourth[i]) << np.uint32(24)
            )
        leaf = gates.exit[gates.exit_first[tree] + 32 * n :]
        for i in range(count):
            word = np.uint64(room.word[i])
            if word != 0:
                lowest = word ^ (word & (word - ONE))
                at[i] = leaf[((lowest * PLACES) & WORD) >> PLACE_AT]


@kernel
def _walk_tree(at: U4, flat: Codes, stride: int, start: int, count: int, root: int, depth: int, word: U8) -> None:
    """Walk a block's rows from the root to a leaf, level by level; at a leaf they stay.

    The code of row i in a column is flat[column * stride + start + i]. All indices are unsigned: a signed one costs a
    test for negative numbers.
    """
    for i in range(count):
        at[i] = root
    step, first = np.uint64(stride), np.uint64(start)
    for level in range(depth):
        moved = np.uint32(0)
        for i in range(np.uint64(count)):
            node = at[i]
            test = word[node]
            code = flat[((test >> COLUMN_AT) & COLUMN_BITS) * step + first + i]
            right = np.uint32(code > np.uint32(test & RANK_BITS))
            below = np.uint32(node + np.uint32(test >> STEPS_AT) + right)
            moved |= below ^ node
            at[i] = below
        if moved == 0 and level >= STEADY:
            break


@kernel
def _walk_tree_by_category(
    at: U4, flat: Codes, stride: int, start: int, count: int, root: int, depth: int, word: U8, sets: U8
) -> None:
    """Walk like `_walk_tree` through a tree with nodes that look up the code's bit in `sets`, which is not empty."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(count):
        at[i] = root
    step, first = np.uint64(stride), np.uint64(start)
    for level in range(depth):
        moved = np.uint32(0)
        for i in range(np.uint64(count)):
            node = at[i]
            test = word[node]
            named, rank = test >> NAMED_AT, test & RANK_BITS
            code = np.uint64(flat[((test >> COLUMN_AT) & COLUMN_BITS) * step + first + i])
            bit = (sets[named * (rank + (code >> six))] >> (code & low)) & one  # other nodes read the first word
            right = (bit & named) | (np.uint64(code > rank) & (named ^ one))
            below = np.uint32(node + np.uint32((test >> STEPS_AT) & STEPS_BITS) + np.uint32(right))
            moved |= below ^ node
            at[i] = below
        if moved == 0 and level >= STEADY:
            break


@kernel
def walk(at: U4, codes: Codes, start: int, count: int, nodes: NodeLayout, tree: int) -> None:
    """Set at[i] to the leaf of row start + i in a tree without gates."""
    root, depth, flat = nodes.root[tree], nodes.depth[tree], codes.reshape(-1)
    if nodes.by_category[tree]:
        _walk_tree_by_category(at, flat, codes.shape[1], start, count, root, depth, nodes.word, nodes.sets)
    else:
        _walk_tree(at, flat, codes.shape[1], start, count, root, depth, nodes.word)


@kernel
def walk_leaves(codes: Codes, nodes: NodeLayout, leaves: I4) -> None:
    """Set leaves[i, t] to the node at which row i ends in tree t."""
    at, room = np.empty(BLOCK, np.uint32), GateRoom(np.empty((8, BLOCK), np.uint8), np.empty(BLOCK, np.uint32))
    gates = nodes.gates
    for start in range(0, codes.shape[1], BLOCK):
        count = min(BLOCK, codes.shape[1] - start)
        for tree in range(nodes.root.shape[0]):
            if gates.n_words[tree] > 0:
                pass_gates(at, room, codes, start, count, gates, tree)
            else:
                walk(at, codes, start, count, nodes, tree)
            for i in range(count):
                leaves[start + i, tree] = at[i]
