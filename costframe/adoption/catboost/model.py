"""A CatBoost model, as its document tells it, and its predictor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.adoption.catboost.losses import LOG_SIGMA
from costframe.adoption.catboost.splits import CATEGORICAL, Feature, Splits
from costframe.adoption.catboost.trees import NodeForest, SymmetricForest, expand
from costframe.adoption.names import choose_names
from costframe.adoption.trees import one_answer, tabulate_trees
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import Blend, BlendPart
from costframe.core.tables.hashed_labels import HashedLabels

_UNLISTED = 2**16  # columns that a model may have beside those that its file lists
_MOST_WEIGHTS = 2**21  # of an answer, or four for each leaf value: it holds one for each output of each tree and score


@frozen(eq=False)
class CatBoostModel:
    """A CatBoost model; output k is scale * (sum of the trees' output k) + bias[k]."""

    where: str  # name of the model in errors
    features: tuple[Feature, ...]  # in the order of their columns
    splits: Splits
    trees: SymmetricForest | NodeForest
    scale: float
    bias: F8  # (K,)
    link: str
    classes: NDArray[Any] | None  # (classes,): labels of a classifier's classes
    cut: float | None  # raw value above which a row is of class 1 of two

    def __attrs_post_init__(self) -> None:
        columns = [feature.column for feature in self.features]
        if any(column >= following for column, following in pairwise(columns)):
            raise AdoptionError(f"{self.where}: two features are at the same column")
        if not columns or columns[0] < 0 or columns[-1] >= len(columns) + _UNLISTED:
            raise AdoptionError(
                f"{self.where}: expected the columns of features to be 0 or more, and at most {_UNLISTED:,} others, "
                f"got {columns[0] if columns else 'no feature'} to {columns[-1] if columns else 'none'}"
            )

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return self.features[-1].column + 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all columns, f0, f1, ... for those without; None if no column has one."""
        names = [f"f{column}" for column in range(self.n_columns)]
        for feature in self.features:
            names[feature.column] = feature.title
        return tuple(names) if any(feature.name for feature in self.features) else None


def build_predictor(model: CatBoostModel, feature_names: Sequence[str] | None) -> StageTree:
    """Return a model's predictor, with its own names of columns or others."""
    n_trees, width = len(model.trees), len(model.bias)
    if n_trees * width**2 > max(_MOST_WEIGHTS, 4 * model.trees.outputs.size):
        raise AdoptionError(f"{model.where}: {n_trees:,} trees of {width:,} outputs are too many to weight each")
    names = choose_names(feature_names, model.names, model.n_columns, model.where)
    table = _tabulate(model)
    constant = bool(model.bias.any())
    if constant:  # CatBoost adds the bias last, and so does a leaf after all trees
        leaf = TreeTable.single([-1], [np.nan], [False], [-1], [-1], model.bias[None])
        table = TreeTable.concatenate([table, leaf])
    hashed = dict.fromkeys(
        [names[feature.column] for feature in model.features if feature.kind == CATEGORICAL], HashedLabels()
    )
    weights = np.tile(np.eye(width), (len(table), 1))
    link = "identity" if model.link == LOG_SIGMA else model.link
    tree = one_answer(table, names, weights, np.zeros(width), link, hashed, classes=model.classes, cut=model.cut)
    if model.link == LOG_SIGMA and (answer := tree.only_answer) is not None:
        blend = Blend((BlendPart("identity"), BlendPart("exp", temperature=0.5)), np.eye(width), np.zeros(width))
        tree = evolve(tree, stages=(evolve(answer, blends=(blend,)),))
    if constant:
        tree = evolve(tree, bank=tree.bank.weighted(np.append(np.ones(n_trees), 0.0)))
    return tree


def _tabulate(model: CatBoostModel) -> TreeTable:
    """Return the table of a model's trees, each with all outputs, times the model's factor."""
    forest = model.trees if isinstance(model.trees, NodeForest) else expand(model.trees, model.splits)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite outputs and NaN are refused by the table
        outputs = model.scale * forest.outputs
    return tabulate_trees(
        forest.first, forest.split, model.splits.tests, forest.left, forest.right, forest.leaf, outputs
    )
