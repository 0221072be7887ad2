"""Model files of xgboost, JSON or UBJSON, read with a check of every bound, because broken ones end the process."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["load_xgboost"]

_SUFFIXES = (".json", ".ubj")
_NODE_ARRAYS = (
    "left_children",
    "right_children",
    "parents",
    "split_indices",
    "split_conditions",
    "split_type",
    "default_left",
)
_ROOT_PARENTS = (-1, 2**31 - 1)
_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 64


def load_xgboost(path: str | PathLike[str]) -> Any:
    """Load a Booster from a `.json` or `.ubj` file of xgboost's `save_model`; refuse any other file.

    xgboost does not check the lengths and node numbers in a file, and a broken one ends the process. So this function
    checks them first.
    """
    import xgboost

    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise AdoptionError(f"{path}: expected an xgboost model saved as {' or '.join(_SUFFIXES)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AdoptionError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        _check(json.loads(data) if path.suffix == ".json" else _read_ubjson(data))
        booster = xgboost.Booster()
        booster.load_model(bytearray(data))
    except (xgboost.core.XGBoostError, ValueError, TypeError, OverflowError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AdoptionError(f"{path}: is not a whole xgboost model ({reason})") from error
    except (KeyError, AttributeError) as error:
        raise AdoptionError(f"{path}: is not an xgboost model, it lacks or garbles {error}") from error
    return booster


def _check(document: Any) -> None:
    learner = document["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] == "gblinear":
        return
    inner = boosting.get("gbtree", boosting)["model"]
    trees = inner["trees"]
    if int(inner["gbtree_model_param"]["num_trees"]) != len(trees):
        raise ValueError(f"{len(trees)} trees, where 'num_trees' tells of {inner['gbtree_model_param']['num_trees']}")
    _check_rounds(learner, boosting, inner)
    _check_version(document["version"], trees)
    for number, tree in enumerate(trees):
        if tree.keys() != trees[0].keys() or int(tree["id"]) != number:
            raise ValueError(f"tree {number}: carries another number or other fields than expected")
        _check_tree(number, tree, int(learner["learner_model_param"]["num_feature"]))
        _check_outputs(number, tree, _groups(learner))


def _check_version(version: Any, trees: Any) -> None:
    """Refuse vector leaves of another version: their format has changed, and xgboost reads beyond an older one."""
    import xgboost

    wrote = ".".join(str(part) for part in list(version)[:2])
    reads = ".".join(xgboost.__version__.split(".")[:2])
    if wrote != reads and any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise ValueError(f"its multi_output_tree is written by xgboost {wrote}, xgboost {reads} is installed")


def _groups(learner: Any) -> int:
    sizes = learner["learner_model_param"]
    return max(int(sizes["num_class"]), int(sizes.get("num_target", 1)), 1)


def _check_rounds(learner: Any, boosting: Any, inner: Any) -> None:
    groups = _groups(learner)
    trees = len(inner["trees"])
    info = np.asarray(inner["tree_info"], np.int64)
    if info.shape != (trees,) or ((info < 0) | (info >= groups)).any():
        raise ValueError(f"'tree_info' must hold one of {groups} groups for each of {trees} trees")
    rounds = np.asarray(inner.get("iteration_indptr", [0, trees]), np.int64)
    if rounds.ndim != 1 or len(rounds) < 1 or rounds[0] != 0 or rounds[-1] != trees or (np.diff(rounds) < 0).any():
        raise ValueError(f"'iteration_indptr' must rise from 0 to {trees}")
    if boosting["name"] == "dart" and len(boosting["weight_drop"]) != trees:
        raise ValueError(f"'weight_drop' must hold one weight for each of {trees} trees")


def _check_tree(number: int, tree: Any, n_features: int) -> None:
    nodes = int(tree["tree_param"]["num_nodes"])
    for name in _NODE_ARRAYS:
        if nodes < 1 or np.shape(tree[name]) != (nodes,):
            raise ValueError(f"tree {number}: {name!r} must hold one entry for each of {nodes} nodes")
    left, right, parents = (np.asarray(tree[name], np.int64) for name in ("left_children", "right_children", "parents"))
    inner = np.flatnonzero(left >= 0)
    sides = np.concatenate([left[inner], right[inner]])
    children = np.concatenate([left, right])
    in_range = ((children >= -1) & (children < nodes)).all() and (sides > 0).all()
    climbs = ((parents[1:] >= 0) & (parents[1:] < nodes)).all() and parents[0] in _ROOT_PARENTS
    if not (in_range and climbs and (parents[sides] == np.tile(inner, 2)).all()):
        raise ValueError(f"tree {number}: its nodes do not form a tree")
    column = np.asarray(tree["split_indices"], np.int64)[inner]
    if ((column < 0) | (column >= n_features)).any():
        raise ValueError(f"tree {number}: splits a feature beyond the {n_features} of the model")
    if np.flatnonzero(tree["split_type"]).tolist() != np.asarray(tree["categories_nodes"]).tolist():
        raise ValueError(f"tree {number}: 'split_type' and 'categories_nodes' disagree")


def _check_outputs(number: int, tree: Any, groups: int) -> None:
    nodes = int(tree["tree_param"]["num_nodes"])
    width = int(tree["tree_param"]["size_leaf_vector"])
    if width not in {1, groups} or np.shape(tree["base_weights"]) != (nodes * width,):
        raise ValueError(f"tree {number}: 'base_weights' must hold {groups} or 1 outputs for each of {nodes} nodes")
    for name in ("loss_changes", "sum_hessian"):
        if np.shape(tree.get(name, [0] * nodes)) != (nodes,):
            raise ValueError(f"tree {number}: {name!r} must hold one entry for each of {nodes} nodes")
    if width > 1 and "leaf_weights" in tree:
        vectors = np.asarray(tree["right_children"], np.int64)[np.asarray(tree["left_children"], np.int64) < 0]
        if vectors.min() < 0 or (vectors.max() + 1) * width > len(tree["leaf_weights"]):
            raise ValueError(f"tree {number}: a leaf has no outputs in 'leaf_weights'")


def _read_ubjson(data: bytes) -> Any:
    """Read one document of Universal Binary JSON; typed arrays become one-dimensional numpy arrays.

    A ValueError names the byte if the data is truncated, malformed, nested more than 64 deep, or longer than the
    document.
    """
    reader = _Reader(data)
    document = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"the document ends at byte {reader.at} of {len(data)}")
    return document


class _Reader:
    """A position in the data; every method reads from it and moves it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} at byte {self.at}")
        marker = self._take(1)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _FORMATS:
            return self._number(marker)
        if marker == b"S":
            return self._text()
        if marker == b"[":
            return self._array(depth)
        if marker == b"{":
            return self._object(depth)
        raise ValueError(f"unknown marker {marker!r} at byte {self.at - 1}")

    def _object(self, depth: int) -> dict[str, Any]:
        members = {}
        while self._peek() != b"}":
            name = self._text()
            members[name] = self.value(depth + 1)
        self.at += 1
        return members

    def _array(self, depth: int) -> list[Any] | NDArray[np.generic]:
        if self._peek() == b"$":
            return self._typed_array()
        if self._peek() == b"#":
            self.at += 1
            return [self.value(depth + 1) for _ in range(self._length())]
        items = []
        while self._peek() != b"]":
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def _typed_array(self) -> NDArray[np.generic]:
        _, marker, sign = self._take(1), self._take(1), self._take(1)
        if marker not in _NUMBERS or sign != b"#":
            raise ValueError(f"malformed typed array at byte {self.at - 3}")
        dtype = np.dtype(_NUMBERS[marker])
        return np.frombuffer(self._take(self._length() * dtype.itemsize), dtype)

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _length(self) -> int:
        marker = self._take(1)
        if marker not in {b"i", b"U", b"I", b"l", b"L"}:
            raise ValueError(f"expected a length at byte {self.at - 1}, got {marker!r}")
        length = int(self._number(marker))
        if length < 0:
            raise ValueError(f"negative length {length} at byte {self.at}")
        return length

    def _number(self, marker: bytes) -> Any:
        form = _FORMATS[marker]
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _peek(self) -> bytes:
        if self.at >= len(self.data):
            raise ValueError(f"truncated at byte {self.at}")
        return self.data[self.at : self.at + 1]

    def _take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError(f"truncated: {self.at + count} bytes are needed, there are {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]
