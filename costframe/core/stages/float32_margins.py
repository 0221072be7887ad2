"""Classes by float32 margins: a library that adds its trees in float32 has ties, and ends of ties, of its own.

xgboost adds leaf after leaf to the base score in float32, applies its link in float32, and takes the first largest
probability, or class 1 above a half. Scores here are float64; where two of them are so near that float32 might tell
another class, the margin is added up once more as the library does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.checks import check_choice
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TREE, ranges

F4 = NDArray[np.float32]

FLOAT32_LINKS = ("identity", "softmax", "sigmoid", "step")
_UNIT = 2.0**-24  # of the rounding of float32
_LINK_SLACK = 2.0**-20  # margins further apart than that have different probabilities in float32
_ONE, _TINY, _MOST = np.float32(1), np.float32(1e-16), np.float32(88.7)  # of xgboost's sigmoid
_ROWS = 4096  # at a time


class Sums(NamedTuple):
    """Weighted sums of learners, the scores of an answer; see `Answer`."""

    bank: WeakLearnerBank
    learners: I8
    weights: F8  # (C, K)
    intercept: F8  # (K,)


@frozen
class Float32Margins:
    """How float32 margins tell a class.

    "softmax": the first largest of their softmax, "identity": of themselves. "sigmoid": class 1 has a sigmoid above a
    half, "step": a margin above zero. With `dropout` the leaf v of a tree of weight w adds w ((b + v) - b), with the
    base score b, as xgboost's dart does.
    """

    link: str = field()
    dropout: bool = False

    @link.validator
    def _known_link(self, _attribute: Attribute[str], value: str) -> None:
        check_choice("float32", value, FLOAT32_LINKS)

    def slack(self, sums: Sums) -> float:
        """Return how near float64 scores may be that float32 tells apart otherwise; infinite if values have weights."""
        if (sums.bank.kind[sums.learners] != TREE).any():
            return np.inf
        largest = np.abs(sums.weights) * _largest_outputs(sums)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            bound = largest.sum(axis=0) + np.abs(sums.intercept)
            steps = (sums.weights != 0).sum(axis=0) * (4 if self.dropout else 1) + 1
            slack = 2.0 * float((steps * bound).max()) * _UNIT + _LINK_SLACK
        return slack if np.isfinite(slack) else np.inf

    def places(self, sums: Sums, X: F8) -> I8:
        """Return the number of the class of each row of X, float64 (rows, d): int64 (rows,)."""
        parts = [self._places(self.margins(sums, X[at : at + _ROWS])) for at in range(0, len(X), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def margins(self, sums: Sums, X: F8) -> F4:
        """Return the margins of rows, float32 (rows, K), added as the library adds them."""
        widths, learners = sums.bank.widths, sums.learners
        with np.errstate(over="ignore"):
            every, weights = sums.bank.outputs(X).astype(np.float32), sums.weights.astype(np.float32)
            base = sums.intercept.astype(np.float32)
        columns = ranges((np.cumsum(widths, dtype=np.int64) - widths)[learners], widths[learners])
        outputs: Any = every[:, columns]
        all_sums = np.empty((len(X), len(base)), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for k, begin in enumerate(base):
                some = np.flatnonzero(weights[:, k])
                added = outputs[:, some]
                added = ((begin + added) - begin if self.dropout else added) * weights[some, k]
                first = np.full((len(X), 1), begin)
                all_sums[:, k] = np.add.accumulate(np.hstack([first, added]), axis=1, dtype=np.float32)[:, -1]
        return all_sums

    def _places(self, margins: F4) -> I8:
        if self.link == "step":
            return np.asarray(margins[:, 0] > 0, np.int64)
        if self.link == "sigmoid":
            with np.errstate(over="ignore"):
                p = _ONE / (_exp(np.minimum(-margins[:, 0], _MOST)) + _ONE + _TINY)
            return np.asarray(p > np.float32(0.5), np.int64)
        return np.asarray((margins if self.link == "identity" else _softmax(margins)).argmax(axis=1), np.int64)


def _softmax(margins: F4) -> F4:
    """Return the softmax of each row as xgboost computes it: powers in float32, their sum in float64."""
    with np.errstate(invalid="ignore"):
        powers = _exp(margins - margins.max(axis=1, keepdims=True))
        total = np.add.accumulate(powers, axis=1, dtype=np.float64)[:, -1:]
        return np.asarray(powers / total.astype(np.float32))


def _exp(values: F4) -> F4:
    """Return the exponentials of float32 numbers by the C library, as numpy's own are less exact."""
    given = np.ascontiguousarray(values, np.float64)
    powers = np.empty(given.size)
    engine.exp_float32(given.ravel(), powers)
    return powers.reshape(values.shape).astype(np.float32)


def _largest_outputs(sums: Sums) -> F8:
    """Return the largest size of each output of trees: float64 (C,)."""
    trees = sums.bank.trees
    widest = int(trees.width.max(initial=1))
    largest = np.zeros((len(trees), widest))
    leaves = np.flatnonzero(trees.value >= 0)
    owner = trees.tree_of_node[leaves]
    for k in range(widest):
        has = trees.width[owner] > k
        np.maximum.at(largest[:, k], owner[has], np.abs(trees.values[trees.value[leaves[has]] + k]))
    index = sums.bank.index[sums.learners]
    return np.concatenate([largest[t, : trees.width[t]] for t in index.tolist()] or [np.zeros(0)])
