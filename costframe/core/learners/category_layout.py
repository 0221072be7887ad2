"""Tests for categories as lookups: a value's code is its rank among them, and a node has a bit for each code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.bits import word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable

__all__ = ["CategoryCodes"]


@frozen(eq=False)
class CategoryCodes:
    """What the tests for categories look up.

    The code of a value is its rank among all categories that nodes test its feature for, and the number of these for
    any other value, NaN included. A row goes right iff bit `code & 63` of word `sets[word + (code >> 6)]` is set.
    """

    first: NDArray[np.int64]  # (features + 1,)
    category: NDArray[np.float64]  # ascending in each feature
    column: NDArray[np.int64]  # (features,): code column of each feature with categories, else -1
    none: NDArray[np.uint32]  # (code columns for categories,): the code of any other value
    sets: NDArray[np.uint64]
    test_column: NDArray[np.int64]  # of each test for categories
    test_word: NDArray[np.int64]  # likewise

    @classmethod
    def of(cls, table: TreeTable, tests: NDArray[np.int64], n_features: int, n_columns: int) -> CategoryCodes:
        """Make the lookups of the nodes `tests`, which have categories; code columns are numbered from `n_columns`."""
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
    """uint64 (words,): the codes that go right, of which `n_known` stands for all other values."""
    right = np.zeros(64 * word_count(n_known + 1), np.bool_)
    right[: n_known + 1] = not missing_left
    right[against] = missing_left
    return np.packbits(right, bitorder="little").view("<u8").astype(np.uint64)
