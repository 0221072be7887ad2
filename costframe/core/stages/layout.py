"""A stage tree laid out for the kernels: uses of learners grouped by stage, payloads weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.learners.node_layout import NodeLayout, lay_out_nodes
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
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


def active_learners(stage: Stage, widths: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the learners of a stage that have a weight other than zero: bool (L,)."""
    weighty = (stage.weights != 0).any(axis=1)
    owner = np.repeat(np.arange(len(stage.learners)), widths[stage.learners])
    return np.bincount(owner, weights=weighty, minlength=len(stage.learners)) > 0


def lay_out(
    bank: WeakLearnerBank,
    stages: tuple[Stage, ...],
    outputs: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
) -> StageLayout:
    """Lay out a checked stage tree.

    `outputs`, which may hold outputs of inner nodes too, replace `value` and `values` of the trees.
    """
    active = [active_learners(stage, bank.widths) for stage in stages]
    learners = [stage.learners[keep] for stage, keep in zip(stages, active, strict=True)]
    every = np.unique(np.concatenate(learners))
    used = np.flatnonzero(np.diff(bank.F[:, every].indptr)) if len(every) else np.empty(0, np.int64)
    place_of = np.zeros(len(bank.feature_names), np.int32)
    place_of[used] = np.arange(len(used))
    trees = every[bank.kind[every] == TREE]
    nodes = lay_out_nodes(bank.trees.restrict(bank.index[trees]).remap_features(place_of), len(used))
    parts = _Uses(
        bank, nodes, {int(t): i for i, t in enumerate(trees)}, outputs or (bank.trees.value, bank.trees.values)
    )
    for stage, keep in zip(stages, active, strict=True):
        parts.add_stage(stage, keep)
    return StageLayout(
        n_outputs=max(len(stage.intercept) for stage in stages),
        used=used,
        nodes=nodes,
        stage_first=np.cumsum([0, *(len(part) for part in learners)]),
        learner=np.concatenate(learners),
        **parts.arrays(),
        intercept=_pad([stage.intercept for stage in stages]),
        threshold=np.array([stage.threshold if isinstance(stage, Route) else np.inf for stage in stages]),
        below=np.array([stage.below if isinstance(stage, Route) else -1 for stage in stages]),
        above=np.array([stage.above if isinstance(stage, Route) else -1 for stage in stages]),
        fresh=_fresh_uses(stages, learners),
        n_opaque=parts.n_opaque,
    )


class _Uses:
    """A collector of the uses of learners, stage by stage."""

    def __init__(
        self,
        bank: WeakLearnerBank,
        nodes: NodeLayout,
        tree_place: dict[int, int],
        outputs: tuple[NDArray[np.int64], NDArray[np.float64]],
    ) -> None:
        self.bank, self.nodes, self.tree_place = bank, nodes, tree_place
        self.value, self.values = outputs
        self.node_end = np.append(nodes.root[1:], len(nodes.word))
        self.columns: dict[str, list[float]] = {
            name: [] for name in ("kind", "place", "depth", "by_category", "width", "fill")
        }
        self.targets: list[NDArray[np.int64]] = []
        self.payloads: list[NDArray[np.float64]] = []
        self.opaque_first: dict[int, int] = {}
        self.n_opaque = 0

    def add_stage(self, stage: Stage, keep: NDArray[np.bool_]) -> None:
        first = np.cumsum(self.bank.widths[stage.learners]) - self.bank.widths[stage.learners]
        for at in np.flatnonzero(keep):
            t = int(stage.learners[at])
            weights = stage.weights[first[at] : first[at] + self.bank.widths[t]]
            targets = np.flatnonzero((weights != 0).any(axis=0))
            self._add(t, targets, weights[:, targets])

    def _add(self, t: int, targets: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        kind, index = int(self.bank.kind[t]), int(self.bank.index[t])
        place, depth, by_category, fill, payload = 0, 0, False, 0.0, weights
        if kind == TREE:
            tree = self.tree_place[t]
            place, depth = int(self.nodes.root[tree]), int(self.nodes.depth[tree])
            by_category = bool(self.nodes.by_category[tree])
            payload = self._tree_payload(index, place, int(self.node_end[tree]), weights)
        elif kind == COLUMN:
            place = int(self.bank.column_feature[index])
            fill = float(self.bank.column_fill[index])
        elif kind == OPAQUE:
            if t not in self.opaque_first:
                self.opaque_first[t] = self.n_opaque
                self.n_opaque += self.bank.opaques[index].width
            place = self.opaque_first[t]
        for name, value in zip(self.columns, (kind, place, depth, by_category, len(weights), fill), strict=True):
            self.columns[name].append(value)
        self.targets.append(targets)
        self.payloads.append(payload.ravel())

    def _tree_payload(self, index: int, begin: int, end: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each node's contribution to each target, summed in Answer's order: float64 (nodes, targets)."""
        trees = self.bank.trees
        first = int(trees.first[index])
        value = self.value[first : int(trees.first[index + 1])]
        # the layout's nodes of this tree, as numbers within the original tree
        original = self.nodes.origin[begin:end] - self.nodes.origin[begin]
        at = value[original]
        payload = np.zeros((end - begin, weights.shape[1]))
        leaf = at >= 0
        for k in range(weights.shape[1]):
            terms = [weights[j, k] * self.values[at[leaf] + j] for j in np.flatnonzero(weights[:, k])]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            payload[leaf, k] = total
        return payload

    def arrays(self) -> dict[str, NDArray[Any]]:
        types = {
            "kind": np.uint8, "place": np.int64, "depth": np.int32, "by_category": np.bool_, "width": np.int32,
            "fill": np.float64,
        }  # fmt: skip
        sizes = [len(payload) for payload in self.payloads]
        return {
            **{name: np.array(values, types[name]) for name, values in self.columns.items()},
            "target_first": np.cumsum([0, *(len(targets) for targets in self.targets)]),
            "target": np.concatenate([np.empty(0, np.int64), *self.targets]),
            "payload_first": np.cumsum([0, *sizes])[:-1],
            "payload": np.concatenate([np.empty(0), *self.payloads]),
        }


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
