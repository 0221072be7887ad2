"""Stage trees saved to one file and loaded from it: data only, never code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.bank import OPAQUE, WeakLearnerBank
from costframe.core.container import MAGIC, check_magic, pack, unpack
from costframe.core.costs import CostModel
from costframe.core.errors import CostframeError, StorageError
from costframe.core.fallbacks import Fallbacks
from costframe.core.files import write_atomically
from costframe.core.opaque import OpaqueLearner
from costframe.core.stage_tree import StageTree
from costframe.core.stages import Answer, Route
from costframe.core.tree_table import TreeTable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.stages import Stage

    OpaqueFunctions = Mapping[str, Callable[[NDArray[np.float64]], ArrayLike]]

__all__ = ["load", "save"]

_BANK = {"kind": "|u1", "index": "<i4", "evaluation": "<f8", "column_feature": "<i4", "column_fill": "<f8"}
_TREES = {
    "first": "<i8", "feature": "<i4", "threshold": "<f8", "missing_left": "|u1", "left": "<i4", "right": "<i4",
    "width": "<i4", "value": "<i8", "values": "<f8", "category_count": "<i4", "categories": "<f8",
}  # fmt: skip
_STAGE = {"learners": "<i8", "weights": "<f8", "intercept": "<f8"}
_CUT = "<f8"  # threshold and steepness of a route
_FALLBACKS = {
    "node_values": 1, "column_values": 1, "opaque_values": 1, "knots": 1, "offset": 2, "slope": 2, "carry": 2,
    "mean": 2, "low": 2, "high": 2,
}  # fmt: skip


def save(predictor: object, path: str | os.PathLike[str], costs: object = None) -> None:
    """Write a predictor to one file, whole or not at all; the same model gives the same bytes.

    Opaque learners are written as name, features and width. Class labels belong to estimators and are not written.

    Parameters
    ----------
    predictor : StageTree, or an estimator fitted to one
    path : str or path
    costs : CostModel, or what makes one
        Prices that the loaded predictor has as its own; None keeps those of `predictor`.

    Raises
    ------
    StorageError
        If `predictor` is no stage tree, or the file cannot be written; then an old file stands as it was.
    CostModelError
        If `costs` does not price every feature of the predictor.
    """
    file = Path(path)
    tree = getattr(predictor, "predictor_", predictor)
    if not isinstance(tree, StageTree):
        raise StorageError(f"{file}: only stage trees can be saved, got {type(tree).__name__}")
    if costs is not None:
        model = CostModel.of(costs, tree.feature_names)
        model.select(tree.feature_names)
        tree = tree.with_costs(model)
    content = pack(_describe(tree), _arrays_of(tree))
    try:
        write_atomically(file, content)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def load(path: str | os.PathLike[str], opaque: OpaqueFunctions | None = None) -> StageTree:
    """Read a saved predictor, equal to the saved one in predictions, costs and inquiries to the last bit.

    Parameters
    ----------
    path : str or path
    opaque : mapping of str to callable, optional
        The function of each opaque learner in the file, as `OpaqueLearner` takes it.

    Raises
    ------
    StorageError
        If the file cannot be read, is no saved predictor, is truncated, altered, or newer than this version, describes
        no possible model, or `opaque` does not hold exactly the functions of its opaque learners.
    """
    file = Path(path)
    try:
        model, arrays = unpack(_read(file))
        return _build(model, _Arrays(arrays), {} if opaque is None else opaque)
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(MAGIC))
            check_magic(begin)  # before the rest of somebody's large file is read
            return begin + stream.read()
    except CostframeError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _describe(tree: StageTree) -> dict[str, Any]:
    """Say what the arrays do not hold."""
    bank = tree.bank
    for learner in bank.opaques:
        if not isinstance(learner.name, str):
            raise StorageError(f"opaque learner {learner.name!r}: expected a text as its name")
    return {
        "feature_names": list(bank.feature_names),
        "categories": [list(bank.categories.get(name, ())) for name in bank.feature_names],
        "opaques": [{"name": o.name, "features": list(o.features), "width": int(o.width)} for o in bank.opaques],
        "stages": [
            _answer_of(stage) if isinstance(stage, Answer) else {"below": stage.below, "above": stage.above}
            for stage in tree.stages
        ],
        "costs": None if tree.costs is None else tree.costs.to_dict(),
        "fallbacks": tree.fallbacks is not None,
    }


def _answer_of(answer: Answer) -> dict[str, Any]:
    return {"link": answer.link} | ({"level": answer.level} if answer.link == "ranked" else {})


def _arrays_of(tree: StageTree) -> dict[str, NDArray[Any]]:
    arrays = {f"bank.{key}": getattr(tree.bank, key).astype(dtype) for key, dtype in _BANK.items()}
    arrays |= {f"trees.{key}": getattr(tree.bank.trees, key).astype(dtype) for key, dtype in _TREES.items()}
    for number, stage in enumerate(tree.stages):
        arrays |= {f"stage.{number}.{key}": getattr(stage, key).astype(dtype) for key, dtype in _STAGE.items()}
        if isinstance(stage, Route):
            arrays[f"stage.{number}.cut"] = np.array([stage.threshold, stage.steepness], _CUT)
    if tree.fallbacks is not None:
        arrays |= {f"fallbacks.{key}": getattr(tree.fallbacks, key).astype("<f8") for key in _FALLBACKS}
    return arrays


class _Arrays:
    """The arrays of a file, each taken once with the dtype and number of dimensions it must have."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._left = arrays

    def take(self, name: str, dtype: str, ndim: int = 1) -> NDArray[Any]:
        array = self._left.pop(name, None)
        if array is None:
            raise StorageError(f"malformed: no array {name!r}")
        if array.dtype != np.dtype(dtype).newbyteorder("=") or array.ndim != ndim:
            raise StorageError(
                f"malformed: array {name!r}: expected {ndim} dimension(s) of {dtype}, got {array.ndim} of {array.dtype}"
            )
        return array

    def take_all(self, prefix: str, dtypes: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        return {key: self.take(f"{prefix}.{key}", dtype, 2 if key == "weights" else 1) for key, dtype in dtypes.items()}

    def close(self) -> None:
        if self._left:
            raise StorageError(f"malformed: unknown arrays {sorted(self._left)}")


def _build(model: object, arrays: _Arrays, functions: OpaqueFunctions) -> StageTree:
    names, labels, opaques, stages, costs, expects = _fields(
        model, "model", "feature_names", "categories", "opaques", "stages", "costs", "fallbacks"
    )
    for part in (names, labels, opaques, stages):
        if not isinstance(part, list):
            raise StorageError(f"malformed model: expected a list, got {type(part).__name__}")
    if not all(isinstance(name, str) for name in names):
        raise StorageError("malformed model: expected texts as feature names")
    if len(labels) != len(names) or not all(isinstance(each, list) for each in labels):
        raise StorageError(f"malformed model: expected a list of categories for each of {len(names)} features")
    read = arrays.take_all("bank", _BANK)
    _within("bank.kind", read["kind"], 0, OPAQUE)
    learners: Any = _opaque_learners(opaques, functions, len(names))
    categories: Any = {name: each for name, each in zip(names, labels, strict=True) if each}
    bank = WeakLearnerBank(names, **read, trees=_tree_table(arrays), opaques=learners, categories=categories)
    parts: Any = [_stage(number, stage, arrays) for number, stage in enumerate(stages)]
    if type(expects) is not bool:
        raise StorageError(f"malformed model: expected true or false for fallbacks, got {expects!r:.80}")
    fallbacks = (
        Fallbacks(**{key: arrays.take(f"fallbacks.{key}", "<f8", ndim) for key, ndim in _FALLBACKS.items()})
        if expects
        else None
    )
    tree = StageTree(bank, parts, None if costs is None else CostModel.from_dict(costs), fallbacks=fallbacks)
    arrays.close()
    return tree


def _tree_table(arrays: _Arrays) -> TreeTable:
    """Make the trees; sums and differences of numbers near the ends of int64 would wrap, so ranges come first."""
    read = arrays.take_all("trees", _TREES)
    _within("trees.first", read["first"], 0, len(read["feature"]))
    _within("trees.value", read["value"], -1, len(read["values"]))
    _within("trees.missing_left", read["missing_left"], 0, 1)
    _within("trees.category_count", read["category_count"], 0, len(read["categories"]))
    return TreeTable(**read)


def _within(name: str, array: NDArray[Any], least: int, most: int) -> None:
    if array.size and not (least <= array.min() and array.max() <= most):
        raise StorageError(f"malformed: array {name!r}: expected {least} to {most}, got {array.min()} to {array.max()}")


def _stage(number: int, stage: object, arrays: _Arrays) -> Stage:
    read = arrays.take_all(f"stage.{number}", _STAGE)
    if isinstance(stage, dict) and "link" in stage:
        named = ("link", "level") if stage["link"] == "ranked" else ("link",)
        link, *level = _fields(stage, f"stage {number}", *named)
        return Answer(**read, link=link, level=level[0] if level else 0.0)
    below, above = _fields(stage, f"stage {number}", "below", "above")
    cut = arrays.take(f"stage.{number}.cut", _CUT)
    if len(cut) != 2 or type(below) is not int or type(above) is not int:
        raise StorageError(f"malformed stage {number}: expected a threshold, a steepness and two later stages")
    return Route(**read, threshold=cut[0], steepness=cut[1], below=below, above=above)


def _opaque_learners(described: list[object], functions: OpaqueFunctions, n_features: int) -> tuple[OpaqueLearner, ...]:
    parts = [_fields(each, "opaque learner", "name", "features", "width") for each in described]
    for name, features, width in parts:
        if not (isinstance(name, str) and isinstance(features, list) and type(width) is int and 0 < width < 2**31):
            raise StorageError(f"malformed opaque learner {name!r:.80}: expected a name, features and a width")
        if not all(type(f) is int and 0 <= f < n_features for f in features):
            raise StorageError(f"malformed opaque learner {name!r}: expected columns below {n_features}")
    _check_functions([name for name, _, _ in parts], functions)
    return tuple(OpaqueLearner(name, functions[name], features, width) for name, features, width in parts)


def _check_functions(names: list[str], functions: object) -> None:
    if not isinstance(functions, Mapping):
        raise StorageError(f"opaque: expected a mapping of names to callables, got {type(functions).__name__}")
    if missing := [name for name in names if name not in functions]:
        raise StorageError(
            f"a saved file holds no code: pass opaque={{name: callable}} with the functions of {_listed(missing)}"
        )
    if surplus := [name for name in functions if name not in names]:
        raise StorageError(f"opaque: {_listed(surplus)} not in the file, whose opaque learners are [{_listed(names)}]")
    for name in names:
        if not callable(functions[name]):
            raise StorageError(f"opaque: expected a callable for {name!r}, got {type(functions[name]).__name__}")


def _fields(table: object, where: str, *keys: str) -> tuple[Any, ...]:
    if not isinstance(table, dict) or table.keys() != set(keys):
        got = list(table) if isinstance(table, dict) else type(table).__name__
        raise StorageError(f"malformed {where}: expected exactly {list(keys)}, got {got!r:.80}")
    return tuple(table[key] for key in keys)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))
