"""scikit-learn's histogram gradient boosting, leaf for leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.adoption.trees import one_answer, tabulate_tree
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import AdoptionError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.categories import is_missing

_LOG_LINKS = ("poisson", "gamma")


def adopt_histogram(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt histogram gradient boosting, whose leaves include the learning rate.

    Losses with a logarithm (poisson, gamma) have the link exp. Its tests are `x <= threshold` in float64 like those of
    `TreeTable`, and an unknown category goes the missing way in both.
    """
    categories = _Categories.of(model, names)
    rounds = model._predictors  # noqa: SLF001 - there is no public name
    n_scores = model.n_trees_per_iteration_
    table = TreeTable.concatenate([_tabulate(tree, categories) for predictors in rounds for tree in predictors])
    weights = np.tile(np.eye(n_scores), (len(rounds), 1))
    baseline = np.reshape(model._baseline_prediction, -1)  # noqa: SLF001 - there is no public name
    link = _choose_link(model, n_scores)
    cut = None if link in {"identity", "exp"} else 0.0
    return one_answer(table, names, weights, baseline, link, categories.labels, cut=cut)


def _choose_link(model: Any, n_scores: int) -> str:
    if not hasattr(model, "classes_"):
        return "exp" if model.loss in _LOG_LINKS else "identity"
    return "sigmoid" if n_scores == 1 else "softmax"


def _tabulate(predictor: Any, categories: _Categories) -> TreeTable:
    nodes = predictor.nodes
    leaf, named = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    return tabulate_tree(
        leaf,
        categories.column[nodes["feature_idx"]],
        np.where(named, np.nan, nodes["num_threshold"]),
        nodes["missing_go_to_left"].astype(bool),
        nodes["left"],
        nodes["right"],
        nodes["value"],
        {int(node): categories.against(predictor, nodes[node]) for node in np.flatnonzero(named)},
    )


@frozen(eq=False)
class _Categories:
    """The encoding of columns before the model's trees read them."""

    column: I8  # (d,): original column of each column of the trees, the categorical ones first
    values: tuple[F8, ...]  # value in X for each code of each categorical column
    labels: dict[str, tuple[str, ...]]  # of the columns whose categories are texts; X has their positions

    @classmethod
    def of(cls, model: Any, names: tuple[str, ...]) -> _Categories:
        """Read a fitted model's encoder."""
        categorical = model.is_categorical_
        if categorical is None:
            return cls(np.arange(len(names)), (), {})
        column = np.argsort(~categorical, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001 - there is no public name
        values: list[F8] = []
        labels: dict[str, tuple[str, ...]] = {}
        for f, known in zip(column, encoder.categories_, strict=False):
            present = [value for value in known.tolist() if not is_missing(value) or value is None]
            if all(isinstance(value, str) for value in present) and present:
                labels[names[f]] = tuple(present)
                values.append(np.arange(len(present), dtype=np.float64))
            elif all(isinstance(value, bool | int | float) for value in present):
                values.append(np.array(present, np.float64))
            else:
                raise AdoptionError(
                    f"{type(model).__name__}: the categories of {names[f]!r} are neither all texts nor all numbers"
                )
        return cls(column, tuple(values), labels)

    def against(self, predictor: Any, node: Any) -> F8:
        """Return the categories that go against a node's missing way: those of the left, or all other known ones."""
        values = self.values[node["feature_idx"]]
        left = _read_bits(predictor.raw_left_cat_bitsets[node["bitset_idx"]], len(values))
        return np.sort(values[~left if node["missing_go_to_left"] else left])


def _read_bits(bits: NDArray[np.uint32], count: int) -> B1:
    """Return which codes are in a set: bool (count,)."""
    codes = np.arange(count)
    return np.asarray(bits[codes >> 5] >> (codes & 31).astype(np.uint32) & 1, np.bool_)
