"""Contributions: scores of rows, split by the features on which the learners' outputs depend."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.explanations.tree_paths import add_paths
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from costframe.core.caps.expected_outputs import Expected
    from costframe.core.caps.fallbacks import Fallbacks
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Answer


@frozen
class Joint:
    """A contribution that belongs to several features together: that of an opaque learner, or of a made column."""

    name: str
    reads: tuple[int, ...]  # columns


@frozen(eq=False)
class Contributions:
    """Scores of rows, as sums of a base and the contributions of d features and J joint entries.

    Attributes
    ----------
    base : float64 (rows, K)
        Expected score of the row's answer, before any feature is known.
    values : float64 (rows, d + J, K)
    squares : float64 (rows, d + J)
        Squares of the steps of each learner, summed over learners and outputs: their mean is the variance that splits
        on the feature explain.
    joint : tuple of Joint
    """

    base: NDArray[np.float64]
    values: NDArray[np.float64]
    squares: NDArray[np.float64]
    joint: tuple[Joint, ...] = ()

    @classmethod
    def zeros(cls, n_rows: int, n_features: int, n_outputs: int, joint: Sequence[Joint] = ()) -> Contributions:
        """Make room for contributions."""
        n_parts = n_features + len(joint)
        values, squares = np.zeros((n_rows, n_parts, n_outputs)), np.zeros((n_rows, n_parts))
        return cls(np.zeros((n_rows, n_outputs)), values, squares, tuple(joint))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores: float64 (rows, K)."""
        return np.asarray(self.base + self.values.sum(axis=1))

    def add(self, rows: NDArray[np.int64], part: int, steps: NDArray[np.float64]) -> None:
        """Add the steps of one learner, float64 (rows, K), to the part of some rows."""
        self.values[rows, part] += steps
        self.squares[rows, part] += (steps * steps).sum(axis=1)

    def folded(self, made: Sequence[Joint], used: Sequence[int], n_features: int) -> Contributions:
        """Return contributions of raw columns, given those of the columns `made` of them, of which some are `used`.

        A column made of one raw column counts for that; one made of several, or of none, is a joint entry.
        """
        behind = [each.reads for each in made]
        inner = [
            Joint(one.name, tuple(sorted({f for place in one.reads for f in behind[place]}))) for one in self.joint
        ]
        several = [place for place in used if len(behind[place]) != 1]
        joint = [*(made[place] for place in several), *inner]
        found = Contributions.zeros(len(self.base), n_features, self.base.shape[1], joint)
        found.base[:] = self.base
        parts = {place: behind[place][0] for place in used if len(behind[place]) == 1}
        others = [*several, *range(len(made), len(made) + len(inner))]
        for part, to in (parts | {part: n_features + number for number, part in enumerate(others)}).items():
            found.values[:, to] += self.values[:, part]
            found.squares[:, to] += self.squares[:, part]
        return found


def split_scores(
    bank: WeakLearnerBank,
    answers: Mapping[int, Answer],
    exits: NDArray[np.int64],
    X: NDArray[np.float64],
    expected: Expected | Fallbacks,
) -> Contributions:
    """Split the scores of rows, float64 (rows, d), given the answers by exit, and the exits of rows, int64 (rows,).

    A tree contributes the changes of its expected output on the row's path, each to the feature that is tested there;
    a column or opaque learner, the difference of its output and the expected one.
    """
    joint = [Joint(learner.name, learner.features) for learner in bank.opaques]
    width = max(len(answer.intercept) for answer in answers.values())
    found = Contributions.zeros(len(X), len(bank.feature_names), width, joint)
    with np.errstate(over="ignore", invalid="ignore"):
        for number in np.unique(exits).tolist():
            rows, answer = np.flatnonzero(exits == number), as_shown(answers[number])
            found.base[rows] = answer.intercept
            first = np.cumsum([0, *bank.widths[answer.learners]])
            weights = [answer.weights[a:b] for a, b in pairwise(first)]
            of_learner = {int(t): w for t, w in zip(answer.learners, weights, strict=True) if w.any()}
            trees = {t: w for t, w in of_learner.items() if bank.kind[t] == TREE}
            add_paths(bank, trees, expected, X, rows, found)
            _add_others(bank, of_learner, expected, X, rows, found)
    return found


def as_shown(answer: Answer) -> Answer:
    """Return the answer whose scores `decision_function` gives, where they are sums of learners."""
    if n := answer.class_scores:
        weights, intercept = answer.weights[:, n:], answer.intercept[n:]
        return evolve(answer, weights=weights, intercept=intercept, blends=(), by_scores=False)
    return answer.divided() if answer.blends and not answer.by_scores else answer


def _add_others(
    bank: WeakLearnerBank,
    weights: Mapping[int, NDArray[np.float64]],
    expected: Expected | Fallbacks,
    X: NDArray[np.float64],
    rows: NDArray[np.int64],
    found: Contributions,
) -> None:
    """Add the contributions of columns and opaque learners."""
    first = np.cumsum([0, *(learner.width for learner in bank.opaques)])
    for t, weight in weights.items():
        index = int(bank.index[t])
        if bank.kind[t] == COLUMN:
            part = int(bank.column_feature[index])
            given = X[rows, part][:, None]
            outputs, mean = np.where(np.isnan(given), bank.column_fill[index], given), expected.column_values[[index]]
        elif bank.kind[t] == OPAQUE:
            part = len(bank.feature_names) + index
            learner = bank.opaques[index]
            outputs = learner(X[np.ix_(rows, np.array(learner.features, np.int64))])
            mean = expected.opaque_values[first[index] : first[index + 1]]
        else:
            continue
        found.add(rows, part, weigh(outputs - mean, weight))
        found.base[rows] += weigh(mean[None], weight)


def weigh(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values, float64 (rows, C), times weights, float64 (C, K), without the values of zero weights."""
    found = np.zeros((len(values), weights.shape[1]))
    for c, k in np.argwhere(weights):
        found[:, k] += weights[c, k] * values[:, c]
    return found
