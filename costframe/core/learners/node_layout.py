"""Trees laid out for branch-free traversal: siblings side by side, thresholds and categories as codes of values."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.learners.bits import word_count
from costframe.core.learners.tree_table import MOST_COLUMNS, MOST_NODES, MOST_RANKS, SHARED_WORDS, TreeTable
from costframe.core.machine import over_chunks

_MOST_STEPS = 1024  # of a feature's table
_WORDS = 8  # of a node's mask
_SIDES = 8  # code columns of a feature at most: two for each of four readings
# Parts of a node's word.
NAMED_AT, STEPS_AT, COLUMN_AT = map(np.uint64, engine.constants("named_at", "steps_at", "column_at"))
STEPS_BITS, COLUMN_BITS = np.uint64(MOST_NODES - 1), np.uint64(MOST_COLUMNS - 1)
NAN_RIGHT = MOST_RANKS  # above the rank of every test, and not above that of a leaf


class Cuts(NamedTuple):
    """Cuts of features, with a table of equal steps for each.

    Entry (x - low) * scale of a feature's table is a number of cuts certainly below x, and the others below x are among
    the next `window`. Rounding keeps the order of values, so this is exact; see engine/cuts.h.
    """

    first: I8  # (features + 1,)
    cut: F8  # ascending in each feature, each once, no NaN
    low: F8  # (features,)
    scale: F8  # (features,)
    first_step: I8  # (features + 1,)
    certain: NDArray[np.int32]
    window: I8  # (features,)


def lay_out_cuts(first: I8, cut: F8) -> Cuts:
    """Make the tables for cuts that begin at `first` in each feature."""
    d = len(first) - 1
    steps = np.clip(2 * np.diff(first), 1, _MOST_STEPS)  # one for a feature without cuts
    first_step = np.concatenate([[0], np.cumsum(steps)])
    certain, window = np.zeros(first_step[-1], np.int32), np.zeros(d, np.int64)
    cuts = Cuts(first, cut, np.zeros(d), np.zeros(d), first_step, certain, window)
    engine.tabulate_cuts(*cuts)
    return cuts


class GateLayout(NamedTuple):
    """Gates of each tree, and the nodes at which rows end; a tree that is walked has none."""

    n_words: I8  # (trees,): words of 32 leaves, 0 if the tree is walked
    gate_first: I8  # (trees + 1,): gates
    column: I8  # (gates,): code column
    rank: NDArray[np.unsignedinteger]  # (gates,), of the codes' type; a row fails if its code is above
    byte: I8  # (gates,)
    kept: U8  # (gates,): bits of the byte that stay
    exit_first: I8  # (trees,)
    exit: NDArray[np.uint32]  # nodes, 32 for each word, by the places of bits in engine/leaves.h


def lay_out_gates(
    root: I8, steps: I8, depth: NDArray[np.int32], by_category: B1, column: I8, rank: I8, code_type: type[Any]
) -> GateLayout:
    """Lay out the trees that have few leaves for their depth, and test for no categories.

    `steps` to the left child, 0 at leaves, `column` and `rank`, int64 (nodes,), are in the order of the layout.
    """
    n_words, gate_first = np.zeros(len(root), np.int64), np.zeros(len(root) + 1, np.int64)
    engine.count_gates(root, steps, depth, by_category, n_words, gate_first)
    count = gate_first[-1]
    gates = GateLayout(
        n_words=n_words,
        gate_first=gate_first,
        column=np.empty(count, np.int64),
        rank=np.empty(count, code_type),
        byte=np.empty(count, np.int64),
        kept=np.empty(count, np.uint8),
        exit_first=32 * (np.cumsum(n_words) - n_words),
        exit=np.zeros(32 * int(n_words.sum()), np.uint32),
    )
    made = gates.column, gates.rank, gates.byte, gates.kept, gates.exit
    engine.fill_gates(root, steps, column, rank, n_words, gate_first, *made)
    return gates


@frozen(eq=False, slots=False)
class NodeLayout:
    """Trees for branch-free traversal over codes: the right child follows the left one, a leaf is its own left child.

    A value's code is one more than the number of its feature's cuts below it, so that x <= cut r iff code <= r + 1. A
    feature has, for each reading of its values, one code column for nodes that send NaN left (code 0), one for nodes
    that send it right (the largest code), and one or more for nodes that test for categories. There the code is the
    value's rank among all categories of the column's tests, NaN the last, or their number for any other value; a row
    goes right iff bit `code & 63` of word `sets[rank + (code >> 6)]` is set.
    """

    root: I8  # (trees,)
    depth: NDArray[np.int32]  # (trees,)
    by_category: B1  # (trees,): whether any node tests for categories
    # (nodes,): highest bit at tests for categories | steps to the left child << 41 | code column << 23 | rank
    word: NDArray[np.uint64]
    sets: NDArray[np.uint64]  # bits of the codes that go right at tests for categories
    feature: NDArray[np.int32]  # (nodes,), -1 at leaves
    origin: I8  # (nodes,): the node of the TreeTable
    parent: I8  # (nodes,): before its children; the root is its own
    cuts: Cuts
    column_first: I8  # (features + 1,)
    column_missing: NDArray[np.unsignedinteger]  # (code columns,): NaN's code, of the codes' type
    column_reading: I8  # (code columns,); see `TreeTable`
    category_column: I8  # (features + 1,): each feature's first code column for categories
    category_first: I8  # (code columns for categories + 1,)
    category: F8  # ascending in each code column
    gates: GateLayout

    @cached_property
    def sizes(self) -> I8:
        """Number of nodes of each tree, (trees,)."""
        return np.diff(np.append(self.root, len(self.word)))

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it."""
        return engine.Nodes.of(self, self.cuts, self.gates)


