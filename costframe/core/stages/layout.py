"""A stage tree laid out for the engine, once for tables and for single rows: uses of learners grouped by stage."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import word_count
from costframe.core.learners.node_layout import (
    COLUMN_AT,
    COLUMN_BITS,
    STEPS_AT,
    STEPS_BITS,
    NodeLayout,
    lay_out_nodes,
)
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE, TreeTable, ranges
from costframe.core.prices.exact_prices import as_multiples
from costframe.core.stages.stages import Route, Stage

# Parts of a node's word for single rows.
_ROW_STEPS_AT, _NAMED_AT, _MISSING_LEFT_AT, _READING_AT = engine.constants(
    "left_at", "by_category_at", "missing_left_at", "reading_at"
)
KNOWN, BOUGHT, BARRED, HELD = map(  # marks of a feature
    np.uint8, engine.constants("is_known", "is_bought", "is_barred", "is_held")
)
(PAID,) = map(np.uint8, engine.constants("paid"))  # mark of a resource
WEIGHT, COMPARISONS, USES, N_USED, N_ACCOUNT = engine.constants(  # places in a row's account, and their number
    "Account.weight", "Account.comparisons", "Account.uses", "Account.n_used", "Account"
)
(CALLED,) = engine.constants("called")  # place of an opaque learner whose outputs are there


@frozen(eq=False, slots=False)
class StageLayout:
    """A stage tree as arrays: L uses of learners, grouped by stage; U features."""

    bank: WeakLearnerBank
    trees: TreeTable  # those that stages use, with features numbered among those used
    n_outputs: int
    used: I8  # (U,) columns that active learners read
    nodes: NodeLayout
    stage_first: I8  # (stages + 1,) uses of each stage
    learner: I8  # (L,) bank index
    kind: U8  # (L,)
    place: I8  # (L,) root node, column of X, or first opaque column
    tree: I8  # (L,) among those of `nodes`
    width: NDArray[np.int32]  # (L,)
    fill: F8  # (L,)
    weight_rows: F8  # (any, n_outputs): of all learners that stages list
    row: I8  # (L,): of a use's first weights
    target_first: I8  # (L + 1,)
    target: I8  # outputs that each use adds to
    payload_first: I8  # (L + 1,)
    value: I8  # like those of the bank's trees, or outputs of inner nodes too
    values: F8
    intercept: F8  # (stages, n_outputs)
    threshold: F8  # (stages,)
    below: I8  # (stages,), -1 at answers
    above: I8  # (stages,)
    fresh: B1  # (L,) not evaluated by an earlier stage on the way
    n_opaque: int

    @cached_property
    def packed(self) -> engine.Record:
        """The model as the engine takes it, for all that it does with a model; see engine/model.h."""
        nodes, (word, span) = self.nodes, _describe_nodes(self.nodes, self.trees)
        path_count, reads = np.zeros((2, len(word)), np.int64)
        engine.describe_paths(nodes.parent, nodes.feature, len(self.used), path_count, word, reads)
        (n_learners, number), (first, read) = self.slots, self.reads
        ends = first[:-1], first[1:], self.place, self.payload_first[:-1], self.target_first[:-1], self.target_first[1:]
        use = np.stack([number, self.kind, self.width, *ends, self.tree, self.fresh], axis=1).astype(np.int64)
        columns = [self._code_columns(*ends) for ends in pairwise(self.stage_first)]
        first = np.cumsum([0, *map(len, columns)])
        stage = self.stage_first[:-1], self.stage_first[1:], self.below, self.above, first[:-1], first[1:]
        return engine.Model.of(
            self,
            nodes=nodes.packed,
            path_count=path_count,
            word=word,
            reads=reads,
            threshold=self.trees.threshold[nodes.origin],
            span=span,
            category=self.trees.categories,
            use=use,
            use_value=np.column_stack([self.weights[1][self.learner], self.fill]),
            read=read,
            stage=np.stack(stage, axis=1),
            stage_value=np.column_stack([self.threshold, self.intercept]),
            column=np.concatenate(columns),
            n_learners=n_learners,
            depth=int(nodes.depth.max(initial=0)),
        )

    def _code_columns(self, begin: int, end: int) -> I8:
        """Return the code columns that the trees of some uses read, ascending."""
        nodes, trees = self.nodes, self.tree[begin:end][self.kind[begin:end] == TREE]
        nodes_of_trees = ranges(nodes.root[trees], nodes.sizes[trees].astype(np.int32))
        tests = nodes.word[nodes_of_trees[nodes.feature[nodes_of_trees] >= 0]]
        return np.flatnonzero(np.bincount((tests >> COLUMN_AT & COLUMN_BITS).astype(np.int64)))

    def opaque(self, use: int) -> OpaqueLearner:
        """Return the opaque learner of a use."""
        return self.bank.opaques[int(self.bank.index[self.learner[use]])]

    @cached_property
    def weights(self) -> tuple[Fraction, F8]:
        """A unit of e_t, and the e_t of each learner of the bank as its multiple."""
        return as_multiples(self.bank.evaluation)

    @cached_property
    def n_words(self) -> int:
        """Number of words of a mask of features."""
        return word_count(len(self.used))

    @cached_property
    def slots(self) -> tuple[int, I8]:
        """S, the number of distinct learners, and the number of each use's learner among them, (L,)."""
        every, number = np.unique(self.learner, return_inverse=True)
        return len(every), number

    @cached_property
    def walk_row(self) -> Callable[[bytes], tuple[Any, int]]:
        """The engine's walk of a row, float64 (d,), through a tree without opaque learners: its scores and exit."""
        walk: Callable[[bytes], tuple[Any, int]] = engine.walk_row(self.n_outputs, self.packed)
        return walk

    @cached_property
    def reads(self) -> tuple[I8, I8]:
        """The place of the first feature that each use reads, (L + 1,), and all of them, of those used."""
        features, learners = self.bank.reads
        order = np.argsort(learners, kind="stable")
        first, end = (np.searchsorted(learners[order], self.learner, side) for side in ("left", "right"))
        counts = end - first
        ends = np.cumsum(counts)
        read = order[np.arange(counts.sum()) + np.repeat(first - ends + counts, counts)]
        return np.append(0, ends), np.searchsorted(self.used, features[read])

    @cached_property
    def use_weights(self) -> F8:
        """The weight of each use in its stage's scores, (L,).

        Of a tree, how much what it adds differs from leaf to leaf; of others, whose outputs have no bounds, the sum of
        their absolute weights.
        """
        found, nodes = np.zeros(len(self.kind)), self.nodes
        for use in range(len(self.kind)):
            n_targets = int(self.target_first[use + 1] - self.target_first[use])
            payload = self.payload[self.payload_first[use] : self.payload_first[use + 1]].reshape(-1, n_targets)
            if self.kind[use] == TREE:
                root = int(nodes.root[self.tree[use]])
                found[use] = _spread(payload[nodes.feature[root : root + len(payload)] < 0])
            else:
                found[use] = np.abs(payload).sum()
        return np.where(np.isfinite(found), found, 0.0)

    @cached_property
    def payload(self) -> F8:
        """What uses add to their targets: a row for each node of a tree; of others weights, (width, targets)."""
        is_tree, bank = self.kind == TREE, self.bank
        first = np.zeros(len(self.kind), np.int64)
        first[is_tree] = bank.trees.first[bank.index[self.learner[is_tree]]]
        payload = np.zeros(self.payload_first[-1])
        engine.fill_payload(
            self.kind, self.width, self.place, self.target_first, self.target, self.payload_first, self.row,
            self.weight_rows, self.nodes.origin, first, self.value, self.values, payload,
        )  # fmt: skip
        return payload


