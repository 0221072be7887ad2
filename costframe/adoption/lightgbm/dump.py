"""LightGBM's `dump_model()` as JSON: every member is checked before it is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.adoption.documents import Part
from costframe.adoption.lightgbm.saved import (
    CATEGORICAL,
    DEFAULT_LEFT,
    MISSING_SHIFT,
    Range,
    SavedModel,
    SavedTree,
    read_head,
    read_labels,
    refuse_linear,
)
from costframe.core.errors import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_dump"]

_MISSING = {"None": 0, "Zero": 1, "NaN": 2}
_INFINITE = 1e300  # a dump writes infinity so


def read_dump(document: Part) -> SavedModel:
    """Read a document.

    A dump by LightGBM 2 does not tell the objective; its predictions are the raw scores then.
    """
    model = read_head(document, document.get("feature_names").texts())
    trees = [_read_tree(Part(part.value, f"{document.where}: tree {t}"), model) for t, part in _numbered(document)]
    model = evolve(model, trees=trees)
    labels = read_labels(document.get("pandas_categorical"), model) if document.has("pandas_categorical") else []
    if not labels:
        return model
    infos = document.get("feature_infos")
    ranges = [_read_range(infos.get(name)) if infos.has(name) else None for name in model.names]
    return evolve(
        model,
        labels=labels,
        ranges=ranges,
        categorical=frozenset(f for f, each in enumerate(ranges) if isinstance(each, list)),
    )


def _numbered(document: Part) -> enumerate[Part]:
    return enumerate(document.get("tree_info").items())


def _read_tree(part: Part, model: SavedModel) -> SavedTree:
    """Read nested nodes; splits get their numbers parent first, leaves in the order of the splits."""
    outputs: list[float] = []
    splits: list[tuple[int, int, float]] = []
    children: list[list[int]] = []
    sets: list[NDArray[np.int64]] = []
    todo = [(part.get("tree_structure").value, -1, 0)]
    while todo:
        value, parent, side = todo.pop()
        node = Part(value, part.where)
        if node.has("leaf_value"):
            number = ~len(outputs)
            outputs.append(_read_leaf(node, model))
        else:
            number = len(splits)
            splits.append(_read_split(node, model, sets))
            children.append([0, 0])
            todo += [(node.get("right_child").value, number, 1), (node.get("left_child").value, number, 0)]
        if parent >= 0:
            children[parent][side] = number
    part.get("num_leaves").whole(len(outputs), len(outputs))
    if not splits:
        return SavedTree(np.array(outputs))
    feature, decision, threshold = zip(*splits, strict=True)
    left, right = np.array(children).T
    return SavedTree(np.array(outputs), np.array(feature), np.array(decision), np.array(threshold), left, right, sets)


def _read_leaf(leaf: Part, model: SavedModel) -> float:
    """Return the output of a leaf; a linear one must read no feature."""
    if not leaf.has("leaf_const"):
        return leaf.get("leaf_value").number()
    read = leaf.get("leaf_features").wholes(None, 0, model.n_features - 1)
    if len(read):
        raise refuse_linear(leaf.where, int(read[0]), model)
    return leaf.get("leaf_const").number()


def _read_split(node: Part, model: SavedModel, sets: list[NDArray[np.int64]]) -> tuple[int, int, float]:
    """Return feature, decision and threshold of a split; categories go to `sets`."""
    feature = node.get("split_feature").whole(0, model.n_features - 1)
    missing, test, default = (_choose(node, *each) for each in _CHOICES)
    decision = missing << MISSING_SHIFT | default | test
    if not test:
        threshold = node.get("threshold").number()
        return feature, decision, np.inf if threshold >= _INFINITE else threshold
    text = node.get("threshold").text()
    if not re.fullmatch(r"([0-9]{1,10}(\|\|[0-9]{1,10})*)?", text):
        raise node.refuse(f"expected categories such as '1||10||100', got {shown(text)}")
    sets.append(np.unique(np.array([int(code) for code in text.split("||") if code], np.int64)))
    return feature, decision, np.nan


_CHOICES: tuple[tuple[str, dict[Any, int]], ...] = (
    ("missing_type", _MISSING),
    ("decision_type", {"<=": 0, "==": CATEGORICAL}),
    ("default_left", {False: 0, True: DEFAULT_LEFT}),
)


def _choose(node: Part, name: str, known: dict[Any, int]) -> int:
    value = node.get(name).value
    if not isinstance(value, bool | str) or value not in known:
        raise node.refuse(f"expected {name!r} to be one of {', '.join(map(str, known))}, got {shown(value)}")
    return known[value]


def _read_range(info: Part) -> Range:
    """Return what a feature was in training."""
    codes = info.get("values").wholes(None, -(2**31), 2**31)
    return codes.tolist() if len(codes) else (info.get("min_value").number(), info.get("max_value").number())
