"""Trees laid out for branch-free traversal: siblings side by side, thresholds and categories as codes of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.errors import StageError
from costframe.core.learners.bits import word_count
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable

NAN_RIGHT = 2**24 - 1  # above the rank of every test, and not above that of a leaf


class NodeLayout(NamedTuple):
    """Trees for branch-free traversal over codes: the right child follows the left one, a leaf is its own left child.

    A value's code is one more than the number of its feature's cuts below it, so that x <= cut r iff code <= r + 1. A
    feature has one code column for nodes that send NaN left (code 0), one for nodes that send it right (NAN_RIGHT), and
    one for nodes that test for categories. There the code is the value's rank among all categories in the feature's
    tests, or their number for any other value, NaN included; a row goes right iff bit `code & 63` of word
    `sets[rank + (code >> 6)]` is set.
    """

    root: NDArray[np.int64]  # (trees,)
    depth: NDArray[np.int32]  # (trees,)
    by_category: NDArray[np.bool_]  # (trees,): whether any node tests for categories
    # (nodes,): highest bit at tests for categories | steps to the left child << 40 | code column << 24 | rank
    word: NDArray[np.uint64]
    sets: NDArray[np.uint64]  # bits of the codes that go right at tests for categories
    feature: NDArray[np.int32]  # (nodes,), -1 at leaves
    origin: NDArray[np.int64]  # (nodes,): the node of the TreeTable
    parent: NDArray[np.int64]  # (nodes,): before its children; the root is its own
    cut_first: NDArray[np.int64]  # (features + 1,)
    cut: NDArray[np.float64]  # ascending in each feature
    column_first: NDArray[np.int64]  # (features + 1,)
    column_missing: NDArray[np.uint32]  # (code columns,): NaN's code
    category_first: NDArray[np.int64]  # (features + 1,)
    category: NDArray[np.float64]  # ascending in each feature
    category_column: NDArray[np.int64]  # (features,): code column for categories, else -1


def lay_out_nodes(table: TreeTable, n_features: int) -> NodeLayout:
    """Lay out the nodes of each tree in level order, siblings side by side, with thresholds as codes."""
    position = table.node_positions
    order, parents, current = [table.first[:-1]], [table.first[:-1]], table.first[:-1]
    while len(current):
        inner = current[table.feature[current] >= 0]
        base = inner - position[inner]
        current = np.stack([base + table.left[inner], base + table.right[inner]], axis=1).ravel()
        order.append(current)
        parents.append(np.repeat(inner, 2))
    by_level = np.concatenate(order)
    origin = by_level[np.argsort(table.tree_of_node[by_level], kind="stable")]
    place, parent = np.empty(table.n_nodes, np.int64), np.empty(table.n_nodes, np.int64)
    place[origin] = np.arange(table.n_nodes)
    parent[place[by_level]] = place[np.concatenate(parents)]
    tests = np.flatnonzero(table.feature[origin] >= 0)
    at = origin[tests]
    steps, column = np.zeros(table.n_nodes, np.int64), np.zeros(table.n_nodes, np.int64)
    rank = np.full(table.n_nodes, NAN_RIGHT, np.int64)
    steps[tests] = place[at - position[at] + table.left[at]] - tests
    named = table.category_count[at] > 0
    cuts, column_first, missing, column[tests[~named]], codes = _code_cuts(table, at[~named], n_features)
    known, sets, words = _code_categories(table, at[named], n_features)
    rank[tests[~named]], rank[tests[named]] = codes, words
    features, category_column = np.unique(table.feature[at[named]]), np.full(n_features, -1)
    category_column[features] = len(missing) + np.arange(len(features))
    column[tests[named]] = category_column[table.feature[at[named]]]
    largest = max(codes.max(initial=0), len(sets))
    if steps.max(initial=0) >= 1 << 23 or column.max(initial=0) >= 1 << 16 or largest >= NAN_RIGHT:
        raise StageError(
            "trees: more than 8 million nodes in one, 65,536 code columns, 16 million cuts of a feature, or 16 million "
            "words for sets of categories"
        )
    word = (steps << 40 | column << 24 | rank).astype(np.uint64)
    word[tests[named]] |= np.uint64(1) << np.uint64(63)
    return NodeLayout(
        root=place[table.first[:-1]],
        depth=table.depths(),
        by_category=np.bincount(table.tree_of_node, weights=table.category_count > 0, minlength=len(table)) > 0,
        word=word,
        sets=sets,
        feature=table.feature[origin],
        origin=origin,
        parent=parent,
        cut_first=np.cumsum([0, *map(len, cuts)]),
        cut=np.concatenate([np.empty(0), *cuts]),
        column_first=column_first,
        column_missing=np.array([*missing, *(len(known[f]) for f in features)], np.uint32),
        category_first=np.cumsum([0, *map(len, known)]),
        category=np.concatenate([np.empty(0), *known]),
        category_column=category_column,
    )


def _code_cuts(
    table: TreeTable, nodes: NDArray[np.int64], n_features: int
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64], list[int], NDArray[np.int64], NDArray[np.int64]]:
    """Return each feature's cuts and first code column, each column's code of NaN, each node's column and rank."""
    feature, threshold, missing_left = table.feature[nodes], table.threshold[nodes], table.missing_left[nodes]
    order = np.argsort(feature, kind="stable")
    bounds = np.searchsorted(feature[order], np.arange(n_features + 1))
    cuts: list[NDArray[np.float64]] = []
    columns, missing = [0], list[int]()
    column, rank = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    for f in range(n_features):
        tests = order[bounds[f] : bounds[f + 1]]
        values = threshold[tests]
        number = ~np.isnan(values)  # no value passes a threshold NaN: rank 0, below every code
        cuts.append(np.unique(values[number]))
        rank[tests[number]] = np.searchsorted(cuts[f], values[number]) + 1
        for left in np.unique(missing_left[tests])[::-1]:
            column[tests[missing_left[tests] == left]] = len(missing)
            missing.append(0 if left else NAN_RIGHT)
        columns.append(len(missing))
    return cuts, np.array(columns), missing, column, rank