def _spread(payload: F8) -> float:
    """Return the differences of the largest and smallest of each column, float64 (n, targets), added up."""
    return float(np.ptp(payload, axis=0).sum()) if len(payload) else 0.0


def lay_out(bank: WeakLearnerBank, stages: tuple[Stage, ...]) -> StageLayout:
    """Lay out a checked stage tree."""
    weights = _pad([stage.weights for stage in stages])
    learner, row, targeted, stage_first = _active_uses(bank, stages, weights)
    every = np.unique(learner)
    trees, columns, opaques = (every[bank.kind[every] == kind] for kind in (TREE, COLUMN, OPAQUE))
    table = bank.trees.restrict(bank.index[trees])
    used = _columns_read(bank, table, columns, opaques)
    place_of = np.zeros(len(bank.feature_names), np.int32)
    place_of[used] = np.arange(len(used))
    table = table.remap_features(place_of)
    nodes = lay_out_nodes(table, len(used))
    kind, index = bank.kind[learner], bank.index[learner]
    is_tree, is_column, is_opaque = (kind == code for code in (TREE, COLUMN, OPAQUE))
    place, fill, tree = np.zeros(len(kind), np.int64), np.zeros(len(kind)), np.searchsorted(trees, learner)
    place[is_tree] = nodes.root[tree[is_tree]]
    place[is_column], fill[is_column] = bank.column_feature[index[is_column]], bank.column_fill[index[is_column]]
    opaque_first = np.cumsum([0, *bank.widths[opaques]])
    place[is_opaque] = opaque_first[np.searchsorted(opaques, learner[is_opaque])]
    n_targets, size = np.count_nonzero(targeted, axis=1), bank.widths[learner].astype(np.int64)  # of payloads
    size[is_tree] = nodes.sizes[tree[is_tree]]
    threshold, below, above = _ways(stages)
    return StageLayout(
        bank=bank,
        trees=table,
        n_outputs=max(len(stage.intercept) for stage in stages),
        used=used,
        nodes=nodes,
        stage_first=stage_first,
        learner=learner,
        kind=kind,
        place=place,
        tree=tree,
        width=bank.widths[learner],
        fill=fill,
        weight_rows=weights,
        row=row,
        target_first=np.cumsum([0, *n_targets]),
        target=np.ascontiguousarray(np.nonzero(targeted)[1]),
        payload_first=np.cumsum([0, *size * n_targets]),
        value=bank.trees.value,
        values=bank.trees.values,
        intercept=_pad([stage.intercept[None] for stage in stages]),
        threshold=threshold,
        below=below,
        above=above,
        fresh=_fresh_uses(stages, np.split(learner, stage_first[1:-1])),
        n_opaque=int(opaque_first[-1]),
    )


