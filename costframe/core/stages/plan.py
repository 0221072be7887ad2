"""A stage tree as plain lists for walkers, and the look ahead of a walk: the features that it certainly needs next."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.bits import members
from costframe.core.learners.readings import read_value
from costframe.core.learners.tree_table import TREE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.stages import Stage
    from costframe.core.stages.walk import RowState

NAN = float("nan")  # the one that sets of categories hold


@frozen(eq=False)
class StagePlan:
    """A stage tree as plain lists for walkers. Sets of features are integers, one bit a column."""

    bank: WeakLearnerBank
    stages: tuple[Stage, ...]
    terms: tuple[tuple[tuple[int, tuple[tuple[int, float, int], ...]], ...], ...]
    """For each stage, for each active learner t in order: (t, ((output j, weight, target k), ...) by target)."""
    feature: list[int]
    threshold: list[float]
    missing_left: list[bool]
    reading: list[int]
    categories: list[frozenset[float]]  # those that go against the missing way; empty at comparisons of numbers
    left: list[int]  # nodes are counted over all trees
    right: list[int]
    root: list[int]
    reads: list[int]  # features tested at a node or below it, as the next: see `look_below`
    certain: list[int]  # features tested on every path from a node to a leaf
    learner_reads: list[int]  # by learner
    depth: list[int]  # by tree

    def look_below(self, tree: int) -> None:
        """Set `reads` and `certain` of a tree's nodes, once a model: walks look at few of many trees."""
        first, feature, reads, certain = self.root[tree], self.feature, self.reads, self.certain
        if reads[first] or feature[first] < 0:
            return
        for node in range(int(self.bank.trees.first[tree + 1]) - 1, first - 1, -1):  # children come after their parent
            if feature[node] >= 0:
                bit, below, above = 1 << feature[node], self.left[node], self.right[node]
                certain[node] = bit | (certain[below] & certain[above])
                reads[node] = bit | reads[below] | reads[above]

    def child(self, node: int, value: float) -> int:
        """Return the child that a value goes to; NaN is the value that differs from itself."""
        if reading := self.reading[node]:
            value = read_value(value, reading)
        value = value if value == value else NAN  # noqa: PLR0124 - NaN
        if categories := self.categories[node]:
            left = (value in categories) != self.missing_left[node]
        else:
            left = self.missing_left[node] if value != value else value <= self.threshold[node]  # noqa: PLR0124
        return self.left[node] if left else self.right[node]

    def leaf_outputs(self, tree: int, node: int) -> list[float]:
        """Return the outputs of a tree at one of its leaves."""
        trees = self.bank.trees
        first, width = int(trees.value[node]), int(trees.width[tree])
        outputs: list[float] = trees.values[first : first + width].tolist()
        return outputs

    def filled(self, column: int, value: float) -> float:
        """Return a column learner's output: the value, or the fill value for NaN."""
        return float(self.bank.column_fill[column]) if value != value else value  # noqa: PLR0124 - NaN

    def score(self, number: int, outputs: Mapping[int, list[float]]) -> list[float]:
        """Score a stage by the outputs of its learners, in order; learners without outputs add nothing."""
        scores: list[float] = self.stages[number].intercept.tolist()
        for t, terms in self.terms[number]:
            if t not in outputs:
                continue
            sums: dict[int, float] = {}
            for j, weight, k in terms:
                term = weight * outputs[t][j]
                sums[k] = sums[k] + term if k in sums else term
            for k, total in sums.items():
                scores[k] += total
        return scores


def plan_stages(bank: WeakLearnerBank, stages: tuple[Stage, ...]) -> StagePlan:
    """Make the lists of a stage tree, once a model."""
    trees = bank.trees
    base = np.repeat(trees.first[:-1], np.diff(trees.first))
    feature, left, right = trees.feature.tolist(), (base + trees.left).tolist(), (base + trees.right).tolist()
    flat, none = [c if c == c else NAN for c in trees.categories.tolist()], frozenset[float]()  # noqa: PLR0124
    categories = [
        frozenset(flat[begin:end]) if end > begin else none for begin, end in pairwise(trees.category_first.tolist())
    ]
    columns = bank.F.tocsc()
    learner_reads = [
        sum(1 << int(f) for f in columns.indices[columns.indptr[t] : columns.indptr[t + 1]]) for t in range(len(bank))
    ]
    return StagePlan(
        bank, stages, tuple(_terms(stage, bank.widths) for stage in stages),
        feature, trees.threshold.tolist(), trees.missing_left.tolist(), trees.reading.tolist(), categories, left,
        right,
        trees.first[:-1].tolist(), [0] * len(feature), [0] * len(feature), learner_reads, trees.depths().tolist(),
    )  # fmt: skip