def lay_out_nodes(table: TreeTable, n_features: int) -> NodeLayout:
    """Lay out the nodes of each tree in level order, siblings side by side, with thresholds as codes."""
    n_nodes, n_trees = table.n_nodes, len(table)
    origin, parent, steps = (np.empty(n_nodes, np.int64) for _ in range(3))
    depth = np.empty(n_trees, np.int32)
    engine.order_nodes(table.first, table.feature, table.left, table.right, origin, parent, steps, depth)
    tests = np.flatnonzero(steps)
    at = origin[tests]
    column, rank = np.zeros(n_nodes, np.int64), np.full(n_nodes, NAN_RIGHT, np.int64)
    named = table.category_count[at] > 0
    cuts = _code_cuts(table, at[~named], n_features)
    named_codes = _code_categories(table, at[named], n_features)
    known = named_codes.known
    rank[tests[~named]], column[tests[~named]] = cuts.rank, cuts.column
    rank[tests[named]], column[tests[named]] = named_codes.word, len(cuts.missing) + named_codes.column
    by_category = np.bincount(table.tree_of_node, weights=table.category_count > 0, minlength=n_trees) > 0
    largest = max(cuts.rank.max(initial=0) + 1, *map(len, known), 0)
    code_type = np.uint16 if largest < np.iinfo(np.uint16).max else np.uint32
    missing = np.minimum(cuts.missing, np.iinfo(code_type).max)
    root = np.array(table.first[:-1])
    word = rank.astype(np.uint64)
    word |= steps.astype(np.uint64) << STEPS_AT
    word |= column.astype(np.uint64) << COLUMN_AT
    word[tests[named]] |= np.uint64(1) << NAMED_AT
    return NodeLayout(
        root=root,
        depth=depth,
        by_category=by_category,
        word=word,
        sets=named_codes.sets,
        feature=table.feature[origin],
        origin=origin,
        parent=parent,
        cuts=lay_out_cuts(cuts.cut_first, cuts.cut),
        column_first=cuts.column_first,
        column_missing=np.array([*missing, *map(len, known)], code_type),
        column_reading=np.concatenate([cuts.reading, named_codes.reading]).astype(np.int64),
        category_column=len(cuts.missing) + named_codes.first,
        category_first=np.cumsum([0, *map(len, known)]),
        category=np.concatenate([np.empty(0), *known]),
        gates=lay_out_gates(root, steps, depth, by_category, column, rank, code_type),
    )


class _CutCodes(NamedTuple):
    """Thresholds as codes; see `NodeLayout`."""

    cut_first: I8
    cut: F8
    column_first: I8
    missing: NDArray[np.uint32]  # NaN's code in each column
    reading: U8  # of each column
    column: I8  # of each node
    rank: I8  # of each node