def _active_uses(bank: WeakLearnerBank, stages: tuple[Stage, ...], weights: F8) -> tuple[I8, I8, B1, I8]:
    """Return the learners with weights, stage by stage, their first weights and outputs, and each stage's first use."""
    given = np.concatenate([stage.learners for stage in stages])
    row = np.cumsum([0, *bank.widths[given]])[:-1]  # of the learner's first weights
    targeted = np.logical_or.reduceat(weights != 0, row) if len(given) else weights != 0
    active = targeted.any(axis=1)
    number = np.repeat(np.arange(len(stages)), [len(stage.learners) for stage in stages])[active]
    return given[active], row[active], targeted[active], np.searchsorted(number, np.arange(len(stages) + 1))


def _columns_read(bank: WeakLearnerBank, table: TreeTable, columns: I8, opaques: I8) -> I8:
    """Return the features that trees of a table, column learners and opaque learners read, ascending."""
    read = [table.feature[table.feature >= 0], bank.column_feature[bank.index[columns]]]
    read += [np.array(bank.opaques[i].features, np.int64) for i in bank.index[opaques]]
    return np.unique(np.concatenate(read)).astype(np.int64)


def _ways(stages: tuple[Stage, ...]) -> tuple[F8, I8, I8]:
    """Return the threshold of each stage, and the stages below and above it; of an answer inf, -1 and -1."""
    threshold = np.array([stage.threshold if isinstance(stage, Route) else np.inf for stage in stages])
    below = np.array([stage.below if isinstance(stage, Route) else -1 for stage in stages])
    above = np.array([stage.above if isinstance(stage, Route) else -1 for stage in stages])
    return threshold, below, above


def _fresh_uses(stages: tuple[Stage, ...], learners: list[I8]) -> B1:
    """Return the uses whose learner no earlier stage on the way from the root evaluates: bool (L,)."""
    seen: list[I8] = [np.empty(0, np.int64)] * len(stages)
    fresh = []
    for number, stage in enumerate(stages):
        fresh.append(~np.isin(learners[number], seen[number]))
        if isinstance(stage, Route):
            seen[stage.below] = seen[stage.above] = np.union1d(seen[number], learners[number])
    return np.concatenate(fresh)


def _pad(tables: list[F8]) -> F8:
    """Stack tables of fewer or more columns, with zeros for those that a table lacks."""
    stacked = np.zeros((sum(map(len, tables)), max(table.shape[1] for table in tables)))
    for rows, table in zip(np.split(stacked, np.cumsum([len(table) for table in tables])[:-1]), tables, strict=True):
        rows[:, : table.shape[1]] = table
    return stacked


def _describe_nodes(nodes: NodeLayout, trees: TreeTable) -> tuple[I8, I8]:
    """Return the word of each node for single rows, without bits for look-ahead, and its span of categories."""
    at, first = nodes.origin, trees.category_first
    steps = (nodes.word >> STEPS_AT & STEPS_BITS).astype(np.int64)
    named, missing_left = trees.category_count[at] > 0, trees.missing_left[at].astype(np.int64)
    word = steps << _ROW_STEPS_AT | named.astype(np.int64) << _NAMED_AT | missing_left << _MISSING_LEFT_AT
    word |= trees.reading[at].astype(np.int64) << _READING_AT | np.maximum(nodes.feature, 0)
    return word, np.stack([first[at], first[at + 1]], axis=1) if named.any() else np.empty((0, 2), np.int64)
