"""Adoption of CatBoost: symmetric, depthwise and lossguide trees over numbers and one-hot categories, leaf for leaf."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.adoption.adopted import OpaqueOnlyError, choose_names, one_answer
from costframe.adoption.catboost.binary import MAGIC, read_binary
from costframe.adoption.catboost.files import read_document
from costframe.adoption.catboost.info import LOG_SIGMA
from costframe.adoption.catboost.model import CATEGORICAL
from costframe.adoption.catboost.trees import tabulate
from costframe.adoption.documents import parse_json
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.stages.blend import Blend, Part
from costframe.core.tables.hashed_labels import HashedLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.adoption.catboost.model import CatBoostModel
    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_catboost", "adopt_catboost_file", "is_catboost", "looks_like_catboost"]

_GZIP = b"\x1f\x8b"
_MOST_WEIGHTS = 2**21  # of an answer, or four for each leaf value: it holds one for each output of each tree and score


def is_catboost(model: object) -> bool:
    """Return whether a model is CatBoost's, without importing catboost."""
    return any(
        base.__module__.split(".")[0] == "catboost" and base.__name__ == "CatBoost" for base in type(model).__mro__
    )


def looks_like_catboost(data: bytes) -> bool:
    """Return whether a file's content is a CatBoost model, in JSON or .cbm."""
    if data.startswith(MAGIC):
        return True
    begins = data[:64].lstrip().startswith(b"{")
    return begins and b'"features_info"' in data and (b'"oblivious_trees"' in data or b'"trees"' in data)


def adopt_catboost(model: Any, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt a CatBoost model exactly.

    Every row reaches the original's leaf in every tree: NaN, infinities and ties included, and raw values are the
    original's, bit for bit unless the model is scaled. CatBoost tests `float32(x) > float32(border)`; adopted
    thresholds are the largest doubles that fail.

    Categories are texts or whole numbers, as for CatBoost; floats that an array holds are hashes of categories. A
    missing category, which CatBoost refuses, is equal to none.

    Parameters
    ----------
    model : CatBoost, CatBoostClassifier, CatBoostRegressor or CatBoostRanker
        Predictions are probabilities of classifiers (P(class 1) of two; one for each class of more, or for each label
        that a row may have), `exp` of the raw value for Poisson and Tweedie, the mean and the variance for
        RMSEWithUncertainty, and raw values of others. Labels obey `set_probability_threshold`.
    feature_names : sequence of str, optional
        Names by position. By default the model's own, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has splits that cannot be adopted: by statistics of the target (CTR), by texts,
        or by embeddings.
    """
    name = type(model).__name__
    if not is_catboost(model):
        raise AdoptionError(f"{name}: expected a CatBoost model")
    if not model.is_fitted():
        raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path), format="cbm")
        try:
            return adopt_catboost_file(path.read_bytes(), f"{name} model", feature_names)
        except AdoptionError as error:
            raise OpaqueOnlyError(str(error)) from error


def adopt_catboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a CatBoost file, JSON or .cbm, without catboost; see `adopt_catboost`.

    `where` names the file in errors.
    """
    if data.startswith(_GZIP):
        raise AdoptionError(f"{where}: is compressed; unpack it first with gunzip")
    try:
        model = read_binary(data, where) if data.startswith(MAGIC) else read_document(parse_json(data, where))
        return _predictor(model, feature_names)
    except (BankError, DataError, StageError) as error:
        raise AdoptionError(f"{where}: {error}") from error


def _predictor(model: CatBoostModel, feature_names: Sequence[str] | None) -> StageTree:
    n_trees, width = len(model.trees), len(model.bias)
    if n_trees * width**2 > max(_MOST_WEIGHTS, 4 * model.trees.outputs.size):
        raise AdoptionError(f"{model.where}: {n_trees:,} trees of {width:,} outputs are too many to weight each")
    names = choose_names(feature_names, model.names, model.n_columns, model.where)
    table = tabulate(model.trees, model.splits, model.scale)
    constant = bool(model.bias.any())
    if constant:  # CatBoost adds the bias last, and so does a leaf after all trees
        table = TreeTable.concatenate([table, _leaf(model.bias)])
    hashed = dict.fromkeys([names[one.column] for one in model.features if one.kind == CATEGORICAL], HashedLabels())
    weights = np.tile(np.eye(width), (len(table), 1))
    link = "identity" if model.link == LOG_SIGMA else model.link
    tree = one_answer(table, names, weights, np.zeros(width), link, hashed, classes=model.classes, cut=model.cut)
    if model.link == LOG_SIGMA and (answer := tree.only_answer) is not None:
        blend = Blend((Part("identity"), Part("exp", temperature=0.5)), np.eye(width), np.zeros(width))
        tree = evolve(tree, stages=(evolve(answer, blends=(blend,)),))
    if constant:
        tree = evolve(tree, bank=tree.bank.weighted(np.append(np.ones(n_trees), 0.0)))
    return tree


def _leaf(outputs: NDArray[np.float64]) -> TreeTable:
    return TreeTable.single([-1], [np.nan], [False], [-1], [-1], outputs[None])
