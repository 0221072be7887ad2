"""Trees of other libraries: their nodes as tables, and the predictor that sums the trees up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import PLAIN, TreeTable, ranges
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.categories import Categories


@frozen(eq=False)
class SplitTests:
    """What the numbered splits of trees test, in the terms of `TreeTable`."""

    feature: I8  # (splits,)
    threshold: F8  # NaN for tests of categories
    missing_left: B1
    category_count: I8
    categories: F8  # (sum of category_count,): split by split
    reading: NDArray[np.integer[Any]] | None = None  # (splits,): PLAIN by default


def spread(values: NDArray[Any], number: NDArray[np.integer[Any]], otherwise: Any) -> NDArray[Any]:
    """Return the values of some numbers, and another value for each negative number."""
    whole = np.full(len(number), otherwise, values.dtype)
    known = number >= 0
    whole[known] = values[number[known]]
    return whole


def tabulate_trees(
    first: I8,
    split: NDArray[np.integer[Any]],
    tests: SplitTests,
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    leaf: NDArray[np.integer[Any]],
    outputs: F8,
) -> TreeTable:
    """Return the table of trees of several nodes each.

    `first`, `left` and `right` are those of `TreeTable`. `split` is the number of each inner node's test, and `leaf`
    that of each leaf's row in `outputs`, float64 (leaves, K); both are -1 at other nodes.
    """
    width, count = outputs.shape[1], spread(tests.category_count, split, 0)
    begin = np.cumsum(tests.category_count) - tests.category_count
    return TreeTable(
        first,
        spread(tests.feature, split, -1),
        spread(tests.threshold, split, np.nan),
        spread(tests.missing_left, split, False),
        left,
        right,
        np.full(len(first) - 1, width),
        np.where(leaf < 0, -1, leaf * width),
        outputs.ravel(),
        count,
        tests.categories[ranges(spread(begin, split, 0), count)],
        np.zeros(len(split)) if tests.reading is None else spread(tests.reading, split, PLAIN),
    )


def tabulate_tree(
    leaf: B1,
    feature: NDArray[np.integer[Any]],
    threshold: F8,
    missing_left: B1,
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    outputs: F8,
    categories: Mapping[int, F8] | None = None,
    *,
    reading: ArrayLike = PLAIN,
    grown: bool = False,
) -> TreeTable:
    """Return the table of one tree, given its arrays by node, of which leaves use `outputs` only, float64 (nodes, K).

    `categories`, `reading` and `grown` are those of `TreeTable.single`.
    """
    return TreeTable.single(
        np.where(leaf, -1, feature).astype(np.int32),
        np.where(leaf, np.nan, threshold),
        missing_left,
        np.where(leaf, np.int32(-1), left.astype(np.int32)),
        np.where(leaf, np.int32(-1), right.astype(np.int32)),
        outputs,
        categories,
        reading=reading,
        grown=grown,
    )


def one_answer(
    table: TreeTable,
    feature_names: tuple[str, ...],
    weights: F8,
    intercept: F8,
    link: str,
    categories: Categories | None = None,
    *,
    temperature: float = 1.0,
    classes: ArrayLike | None = None,
    cut: float | None = None,
) -> StageTree:
    """Return a predictor whose one answer sums up trees and applies `link` to the scores.

    Output column c of all trees, side by side in their order, times `weights[c, k]` is added to score k: `weights` are
    float64 (sum of tree widths, K), `intercept` is float64 (K,). `categories` are labels of features with texts, and
    `classes` those of the classes; with a `cut`, scores tell the class: the largest, or 1 if the one is above it.
    """
    bank = WeakLearnerBank.from_trees(table, feature_names)
    by_scores: dict[str, Any] = {} if cut is None else {"by_scores": True, "cut": cut}
    answer = Answer(np.arange(len(bank)), weights, intercept, link, temperature=temperature, **by_scores)
    return StageTree(bank, (answer,), classes=classes).with_categories(categories or {})
