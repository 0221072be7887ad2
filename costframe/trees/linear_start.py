"""Linear scores of binned columns, from which boosting may begin: calmer than trees on few rows and weak features.

A column adds a step function of at most 64 steps to the scores: a line over its values plus one over their ranks, both
level beyond its outer bins. So a value far from all training rows moves a score no further than the outermost ones do.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import expit

from costframe.core.arrays import F8, I8, U8
from costframe.core.learners.tree_table import TreeTable
from costframe.core.sums import exact_mean
from costframe.training.data import Rows
from costframe.training.losses import LOGISTIC, SQUARED, PointwiseLoss
from costframe.trees.bin_mapper import MISSING_BIN, BinMapper, BinnedData

_Solved = tuple[F8, NDArray[np.floating[Any]], F8]

_STEPS = 64
_FEW = 4  # steps of a column whose ranks say no more than its values
_FAR, _GRID = 4.0, 32.0  # largest standardized value, and its units: few bits, so that sums are exact in any order
_RIDGE = 1.0  # rows
_AKAIKE = 2.0
_NEWTON, _LONGEST, _CONVERGED = 6, 4.0, 1e-2  # steps for two classes; the longest one and the last, in log odds
_BOUNDED = 40  # steps for more classes
_BITS = 16  # of a derivative
_LEAST = 1e-4  # ridge of the constant
_BOUND = 0.5  # of the curvature of softmax
_MOST, _RANKED = 128, 20  # columns that may have an effect, and those that may have two lines


@frozen(eq=False)
class LinearStart:
    """Linear scores of binned columns."""

    intercept: F8  # (K,)
    codes: tuple[_Code, ...]  # columns with an effect, ascending
    # (steps + 1, K): what each step of these adds to the scores; the last is for missing values
    effects: tuple[F8, ...]

    @classmethod
    def fit(cls, data: BinnedData, rows: Rows, loss: PointwiseLoss, inside: NDArray[np.int32]) -> LinearStart:
        """Fit scores with a ridge to some rows of a single worker; the result does not depend on their order."""
        candidates = np.flatnonzero(data.splittable & ~data.mapper.categorical).tolist()
        candidates = candidates if len(candidates) <= _MOST else []
        weight = _rounded(rows.weight[inside], rows.total_repeats)
        ridge = _RIDGE * weight.sum() / rows.repeats[inside].sum()
        ranked = len(candidates) <= _RANKED
        codes = [code for f in candidates if (code := _Code.of(data, f, inside, weight, ranked=ranked)).values.shape[1]]
        for last in (False, True):
            lines = [code.of_bins(data.columns[code.column][inside]) for code in codes]
            table = np.hstack([np.ones((len(inside), 1)), *lines])
            weights, inverse, varied = _Regression(table, np.asarray(rows.y)[inside], weight, ridge, loss).solve()
            ends = np.cumsum([1, *(code.values.shape[1] for code in codes)]).tolist()
            parts = [slice(begin, end) for begin, end in pairwise(ends)]
            if last:
                break
            codes = [
                code
                for code, part in zip(codes, parts, strict=True)
                if _improves(weights[part], inverse[part, part], varied)
            ]
        effects = tuple(code.values @ weights[part] for code, part in zip(codes, parts, strict=True))
        return cls(weights[0], tuple(codes), effects)

    def scores(self, data: BinnedData) -> F8:
        """Score rows: float64 (n, K)."""
        scores = np.tile(self.intercept, (data.n_rows, 1))
        for code, effects in zip(self.codes, self.effects, strict=True):
            scores += effects[code.steps[data.columns[code.column]]]
        return scores

    def trees(self, mapper: BinMapper, columns: I8 | None = None) -> TreeTable:
        """Return one tree with K outputs for each column with an effect; `columns`, int64 (k,), renumber them."""
        trees = [
            _as_tree(code.ends_of(mapper), effects, code.column if columns is None else int(columns[code.column]))
            for code, effects in zip(self.codes, self.effects, strict=True)
        ]
        return TreeTable.concatenate(trees)


def _improves(weights: F8, inverse: NDArray[np.floating[Any]], varied: F8) -> bool:
    """Return whether weights, (m, K), are worth their number by Akaike's criterion, after Wald's statistic."""
    decrease = (weights * np.linalg.solve(inverse, weights)).sum(axis=0) @ varied
    return bool(decrease > _AKAIKE * weights.size)


@frozen(eq=False)
class _Code:
    """The steps of a column, and their places on lines over values and ranks."""

    column: int
    steps: I8  # (256,): the step of each bin; the last step is that of missing values
    # (steps + 1, m): up to three: standardized values, standardized ranks, and whether the value is missing
    values: F8

    @classmethod
    def of(cls, data: BinnedData, column: int, inside: NDArray[np.int32], weight: F8, ranked: bool) -> _Code:
        ends = data.mapper.thresholds[column]
        steps, n_steps = np.zeros(256, np.int64), min(len(ends), _STEPS)
        steps[: len(ends)] = np.arange(len(ends)) * n_steps // len(ends)
        steps[MISSING_BIN] = n_steps
        mass = np.asarray(np.bincount(steps[data.columns[column][inside]], weight, n_steps + 1), np.float64)
        lines: list[F8] = []
        if n_steps > 1:
            middle = ends[np.searchsorted(steps[: len(ends)], np.arange(n_steps))]
            middle[-1] = middle[-1] if np.isfinite(middle[-1]) else ends[-2]
            lines = [middle, np.arange(n_steps, dtype=np.float64)] if ranked and n_steps > _FEW else [middle]
        made = [standardized for line in lines if (standardized := _standardized(line, mass[:-1])) is not None]
        if 0 < mass[-1] < mass.sum():
            made.append(np.append(np.zeros(n_steps), 1.0))
        return cls(column, steps, np.stack(made, axis=1) if made else np.empty((n_steps + 1, 0)))

    def ends_of(self, mapper: BinMapper) -> F8:
        """Return the largest value of each step: float64 (steps,)."""
        ends = mapper.thresholds[self.column]
        last = np.searchsorted(self.steps[: len(ends)], np.arange(len(self.values) - 1), "right") - 1
        return np.asarray(ends[last])

    def of_bins(self, bins: U8) -> F8:
        """Return the values of bins: float64 (n, m)."""
        return self.values[self.steps[bins]]


def _standardized(line: F8, mass: F8) -> F8 | None:
    """Return a line over steps on the grid, zero for missing values; None if all rows are at one place."""
    total = mass.sum()
    if not total > 0 or not np.isfinite(line).all():
        return None
    size = np.abs(line).max()  # squares of huge values overflow
    line = line / size if size > 0 else line
    line = line - (mass @ line) / total
    spread = np.sqrt((mass @ line**2) / total)
    if not spread > 0:
        return None
    return np.append(np.rint(np.clip(line / spread, -_FAR, _FAR) * _GRID) / _GRID, 0.0)


def _rounded(weight: F8, n_rows: int) -> F8:
    """Round weights so that their products with values on the grid and derivatives add up exactly in any order."""
    bits = max(53 - _BITS - 8 - int(n_rows).bit_length(), 1)
    unit = 2.0 ** (np.frexp(weight.max(initial=1.0))[1] - bits)
    return np.asarray(np.maximum(np.rint(weight / unit), 1.0) * unit)


@frozen(eq=False)
class _Regression:
    """A ridge regression of a loss."""

    table: F8  # (n, p): the first column is constant
    y: F8  # (n,)
    weight: F8  # (n,)
    ridge: float
    loss: PointwiseLoss

    def solve(self) -> _Solved:
        """Return weights of the columns, (p, K), the inverse of their curvature, (p, p), and its factor, (K,)."""
        weights = np.zeros((self.table.shape[1], self.loss.n_outputs))
        weights[0] = self.loss.baseline(Rows(self.y[:, np.newaxis], self.y, self.weight))
        if self.loss.kind == SQUARED:
            return self._squared(weights)
        return self._two_classes(weights) if self.loss.kind == LOGISTIC else self._many_classes(weights)

    def _squared(self, weights: F8) -> _Solved:
        inverse = np.linalg.inv(self._curvature(np.ones(len(self.y))))
        truth = self.y[:, np.newaxis]
        weights = weights - inverse @ self._slope(self.table @ weights - truth, weights)
        residual = self.table @ weights - truth
        spread = exact_mean(residual[:, 0] ** 2, self.weight)
        return weights, inverse, np.array([1 / (self.unit * spread) if spread > 0 else 0.0])

    def _two_classes(self, weights: F8) -> _Solved:
        for _ in range(_NEWTON):
            likely = expit(self.table @ weights)
            inverse = np.linalg.inv(self._curvature((likely * (1 - likely))[:, 0]))
            step = inverse @ self._slope(likely - (self.y == 1)[:, np.newaxis], weights)
            longest = np.abs(self.table @ step).max(initial=0.0)
            weights = weights - step * min(1.0, _LONGEST / max(longest, _CONVERGED))
            if longest < _CONVERGED:
                break
        return weights, inverse, np.array([1 / self.unit])

    def _many_classes(self, weights: F8) -> _Solved:
        """Descend with momentum, by a bound on the curvature of softmax (Boehning, 1992).

        Arrays of a row's classes are transposed: numpy adds up few numbers a row slowly.
        """
        inverse = np.linalg.inv(self._curvature(np.full(len(self.y), _BOUND)))
        truth = np.equal.outer(np.arange(weights.shape[1]), self.y).astype(np.float64)
        ahead, age = weights, 1.0
        for _ in range(_BOUNDED):
            likely = _softmax(ahead.T @ self.table.T)
            before, weights = weights, ahead - inverse @ self._slope((likely - truth).T, ahead)
            older = (1 + np.sqrt(1 + 4 * age**2)) / 2
            ahead, age = weights + (age - 1) / older * (weights - before), older
        varied = ((likely * (1 - likely)) @ self.weight) / self.weight.sum()
        return weights, inverse, varied / _BOUND / self.unit

    @property
    def unit(self) -> float:
        """The weight of one row."""
        return self.ridge / _RIDGE

    def _slope(self, derivatives: F8, weights: F8) -> F8:
        """Return the derivatives of the sum of losses by the weights of the columns: float64 (p, K)."""
        unit = 2.0 ** (np.frexp(np.abs(derivatives).max(initial=0.0) or 1.0)[1] - _BITS)
        rounded = np.rint(derivatives / unit) * unit * self.weight[:, np.newaxis]
        sums = self.table.T @ rounded
        sums[1:] += self.ridge * weights[1:]
        return np.asarray(sums)

    def _curvature(self, of_row: F8) -> F8:
        """Return the second derivatives of the sum of losses, given those of each row up to a few digits: (p, p)."""
        few = np.maximum(np.rint(of_row * _GRID**2), 1.0) / _GRID**2 * self.weight
        diagonal = np.full(self.table.shape[1], self.ridge)
        diagonal[0] = _LEAST * self.ridge
        return np.asarray((self.table * few[:, np.newaxis]).T @ self.table + np.diag(diagonal))


def _as_tree(ends: F8, effects: F8, column: int) -> TreeTable:
    """Return a balanced tree over the steps of a column; at its root, missing values go to a leaf of their own."""
    nodes: list[tuple[int, float, int, int, int]] = []  # feature, threshold, left, right, step of a leaf

    def add(first: int, last: int) -> int:
        """Add the tree over some steps; return its place."""
        place = len(nodes)
        nodes.append((-1, 0.0, -1, -1, first))
        if first < last:
            middle = (first + last) // 2
            left, right = add(first, middle), add(middle + 1, last)
            nodes[place] = (column, float(ends[middle]), left, right, -1)
        return place

    nodes.append((column, np.inf, 1, -1, -1))
    add(0, len(ends) - 1)
    nodes[0] = (column, np.inf, 1, len(nodes), -1)
    nodes.append((-1, 0.0, -1, -1, len(ends)))
    feature, threshold, left, right, step = (np.array(values) for values in zip(*nodes, strict=True))
    leaf, width = feature < 0, effects.shape[1]
    return TreeTable(
        np.array([0, len(nodes)]),
        feature,
        threshold,
        np.zeros(len(nodes), np.bool_),
        left,
        right,
        np.array([width]),
        np.where(leaf, (np.cumsum(leaf) - 1) * width, -1),
        effects[step[leaf]].ravel(),
    )


def _softmax(scores: F8) -> F8:
    """Return the probabilities of classes, (K, n), given their scores."""
    powers = np.exp(scores - scores.max(axis=0))
    return np.asarray(powers / powers.sum(axis=0))
