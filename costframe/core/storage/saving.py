"""Saving and loading of predictors: one file with data only, never code."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np

from costframe.core.checks import as_path
from costframe.core.errors import CostframeError, StorageError
from costframe.core.files import write_atomically
from costframe.core.learners.tree_table import TREE
from costframe.core.numerals import DECIMALS
from costframe.core.predictors.certain import CertainPredictor
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.stages import Route, Stage
from costframe.core.stages.stops import Rung, Stop
from costframe.core.storage.container import MAGIC, check_magic, pack, unpack
from costframe.core.storage.stored_parts import (
    BANK_FIELDS,
    STAGE,
    Arrays,
    OpaqueFunctions,
    StoredArrays,
    as_list,
    build_answer,
    build_bank,
    build_classes,
    build_preparation,
    check_functions,
    fields_of,
    store_answer,
    store_bank,
    store_classes,
    store_preparation,
)

Savable = StageTree | PlannedPredictor | PreparedPredictor | MixedPredictor

_FEW_USES, _MOST_USES = 2**21, 64  # of nodes by stages: any file may have so many; or for each number in the file
_CUT = "<f8"  # threshold and steepness of a route
_FALLBACKS = {
    "node_values": 1, "column_values": 1, "opaque_values": 1, "knots": 1, "offset": 2, "slope": 2, "carry": 2,
    "mean": 2, "low": 2, "high": 2,
}  # fmt: skip
_TREE_FIELDS = (*BANK_FIELDS, "stages", "costs", "fallbacks")
_PLAN_FIELDS = (*BANK_FIELDS, "gains", "stops", "tradeoff", "batch", "costs")


def save(predictor: object, path: str | os.PathLike[str], costs: object = None) -> None:
    """Write a predictor to one file, whole or not at all; equal models give equal bytes.

    An opaque learner is written as its name, features and width.

    Parameters
    ----------
    predictor : StageTree, PlannedPredictor or PreparedPredictor, or an estimator fitted to one
        Of an estimator, `load` gives back a `FittedEstimator`, which predicts as it did.
    path : str or path
    costs : CostModel, or anything `CostModel.of` accepts
        Prices of the loaded predictor; None keeps those of `predictor`.

    Raises
    ------
    StorageError
        If `predictor` cannot be saved, or the file cannot be written; an old file is then unchanged.
    CostModelError
        If `costs` does not price every feature of the predictor.
    """
    file = as_path(path)
    try:
        content = content_of(predictor, costs)
    except StorageError as error:
        raise StorageError(f"{file}: {error}") from error
    write_content(file, content)


def write_content(file: Path, content: bytes) -> None:
    """Write the content of `content_of`, whole or not at all."""
    try:
        write_atomically(file, content)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def content_of(predictor: object, costs: object = None, decimal: str | None = None) -> bytes:
    """Return the content of the file that `save` writes; errors are those of `save`, without the file.

    `decimal` is the decimal sign of the training table, by default that which a loaded estimator has.
    """
    if predictor is None:
        raise StorageError("expected a model to save, got None")
    arrays = dict[str, Any]()
    model: Any = getattr(predictor, "predictor_", predictor)
    if (core := _strange_part(model)) is not None:
        known = "StageTree or a PlannedPredictor"
        hint = "; adopt it first: cf.save(cf.adopt(model), path)" if hasattr(core, "predict") else ""
        hint = "; call fit first" if hasattr(core, "fit") and hasattr(core, "cost") else hint
        hint = (
            "; save the model without cf.certain, and wrap what load returns"
            if isinstance(core, CertainPredictor)
            else hint
        )
        raise StorageError(f"expected a {known}, only these can be saved; got {type(core).__name__}{hint}")
    if costs is not None:
        prices = CostModel.of(costs, model.feature_names)
        prices.select(model.feature_names)
        model = model.with_costs(prices)
    kind = getattr(predictor, "kind", FittedEstimator(model).kind) if hasattr(predictor, "predictor_") else None
    described = _store(model, arrays) | {"classes": store_classes(model.classes), "estimator": kind}
    decimal = getattr(predictor, "decimal", None) if decimal is None else decimal
    return pack(described | ({} if decimal is None else {"decimal": decimal}), arrays)


def checksum(predictor: Predictor) -> bytes:
    """Return a hash of all that `save` writes of a predictor; empty for one that it cannot save."""
    mixes_functions = isinstance(predictor, MixedPredictor) and opaque_names(predictor)
    if _strange_part(predictor) is not None or mixes_functions:
        return b""
    arrays, model = dict[str, Any](), cast("Savable", predictor)
    return sha256(pack(_store(model, arrays) | {"classes": store_classes(model.classes)}, arrays)).digest()


def opaque_names(model: Any) -> list[str]:
    """Return the names of the functions that a file of the model does not hold."""
    if isinstance(model, MixedPredictor):
        return [*opaque_names(model.first), *opaque_names(model.second)]
    if isinstance(model, PreparedPredictor):
        return [*(each.name for each in model.preparation.opaques), *opaque_names(model.inner)]
    return [each.name for each in model.bank.opaques] if hasattr(model, "bank") else []


def _strange_part(model: Any) -> Any:
    """Return the part of a model that cannot be saved, or None."""
    if isinstance(model, MixedPredictor):
        return next((part for each in (model.first, model.second) if (part := _strange_part(each)) is not None), None)
    core = model.inner if isinstance(model, PreparedPredictor) else model
    return None if isinstance(core, StageTree | PlannedPredictor | MixedPredictor) else core


def load(path: str | os.PathLike[str], opaque: OpaqueFunctions | None = None) -> Predictor | FittedEstimator:
    """Read a saved predictor or estimator, equal to the saved one in predictions, costs and inquiries to the last bit.

    Parameters
    ----------
    path : str or path
    opaque : mapping of str to callable, optional
        Function of each opaque learner in the file; see `OpaqueLearner`.

    Raises
    ------
    StorageError
        If the file cannot be read, is not a saved predictor, is truncated, altered, newer than this version, or
        describes an invalid model; or if `opaque` does not hold exactly the functions of its opaque learners.
    """
    file = as_path(path)
    try:
        return from_content(read_content(file), opaque)
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def load_fitted(path: str | os.PathLike[str]) -> FittedEstimator:
    """Read a saved predictor or estimator as an estimator, with the decimal sign of its table; errors are of `load`."""
    file = as_path(path)
    try:
        return _build(*_unpack(read_content(file)), {})
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def from_content(content: bytes, opaque: OpaqueFunctions | None = None) -> Predictor | FittedEstimator:
    """Return the model of a file's content; errors are those of `load`, without the file."""
    model, arrays = _unpack(content)
    fitted = _build(model, arrays, {} if opaque is None else opaque)
    return fitted.predictor_ if model["estimator"] is None else fitted


