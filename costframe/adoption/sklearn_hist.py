"""Adoption of scikit-learn's histogram gradient boosting, leaf for leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.adoption.adopted import AdoptedTrees
from costframe.adoption.sklearn_categories import ModelCategories
from costframe.core.errors import AdoptionError
from costframe.core.learners.tree_table import TreeTable

__all__ = ["adopt_hist_boosting"]

_LOG_LINKS = ("poisson", "gamma")


def adopt_hist_boosting(model: Any, names: tuple[str, ...]) -> AdoptedTrees:
    """Adopt a fitted HistGradientBoostingClassifier or HistGradientBoostingRegressor.

    Its tests are `x <= threshold` in float64 like those of `TreeTable`, its leaves include the learning rate, and an
    unknown category goes the missing way in both.

    Raises
    ------
    AdoptionError
        If it has a loss with a logarithmic link, or categories that are neither all texts nor all numbers.
    """
    kind = type(model).__name__
    if model.loss in _LOG_LINKS:
        raise AdoptionError(f"{kind}: loss={model.loss!r} cannot be adopted, its logarithmic link is unsupported")
    categories = ModelCategories.of(model, names)
    rounds = model._predictors  # noqa: SLF001 - there is no public name
    n_scores = model.n_trees_per_iteration_
    table = TreeTable.concatenate([_tree(predictor, categories) for predictors in rounds for predictor in predictors])
    classes = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else None
    link = "identity" if classes is None else "sigmoid" if n_scores == 1 else "softmax"
    weights = np.tile(np.eye(n_scores), (len(rounds), 1))
    baseline = np.reshape(model._baseline_prediction, -1)  # noqa: SLF001 - there is no public name
    return AdoptedTrees(table, names, weights, baseline, link, classes, categories.labels)


def _tree(predictor: Any, categories: ModelCategories) -> TreeTable:
    nodes = predictor.nodes
    leaf, named = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    return TreeTable.single(
        np.where(leaf, -1, categories.column[nodes["feature_idx"]]),
        np.where(leaf | named, np.nan, nodes["num_threshold"]),
        nodes["missing_go_to_left"].astype(bool),
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        np.where(leaf, -1, nodes["right"].astype(np.int64)),
        nodes["value"],
        {int(node): categories.against(predictor, nodes[node]) for node in np.flatnonzero(named)},
    )