def _code_categories(
    table: TreeTable, nodes: NDArray[np.int64], n_features: int
) -> tuple[list[NDArray[np.float64]], NDArray[np.uint64], NDArray[np.int64]]:
    """Return each feature's categories, the bits of the codes that go right, and each node's first word of them."""
    begin, feature = table.category_first, table.feature[nodes]
    known = [np.empty(0)] * n_features
    for f in np.unique(feature):
        tested = [table.categories[begin[node] : begin[node + 1]] for node in nodes[feature == f]]
        known[f] = np.unique(np.concatenate(tested))
    words: list[NDArray[np.uint64]] = []
    place: dict[tuple[int, bytes], int] = {}  # equal tests share their words
    word, size = np.zeros(len(nodes), np.int64), 0
    for at, node in enumerate(nodes.tolist()):
        f = int(feature[at])
        against = np.searchsorted(known[f], table.categories[begin[node] : begin[node + 1]])
        right = np.zeros(64 * word_count(len(known[f]) + 1), np.bool_)
        right[: len(known[f]) + 1] = not table.missing_left[node]
        right[against] = table.missing_left[node]
        bits = np.packbits(right, bitorder="little").view("<u8").astype(np.uint64)
        word[at] = place.setdefault((f, bits.tobytes()), size)
        if word[at] == size:
            words.append(bits)
            size += len(bits)
    return known, np.concatenate([np.empty(0, np.uint64), *words]), word


def mark_paths(
    parent: NDArray[np.int64], feature: NDArray[np.int32], split: NDArray[np.float64]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the features tested on the way to each node, uint64 (nodes, W), and the price of comparisons, (nodes,).

    `split`, float64 (features,), prices a comparison with each; parents come before their children, a root is its own.
    """
    from costframe.core.learners.kernels import note_paths

    masks, spent = np.zeros((len(parent), word_count(len(split))), np.uint64), np.zeros(len(parent))
    note_paths(parent, feature, split, masks, spent)
    return masks, spent


def code_values(nodes: NodeLayout, X: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the codes of the columns `used` of C-contiguous float64 rows: uint32 (rows, code columns)."""
    from costframe.core.learners.kernels import code_rows

    codes = np.empty((len(X), len(nodes.column_missing)), np.uint32)
    code_rows(X, used, nodes, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: NDArray[np.float64], leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the layout's node at which each row of X, C-contiguous float64, ends."""
    from costframe.core.learners.kernels import walk_leaves

    walk_leaves(code_values(nodes, X, np.arange(X.shape[1])), nodes, leaves)


def tree_leaves(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.int32]:
    """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    found = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][found]