def _unpack(content: bytes) -> tuple[Any, StoredArrays]:
    model, arrays = unpack(content)
    return model, StoredArrays(arrays)


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as one of `save` does."""
    try:
        with as_path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_content(file: Path) -> bytes:
    """Read a file that begins as those of `save`; errors are those of `load`, without the file."""
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(MAGIC))
            check_magic(begin)  # before reading the rest of a large file
            return begin + stream.read()
    except CostframeError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _build(model: Any, arrays: StoredArrays, functions: OpaqueFunctions) -> FittedEstimator:
    spelled = ("decimal",) if isinstance(model, dict) and "decimal" in model else ()
    predictor = _build_kind(model, arrays, functions, "classes", "estimator", *spelled)
    arrays.close()
    predictor, kind = predictor.with_classes(build_classes(model["classes"])), model["estimator"]
    if spelled and model["decimal"] not in DECIMALS:
        raise StorageError(f"malformed decimal: expected one of {DECIMALS}, got {model['decimal']!r:.80}")
    kinds = {} if kind is None else {"kind": kind}
    return FittedEstimator(predictor, **kinds, decimal=model["decimal"] if spelled else None)


def _build_kind(model: Any, arrays: StoredArrays, functions: OpaqueFunctions, *more: str) -> Savable:
    named = model.get("kind") if isinstance(model, dict) else None
    if not isinstance(named, str) or named not in _BUILDERS:
        raise StorageError(f"malformed model: expected one of the kinds {list(_BUILDERS)}, got {named!r:.80}")
    keys, build = _BUILDERS[named]
    fields_of(model, "model", "kind", *more, *keys)
    return build(model, arrays, functions)


def _store(model: Savable, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a model to `arrays`; return its other parts as JSON values."""
    if isinstance(model, PreparedPredictor):
        _check_names(model)
        parts = {"preparation": store_preparation(model.preparation, arrays), "inner": _store(model.inner, arrays)}
        return {"kind": "prepared", **parts, "costs": _prices_of(model.costs)}
    if isinstance(model, MixedPredictor):
        return {"kind": "mixed", "share": float(model.share), "by": list(model.by)} | {
            name: _store_part(getattr(model, name), arrays, f"{name}.") for name in ("first", "second")
        }
    return _store_tree(model, arrays) if isinstance(model, StageTree) else _store_plan(model, arrays)


