"""A stage tree as the plain lists that a walker reads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.layout import active_learners

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.bank import WeakLearnerBank
    from costframe.core.stages import Stage

__all__ = ["StagePlan", "plan_stages"]


@frozen(eq=False)
class StagePlan:
    """Plain lists that a walker reads. Sets of features are integers, one bit a column."""

    bank: WeakLearnerBank
    stages: tuple[Stage, ...]
    terms: tuple[tuple[tuple[int, tuple[tuple[int, float, int], ...]], ...], ...]
    """For each stage, for each active learner t in order: (t, ((output j, weight, target k), ...) by target)."""
    feature: list[int]
    threshold: list[float]
    missing_left: list[bool]
    categories: list[frozenset[float]]  # those that go against the missing way; none where numbers are compared
    left: list[int]  # nodes are counted over all trees
    right: list[int]
    root: list[int]
    reads: list[int]  # features tested at a node or anywhere below it
    certain: list[int]  # features tested on every way from a node to a leaf
    learner_reads: list[int]  # by learner


def plan_stages(bank: WeakLearnerBank, stages: tuple[Stage, ...]) -> StagePlan:
    """Prepare the lists, once a model."""
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
        trees.first[:-1].tolist(), reads, certain, learner_reads,
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