def _code_cuts(table: TreeTable, nodes: I8, n_features: int) -> _CutCodes:
    """Code the thresholds of nodes that compare numbers."""
    feature, threshold, missing_left = table.feature[nodes], table.threshold[nodes], table.missing_left[nodes]
    every = np.arange(n_features + 1)
    side = 2 * table.reading[nodes].astype(np.int64) + ~missing_left  # NaN left, then right
    sides, column = np.unique(_SIDES * feature.astype(np.int64) + side, return_inverse=True)
    rank = np.zeros(len(nodes), np.int64)  # no value passes a threshold NaN: rank 0, below every code
    order = np.lexsort((threshold, feature))
    order = order[~np.isnan(threshold[order])]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (np.diff(feature[order]) != 0) | (threshold[order][1:] != threshold[order][:-1])
    cut_first = np.searchsorted(feature[order][fresh], every)
    rank[order] = np.cumsum(fresh) - cut_first[feature[order]]
    missing = np.where(sides % 2, NAN_RIGHT, 0).astype(np.uint32)
    first, reading = np.searchsorted(sides, _SIDES * every), (sides % _SIDES // 2).astype(np.uint8)
    return _CutCodes(cut_first, threshold[order][fresh], first, missing, reading, column, rank)


class _CategoryCodes(NamedTuple):
    """Categories as codes; see `NodeLayout`."""

    known: list[F8]  # categories of each column
    reading: list[int]  # of each column
    first: I8  # (features + 1,): each feature's first column
    column: I8  # of each node
    sets: NDArray[np.uint64]  # bits of the codes that go right
    word: I8  # each node's first word of them


def _code_categories(table: TreeTable, nodes: I8, n_features: int) -> _CategoryCodes:
    """Code the categories of nodes that test for them."""
    begin, feature, reading = table.category_first, table.feature[nodes], table.reading[nodes]
    tested = [table.categories[begin[node] : begin[node + 1]] for node in nodes]
    known: list[F8] = []
    readings: list[int] = []
    words: list[NDArray[np.uint64]] = []
    place: dict[tuple[int, bytes], int] = {}  # equal tests share their words
    column, word, size = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64), 0
    first = np.zeros(n_features + 1, np.int64)
    kind = _SIDES * feature.astype(np.int64) + reading  # a column has one reading
    for at in np.split(order := np.argsort(kind, kind="stable"), 1 + np.flatnonzero(np.diff(kind[order]))):
        for group in share_columns([tested[i] for i in at]) if len(at) else ():
            values = np.unique(np.concatenate([tested[i] for i in at[group]]))
            for i in at[group].tolist():
                right = np.zeros(64 * word_count(len(values) + 1), np.bool_)
                right[: len(values) + 1] = not table.missing_left[nodes[i]]
                right[np.searchsorted(values, tested[i])] = table.missing_left[nodes[i]]
                bits = np.packbits(right, bitorder="little").view("<u8").astype(np.uint64)
                column[i], word[i] = len(known), place.setdefault((len(known), bits.tobytes()), size)
                if word[i] == size:
                    words.append(bits)
                    size += len(bits)
            known.append(values)
            readings.append(int(reading[at[0]]))
            first[feature[at[0]] + 1] += 1
    sets = np.concatenate([np.empty(0, np.uint64), *words])
    return _CategoryCodes(known, readings, np.cumsum(first), column, sets, word)


def share_columns(tested: list[F8]) -> list[list[int]]:
    """Divide a feature's tests for categories into those that share a code column; a test has a bit for each category.

    They share one, unless these bits took much more memory than the tests themselves. Then as many share one as test
    at most 1,024 categories together, so that memory stays linear in the tests.
    """
    n_known, given = len(np.unique(np.concatenate(tested))), sum(map(len, tested))
    if len(tested) * (n_known // 64) <= SHARED_WORDS * len(tested) + 4 * given:
        return [list(range(len(tested)))]
    groups, values = [list[int]()], set[float]()
    for i in sorted(range(len(tested)), key=lambda i: float(tested[i][0])):  # tests of near categories
        mine = tested[i].tolist()
        if groups[-1] and len(values) + sum(value not in values for value in mine) > 64 * SHARED_WORDS:
            groups.append([])
            values = set()
        groups[-1].append(i)
        values.update(mine)
    return groups


def path_masks(parent: I8, feature: NDArray[np.int32], n_features: int) -> NDArray[np.uint64]:
    """Return the features tested on the way to each node as bits: uint64 (nodes, W), or (0, W) for many features.

    Parents come before their children, a root is its own. With more features than nodes on a way, masks would be longer
    than the ways: the engine then goes back from a leaf node by node.
    """
    words = word_count(n_features)
    masks = np.zeros((len(parent) if words <= _WORDS else 0, words), np.uint64)
    if len(masks):
        engine.mark_paths(parent, feature, masks)
    return masks


def path_prices(parent: I8, feature: NDArray[np.int32], split: F8) -> F8:
    """Return the price of the comparisons on the way to each node, float64 (nodes,); `split` is of each feature."""
    spent = np.zeros(len(parent))
    engine.price_paths(parent, feature, np.ascontiguousarray(split), spent)
    return spent


def code_values(nodes: NodeLayout, X: F8, used: I8) -> NDArray[np.unsignedinteger]:
    """Return the codes of the columns `used` of C-contiguous float64 rows: uint16 or uint32 (code columns, rows)."""
    codes = np.empty((len(nodes.column_missing), len(X)), nodes.column_missing.dtype)
    engine.code_rows(X, used, nodes.packed, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: F8, leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the layout's node at which each row of X, C-contiguous float64, ends."""
    engine.walk_leaves(code_values(nodes, X, np.arange(X.shape[1])), nodes.packed, leaves)


def tree_leaves(trees: TreeTable, X: F8, n_jobs: int | None = None) -> NDArray[np.int32]:
    """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    leaves = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), leaves[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][leaves]
