"""Trees laid out for branch-free traversal: siblings side by side, thresholds and categories as codes of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import StageError
from costframe.core.learners.bits import word_count
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable

NAN_RIGHT = 2**24 - 1  # above the rank of every test, and not above that of a leaf


@frozen(eq=False)
class NodeLayout:
    """Trees for branch-free traversal over codes: the right child follows the left one, a leaf is its own left child.

    A value's code is one more than the number of its feature's cuts below it, so that x <= cut r iff code <= r + 1. A
    feature has one code column for nodes that send NaN left (code 0), one for nodes that send it right (NAN_RIGHT), and
    one for nodes that test for categories, whose word holds a mark (the highest bit) and the place of their bits.
    """

    root: NDArray[np.int64]  # (trees,)
    depth: NDArray[np.int32]  # (trees,)
    word: NDArray[
        np.uint64
    ]  # (nodes,): steps to the left child << 40 | code column << 24 | largest code that goes left
    cut_first: NDArray[np.int64]  # (features + 1,)
    cut: NDArray[np.float64]  # ascending in each feature
    column_first: NDArray[np.int64]  # (features + 1,)
    column_missing: NDArray[np.uint32]  # (code columns,): NaN's code
    categories: CategoryCodes
    by_category: NDArray[np.bool_]  # (trees,): whether any node tests for categories
    feature: NDArray[np.int32]  # (nodes,), -1 at leaves
    origin: NDArray[np.int64]  # (nodes,): the node of the TreeTable
    parent: NDArray[np.int64]  # (nodes,): the root is its own
    levels: tuple[NDArray[np.int64], ...]  # nodes by level, below the roots


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
    place = np.empty(table.n_nodes, np.int64)
    place[origin] = np.arange(table.n_nodes)
    parent = np.empty(table.n_nodes, np.int64)
    parent[place[by_level]] = place[np.concatenate(parents)]
    tests = np.flatnonzero(table.feature[origin] >= 0)
    at = origin[tests]
    steps = np.zeros(table.n_nodes, np.int64)
    steps[tests] = place[at - position[at] + table.left[at]] - tests
    named = table.category_count[at] > 0
    tests, at, named_tests, named_at = tests[~named], at[~named], tests[named], at[named]
    codes = _Codes.of(table.feature[at], table.threshold[at], table.missing_left[at], n_features)
    categories = CategoryCodes.of(table, named_at, n_features, len(codes.column_missing))
    column, rank = np.zeros(table.n_nodes, np.int64), np.full(table.n_nodes, NAN_RIGHT, np.int64)
    column[tests], rank[tests] = codes.column, codes.rank
    column[named_tests], rank[named_tests] = categories.test_column, categories.test_word
    largest = max(codes.rank.max(initial=0), len(categories.sets))
    if steps.max(initial=0) >= 1 << 23 or column.max(initial=0) >= 1 << 16 or largest >= NAN_RIGHT:
        raise StageError(
            "trees: more than 8 million nodes in one, 65,536 code columns, 16 million cuts of a feature, or 16 million "
            "words for sets of categories"
        )
    word = (steps << 40 | column << 24 | rank).astype(np.uint64)
    word[named_tests] |= np.uint64(1) << np.uint64(63)
    return NodeLayout(
        root=place[table.first[:-1]],
        depth=table.depths(),
        word=word,
        cut_first=codes.cut_first,
        cut=codes.cut,
        column_first=codes.column_first,
        column_missing=np.concatenate([codes.column_missing, categories.none]),
        categories=categories,
        by_category=np.bincount(table.tree_of_node, weights=table.category_count > 0, minlength=len(table)) > 0,
        feature=table.feature[origin],
        origin=origin,
        parent=parent,
        levels=tuple(place[level] for level in order[1:] if len(level)),
    )


@frozen(eq=False)
class _Codes:
    """Thresholds as ranks among their feature's cuts."""

    cut_first: NDArray[np.int64]
    cut: NDArray[np.float64]
    column_first: NDArray[np.int64]
    column_missing: NDArray[np.uint32]
    column: NDArray[np.int64]  # of each test
    rank: NDArray[np.int64]  # of each test

    @classmethod
    def of(
        cls,
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        missing_left: NDArray[np.bool_],
        n_features: int,
    ) -> _Codes:
        order = np.argsort(feature, kind="stable")
        bounds = np.searchsorted(feature[order], np.arange(n_features + 1))
        cuts, sizes, columns = [np.empty(0)], [0], [0]
        missing: list[int] = []
        column, rank = np.zeros(len(feature), np.int64), np.zeros(len(feature), np.int64)
        for f in range(n_features):
            tests = order[bounds[f] : bounds[f + 1]]
            values = threshold[tests]
            number = ~np.isnan(values)  # no value passes a threshold NaN: rank 0, below every code
            cut = np.unique(values[number])
            rank[tests[number]] = np.searchsorted(cut, values[number]) + 1
            for left in np.unique(missing_left[tests])[::-1]:
                column[tests[missing_left[tests] == left]] = len(missing)
                missing.append(0 if left else NAN_RIGHT)
            cuts.append(cut)
            sizes.append(len(cut))
            columns.append(len(missing))
        return cls(
            np.cumsum(sizes), np.concatenate(cuts), np.array(columns), np.array(missing, np.uint32), column, rank
        )


