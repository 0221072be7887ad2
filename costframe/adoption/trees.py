"""Trees of other libraries: a predictor that sums them up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.categories import Categories


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
