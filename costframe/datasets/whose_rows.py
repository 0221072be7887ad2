"""Columns whose values say whose a row is: rows of one value have one label, and rows of the next value another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.datasets.dataset import Dataset

LIKE_ID = "rows of one value have one target, those of the next another, as if it said whose a row is"
_MOST_ROWS = 20_000  # all rows of values drawn at random
_FEWEST_VALUES = 20  # with several rows
_ROWS = 1.3, 50.0  # of a value, in the mean
_FEWER, _EXPECTED = 5.0, 20.0  # how much rarer different labels are; of rows that the next value would give some
_MOST_CELLS = 1 << 24  # of values by classes
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_QUICK = 2_000  # values that tell whether there are many rows of each


def find_whose(data: Dataset) -> dict[str, I8]:
    """Return the features whose values say whose a row is, each with the numbers of its values, -1 for missing ones.

    They have few rows of each value, whose labels agree much better than those of neighbouring values do: of a
    measurement, neighbouring values have about the same labels.
    """
    labels, whose = _labels_of(data), {}
    for f, name in enumerate(data.feature_names):
        if _says_whose(data.X[:, f], labels, len(data.classes)):
            codes = np.unique(data.X[:, f], return_inverse=True)[1].astype(np.int64)
            codes[np.isnan(data.X[:, f])] = -1
            whose[name] = codes
    return whose


def choose_whose(columns: Mapping[str, I8], data: Dataset) -> dict[str, I8]:
    """Return those of further columns that say whose a row is, given the numbers of their values, -1 for missing."""
    labels = _labels_of(data)
    values = {name: np.where(codes < 0, np.nan, codes) for name, codes in columns.items()}
    return {name: columns[name] for name, x in values.items() if _says_whose(x, labels, len(data.classes))}


def _labels_of(data: Dataset) -> NDArray[Any]:
    """Return the numbers of classes, or ranks from 0 to 1, of all rows."""
    labels = data.codes(data.y)
    if data.classes:
        return labels
    return np.asarray(np.argsort(np.argsort(labels, kind="stable"), kind="stable") / len(labels))


def _says_whose(x: F8, labels: NDArray[Any], n_classes: int) -> bool:
    chosen = _rows_of_some_values(x)
    if len(chosen) < 2 * _FEWEST_VALUES:
        return False
    codes, sizes = np.unique(x[chosen], return_inverse=True, return_counts=True)[1:]
    n, k = len(codes), len(sizes)
    if (sizes > 1).sum() < _FEWEST_VALUES or not _ROWS[0] <= n / k <= _ROWS[1] or k * n_classes > _MOST_CELLS:
        return False
    if n_classes:
        inside, next_to = _other_labels(codes, labels[chosen], sizes, n_classes)
    else:
        inside, next_to = _spreads(codes, labels[chosen], sizes)
    return inside * _FEWER <= next_to and (n - k) * next_to >= _EXPECTED * (1 if n_classes else np.var(labels))


def _other_labels(codes: I8, labels: I8, sizes: I8, n_classes: int) -> tuple[float, float]:
    """Return how often two rows of one value have different classes, and rows of two values that are neighbours."""
    counts = np.bincount(codes * n_classes + labels, minlength=len(sizes) * n_classes).reshape(-1, n_classes)
    inside = 1 - (counts * (counts - 1)).sum() / (sizes * (sizes - 1)).sum()
    return float(inside), float(1 - (counts[1:] * counts[:-1]).sum() / (sizes[1:] * sizes[:-1]).sum())


def _spreads(codes: I8, labels: F8, sizes: I8) -> tuple[float, float]:
    """Return the variance of numbers within a value, and that of the means of values beside their neighbours."""
    means = np.bincount(codes, labels) / sizes
    return float(((labels - means[codes]) ** 2).sum() / (len(codes) - len(sizes))), float(np.diff(means).var() / 2)


def _rows_of_some_values(x: F8) -> I8:
    """Return the numbers of all rows of some values of a column, (n,), at most about 20,000."""
    present = np.flatnonzero(~np.isnan(x))
    if len(present) <= _MOST_ROWS:
        return present
    if len(np.unique(x[present[:_QUICK]])) <= _QUICK / _ROWS[1] / 4:  # few values, with many rows each
        return present[:0]
    with np.errstate(over="ignore"):
        mixed = (x[present] + 0.0).view(np.uint64) * _MIXER
    return present[mixed >> np.uint64(32) < np.uint64(2**32 * _MOST_ROWS / len(present))]