def path_masks(nodes: NodeLayout, n_features: int) -> NDArray[np.uint64]:
    """Return the features tested on the path to each node, one bit each: uint64 (nodes, W)."""
    masks = np.zeros((len(nodes.word), word_count(n_features)), np.uint64)
    for level in nodes.levels:
        parent = nodes.parent[level]
        feature = nodes.feature[parent]
        masks[level] = masks[parent]
        masks[level, feature >> 6] |= np.uint64(1) << (feature & 63).astype(np.uint64)
    return masks


def path_prices(nodes: NodeLayout, split: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the price of the comparisons before each node, float64 (nodes,), for prices `split` of each feature's."""
    total = np.zeros(len(nodes.word))
    for level in nodes.levels:
        parent = nodes.parent[level]
        total[level] = total[parent] + split[nodes.feature[parent]]
    return total


@frozen(eq=False)
class CategoryCodes:
    """Lookup tables of the tests for categories.

    The code of a value is its rank among all categories in its feature's tests, or the number of these categories for
    any other value, NaN included. A row goes right iff bit `code & 63` of word `sets[word + (code >> 6)]` is set.
    """

    first: NDArray[np.int64]  # (features + 1,)
    category: NDArray[np.float64]  # ascending in each feature
    column: NDArray[np.int64]  # (features,): code column of each feature with categories, else -1
    none: NDArray[np.uint32]  # (code columns for categories,): the code of any other value
    sets: NDArray[np.uint64]
    test_column: NDArray[np.int64]  # of each test for categories
    test_word: NDArray[np.int64]  # of each test for categories

    @classmethod
    def of(cls, table: TreeTable, tests: NDArray[np.int64], n_features: int, n_columns: int) -> CategoryCodes:
        """Make the tables of the nodes `tests`, which have categories; number code columns from `n_columns`."""
        begin, feature = table.category_first, table.feature[tests]
        column, known = np.full(n_features, -1), [np.empty(0)] * n_features
        for number, f in enumerate(np.unique(feature)):
            column[f] = n_columns + number
            known[f] = np.unique(
                np.concatenate([table.categories[begin[node] : begin[node + 1]] for node in tests[feature == f]])
            )
        words: list[NDArray[np.uint64]] = []
        place: dict[tuple[int, bytes], int] = {}  # equal tests share their words
        test_word, size = np.zeros(len(tests), np.int64), 0
        for at, node in enumerate(tests.tolist()):
            f = int(feature[at])
            against = np.searchsorted(known[f], table.categories[begin[node] : begin[node + 1]])
            bits = _right_bits(against, len(known[f]), missing_left=bool(table.missing_left[node]))
            test_word[at] = place.setdefault((f, bits.tobytes()), size)
            if test_word[at] == size:
                words.append(bits)
                size += len(bits)
        return cls(
            np.cumsum([0, *map(len, known)]),
            np.concatenate([np.empty(0), *known]),
            column,
            np.array([len(known[f]) for f in np.unique(feature)], np.uint32),
            np.concatenate([np.empty(0, np.uint64), *words]),
            column[feature],
            test_word,
        )


def _right_bits(against: NDArray[np.int64], n_known: int, *, missing_left: bool) -> NDArray[np.uint64]:
    """Return the bits of the codes that go right, uint64 (words,); the code `n_known` is that of all other values."""
    right = np.zeros(64 * word_count(n_known + 1), np.bool_)
    right[: n_known + 1] = not missing_left
    right[against] = missing_left
    return np.packbits(right, bitorder="little").view("<u8").astype(np.uint64)


def code_values(nodes: NodeLayout, X: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the codes of the columns `used` of C-contiguous float64 rows: uint32 (rows, code columns)."""
    from costframe.core.learners import kernels

    codes = np.empty((len(X), len(nodes.column_missing)), np.uint32)
    kernels.code_rows(X, used, nodes.cut_first, nodes.cut, nodes.column_first, nodes.column_missing, codes)
    known = nodes.categories
    if len(known.category):
        kernels.code_categories(X, used, known.first, known.category, known.column, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: NDArray[np.float64], leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the layout's node at which each row of X, C-contiguous float64, ends."""
    from costframe.core.learners import kernels

    codes = code_values(nodes, X, np.arange(X.shape[1]))
    sets = nodes.categories.sets
    kernels.walk_leaves(codes, nodes.word, sets, nodes.root, nodes.depth, nodes.by_category, leaves)


def tree_leaves(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.int32]:
    """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    found = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][found]
