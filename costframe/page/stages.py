"""A stage tree as a page holds it: how its rows step, without and with features that are not to be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from costframe.core.learners.tree_table import TREE
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.exact_prices import ExactPrices
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.layout import StageLayout
from costframe.core.stages.left_out import may_stand_in
from costframe.core.stages.links import Blend
from costframe.core.stages.stage_model import RowWalk
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.page.memory import Memory, array_of

_LARGEST = float(np.finfo(np.float64).max)  # JSON has no infinity


def describe_stages(tree: StageTree, prices: PriceArrays, memory: Memory) -> dict[str, Any]:
    """Return what steps rows of a stage tree, whose arrays go into memory."""
    bill, own, ranks = tree.bill(prices), tree.own_classes, tree.cap_ranks(prices)
    nothing_paid: tuple[Sequence[int], Sequence[int]] = ((), ())
    limited = tree.walk(prices, limited=True)
    begin = limited.begin(True, {}, (), nothing_paid, bill.limit(math.inf))
    return _describe_plainly(tree, prices, memory) | {
        "resources": len(prices.resource_cost),
        "alike": tree.only_answer is not None,
        "limited": _describe_walk(limited, begin, memory),
        # of caps: the most that a row can spend in units of 1 / per_unit, and the words of such a sum
        "bill": {"total": str(bill.total), "per_unit": str(bill.exact.per_unit), "words": bill.n_words},
        # of caps without what is kept for computing: ranks of features from each on
        "ranks": {
            "computing": bill.exact.money(bill.computing),
            "caps": ranks.caps.tolist(),
            "of": ranks.ranks.tolist(),
        },
        # how many scores tell the class where predictions do not, and sums in float32 where scores are near a tie
        "by_scores": None if own is None else own.n_scores,
        "slack": None if own is None or own.float32 is None else min(own.slack, _LARGEST),
        "float32": None if own is None or own.float32 is None else own.float32.link,
        "margins": None if own is None or own.float32 is None else _describe_leaves(tree, memory),
        "spare": None,
    }


def describe_spare_trees(tree: StageTree, prices: PriceArrays, memory: Memory) -> dict[str, Any] | None:
    """Return what steps rows of the trees that stand in for a tree, or None; see stand_ins.py."""
    if not may_stand_in(prices) or (spare := tree.spare) is None:
        return None
    (own,) = tree.stages
    assert isinstance(own, Answer)  # noqa: S101 - else it has no spare trees
    losses = describe_losses(spare.set_losses.absence)
    return _describe_plainly(spare, prices, memory) | {"divisor": own.divisor, "losses": losses}


def describe_losses(expected: AbsenceLosses) -> dict[str, Any]:
    """Return expected losses by what is absent; sets are lists of features."""
    return {
        "least": expected.least,
        "sets": [np.flatnonzero(row).tolist() for row in expected.sets],
        "some": expected.some.tolist(),
        "every": expected.every.tolist(),
    }


def _describe_plainly(tree: StageTree, prices: PriceArrays, memory: Memory) -> dict[str, Any]:
    """Return what steps rows without limits, and tells what they wait for."""
    plain = tree.walk(prices, limited=False)
    return {
        "stages": [describe_stage(stage) for stage in tree.stages],
        "plain": _describe_walk(plain, plain.begin(True, {}), memory),
        "words": memory.put_array(array_of(tree.layout.packed, "word")),  # of nodes, which tell what a tree waits for
        "waits": _describe_waits(tree.layout, memory),
    }


def _describe_waits(layout: StageLayout, memory: Memory) -> dict[str, Any]:
    """Return what tells the share of a stage's weight that waits for a feature; see waiting.py."""
    weights, ends = layout.use_weights, layout.stage_first.tolist()
    first, read = layout.reads
    others = np.flatnonzero(layout.kind != TREE).tolist()
    return {
        "first": ends,  # use of each stage, and last + 1
        "weight": memory.put_array(weights),
        "slot": memory.put_array(layout.slots[1]),
        "total": [float(weights[begin:end].sum()) for begin, end in pairwise(ends)],
        "learners": layout.slots[0],
        "reads": {str(use): read[first[use] : first[use + 1]].tolist() for use in others},  # all at once, unlike trees
    }


def _describe_walk(walk: RowWalk, begin: bytearray, memory: Memory) -> dict[str, Any]:
    """Return the sizes and places of a row's state; see `RowWalk`."""
    n_used = len(walk.used)
    numbers, places, marks = (len(part) for part in walk.arrays(begin))
    return {
        "way": memory.put_records(*walk.structs),
        "begin": memory.put(bytes(begin)),
        "size": walk.size,
        "used": walk.used,
        "account": walk.account,
        "scores": walk.scores,
        "nodes": 8 * numbers,  # of each learner
        "needed": walk.stage - 8 * n_used,
        "stage": walk.stage,
        "marks": 8 * (numbers + places),
        "end": 8 * (numbers + places) + marks,  # resources have the last marks
        "exact": None if walk.exact is None else describe_exact(walk.exact),
    }


def describe_exact(exact: ExactPrices) -> dict[str, str]:
    """Return the prices of what is evaluated, whole numbers as texts."""
    return {name: str(getattr(exact, name)) for name in ("per_unit", "learner", "split", "reuse")}


def describe_stage(stage: Stage) -> dict[str, Any] | None:
    """Return how an answer makes predictions of scores; None of a route."""
    if isinstance(stage, Route):
        return None
    return {
        "link": stage.link,
        "level": stage.level,
        "temperature": stage.temperature,
        "cut": stage.cut,
        "half": stage.half,
        "agrees": stage.by_scores and not stage.class_scores and not stage.softens,
        "blends": [_describe_blend(blend) for blend in stage.blends],
    }


def _describe_blend(blend: Blend) -> dict[str, Any]:
    parts = [{"link": part.link, "width": part.width, "temperature": part.temperature} for part in blend.parts]
    return {"parts": parts, "weights": blend.weights.tolist(), "intercept": blend.intercept.tolist()}


def _describe_leaves(tree: StageTree, memory: Memory) -> dict[str, Any]:
    """Return what adds up the margins of a row in float32: of each learner, and of each score, leaf after leaf."""
    layout, answer = tree.layout, tree.only_answer
    assert isinstance(answer, Answer)  # noqa: S101 - it has float32 margins
    return {
        "base": answer.intercept.tolist(),
        "payload": memory.put_array(layout.payload),
        "uses": [
            {
                "slot": int(layout.slots[1][use]),
                "root": int(layout.place[use]),
                "payload": int(layout.payload_first[use]),
                "targets": layout.target[layout.target_first[use] : layout.target_first[use + 1]].tolist(),
            }
            for use in range(len(layout.kind))
        ],
    }
