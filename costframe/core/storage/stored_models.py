"""The kinds of predictors in a file, each with its fields and what makes it; some hold others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costframe.core.errors import StorageError
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, fields_of
from costframe.core.storage.stored_banks import OpaqueFunctions, check_opaque_functions
from costframe.core.storage.stored_bars import build_bars, store_bars
from costframe.core.storage.stored_card import build_prices, store_prices
from costframe.core.storage.stored_plans import PLAN_FIELDS, build_plan, store_plan
from costframe.core.storage.stored_preparation import build_preparation, store_preparation
from costframe.core.storage.stored_trees import TREE_FIELDS, build_tree, store_tree

Savable = StageTree | PlannedPredictor | PreparedPredictor | MixedPredictor | GuardedPredictor


def store_model(model: Savable, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a model to `arrays`; return its other parts as JSON values."""
    if isinstance(model, PreparedPredictor):
        _check_names(model)
        parts = {"preparation": store_preparation(model.preparation, arrays), "inner": store_model(model.inner, arrays)}
        return {"kind": "prepared", **parts, "costs": store_prices(model.costs)}
    if isinstance(model, GuardedPredictor):
        return {"kind": "guarded", "bars": store_bars(model.bars), "inner": store_model(model.inner, arrays)}
    if isinstance(model, MixedPredictor):
        return {"kind": "mixed", "share": float(model.share), "by": list(model.by)} | {
            name: _store_part(getattr(model, name), arrays, f"{name}.") for name in ("first", "second")
        }
    return store_tree(model, arrays) if isinstance(model, StageTree) else store_plan(model, arrays)


def _store_part(model: Savable, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Add the arrays of a part of a mixture to `arrays`, under names with a prefix; it has no opaque learners."""
    if names := opaque_names(model):
        raise StorageError(f"{prefix}opaque: expected no opaque learners in a mixture, got {names!r:.80}")
    part_arrays = dict[str, Any]()
    described = store_model(model, part_arrays)
    arrays |= {f"{prefix}{name}": array for name, array in part_arrays.items()}
    return described


def opaque_names(model: Any) -> list[str]:
    """Return the names of the functions that a file of the model does not hold."""
    if isinstance(model, MixedPredictor):
        return [*opaque_names(model.first), *opaque_names(model.second)]
    if isinstance(model, GuardedPredictor):
        return opaque_names(model.inner)
    if isinstance(model, PreparedPredictor):
        return [*(operation.name for operation in model.preparation.opaques), *opaque_names(model.inner)]
    return [learner.name for learner in model.bank.opaques] if hasattr(model, "bank") else []


def _check_names(model: PreparedPredictor) -> None:
    """Refuse one name of an operation and of a learner, which `load` could not distinguish."""
    names = {learner.name for learner in model.inner.bank.opaques}
    if twice := names.intersection(operation.name for operation in model.preparation.opaques):
        raise StorageError(f"opaque: {min(twice)!r} is the name of an operation and of a learner; rename one")


def _build_prepared(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> PreparedPredictor:
    preparation, others = build_preparation(model["preparation"], arrays, functions)
    return PreparedPredictor(build_model(model["inner"], arrays, others), preparation, build_prices(model["costs"]))


def _build_guarded(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> GuardedPredictor:
    return GuardedPredictor(build_model(model["inner"], arrays, functions), build_bars(model["bars"]))


def _build_mixed(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> MixedPredictor:
    check_opaque_functions([], functions)
    parts = dict[str, Any]()
    for name in ("first", "second"):
        part_arrays = arrays.part(f"{name}.")
        parts[name] = build_model(model[name], part_arrays, {})
        part_arrays.close()
    by = as_list(model["by"])
    if not all(isinstance(name, str) for name in by):
        raise StorageError(f"malformed by: expected names of features, got {by!r:.80}")
    return MixedPredictor(**parts, share=model["share"], by=by)


# For each kind, its fields and the function that makes it from them; stands below these functions.
_BUILDERS: Mapping[str, tuple[tuple[str, ...], Callable[..., Savable]]] = {
    "stages": (TREE_FIELDS, build_tree),
    "planned": (PLAN_FIELDS, build_plan),
    "prepared": (("preparation", "inner", "costs"), _build_prepared),
    "guarded": (("bars", "inner"), _build_guarded),
    "mixed": (("first", "second", "share", "by"), _build_mixed),
}


def build_model(model: Any, arrays: StoredArrays, functions: OpaqueFunctions, *more: str) -> Savable:
    """Make a model from its description, which has the fields of its kind and `more`."""
    named = model.get("kind") if isinstance(model, dict) else None
    if not isinstance(named, str) or named not in _BUILDERS:
        raise StorageError(f"malformed model: expected one of the kinds {list(_BUILDERS)}, got {named!r:.80}")
    keys, build = _BUILDERS[named]
    fields_of(model, "model", "kind", *more, *keys)
    return build(model, arrays, functions)