def _store_part(model: Savable, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Add the arrays of a part of a mixture to `arrays`, under names with a prefix; it has no opaque learners."""
    if names := opaque_names(model):
        raise StorageError(f"{prefix}opaque: expected no opaque learners in a mixture, got {names!r:.80}")
    own = dict[str, Any]()
    described = _store(model, own)
    arrays |= {f"{prefix}{name}": array for name, array in own.items()}
    return described


def _store_tree(tree: StageTree, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a stage tree to `arrays`; return its other parts as JSON values."""
    described = {"kind": "stages", **store_bank(tree.bank, arrays), "stages": []}
    for number, stage in enumerate(tree.stages):
        part: dict[str, Any] = store_answer(stage, arrays, f"stage.{number}")
        if isinstance(stage, Route):
            part = {"below": stage.below, "above": stage.above}
            arrays[f"stage.{number}.cut"] = np.array([stage.threshold, stage.steepness], _CUT)
        described["stages"].append(part)
    if tree.fallbacks is not None:
        arrays |= {f"fallbacks.{key}": getattr(tree.fallbacks, key).astype("<f8") for key in _FALLBACKS}
    return described | {"costs": _prices_of(tree.costs), "fallbacks": tree.fallbacks is not None}


def _build_tree(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> StageTree:
    bank = build_bank(model, arrays, functions)
    parts: Any = [_build_stage(number, stage, arrays) for number, stage in enumerate(as_list(model["stages"]))]
    if type(expects := model["fallbacks"]) is not bool:
        raise StorageError(f"malformed model: expected true or false for fallbacks, got {expects!r:.80}")
    fallbacks = None
    if expects:
        fallbacks = Fallbacks(**{key: arrays.take(f"fallbacks.{key}", "<f8", n) for key, n in _FALLBACKS.items()})
    tree = StageTree(bank, parts, _build_prices(model["costs"]), fallbacks=fallbacks)
    _check_uses(tree)
    return tree


def _check_uses(tree: StageTree) -> None:
    """Refuse a file whose stages use its nodes so often that predictions need far more memory than the file."""
    bank, used = tree.bank, 0
    nodes = np.ones(len(bank), np.int64)
    nodes[bank.kind == TREE] = np.diff(bank.trees.first)[bank.index[bank.kind == TREE]]
    for stage in tree.stages:
        owner = np.repeat(nodes[stage.learners], bank.widths[stage.learners])
        used += int((owner[:, None] * (stage.weights != 0)).sum())
    held = bank.trees.n_nodes + sum(stage.weights.size for stage in tree.stages)
    if used > max(_FEW_USES, _MOST_USES * held):
        raise StorageError(f"malformed model: its {len(tree.stages):,} stages use {used:,} nodes, of {held:,} in all")


def _build_stage(number: int, stage: object, arrays: StoredArrays) -> Stage:
    if isinstance(stage, dict) and "link" in stage:
        return build_answer(f"stage {number}", stage, arrays, f"stage.{number}")
    read = arrays.take_all(f"stage.{number}", STAGE)
    below, above = fields_of(stage, f"stage {number}", "below", "above")
    cut = arrays.take(f"stage.{number}.cut", _CUT)
    if len(cut) != 2 or type(below) is not int or type(above) is not int:
        raise StorageError(f"malformed stage {number}: expected a threshold, a steepness and two later stages")
    return Route(**read, threshold=cut[0], steepness=cut[1], below=below, above=above)


def _store_plan(plan: PlannedPredictor, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a plan to `arrays`; return its other parts as JSON values."""
    described = {"kind": "planned", **store_bank(plan.bank, arrays)}
    described |= {"gains": store_bank(plan.gains_bank, arrays, "gains."), "stops": []}
    for number, stop in enumerate(plan.stops):
        prefix = f"stop.{number}"
        arrays[f"{prefix}.features"] = stop.features.astype("<i8")
        part: dict[str, Any] = {"answer": store_answer(stop.answer, arrays, f"{prefix}.answer")}
        for name in ("gains", "planned"):
            part[name] = (answer := getattr(stop, name)) is not None
            if answer is not None:
                store_answer(answer, arrays, f"{prefix}.{name}")
        described["stops"].append(part)
    rungs = [(rung.least, rung.tradeoff, rung.planned) for rung in plan.ladder]
    arrays["ladder"] = np.array(rungs, "<f8").reshape(-1)
    batch = None if plan.batch is None else float(plan.batch)
    return described | {"tradeoff": float(plan.tradeoff), "batch": batch, "costs": _prices_of(plan.costs)}


def _build_plan(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> PlannedPredictor:
    bank = build_bank(model, arrays, functions)
    fields_of(model["gains"], "gains", *BANK_FIELDS)
    gains_bank = build_bank(model["gains"], arrays, {}, "gains.")
    stops = [_build_stop(number, stop, arrays) for number, stop in enumerate(as_list(model["stops"]))]
    prices, batch = _build_prices(model["costs"]), model["batch"]
    rungs = arrays.take("ladder", "<f8")
    if len(rungs) % 3 or not np.isin(rungs[2::3], (0, 1)).all():
        raise StorageError("malformed ladder: expected three numbers a rung, the third of them 0 or 1")
    ladder = (Rung(least, tradeoff, bool(planned)) for least, tradeoff, planned in rungs.reshape(-1, 3).tolist())
    return PlannedPredictor(bank, gains_bank, tuple(stops), model["tradeoff"], prices, batch, ladder=ladder)


def _build_stop(number: int, stop: object, arrays: StoredArrays) -> Stop:
    title, prefix = f"stop {number}", f"stop.{number}"
    described, *has = fields_of(stop, title, "answer", "gains", "planned")
    if not all(isinstance(each, bool) for each in has):
        raise StorageError(f"malformed {title}: expected true or false for gains and planned, got {has!r:.80}")
    features = arrays.take(f"{prefix}.features", "<i8")
    answer = build_answer(title, described, arrays, f"{prefix}.answer")
    gains = [
        build_answer(title, {"link": "identity"}, arrays, f"{prefix}.{name}") if given else None
        for name, given in zip(("gains", "planned"), has, strict=True)
    ]
    return Stop(features, answer, *gains)


def _check_names(model: PreparedPredictor) -> None:
    """Refuse one name of an operation and of a learner, which `load` could not distinguish."""
    names = {learner.name for learner in model.inner.bank.opaques}
    if twice := names.intersection(one.name for one in model.preparation.opaques):
        raise StorageError(f"opaque: {min(twice)!r} is the name of an operation and of a learner; rename one")


def _build_prepared(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> PreparedPredictor:
    preparation, others = build_preparation(model["preparation"], arrays, functions)
    return PreparedPredictor(_build_kind(model["inner"], arrays, others), preparation, _build_prices(model["costs"]))


def _build_mixed(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> MixedPredictor:
    check_functions([], functions)
    parts = dict[str, Any]()
    for name in ("first", "second"):
        own = arrays.part(f"{name}.")
        parts[name] = _build_kind(model[name], own, {})
        own.close()
    by = as_list(model["by"])
    if not all(isinstance(each, str) for each in by):
        raise StorageError(f"malformed by: expected names of features, got {by!r:.80}")
    return MixedPredictor(**parts, share=model["share"], by=by)


def _prices_of(costs: CostModel | None) -> dict[str, Any] | None:
    return None if costs is None else costs.to_dict()


def _build_prices(described: object) -> CostModel | None:
    return None if described is None else CostModel.from_dict(described)


_BUILDERS: Mapping[str, tuple[tuple[str, ...], Callable[..., Savable]]] = {
    "stages": (_TREE_FIELDS, _build_tree),
    "planned": (_PLAN_FIELDS, _build_plan),
    "prepared": (("preparation", "inner", "costs"), _build_prepared),
    "mixed": (("first", "second", "share", "by"), _build_mixed),
}
