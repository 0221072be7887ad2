"""A stage tree as plain lists for walkers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.stages.layout import active_learners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Stage

__all__ = ["StagePlan", "plan_stages"]


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
    categories: list[frozenset[float]]  # those that go against the missing way; empty at comparisons of numbers
    left: list[int]  # nodes are counted over all trees
    right: list[int]
    root: list[int]
    reads: list[int]  # features tested at a node or below it
    certain: list[int]  # features tested on every path from a node to a leaf
    learner_reads: list[int]  # by learner
    depth: list[int]  # by tree

    def child(self, node: int, value: float) -> int:
        """Return the child that a value goes to; NaN is the value that differs from itself."""
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
    reads, certain = [0] * len(feature), [0] * len(feature)
    for node in range(len(feature) - 1, -1, -1):  # children come after their parent
        if feature[node] >= 0:
            bit, below, above = 1 << feature[node], left[node], right[node]
            reads[node] = bit | reads[below] | reads[above]
            certain[node] = bit | (certain[below] & certain[above])
    flat, none = trees.categories.tolist(), frozenset[float]()
    categories = [
        frozenset(flat[begin:end]) if end > begin else none for begin, end in pairwise(trees.category_first.tolist())
    ]
    columns = bank.F.tocsc()
    learner_reads = [
        sum(1 << int(f) for f in columns.indices[columns.indptr[t] : columns.indptr[t + 1]]) for t in range(len(bank))
    ]
    return StagePlan(
        bank, stages, tuple(_terms(stage, bank.widths) for stage in stages),
        feature, trees.threshold.tolist(), trees.missing_left.tolist(), categories, left, right,
        trees.first[:-1].tolist(), reads, certain, learner_reads, trees.depths().tolist(),
    )  # fmt: skip


def _terms(stage: Stage, widths: NDArray[np.int32]) -> tuple[tuple[int, tuple[tuple[int, float, int], ...]], ...]:
    first = np.cumsum(widths[stage.learners]) - widths[stage.learners]
    out = []
    for at in np.flatnonzero(active_learners(stage, widths)):
        t = int(stage.learners[at])
        weights = stage.weights[first[at] : first[at] + widths[t]]
        targets, outputs = np.nonzero(weights.T)
        out.append((t, tuple((int(j), float(weights[j, k]), int(k)) for k, j in zip(targets, outputs, strict=True))))
    return tuple(out)
