"""Any forest that votes with class shares as a `Forest`: scikit-learn's, an adopted one, or one of costframe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption import (
    GivenColumns,
    check_classes,
    is_unfitted,
    labels_for,
    probability_tree,
    refit,
    require_probabilities,
)
from costframe.plugin import TREE, Answer, ParameterError, Predictor, TreeTable
from costframe.trees import count_labels, inherit_shares
from costframe_budgetforest.forest import Forest
from costframe_budgetforest.program import find_leaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.plugin import Rows, StageTree, TrainingData

__all__ = ["read_forest"]

_NEARLY = 1e-9


def read_forest(model: Any, data: TrainingData, classes: NDArray[Any], seed: int, *, framed: bool) -> Forest:
    """Fit the model if it is not fitted, and return its trees with class shares of all their nodes.

    Leaves keep the model's outputs; a node above them has the class shares of the training rows that reach it.

    Raises
    ------
    CostframeError
        If it is not a mean of trees with class probabilities, or does not know the classes.
    """
    require_probabilities("model", model)
    columns = GivenColumns.choose(data.feature_names, None, "model")
    if not isinstance(model, Predictor) and is_unfitted(model):
        labels = labels_for(model, classes)
        model = refit(
            model, data.train, labels[data.train.y], data.feature_names, data, parameter="model", seed=seed,
            framed=framed,
        )  # fmt: skip
        check_classes(model, labels, "model")
    else:
        check_classes(model, classes, "model")
    trees, outputs = _read_mean(probability_tree(model, columns, len(classes)), len(classes))
    return _with_shares(trees, outputs, data.train)


def _read_mean(tree: StageTree, n_classes: int) -> tuple[TreeTable, NDArray[np.float64]]:
    """Return the trees of a mean, and the shares of their leaves, float64 (nodes, K); refuse other models."""
    bank, answer = tree.bank, tree.stages[0]
    width = 1 if n_classes == 2 else n_classes
    if not isinstance(answer, Answer) or answer.link != "identity" or (bank.kind != TREE).any():
        raise ParameterError(
            "model: expected a forest, a mean of trees with class probabilities, got one with "
            f"{len(tree.stages)} stage(s), {len(bank)} learners and the link {tree.links[0]!r}"
        )
    table = bank.trees.restrict(bank.index[answer.learners].astype(np.int64))
    columns, rest = len(answer.weights) // max(len(table), 1), answer.weights
    share = float(rest.max(initial=0.0))
    pattern = np.eye(columns)[:, -width:] if columns >= width else np.zeros((columns, width))
    if not len(table) or not share or not np.allclose(rest, share * np.tile(pattern, (len(table), 1)), atol=_NEARLY):
        raise ParameterError("model: expected a forest, whose trees all have the same weight, got other weights")
    at = np.maximum(table.value, 0)[:, None] + np.arange(columns)
    outputs = np.where((table.feature < 0)[:, None], table.values[at], 0.0)[:, -width:]
    constants = max(round(1.0 / share) - len(table), 0)
    if constants:  # trees without tests
        root = np.zeros((1, width)) + answer.intercept / (constants * share)
        alone = TreeTable.single([-1], [0.0], [False], [-1], [-1], root)
        table, outputs = _widen(table, outputs), np.vstack([outputs, np.repeat(root, constants, axis=0)])
        table = TreeTable.concatenate([table, *[alone] * constants])
    elif np.abs(answer.intercept).max() > _NEARLY:
        raise ParameterError("model: expected a forest, the mean of its trees, got a further constant")
    if width == 1:
        outputs = np.hstack([1.0 - outputs, outputs])
    return _widen(table, outputs[:, -width:]), outputs


def _widen(table: TreeTable, outputs: NDArray[np.float64]) -> TreeTable:
    """Return the trees with other outputs of their leaves, float64 (nodes, width)."""
    leaf, width = table.feature < 0, outputs.shape[1]
    return TreeTable(
        table.first, table.feature, table.threshold, table.missing_left, table.left, table.right,
        np.full(len(table), width), np.where(leaf, (np.cumsum(leaf) - 1) * width, -1), outputs[leaf].ravel(),
        table.category_count, table.categories, table.reading,
    )  # fmt: skip


def _with_shares(trees: TreeTable, outputs: NDArray[np.float64], rows: Rows) -> Forest:
    """Set the class shares of inner nodes; a node that no row reaches has those of the node above."""
    forest = Forest(trees, outputs)
    leaves = find_leaves(forest, rows.X)
    counts = np.zeros((len(outputs), outputs.shape[1]))
    count_labels(leaves, forest.parent, rows.y, rows.weight, counts)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full(outputs.shape, 1.0 / outputs.shape[1]), where=total > 0)
    inherit_shares(forest.parent, total[:, 0], shares)
    leaf = trees.feature < 0
    shares[leaf] = outputs[leaf]
    return Forest(trees, shares)
