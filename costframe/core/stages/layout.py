"""A stage tree laid out for the kernels: uses of learners grouped by stage, payloads weighted."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.learners.node_layout import NodeLayout, lay_out_nodes
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Stage


class StageLayout(NamedTuple):
    """A stage tree as arrays for kernels: L uses of learners, grouped by stage; U features, W words of 64 features."""

    n_outputs: int
    used: NDArray[np.int64]  # (U,) columns that active learners read
    nodes: NodeLayout
    stage_first: NDArray[np.int64]  # (stages + 1,) uses of each stage
    learner: NDArray[np.int64]  # (L,) bank index
    kind: NDArray[np.uint8]  # (L,)
    place: NDArray[np.int64]  # (L,) root node, column of X, or first opaque column
    depth: NDArray[np.int32]  # (L,)
    by_category: NDArray[np.bool_]  # (L,) trees with nodes that test for categories
    width: NDArray[np.int32]  # (L,)
    fill: NDArray[np.float64]  # (L,)
    target_first: NDArray[np.int64]  # (L + 1,)
    target: NDArray[np.int64]  # outputs that each use adds to
    payload_first: NDArray[np.int64]  # (L,)
    # trees: a row per node, a column per target; columns, opaques: weights (width, targets)
    payload: NDArray[np.float64]
    intercept: NDArray[np.float64]  # (stages, n_outputs)
    threshold: NDArray[np.float64]  # (stages,)
    below: NDArray[np.int64]  # (stages,), -1 at answers
    above: NDArray[np.int64]  # (stages,)
    fresh: NDArray[np.bool_]  # (L,) not evaluated by an earlier stage on the way
    n_opaque: int


def active_uses(stage: Stage, widths: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the learners of a stage that have a weight other than zero, with their weights, float64 (outputs, K)."""
    parts = np.split(stage.weights, np.cumsum(widths[stage.learners]))
    for t, weights in zip(stage.learners.tolist(), parts, strict=False):
        if weights.any():
            yield t, weights


def lay_out(
    bank: WeakLearnerBank,
    stages: tuple[Stage, ...],
    outputs: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
) -> StageLayout:
    """Lay out a checked stage tree.

    `outputs`, which may hold outputs of inner nodes too, replace `value` and `values` of the trees.
    """
    uses = [list(active_uses(stage, bank.widths)) for stage in stages]
    learners = [np.array([t for t, _ in part], np.int64) for part in uses]
    learner = np.concatenate(learners)
    every = np.unique(learner)
    used = np.flatnonzero(np.diff(bank.F[:, every].indptr)) if len(every) else np.empty(0, np.int64)
    place_of = np.zeros(len(bank.feature_names), np.int32)
    place_of[used] = np.arange(len(used))
    trees, opaques = every[bank.kind[every] == TREE], every[bank.kind[every] == OPAQUE]
    nodes = lay_out_nodes(bank.trees.restrict(bank.index[trees]).remap_features(place_of), len(used))
    kind, index = bank.kind[learner], bank.index[learner]
    is_tree, is_column, is_opaque = (kind == each for each in (TREE, COLUMN, OPAQUE))
    place, depth, fill = np.zeros(len(kind), np.int64), np.zeros(len(kind), np.int32), np.zeros(len(kind))
    by_category, tree = np.zeros(len(kind), np.bool_), np.searchsorted(trees, learner)
    place[is_tree], depth[is_tree] = nodes.root[tree[is_tree]], nodes.depth[tree[is_tree]]
    by_category[is_tree] = nodes.by_category[tree[is_tree]]
    place[is_column], fill[is_column] = bank.column_feature[index[is_column]], bank.column_fill[index[is_column]]
    opaque_first = np.cumsum([0, *bank.widths[opaques]])
    place[is_opaque] = opaque_first[np.searchsorted(opaques, learner[is_opaque])]
    targets, payloads, ends = [np.empty(0, np.int64)], [np.empty(0)], np.append(nodes.root[1:], len(nodes.word))
    for use, (_, weights) in enumerate(chain(*uses)):
        targets.append(np.flatnonzero((weights != 0).any(axis=0)))
        payload = weights[:, targets[-1]]
        if is_tree[use]:
            origin = nodes.origin[place[use] : ends[tree[use]]]
            original = bank.trees.first[index[use]] + origin - origin[0]
            payload = _tree_payload(payload, original, *(outputs or (bank.trees.value, bank.trees.values)))
        payloads.append(payload.ravel())
    return StageLayout(
        n_outputs=max(len(stage.intercept) for stage in stages),
        used=used,
        nodes=nodes,
        stage_first=np.cumsum([0, *map(len, learners)]),
        learner=learner,
        kind=kind,
        place=place,
        depth=depth,
        by_category=by_category,
        width=bank.widths[learner],
        fill=fill,
        target_first=np.cumsum([*map(len, targets)]),
        target=np.concatenate(targets),
        payload_first=np.cumsum([*map(len, payloads)])[:-1],
        payload=np.concatenate(payloads),
        intercept=_pad([stage.intercept for stage in stages]),
        threshold=np.array([stage.threshold if isinstance(stage, Route) else np.inf for stage in stages]),
        below=np.array([stage.below if isinstance(stage, Route) else -1 for stage in stages]),
        above=np.array([stage.above if isinstance(stage, Route) else -1 for stage in stages]),
        fresh=_fresh_uses(stages, learners),
        n_opaque=int(opaque_first[-1]),
    )


def _tree_payload(
    weights: NDArray[np.float64],
    nodes: NDArray[np.int64],
    value: NDArray[np.int64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each node's contribution to each target, summed in Answer's order: float64 (nodes, targets)."""
    at, payload = value[nodes], np.zeros((len(nodes), weights.shape[1]))
    leaf = at >= 0
    for k in range(weights.shape[1]):
        first, *others = np.flatnonzero(weights[:, k])
        total = weights[first, k] * values[at[leaf] + first]
        for j in others:
            total = total + weights[j, k] * values[at[leaf] + j]
        payload[leaf, k] = total
    return payload


def _fresh_uses(stages: tuple[Stage, ...], learners: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Return the uses whose learner no earlier stage on the way from the root evaluates: bool (L,)."""
    seen: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(stages)
    fresh = []
    for number, stage in enumerate(stages):
        fresh.append(~np.isin(learners[number], seen[number]))
        if isinstance(stage, Route):
            seen[stage.below] = seen[stage.above] = np.union1d(seen[number], learners[number])
    return np.concatenate(fresh)


def _pad(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    table = np.zeros((len(rows), max(len(row) for row in rows)))
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