def _terms(stage: Stage, widths: NDArray[np.int32]) -> tuple[tuple[int, tuple[tuple[int, float, int], ...]], ...]:
    of = np.repeat(stage.learners, widths[stage.learners])
    output = np.arange(len(of)) - np.searchsorted(of, of)
    row, target = np.nonzero(stage.weights)
    order = np.lexsort((row, target, of[row]))
    row, target = row[order], target[order]
    terms: dict[int, list[tuple[int, float, int]]] = {}
    entries = zip(
        of[row].tolist(), output[row].tolist(), stage.weights[row, target].tolist(), target.tolist(), strict=True
    )
    for t, j, weight, k in entries:
        terms.setdefault(t, []).append((j, weight, k))
    return tuple((t, tuple(each)) for t, each in terms.items())


@frozen(eq=False)
class Lookahead:
    """The look ahead of a row; sets of features are integers, one bit a column.

    With `by_path`, trees acquire features split by split; else all of them before they are evaluated. A path ends at a
    test of one of the features `barred`.
    """

    tree: StageTree
    prices: PriceArrays
    by_path: bool
    barred: int

    @property
    def plan(self) -> StagePlan:
        """The tree as lists."""
        return self.tree.plan

    def acquires_by_node(self, t: int) -> bool:
        """Return whether a learner acquires features split by split."""
        return self.by_path and bool(self.plan.bank.kind[t] == TREE)

    def _needs_of(self, state: RowState, t: int) -> int:
        """Return the unknown features that a learner certainly reads, if it goes on."""
        plan = self.plan
        if not self.acquires_by_node(t):
            return plan.learner_reads[t] & ~state.known
        tree = int(plan.bank.index[t])
        plan.look_below(tree)
        node = state.node.get(t, plan.root[tree])
        return self._tested_below(state, node)

    def needs_within(self, state: RowState, limit: float) -> int:
        """Return the features of learners of this stage that the row can certainly pay in full.

        If it may have to give the current learner up, only that learner's next features are certain.
        """
        plan, needs, bank, weights = self.plan, self.prices.direct_needs, self.plan.bank, self.tree.weights[1]
        exact, most_compared = self.tree.exact(self.prices), int(self.prices.comparisons[1].max(initial=0.0))
        found, most = 0, state.spent  # features, and an upper bound on the cost after each learner
        bought, resources = state.bought, set(state.resources)  # by then
        for t, _ in plan.terms[state.stage]:
            reads, by_node = plan.learner_reads[t], self.acquires_by_node(t)
            if t in state.outputs or t in state.given_up or (reads & self.barred and not by_node):
                continue
            for f in members(reads & ~bought):
                fresh = needs.unpaid(f, resources)
                most += exact.cost[f] + sum([exact.resource_cost[r] for r in fresh])
                resources |= fresh
            bought |= reads
            compared = most_compared * plan.depth[int(bank.index[t])] if bank.kind[t] == TREE else 0
            most += exact.evaluated(weights[t], compared, reads.bit_count())
            if most > limit:
                return found or (1 << plan.feature[state.node[t]] if by_node else reads & ~state.known)
            found |= self._needs_of(state, t)
        return found

    def _tested_below(self, state: RowState, node: int) -> int:
        """Return the unknown features tested on every path from a node on."""
        plan, values, found, touched = self.plan, state.values, dict[int, int](), state.known | self.barred
        waiting = [node]
        while waiting:  # not recursive: trees may be thousands deep
            current = waiting[-1]
            feature = plan.feature[current]
            if not plan.reads[current] & touched:
                found[current] = plan.certain[current]  # nothing below is known, so the prepared set holds
            elif feature in values:
                child = plan.child(current, values[feature])
                if child not in found:
                    waiting.append(child)
                    continue
                found[current] = found[child]
            elif self.barred >> feature & 1:
                found[current] = 0
            else:
                left, right = plan.left[current], plan.right[current]
                if left not in found:
                    waiting.append(left)
                    continue
                if found[left] and right not in found:
                    waiting.append(right)
                    continue
                found[current] = 1 << feature | (found[left] and found[left] & found[right])
            waiting.pop()
        return found[node]


def cannot_bind(limits: Limits, tree: StageTree, prices: PriceArrays) -> bool:
    """Return whether every row stays within the limits, for any values, so that it needs no limits."""
    columns, (weight, comparisons, uses) = tree.layout.used.tolist(), tree.most_evaluated
    if limits.unavailable.intersection(columns):
        return False
    exact = tree.exact(prices)
    most = exact.evaluated(weight, comparisons * prices.comparisons[1].max(initial=0.0), uses)
    most += sum([exact.cost[f] for f in columns])
    most += sum([exact.resource_cost[r] for r in prices.direct_needs.of_features(columns)])
    return bool(most <= exact.limit(limits.max_cost))


def sum_evaluations(tree: StageTree) -> tuple[int, int, int]:
    """Return sums over all learners of a tree: of e_t in its unit, of comparisons on the longest way, of reads."""
    bank, learners = tree.bank, np.unique(tree.layout.learner)
    trees = bank.index[learners[bank.kind[learners] == TREE]]
    reads = np.diff(bank.F.tocsc().indptr)[learners]
    return int(tree.weights[1][learners].sum()), int(bank.trees.depths()[trees].sum()), int(reads.sum())
