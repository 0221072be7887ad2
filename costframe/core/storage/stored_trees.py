"""A stage tree in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.errors import StorageError
from costframe.core.learners.tree_table import TREE
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.stages import Route, Stage
from costframe.core.storage.stored_answers import STAGE, build_answer, store_answer
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, fields_of
from costframe.core.storage.stored_banks import BANK_FIELDS, OpaqueFunctions, build_bank, store_bank
from costframe.core.storage.stored_card import build_prices, store_prices
from costframe.core.storage.stored_set_losses import build_set_losses, store_set_losses

_FEW_USES, _MOST_USES = (
    2**21,
    64,
)  # of nodes by stages: any file may have the first; or the second for each of its numbers
_CUT = "<f8"  # threshold and steepness of a route
_FALLBACKS = {
    "node_values": 1, "column_values": 1, "opaque_values": 1, "knots": 1, "offset": 2, "slope": 2, "carry": 2,
    "mean": 2, "low": 2, "high": 2, "cap_shares": 1, "cap_factors": 1,
}  # fmt: skip
TREE_FIELDS = (*BANK_FIELDS, "stages", "costs", "fallbacks", "spare")


def store_tree(tree: StageTree, arrays: Arrays) -> dict[str, Any]:
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
        store_set_losses(tree.fallbacks.set_losses, arrays, "fallbacks.set_losses")
    spare, held = None, dict[str, Any]()
    if tree.spare is not None:
        spare = store_tree(evolve(tree.spare, fallbacks=None, costs=None), held)
        store_set_losses(tree.spare.set_losses, held, "set_losses")
        arrays |= {f"spare.{name}": array for name, array in held.items()}
    return described | {"costs": store_prices(tree.costs), "fallbacks": tree.fallbacks is not None, "spare": spare}


def build_tree(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> StageTree:
    """Make a stage tree from its description, its arrays and the functions of its opaque learners."""
    bank = build_bank(model, arrays, functions)
    parts: Any = [_build_stage(number, stage, arrays) for number, stage in enumerate(as_list(model["stages"]))]
    if type(expects := model["fallbacks"]) is not bool:
        raise StorageError(f"malformed model: expected true or false for fallbacks, got {expects!r:.80}")
    fallbacks = None
    if expects:
        known = {key: arrays.take(f"fallbacks.{key}", "<f8", n) for key, n in _FALLBACKS.items()}
        fallbacks = Fallbacks(**known, set_losses=build_set_losses(arrays, "fallbacks.set_losses"))
    spare = None if model["spare"] is None else _build_spare(model["spare"], arrays.part("spare."))
    tree = StageTree(bank, parts, build_prices(model["costs"]), fallbacks=fallbacks, spare=spare)
    _check_uses(tree)
    return tree


def _build_spare(described: object, arrays: StoredArrays) -> StageTree:
    """Make spare trees from their description and their arrays, all of which they take."""
    fields_of(described, "spare", "kind", *TREE_FIELDS)
    spare = build_tree(described, arrays, {})  # type: ignore[arg-type] # it has fields
    spare = evolve(spare, set_losses=build_set_losses(arrays, "set_losses"))
    arrays.close()
    return spare


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
