"""CatBoost's JSON, read with a check of all that is used of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from costframe.adoption.catboost.losses import read_catboost_link, read_classes, read_cut
from costframe.adoption.catboost.model import CatBoostModel
from costframe.adoption.catboost.splits import CATEGORICAL, FLOAT, Feature, SplitGroup, Splits, ctr_reason
from costframe.adoption.catboost.trees import DEEPEST, NodeForest, SymmetricForest
from costframe.adoption.documents import DocumentPart
from costframe.core.arrays import F8, I8
from costframe.core.errors import shown

_INT32 = 2**31
_NAN_TREATMENTS = ("AsIs", "AsFalse", "AsTrue")


def read_document(model: DocumentPart) -> CatBoostModel:
    """Return the model of a JSON document."""
    pairs = list(_read_groups(model.get("features_info")))
    splits = Splits.of([group for _, group in pairs], model.where)
    oblivious = model.has("oblivious_trees")
    trees = (
        _read_symmetric(model.get("oblivious_trees"), splits) if oblivious else _read_free(model.get("trees"), splits)
    )
    width = trees.outputs.shape[1]
    scale, bias = _read_scale_and_bias(model, width)
    info = model.get("model_info") if model.has("model_info") else DocumentPart({}, model.where)
    features = [feature for feature, _ in pairs if feature is not None]
    link, classes, cut = read_catboost_link(info, width), read_classes(info, width), read_cut(info)
    by_column = tuple(sorted(features, key=lambda feature: feature.column))
    return CatBoostModel(model.where, by_column, splits, trees, scale, bias, link, classes, cut)


def _read_groups(info: DocumentPart) -> Iterator[tuple[Feature | None, SplitGroup]]:
    """Return each feature with the group of its splits, then the groups of CTRs, which are of several features."""
    for part in _list_parts(info, "float_features"):
        feature, treatment = _read_feature(part, FLOAT), part.get("nan_value_treatment").text()
        if treatment not in _NAN_TREATMENTS:
            raise part.refuse(f"unknown nan_value_treatment {treatment!r}, expected one of {_NAN_TREATMENTS}")
        borders = _round_to_float32(part.get("borders").reals()) if part.has("borders") else np.empty(0)
        has_nans = part.get("has_nans")
        if not isinstance(has_nans.value, bool):
            raise has_nans.refuse(f"expected true or false, got {shown(has_nans.value)}")
        yield feature, SplitGroup(feature, borders, has_nans.value and treatment == "AsTrue")
    names = {}
    for part in _list_parts(info, "categorical_features"):
        feature = _read_feature(part, CATEGORICAL)
        names[feature.index] = feature.title
        values = (
            part.get("values").wholes(low=-_INT32, high=_INT32 - 1) if part.has("values") else np.empty(0, np.int64)
        )
        yield feature, SplitGroup(feature, (values % 2**32).astype(np.float64))
    for part in _list_parts(info, "ctrs"):
        elements = [element for element in _list_parts(part, "elements") if element.has("cat_feature_index")]
        used = [names.get(element.get("cat_feature_index").whole(), "unknown") for element in elements]
        yield None, SplitGroup(None, part.get("borders").reals(), reason=ctr_reason(used))


def _list_parts(part: DocumentPart, name: str) -> Iterator[DocumentPart]:
    return part.get(name).items() if part.has(name) else iter(())


def _read_feature(part: DocumentPart, kind: str) -> Feature:
    name = part.get("feature_id").text() if part.has("feature_id") else ""
    index, column = (part.get(name).whole(high=_INT32) for name in ("feature_index", "flat_feature_index"))
    return Feature(kind, column, index, name)


def _round_to_float32(borders: Any) -> F8:
    """Return numbers in float32 precision: float64."""
    with np.errstate(over="ignore"):
        return np.asarray(borders, np.float64).astype(np.float32).astype(np.float64)


def _read_symmetric(part: DocumentPart, splits: Splits) -> SymmetricForest:
    depths, tests, width = list[int](), list[DocumentPart](), 0
    rows: list[F8] = []
    for tree in part.items():
        levels, outputs = list(_list_parts(tree, "splits")), tree.get("leaf_values").reals()
        leaves = 2 ** min(len(levels), DEEPEST)
        width = width or max(len(outputs) // leaves, 1)
        if len(levels) > DEEPEST or len(outputs) != leaves * width:
            raise tree.refuse(
                f"expected at most {DEEPEST} splits and {width} output(s) in each of 2^splits leaves, "
                f"got {len(levels)} splits and {len(outputs):,} leaf values"
            )
        depths.append(len(levels))
        tests += levels
        rows.append(outputs.reshape(leaves, width))
    _check_trees(part, len(depths))
    return SymmetricForest(np.array(depths, np.int64), _number_splits(tests, splits), np.concatenate(rows))


def _check_trees(part: DocumentPart, count: int) -> None:
    if not count:
        raise part.refuse("it has no trees; train it for at least one iteration")


def _read_free(part: DocumentPart, splits: Splits) -> NodeForest:
    first, left, right, leaf = [0], list[int](), list[int](), list[int]()
    tests, outputs, width = list[DocumentPart](), list[Any](), 0
    for tree in part.items():
        below = [(tree.value, left, -1)]  # nodes to come: content, and where their parent names them
        while below:
            value, side, parent = below.pop()
            if parent >= 0:
                side[parent] = len(left) - first[-1]
            node = DocumentPart(value, tree.where)
            inner = not node.has("value")
            leaf.append(-1 if inner else len(leaf) - len(tests))
            if inner:
                tests.append(node.get("split"))
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
    split[np.array(leaf) < 0] = _number_splits(tests, splits)
    values = DocumentPart(outputs, part.where).reals().reshape(-1, width)
    return NodeForest(np.array(first), np.array(left), np.array(right), split, np.array(leaf), values)


def _number_splits(tests: list[DocumentPart], splits: Splits) -> I8:
    """Return the number of each split; refuse one with another feature or value than its number."""
    numbers = []
    for split in tests:
        number = split.get("split_index").whole()
        splits.check_used(np.array([number]), split.where)
        numbers.append(number)
        kind, named = split.get("split_type").text(), splits.categorical[number]
        index = split.get("cat_feature_index" if named else "float_feature_index").whole()
        value = (
            split.get("value").whole(-_INT32, _INT32 - 1) % 2**32
            if named
            else _round_to_float32(split.get("border").number())
        )
        expected = ("OneHotFeature" if named else "FloatFeature", splits.index[number], splits.value[number])
        if (kind, index, value) != expected:
            told, got = (f"{kind} {index} at {value:.9g}" for kind, index, value in (expected, (kind, index, value)))
            raise split.refuse(f"expected {told}, which is split number {number}, got {got}")
    return np.array(numbers, np.int64)


def _read_scale_and_bias(model: DocumentPart, width: int) -> tuple[float, F8]:
    """Return the factor of the trees' sums, and what is added: float64 (K,)."""
    if not model.has("scale_and_bias"):
        return 1.0, np.zeros(width)
    scale, bias = _read_pair(model.get("scale_and_bias"))
    if isinstance(bias.value, list):
        return scale.number(), bias.reals(width) if bias.value else np.zeros(width)
    return scale.number(), np.full(width, bias.number())  # of versions before several outputs had one each


def _read_pair(part: DocumentPart) -> tuple[DocumentPart, DocumentPart]:
    items = list(part.items())
    if len(items) != 2:
        raise part.refuse(f"expected two entries, got {len(items)}")
    return items[0], items[1]
