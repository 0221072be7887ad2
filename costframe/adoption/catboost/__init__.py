"""Adoption of CatBoost: symmetric, depthwise and lossguide trees over numbers and one-hot categories, leaf for leaf.

Its JSON is read with a check of all that is used of it.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from costframe.adoption.catboost.trees import (
    CATEGORICAL,
    DEEPEST,
    FLOAT,
    CatBoostModel,
    Feature,
    Forest,
    SplitGroup,
    Splits,
    SymmetricForest,
    ctr_reason,
    tabulate,
)
from costframe.adoption.documents import Part, parse_json
from costframe.adoption.foreign import OpaqueOnlyError, is_of
from costframe.adoption.names import choose_names
from costframe.adoption.trees import one_answer
from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError, BankError, DataError, StageError, shown
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import Blend
from costframe.core.stages.links import Part as BlendPart
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.core.terms.classes import as_texts

_GZIP, _MAGIC = b"\x1f\x8b", b"CBM1"
_CONVERT = """
import sys, catboost
catboost.CatBoost().load_model(sys.argv[1]).save_model(sys.argv[2], format="json")
"""
_MOST_WEIGHTS = 2**21  # of an answer, or four for each leaf value: it holds one for each output of each tree and score
_INT32 = 2**31
_NAN_TREATMENTS = ("AsIs", "AsFalse", "AsTrue")
_LOG_SIGMA = "log-sigma"
"""Of two scores, a mean and the logarithm of a standard deviation, predictions are the mean and the variance."""
_LINKS = {
    "sigmoid": ("Logloss", "CrossEntropy", "Focal", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy"),
    "softmax": ("MultiClass",),
    "exp": ("Poisson", "Tweedie"),
    _LOG_SIGMA: ("RMSEWithUncertainty",),
    "identity": (
        *("RMSE", "MAE", "Quantile", "MultiQuantile", "MultiRMSE", "MultiRMSEWithMissingValues", "Expectile", "Huber"),
        *("LogCosh", "MAPE", "RMSPE", "MSLE", "Lq", "LogLinQuantile", "GroupQuantile"),
        *("Cox", "SurvivalAft", "YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "LambdaMart"),
        *("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "StochasticRank", "StochasticFilter", "Combination"),
        *("PythonUserDefinedPerObject", "PythonUserDefinedMultiTarget", "UserPerObjMetric", "UserQuerywiseMetric"),
    ),
}
_LINK = {loss: link for link, losses in _LINKS.items() for loss in losses}
_BINARY, _MULTICLASS = ("Logloss", "CrossEntropy", "Focal"), ("MultiClass", "MultiClassOneVsAll")
_LABELS = {"Integer": np.int64, "Float": np.float64, "String": np.str_, "Boolean": np.bool_}


def is_catboost(model: object) -> bool:
    """Return whether a model is CatBoost's, without importing catboost."""
    return is_of(model, "catboost", "CatBoost")


def looks_like_catboost(data: bytes) -> bool:
    """Return whether a file's content is a CatBoost model, in JSON or .cbm."""
    if data.startswith(_MAGIC):
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
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            return adopt_catboost_file(path.read_bytes(), f"{name} model", feature_names)
        except AdoptionError as error:
            raise OpaqueOnlyError(str(error)) from error
        except catboost.CatBoostError as error:
            raise OpaqueOnlyError(f"{name}: catboost cannot write it as JSON: {error}") from error


