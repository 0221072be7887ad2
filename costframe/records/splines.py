"""Ridge regressions on linear splines of columns: what a row of a table would show in some columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from costframe.core.arrays import B1, F8, I8
from costframe.records.bootstrap import draw_rows

_FEWEST = 10  # rows with a value, else chance alone matches
_MOST_ROWS = 20_000  # from which a regression learns
_PENALTY = 3.0  # of a ridge regression on standardized columns
_KNOTS = (0.25, 0.5, 0.75)  # quantiles at which the slope of a column may change
_FEW_VALUES = 4  # of a column without knots
_MOST_COLUMNS = 100  # of a regression: those with the largest correlations
_MOST_LEVELS = 20  # of a category, the most frequent ones
_LARGEST = 1e100  # number, whose square is finite
_TAILS = (0.01, 0.99)  # quantiles beyond which values count as these


class Splines:
    """The columns of a table as linear splines and marks of empty cells, from which ridge regressions predict.

    Numbers of `categorical` columns only name categories: whether a row has each of the most frequent ones is a column.

    A flexible model would fit the rows that it learns from too well: donors would be those whose value is near a
    prediction, not those whose row is like.
    """

    def __init__(self, table: F8, categorical: Iterable[int] = ()) -> None:
        table = np.clip(table, -_LARGEST, _LARGEST)
        self._levels = {column: _levels_of(table[:, column]) for column in categorical}
        self._knots = [_knots_of(values[~np.isnan(values)]) for values in table.T]
        self._blocks = [self._encode(column, values) for column, values in enumerate(table.T)]

    def update(self, column: int, values: F8) -> None:
        """Replace the values of a column, (n,); its knots stay."""
        self._blocks[column] = self._encode(column, np.clip(values, -_LARGEST, _LARGEST))

    def make_targets(self, table: F8, columns: I8) -> F8:
        """Return some columns of a table as numbers to predict, (n, any): of a category, whether it is each one."""
        parts = [np.zeros((len(table), 0))]
        for column in columns.tolist():
            values = table[:, [column]]
            has = np.where(np.isnan(values), np.nan, values == self._levels.get(column, values[:0, 0]))
            parts.append(has if column in self._levels else values)
        return np.concatenate(parts, axis=1)

    def _encode(self, column: int, values: F8) -> F8:
        if column in self._levels:
            return _standardize(_indicators(values, self._levels[column]))
        return _block(values, self._knots[column])

    def predict(self, targets: F8, others: I8, known: B1, rng: np.random.Generator, weight: F8 | None = None) -> F8:
        """Return predictions of targets, (n, t), from the columns `others`, in like units: float64 (n, any).

        They learn from a bootstrap of the rows whose targets are `known`, by weights, (n,), so that copies differ as
        models do.
        """
        count = min(int(known.sum()), _MOST_ROWS)
        rows = draw_rows(np.flatnonzero(known), count, weight, rng) if known.any() else np.empty(0)
        basis = np.concatenate([self._blocks[column] for column in others.tolist()], axis=1)
        predictions = list(_regress(basis, targets, rows.astype(np.int64), known))
        return np.column_stack(predictions) if predictions else np.zeros((len(targets), 1))


def _knots_of(known: F8) -> F8:
    """Return where values are cut off below, where their slope may change, and where they are cut off above."""
    if not len(known):
        return np.empty(0)
    quantiles = np.quantile(known, (_TAILS[0], *_KNOTS, _TAILS[1]))
    if quantiles[0] < quantiles[-1] and len(np.unique(known)) > _FEW_VALUES:
        return np.unique(quantiles)
    return np.array([known.min(), known.max()])


def _block(values: F8, knots: F8) -> F8:
    """Return the splines of a column, standardized: float64 (n, any)."""
    empty = np.isnan(values)
    columns = [empty.astype(np.float64)] if empty.any() and not empty.all() else []
    if len(knots) and not empty.all():
        filled = np.clip(np.where(empty, knots[len(knots) // 2], values), knots[0], knots[-1])
        columns += [filled, *(np.maximum(filled - knot, 0.0) for knot in knots[1:-1])]
    return _standardize(np.column_stack(columns) if columns else np.zeros((len(values), 0)))


def _levels_of(values: F8) -> F8:
    """Return the most frequent values of a column, ascending."""
    levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return np.sort(levels[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]])


def _indicators(values: F8, levels: F8) -> F8:
    """Return whether each value is each level, and whether there is none: float64 (n, levels + 1)."""
    return np.column_stack([values[:, np.newaxis] == levels, np.isnan(values)]).astype(np.float64)


def _standardize(block: F8) -> F8:
    """Return the columns of a block that vary, with mean 0 and variance 1."""
    block = block - block.mean(axis=0)
    spread = block.std(axis=0)
    varies = np.isfinite(spread) & (spread > 0)
    return np.asarray(block[:, varies] / spread[varies])


def _regress(basis: F8, targets: F8, rows: I8, made: B1) -> Iterator[F8]:
    from threadpoolctl import threadpool_limits

    for target in targets.T:
        known = rows[~np.isnan(target[rows])]
        if len(known) < _FEWEST:
            continue
        aim = np.clip(target[known], -_LARGEST, _LARGEST)
        aim = np.clip(aim, *np.quantile(aim, _TAILS))
        aim, part = aim - aim.mean(), basis[known]
        chosen = np.arange(part.shape[1])
        # regressions are small, and on a busy machine threads wait for each other
        with threadpool_limits(1, user_api="blas"):
            if len(chosen) > _MOST_COLUMNS:
                chosen = np.sort(np.argsort(-np.abs(aim @ part), kind="stable")[:_MOST_COLUMNS])
            values = basis[:, chosen] @ _ridge(part[:, chosen], aim)
        spread = float(values[made].std())
        if spread > 0:
            yield (values - values[made].mean()) / spread


def _ridge(part: F8, aim: F8) -> F8:
    centered = part - part.mean(axis=0)
    weights = np.linalg.solve(centered.T @ centered + _PENALTY * np.eye(part.shape[1]), centered.T @ aim)
    return np.asarray(weights)
