"""Gains of features: the parts of the variance of scores that learners explain by them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.node_layout import tree_leaves
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.run_stages import MeanOutputs, mean_outputs
from costframe.core.stages.stages import Answer
from costframe.core.stages.weighted_outputs import Weights, weighted_outputs, weights_of

_CELLS = 1 << 22  # of a table of rows and trees

Gains = Mapping[tuple[int, ...], float]  # by the columns that a test of a tree, or a learner, reads together


def gains_of_answers(
    bank: WeakLearnerBank,
    answers: Mapping[int, Answer],
    exits: I8,
    rows: FallbackRows,
    expected: MeanOutputs | None = None,
) -> Gains:
    """Return the gains on rows, given the answers by exit, and the exits of rows, int64 (rows,).

    The gain of a test of a tree is the square of the change of the tree's expected output there, summed over rows and
    outputs; that of a column or opaque learner, the square of the difference of its output and the expected one.
    Expected outputs are means over the rows by default.
    """
    expected = mean_outputs(bank, rows.X, rows.weight) if expected is None else expected
    n_features = len(bank.feature_names)
    sums = np.zeros(n_features + len(bank.opaques))
    with np.errstate(over="ignore", invalid="ignore"):
        for number in np.unique(exits).tolist():
            ended, answer = exits == number, _as_shown(answers[number])
            of_learner = weights_of(bank, answer)
            trees = {t: w for t, w in of_learner.items() if bank.kind[t] == TREE}
            _add_trees(bank, trees, expected, rows.X[ended], rows.weight[ended], sums)
            _add_others(bank, of_learner, expected, rows.X[ended], rows.weight[ended], sums)
    parts = [*((f,) for f in range(n_features)), *(learner.features for learner in bank.opaques)]
    gains: dict[tuple[int, ...], float] = {}
    for part, gain in zip(parts, sums.tolist(), strict=True):
        gains[part] = gains.get(part, 0.0) + gain
    return gains


def gain_shares(gains: Gains, n_features: int) -> F8:
    """Return the share of each feature in the gains: float64 (d,); what several explain together is in equal parts."""
    gain = np.zeros(n_features)
    for columns, value in gains.items():
        gain[list(columns)] += value / max(1, len(columns))
    return as_shares(gain)


def as_shares(sizes: F8) -> F8:
    """Scale numbers >= 0 so that they add up to one; those that are not finite count as zero."""
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    total = float(sizes.sum())
    return sizes / total if total > 0 else sizes


def _as_shown(answer: Answer) -> Answer:
    """Return the answer whose scores `decision_function` gives, where they are sums of learners."""
    if n := answer.class_scores:
        weights, intercept = answer.weights[:, n:], answer.intercept[n:]
        return evolve(answer, weights=weights, intercept=intercept, blends=(), by_scores=False, cut=0.0)
    return answer.divided() if answer.blends and not answer.by_scores else answer


def _add_trees(bank: WeakLearnerBank, weights: Weights, expected: MeanOutputs, X: F8, weight: F8, sums: F8) -> None:
    """Add the gains of trees, given the weights of their outputs."""
    if not weights:
        return
    trees = bank.trees.restrict(bank.index[list(weights)].astype(np.int64))
    outputs = weighted_outputs(bank, weights, expected)
    parent, base = np.full(trees.n_nodes, -1), trees.first[trees.tree_of_node]
    inner = np.flatnonzero(trees.feature >= 0)
    parent[base[inner] + trees.left[inner]] = inner
    parent[base[inner] + trees.right[inner]] = inner
    mass, chunk = np.zeros(trees.n_nodes), max(1, _CELLS // len(trees))
    for begin in range(0, len(X), chunk):
        leaf = trees.first[:-1] + tree_leaves(trees, X[begin : begin + chunk], 1)
        mass += np.bincount(leaf.ravel(), np.repeat(weight[begin : begin + chunk], len(trees)), trees.n_nodes)
    level = trees.node_levels()
    for depth in range(int(level.max()), 0, -1):
        nodes = np.flatnonzero(level == depth)
        np.add.at(mass, parent[nodes], mass[nodes])
    nodes = np.flatnonzero((parent >= 0) & (mass > 0))
    steps = outputs[nodes] - outputs[parent[nodes]]
    np.add.at(sums, trees.feature[parent[nodes]], mass[nodes] * (steps * steps).sum(axis=1))


def _add_others(bank: WeakLearnerBank, weights: Weights, expected: MeanOutputs, X: F8, weight: F8, sums: F8) -> None:
    """Add the gains of columns and opaque learners."""
    first = np.cumsum([0, *(learner.width for learner in bank.opaques)])
    for t, of_outputs in weights.items():
        index = int(bank.index[t])
        if bank.kind[t] == COLUMN:
            part = int(bank.column_feature[index])
            given = X[:, part][:, None]
            outputs, mean = np.where(np.isnan(given), bank.column_fill[index], given), expected.column_values[[index]]
        elif bank.kind[t] == OPAQUE:
            part = len(bank.feature_names) + index
            learner = bank.opaques[index]
            outputs = learner(X[:, np.array(learner.features, np.int64)])
            mean = expected.opaque_values[first[index] : first[index + 1]]
        else:
            continue
        steps = _weigh(outputs - mean, of_outputs)
        sums[part] += weight @ (steps * steps).sum(axis=1)


def _weigh(values: F8, weights: F8) -> F8:
    """Return values, float64 (rows, C), times weights, float64 (C, K), without the values of zero weights."""
    totals = np.zeros((len(values), weights.shape[1]))
    for c, k in np.argwhere(weights):
        totals[:, k] += weights[c, k] * values[:, c]
    return totals
