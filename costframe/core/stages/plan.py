"""A stage tree as plain lists for walkers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.readings import read_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Stage

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