def adopt_catboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a CatBoost file: JSON without catboost, .cbm by way of it; see `adopt_catboost`.

    `where` names the file in errors.
    """
    if data.startswith(_GZIP):
        raise AdoptionError(f"{where}: is compressed; unpack it first with gunzip")
    try:
        document = _as_json(data, where) if data.startswith(_MAGIC) else data
        return _predictor(_read_document(parse_json(document, where)), feature_names)
    except (BankError, DataError, StageError) as error:
        raise AdoptionError(f"{where}: {error}") from error


def _as_json(data: bytes, where: str) -> bytes:
    """Return the JSON that catboost writes of a .cbm file, in a process of its own: damaged files crash the library."""
    if importlib.util.find_spec("catboost") is None:
        raise AdoptionError(f"{where}: a .cbm file needs catboost; install it, or save the model with format='json'")
    with tempfile.TemporaryDirectory() as folder:
        binary, document = Path(folder) / "model.cbm", Path(folder) / "model.json"
        binary.write_bytes(data)
        command = [sys.executable, "-c", _CONVERT, str(binary), str(document)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own text
        if done.returncode or not document.exists():
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] if done.returncode > 0 else []
            reason = said[0].rpartition("CatBoostError: ")[2] if said else "it ends the library"
            raise AdoptionError(f"{where}: catboost cannot read it: {reason}")
        return document.read_bytes()


def _predictor(model: CatBoostModel, feature_names: Sequence[str] | None) -> StageTree:
    n_trees, width = len(model.trees), len(model.bias)
    if n_trees * width**2 > max(_MOST_WEIGHTS, 4 * model.trees.outputs.size):
        raise AdoptionError(f"{model.where}: {n_trees:,} trees of {width:,} outputs are too many to weight each")
    names = choose_names(feature_names, model.names, model.n_columns, model.where)
    table = tabulate(model.trees, model.splits, model.scale)
    constant = bool(model.bias.any())
    if constant:  # CatBoost adds the bias last, and so does a leaf after all trees
        leaf = TreeTable.single([-1], [np.nan], [False], [-1], [-1], model.bias[None])
        table = TreeTable.concatenate([table, leaf])
    hashed = dict.fromkeys([names[one.column] for one in model.features if one.kind == CATEGORICAL], HashedLabels())
    weights = np.tile(np.eye(width), (len(table), 1))
    link = "identity" if model.link == _LOG_SIGMA else model.link
    tree = one_answer(table, names, weights, np.zeros(width), link, hashed, classes=model.classes, cut=model.cut)
    if model.link == _LOG_SIGMA and (answer := tree.only_answer) is not None:
        blend = Blend((BlendPart("identity"), BlendPart("exp", temperature=0.5)), np.eye(width), np.zeros(width))
        tree = evolve(tree, stages=(evolve(answer, blends=(blend,)),))
    if constant:
        tree = evolve(tree, bank=tree.bank.weighted(np.append(np.ones(n_trees), 0.0)))
    return tree


def _read_document(model: Part) -> CatBoostModel:
    """Return the model of a JSON document."""
    pairs = list(_groups(model.get("features_info")))
    splits = Splits.of([group for _, group in pairs], model.where)
    oblivious = model.has("oblivious_trees")
    trees = _symmetric(model.get("oblivious_trees"), splits) if oblivious else _free(model.get("trees"), splits)
    width = trees.outputs.shape[1]
    scale, bias = _scale_and_bias(model, width)
    info = model.get("model_info") if model.has("model_info") else Part({}, model.where)
    features = [feature for feature, _ in pairs if feature is not None]
    link, classes, cut = _read_link(info, width), _read_classes(info, width), _read_cut(info)
    by_column = tuple(sorted(features, key=lambda feature: feature.column))
    return CatBoostModel(model.where, by_column, splits, trees, scale, bias, link, classes, cut)


def _groups(info: Part) -> Iterator[tuple[Feature | None, SplitGroup]]:
    """Return each feature with the group of its splits, then the groups of CTRs, which are of several features."""
    for part in _listed(info, "float_features"):
        feature, treatment = _feature(part, FLOAT), part.get("nan_value_treatment").text()
        if treatment not in _NAN_TREATMENTS:
            raise part.refuse(f"unknown nan_value_treatment {treatment!r}, expected one of {_NAN_TREATMENTS}")
        borders = _round(part.get("borders").reals()) if part.has("borders") else np.empty(0)
        has_nans = part.get("has_nans")
        if not isinstance(has_nans.value, bool):
            raise has_nans.refuse(f"expected true or false, got {shown(has_nans.value)}")
        yield feature, SplitGroup(feature, borders, has_nans.value and treatment == "AsTrue")
    names = {}
    for part in _listed(info, "categorical_features"):
        feature = _feature(part, CATEGORICAL)
        names[feature.index] = feature.title
        values = (
            part.get("values").wholes(low=-_INT32, high=_INT32 - 1) if part.has("values") else np.empty(0, np.int64)
        )
        yield feature, SplitGroup(feature, (values % 2**32).astype(np.float64))
    for part in _listed(info, "ctrs"):
        elements = [each for each in _listed(part, "elements") if each.has("cat_feature_index")]
        used = [names.get(each.get("cat_feature_index").whole(), "unknown") for each in elements]
        yield None, SplitGroup(None, part.get("borders").reals(), reason=ctr_reason(used))


def _listed(part: Part, name: str) -> Iterator[Part]:
    return part.get(name).items() if part.has(name) else iter(())


def _feature(part: Part, kind: str) -> Feature:
    name = part.get("feature_id").text() if part.has("feature_id") else ""
    index, column = (part.get(name).whole(high=_INT32) for name in ("feature_index", "flat_feature_index"))
    return Feature(kind, column, index, name)


def _round(borders: Any) -> F8:
    """Return numbers in float32 precision: float64."""
    with np.errstate(over="ignore"):
        return np.asarray(borders, np.float64).astype(np.float32).astype(np.float64)


def _symmetric(part: Part, splits: Splits) -> SymmetricForest:
    depths, found, width = list[int](), list[Part](), 0
    rows: list[F8] = []
    for tree in part.items():
        levels, outputs = list(_listed(tree, "splits")), tree.get("leaf_values").reals()
        leaves = 2 ** min(len(levels), DEEPEST)
        width = width or max(len(outputs) // leaves, 1)
        if len(levels) > DEEPEST or len(outputs) != leaves * width:
            raise tree.refuse(
                f"expected at most {DEEPEST} splits and {width} output(s) in each of 2^splits leaves, "
                f"got {len(levels)} splits and {len(outputs):,} leaf values"
            )
        depths.append(len(levels))
        found += levels
        rows.append(outputs.reshape(leaves, width))
    _check_trees(part, len(depths))
    return SymmetricForest(np.array(depths, np.int64), _numbers(found, splits), np.concatenate(rows))


def _check_trees(part: Part, count: int) -> None:
    if not count:
        raise part.refuse("it has no trees; train it for at least one iteration")


def _free(part: Part, splits: Splits) -> Forest:
    first, left, right, leaf = [0], list[int](), list[int](), list[int]()
    found, outputs, width = list[Part](), list[Any](), 0
    for tree in part.items():
        below = [(tree.value, left, -1)]  # nodes to come: content, and where their parent names them
        while below:
            value, side, parent = below.pop()
            if parent >= 0:
                side[parent] = len(left) - first[-1]
            node = Part(value, tree.where)
            inner = not node.has("value")
            leaf.append(-1 if inner else len(leaf) - len(found))
            if inner:
                found.append(node.get("split"))
                below += [(node.get("right").value, right, len(left)), (node.get("left").value, left, len(left))]
            else:
                row = value["value"] if isinstance(value["value"], list) else [value["value"]]
                width = width or len(row)
                if len(row) != width or not row:
                    raise node.refuse(f"expected {width} output(s) in each leaf, got {len(row)}")
                outputs += row
            left.append(-1)
            right.append(-1)
        first.append(len(left))
    _check_trees(part, len(first) - 1)
    split = np.full(len(left), -1)
    split[np.array(leaf) < 0] = _numbers(found, splits)
    values = Part(outputs, part.where).reals().reshape(-1, width)
    return Forest(np.array(first), np.array(left), np.array(right), split, np.array(leaf), values)


def _numbers(found: list[Part], splits: Splits) -> I8:
    """Return the number of each split; refuse one whose feature or value is not the one of its number."""
    numbers = []
    for split in found:
        number = split.get("split_index").whole()
        splits.check_used(np.array([number]), split.where)
        numbers.append(number)
        kind, named = split.get("split_type").text(), splits.categorical[number]
        index = split.get("cat_feature_index" if named else "float_feature_index").whole()
        value = split.get("value").whole(-_INT32, _INT32 - 1) % 2**32 if named else _round(split.get("border").number())
        expected = ("OneHotFeature" if named else "FloatFeature", splits.index[number], splits.value[number])
        if (kind, index, value) != expected:
            told, got = (f"{kind} {index} at {value:.9g}" for kind, index, value in (expected, (kind, index, value)))
            raise split.refuse(f"expected {told}, which is split number {number}, got {got}")
    return np.array(numbers, np.int64)


def _scale_and_bias(model: Part, width: int) -> tuple[float, F8]:
    """Return the factor of the trees' sums, and what is added: float64 (K,)."""
    if not model.has("scale_and_bias"):
        return 1.0, np.zeros(width)
    scale, bias = _pair(model.get("scale_and_bias"))
    if isinstance(bias.value, list):
        return scale.number(), bias.reals(width) if bias.value else np.zeros(width)
    return scale.number(), np.full(width, bias.number())  # of versions before several outputs had one each


