"""Rows of test that nearly equal rows of train and have their target, as measurements of one patient do."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import betainc

from costframe.core.arrays import F8, I8
from costframe.datasets.dataset import Dataset

_MOST_ROWS = 20_000  # of train
_VALUES = 100  # of a column that tells rows apart
_MOST_TESTED, _FEWEST_TESTED, _FEWEST_TRAINED = 300, 25, 60  # rows whose nearest ones are looked for
_MOST_COLUMNS, _FEWEST_COLUMNS = 24, 2  # half as many of a large train
_WINDOW = 5_000  # rows of a large train that are nearest in a column
_KNOTS = 1_000  # of the ranks of a column
_FAR = 0.25  # in ranks of a column, as a share of all: whatever is further apart counts as that
_PLACE = 20  # the neighbour whose distance says what is usual
_NEAREST = 3  # neighbours that may be unusually near
_SELDOM = ((0.001, 0.02), (0.01, 0.35))  # chances that a neighbour is as near, and the share of rows that is told
_SURE_SHARE = 0.3  # of rows with a neighbour that is there with the least of these chances
_ALIKE, _FEWER, _EXPECTED = 0.1, 5.0, 5.0  # ranks of a number that count as one; how much rarer other labels must be
_MOST_OTHERS = 0.1  # of the nearest neighbours have another label
_NEARLY_EQUAL = 0.025  # difference of ranks in the median column


def describe_near_rows(data: Dataset, rng: np.random.Generator) -> str | None:
    """Return a remark on rows of test that nearly equal rows of train and have their target; None if there are few."""
    if not (share := _share_near(data, rng)):
        return None
    told = f"{share:.0%} of the rows of test nearly equal a row of train in all features, and have its target"
    return f"{told}; if they are of one patient, say, --group COL names the column that tells, and keeps them together"


def _share_near(data: Dataset, rng: np.random.Generator) -> float:
    """Return the share of rows of test that are as near to rows of train as chance hardly puts them; 0 for few.

    Distances are sums over columns of differences of ranks. In a neighbourhood of a smooth density of D dimensions, the
    m nearest rows lie evenly in r^D, so of the j-th one (r_j / r_m)^D is as that of an even draw's j-th least; D
    follows from the distances of the m-th and the 2m-th. Rows of one id have moreover one label.
    """
    train, test = (np.flatnonzero(data.split == part) for part in ("train", "test"))
    if len(train) < _FEWEST_TRAINED or len(test) < _FEWEST_TESTED:
        return 0.0
    sample = data.X[rng.permutation(train)[:_MOST_ROWS]]
    columns = _continuous(sample, rng)
    if len(columns) < _FEWEST_COLUMNS:
        return 0.0
    columns = columns[: _MOST_COLUMNS // 2] if len(train) > _MOST_ROWS else columns
    test = rng.permutation(test)[:_MOST_TESTED]
    ranks = [_Ranks.of(sample[:, f]) for f in columns]
    table, tested = (
        np.column_stack([ranks_of(data.X[rows, f]) for f, ranks_of in zip(columns, ranks, strict=True)])
        for rows in (train, test)
    )
    labels = data.codes(data.y) if data.classes else _Ranks.of(data.y[train])(data.y)
    return _find_neighbours(table, tested).share_with_label(labels[test], labels[train])


def _continuous(sample: F8, rng: np.random.Generator) -> I8:
    """Return some columns of rows, float64 (m, d), that hold many values, those with the most first."""
    some = sample[:2_000]
    distinct = np.array([len(np.unique(column)) for column in some.T])
    columns = np.flatnonzero(distinct >= min(_VALUES, len(some) // 4))
    columns = rng.permutation(columns)
    return np.asarray(columns[np.argsort(-distinct[columns], kind="stable")][:_MOST_COLUMNS])


@frozen(eq=False)
class _Ranks:
    """Ranks of values among those of a sample: values, ascending, and their ranks from 0 to 1."""

    values: F8
    ranks: F8

    @classmethod
    def of(cls, sample: F8) -> _Ranks:
        values, counts = np.unique(sample[np.isfinite(sample)], return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
        some = np.unique(np.linspace(0, len(values) - 1, _KNOTS).round().astype(np.int64))
        return cls(values[some], ranks[some])

    def __call__(self, values: F8) -> NDArray[np.float32]:
        """Return ranks of values, float32 (n,); a missing one is far from all."""
        return np.where(np.isnan(values), -_FAR, np.interp(values, self.values, self.ranks)).astype(np.float32)


@frozen(eq=False)
class _Neighbours:
    """The nearest rows of train of each row of test, by ascending distance: (rows, 2 m)."""

    rows: I8
    distances: F8
    apart: F8  # (rows,): difference of ranks from the nearest one in the median column

    def share_with_label(self, labels_of_test: NDArray[Any], labels: NDArray[Any]) -> float:
        """Return the share of rows with near ones that have their label, given those of train; 0 for few."""
        m = self.distances.shape[1] // 2
        usual, farthest = np.maximum(self.distances[:, [m - 1, -1]].T, 1e-300)
        if (growth := float(np.median(np.log(farthest / usual)))) <= 0:
            return 0.0
        inside = np.minimum(self.distances[:, :_NEAREST] / usual[:, np.newaxis], 1.0) ** (np.log(2) / growth)
        place = np.arange(1, inside.shape[1] + 1)
        chance = betainc(place, m + 1 - place, inside).min(axis=1) * len(place)
        others = np.abs(labels[self.rows] - labels_of_test[:, np.newaxis]) > _ALIKE
        for seldom, least in _SELDOM:
            near = (chance < seldom) & (self.apart <= _NEARLY_EQUAL)
            count, by_near = int(near.sum()), float(others[near, 0].sum())
            by_usual = float(others[near, m // 2 :].mean(axis=1).sum())
            if count < max(_EXPECTED, least * len(near)) or by_near > _MOST_OTHERS * count:
                continue
            is_told = by_usual >= _EXPECTED and by_near * _FEWER <= by_usual
            if is_told or (count >= _SURE_SHARE * len(near) and seldom == _SELDOM[0][0]):
                return count / len(near)
        return 0.0


def _find_neighbours(train: NDArray[np.float32], test: NDArray[np.float32]) -> _Neighbours:
    """Find the nearest rows of train; of many, among those that are nearest in one of two columns."""
    m = min(_PLACE, len(train) // 8)
    shape = (len(test), 2 * m)
    neighbours = _Neighbours(np.empty(shape, np.int64), np.empty(shape), np.empty(len(test)))
    windows = _Windows.of(train) if len(train) > _MOST_ROWS else None
    for n, row in enumerate(test):
        rows = None if windows is None else windows.around(row)
        table = train if rows is None else train[rows]
        distances = np.minimum(np.abs(table - row), _FAR).sum(axis=1)
        order = np.argpartition(distances, 2 * m - 1)[: 2 * m]
        order = order[np.argsort(distances[order], kind="stable")]
        neighbours.rows[n], neighbours.distances[n] = order if rows is None else rows[order], distances[order]
        neighbours.apart[n] = np.median(np.abs(table[order[0]] - row))
    return neighbours


@frozen(eq=False)
class _Windows:
    """Rows in the orders of their first two columns."""

    values: list[NDArray[np.float32]]  # ascending
    orders: list[I8]
    place: I8  # (n,): of each row in the first order

    @classmethod
    def of(cls, table: NDArray[np.float32]) -> _Windows:
        orders = [np.argsort(table[:, f], kind="stable") for f in range(_FEWEST_COLUMNS)]
        place = np.empty(len(table), np.int64)
        place[orders[0]] = np.arange(len(table))
        return cls([table[order, f] for f, order in enumerate(orders)], orders, place)

    def around(self, row: NDArray[np.float32]) -> I8:
        """Return the rows that are nearest to one in either column, each once."""
        starts = []
        for values, value in zip(self.values, row[:_FEWEST_COLUMNS], strict=True):
            begin = int(np.searchsorted(values, value)) - _WINDOW // 2
            starts.append(min(max(begin, 0), len(values) - _WINDOW))
        first, second = (order[begin : begin + _WINDOW] for order, begin in zip(self.orders, starts, strict=True))
        place = self.place[second] - starts[0]
        return np.concatenate([first, second[(place < 0) | (place >= _WINDOW)]])
