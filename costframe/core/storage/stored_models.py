"""Kinds of predictors that can be saved: conversion of each to data and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.caps.fallbacks import Fallbacks
from costframe.core.errors import StorageError
from costframe.core.predictors.planned import PlannedPredictor, Stop
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route
from costframe.core.storage.stored_parts import (
    BANK_FIELDS,
    STAGE,
    StoredArrays,
    answer_arrays,
    bank_arrays,
    build_answer,
    build_bank,
    describe_answer,
    describe_bank,
    fields_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from costframe.core.predictors.predictor import Predictor
    from costframe.core.stages.stages import Stage
    from costframe.core.storage.stored_parts import OpaqueFunctions

__all__ = ["KINDS", "StoredKind"]

_CUT = "<f8"  # threshold and steepness of a route
_FALLBACKS = {
    "node_values": 1, "column_values": 1, "opaque_values": 1, "knots": 1, "offset": 2, "slope": 2, "carry": 2,
    "mean": 2, "low": 2, "high": 2,
}  # fmt: skip


@frozen
class StoredKind:
    """A class of predictors that can be saved.

    Attributes
    ----------
    predictor : type
    describe : callable
        Returns the parts that the arrays do not hold, as JSON values.
    arrays : callable
        Returns the arrays.
    keys : tuple of str
        Keys of the description.
    build : callable
        Makes a predictor from the description, the arrays, and the functions of opaque learners.
    """

    predictor: type[Predictor]
    describe: Callable[[Any], dict[str, Any]]
    arrays: Callable[[Any], dict[str, NDArray[Any]]]
    keys: tuple[str, ...]
    build: Callable[[dict[str, Any], StoredArrays, OpaqueFunctions], Predictor]


def _describe_tree(tree: StageTree) -> dict[str, Any]:
    return describe_bank(tree.bank) | {
        "stages": [
            describe_answer(stage) if isinstance(stage, Answer) else {"below": stage.below, "above": stage.above}
            for stage in tree.stages
        ],
        "costs": _prices_of(tree.costs),
        "fallbacks": tree.fallbacks is not None,
    }


def _tree_arrays(tree: StageTree) -> dict[str, NDArray[Any]]:
    arrays = bank_arrays(tree.bank)
    for number, stage in enumerate(tree.stages):
        arrays |= answer_arrays(stage, f"stage.{number}")
        if isinstance(stage, Route):
            arrays[f"stage.{number}.cut"] = np.array([stage.threshold, stage.steepness], _CUT)
    if tree.fallbacks is not None:
        arrays |= {f"fallbacks.{key}": getattr(tree.fallbacks, key).astype("<f8") for key in _FALLBACKS}
    return arrays


def _build_tree(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> StageTree:
    bank = build_bank(model, arrays, functions)
    parts: Any = [_build_stage(number, stage, arrays) for number, stage in enumerate(_listed(model["stages"]))]
    if type(expects := model["fallbacks"]) is not bool:
        raise StorageError(f"malformed model: expected true or false for fallbacks, got {expects!r:.80}")
    fallbacks = None
    if expects:
        fallbacks = Fallbacks(**{key: arrays.take(f"fallbacks.{key}", "<f8", n) for key, n in _FALLBACKS.items()})
    return StageTree(bank, parts, _build_prices(model["costs"]), fallbacks=fallbacks)


def _build_stage(number: int, stage: object, arrays: StoredArrays) -> Stage:
    if isinstance(stage, dict) and "link" in stage:
        return build_answer(f"stage {number}", stage, arrays, f"stage.{number}")
    read = arrays.take_all(f"stage.{number}", STAGE)
    below, above = fields_of(stage, f"stage {number}", "below", "above")
    cut = arrays.take(f"stage.{number}.cut", _CUT)
    if len(cut) != 2 or type(below) is not int or type(above) is not int:
        raise StorageError(f"malformed stage {number}: expected a threshold, a steepness and two later stages")
    return Route(**read, threshold=cut[0], steepness=cut[1], below=below, above=above)


def _describe_plan(plan: PlannedPredictor) -> dict[str, Any]:
    return describe_bank(plan.bank) | {
        "gains": describe_bank(plan.gains_bank),
        "stops": [
            {
                "answer": describe_answer(stop.answer),
                "gains": stop.gains is not None,
                "planned": stop.planned is not None,
            }
            for stop in plan.stops
        ],
        "tradeoff": float(plan.tradeoff),
        "batch": None if plan.batch is None else float(plan.batch),
        "costs": _prices_of(plan.costs),
    }


def _plan_arrays(plan: PlannedPredictor) -> dict[str, NDArray[Any]]:
    arrays = bank_arrays(plan.bank) | bank_arrays(plan.gains_bank, "gains.")
    for number, stop in enumerate(plan.stops):
        arrays[f"stop.{number}.features"] = stop.features.astype("<i8")
        for name in ("answer", "gains", "planned"):
            if (part := getattr(stop, name)) is not None:
                arrays |= answer_arrays(part, f"stop.{number}.{name}")
    return arrays


def _build_plan(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> PlannedPredictor:
    bank = build_bank(model, arrays, functions)
    gains = fields_of(model["gains"], "gains", *BANK_FIELDS)
    gains_bank = build_bank(dict(zip(BANK_FIELDS, gains, strict=True)), arrays, {}, "gains.")
    stops = [_build_stop(number, stop, arrays) for number, stop in enumerate(_listed(model["stops"]))]
    prices, batch = _build_prices(model["costs"]), model["batch"]
    return PlannedPredictor(bank, gains_bank, tuple(stops), model["tradeoff"], prices, batch)


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


def _listed(part: object) -> list[Any]:
    if not isinstance(part, list):
        raise StorageError(f"malformed model: expected a list, got {type(part).__name__}")
    return part


def _prices_of(costs: CostModel | None) -> dict[str, Any] | None:
    return None if costs is None else costs.to_dict()


def _build_prices(described: object) -> CostModel | None:
    return None if described is None else CostModel.from_dict(described)


KINDS: Mapping[str, StoredKind] = {
    "stages": StoredKind(
        StageTree, _describe_tree, _tree_arrays, (*BANK_FIELDS, "stages", "costs", "fallbacks"), _build_tree
    ),
    "planned": StoredKind(
        PlannedPredictor,
        _describe_plan,
        _plan_arrays,
        (*BANK_FIELDS, "gains", "stops", "tradeoff", "batch", "costs"),
        _build_plan,
    ),
}
"""All kinds, by their names in files."""