def _pair(part: Part) -> tuple[Part, Part]:
    items = list(part.items())
    if len(items) != 2:
        raise part.refuse(f"expected two entries, got {len(items)}")
    return items[0], items[1]


def _read_loss(info: Part) -> str:
    """Return the name of the loss that a model was trained for, "" if it is not said, as for sums of models."""
    params = _document(info, "params")
    found = _document(info if params is None or not params.has("loss_function") else params, "loss_function")
    return "" if found is None else found.get("type").text()


def _read_link(info: Part, n_outputs: int) -> str:
    """Return the link of the predictions; refuse an unknown loss, and one that has another number of outputs."""
    loss = _read_loss(info)
    if loss and loss not in _LINK:
        raise info.refuse(f"loss {loss!r} cannot be adopted, its predictions are unknown; known are {', '.join(_LINK)}")
    outputs = {**dict.fromkeys(_BINARY, 1), "RMSEWithUncertainty": 2}.get(loss, n_outputs)
    if outputs != n_outputs or (loss in _MULTICLASS and n_outputs == 1):
        raise info.refuse(f"loss {loss!r} does not go with {n_outputs} output(s)")
    return _LINK.get(loss, "identity")


def _read_cut(info: Part) -> float | None:
    """Return the raw value above which a row is of class 1 of two: 0, or that of `set_probability_threshold`.

    Of more classes it is 0, as the largest raw value tells the class.
    """
    if (loss := _read_loss(info)) not in _BINARY:
        return 0.0 if loss in _MULTICLASS else None
    threshold = 0.5
    if info.has("binclass_probability_threshold"):
        threshold = (part := info.get("binclass_probability_threshold")).number()
        if not 0 <= threshold <= 1:
            raise part.refuse(f"expected a probability, got {threshold:g}")
    if threshold in {0.0, 1.0}:
        return math.copysign(float(np.finfo(np.float64).max), threshold - 0.5)
    return -math.log(1 / threshold - 1)  # CatBoost's own form, equal to the last bit


def _read_classes(info: Part, n_outputs: int) -> NDArray[Any] | None:
    """Return the labels of a classifier with one label for each row: (classes,); None for other models."""
    loss = _read_loss(info)
    if loss not in _BINARY + _MULTICLASS:
        return None
    count = 2 if loss in _BINARY else n_outputs
    known = _document(info, "class_params" if info.has("class_params") else "multiclass_params")
    if known is not None:
        if known.has("class_names") and len(known.get("class_names")):
            return _labels(known, count)
        if known.has("classes_count") and known.get("classes_count").whole() == count:
            return np.arange(count)
        if known.has("class_to_label"):
            return known.get("class_to_label").reals(count).astype(np.int64)
    return np.arange(count)


def _labels(known: Part, count: int) -> NDArray[Any]:
    names = known.get("class_names")
    if len(names) != count:
        raise names.refuse(f"expected {count} labels, got {len(names)}")
    given = names.value
    kind = known.get("class_label_type").text() if known.has("class_label_type") else "String"
    if kind not in _LABELS:
        raise known.refuse(f"unknown type of labels {kind!r}, expected one of {', '.join(_LABELS)}")
    if kind == "String":
        return as_texts(names.texts())
    if kind == "Boolean":
        if not all(isinstance(label, bool) for label in given):
            raise names.refuse("expected truth values")
        return np.array(given)
    return names.wholes(low=-(2**53)) if kind == "Integer" else names.reals()


def _document(info: Part, name: str) -> Part | None:
    """Return a member that is a document, or a text with one; None without it."""
    if not info.has(name):
        return None
    part = info.get(name)
    return parse_json(part.value.encode(), part.where) if isinstance(part.value, str) else part
