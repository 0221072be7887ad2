"""Statistics of comparisons: errors over splits, differences paired by split, and ranks over tables with their test.

Splits of one table overlap, so their scores depend on each other. The corrected error of Nadeau and Bengio (Inference
for the Generalization Error, Machine Learning 52, 2003) puts 1/n + n_test/n_train in place of 1/n of n splits. Tables
are independent of each other. Ranks over tables are compared by Friedman's test with the critical difference of
Nemenyi, or two sides by Wilcoxon's signed ranks (Demsar, Journal of Machine Learning Research 7, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike
from scipy import stats

from costframe.core.arrays import F8

ENOUGH_TABLES = 6  # for a test over tables: of fewer, no signed ranks are beyond chance at 5 %
SIGNIFICANCE = 0.05
_ROUNDING = 1e-12  # values that differ by less, as a share of the larger one, are equal but for the order of sums


def standard_error(values: ArrayLike) -> F8:
    """Return the standard error of the mean over splits, the first axis; NaN for a single one."""
    given = np.asarray(values, np.float64)
    n = len(given)
    return np.asarray(_deviation(given) / np.sqrt(n))


def corrected_error(values: ArrayLike, test_share: float) -> F8:
    """Return the standard error of a mean over overlapping splits (Nadeau and Bengio), NaN for a single one.

    `test_share` is the number of test rows of a split over that of its other rows.
    """
    given = np.asarray(values, np.float64)
    return np.asarray(_deviation(given) * np.sqrt(1 / len(given) + test_share))


def _deviation(values: F8) -> F8:
    """Return the standard deviation over splits, the first axis: 0 of equal values, NaN of a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    deviation = values.std(axis=0, ddof=1)
    return np.asarray(np.where(deviation <= _ROUNDING * np.abs(values).max(axis=0), 0.0, deviation))


@frozen(eq=False)
class Difference:
    """A mean difference, with its errors and what chance would make of it, each float64 of one shape.

    Attributes
    ----------
    mean : array
    error : array
        Standard error of the mean, paired by split.
    corrected : array
        The same for splits that overlap.
    p : array
        Two-sided probability of a mean as far from 0 by chance, by Student's t with the corrected error.
    n_splits, n_tables : int
    """

    mean: F8
    error: F8
    corrected: F8
    p: F8
    n_splits: int
    n_tables: int


def paired_difference(one: ArrayLike, other: ArrayLike, test_share: float) -> Difference:
    """Return by how much one is above another on one table, in the mean over the same splits, the first axis."""
    ours, theirs = np.asarray(one, np.float64), np.asarray(other, np.float64)
    moved = ours - theirs
    moved = np.where(np.abs(moved) <= _ROUNDING * np.maximum(np.abs(ours), np.abs(theirs)), 0.0, moved)
    error, corrected = standard_error(moved), corrected_error(moved, test_share)
    mean, n = moved.mean(axis=0), len(moved)
    return Difference(mean, error, corrected, _two_sided(mean, corrected, np.full(mean.shape, n - 1.0)), n, 1)


def mean_difference(tables: Sequence[Difference]) -> Difference:
    """Return the mean of differences over tables, with the error over their splits.

    Tables are those that they are, no sample of others: see `rank_sides` for these. The degrees of freedom are those of
    Welch and Satterthwaite.
    """
    mean = np.mean([table.mean for table in tables], axis=0)
    error, corrected = (
        np.sqrt(np.sum([getattr(table, name) ** 2 for table in tables], axis=0)) / len(tables)
        for name in ("error", "corrected")
    )
    variances = np.array([table.corrected**2 for table in tables])
    shares = np.array([table.corrected**4 / max(table.n_splits - 1, 1) for table in tables]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(shares > 0, variances.sum(axis=0) ** 2 / shares, np.inf)
    n_splits = sum(table.n_splits for table in tables)
    return Difference(mean, error, corrected, _two_sided(mean, corrected, freedom), n_splits, len(tables))


def _two_sided(mean: F8, error: F8, freedom: F8) -> F8:
    """Return probabilities of Student's t; 1 where nothing differs, NaN without an error, as where all splits agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(mean) / error
    p = np.where(error > _ROUNDING * np.abs(mean), 2 * stats.t.sf(t, np.maximum(freedom, 1e-9)), np.nan)
    return np.asarray(np.where((mean == 0) & (error == 0), 1.0, p), np.float64)


@frozen(eq=False)
class Ranks:
    """Mean ranks of sides over tables, 1 is best, and whether they are beyond chance.

    Attributes
    ----------
    mean : float64 (sides,)
    test : {"friedman", "wilcoxon"} or None
        None with too few tables.
    p : float
        Probability of ranks as different by chance; NaN without a test.
    critical : float
        Difference of two mean ranks that is beyond chance (Nemenyi, 5 %); NaN where Friedman's test was not made.
    n_tables : int
    """

    mean: F8
    test: str | None
    p: float
    critical: float
    n_tables: int


def rank_sides(values: ArrayLike) -> Ranks:
    """Rank sides on each table by values, higher is better, float64 (tables, sides); ties share their mean rank."""
    given = _tie(np.asarray(values, np.float64))
    n_tables, n_sides = given.shape
    mean = stats.rankdata(-given, axis=1).mean(axis=0)
    if n_sides < 2 or n_tables < ENOUGH_TABLES:
        return Ranks(mean, None, math.nan, math.nan, n_tables)
    if n_sides == 2:
        moved = given[:, 0] - given[:, 1]
        p = float(stats.wilcoxon(moved).pvalue) if moved.any() else 1.0
        return Ranks(mean, "wilcoxon", p, math.nan, n_tables)
    alike = (given == given[:, :1]).all()
    p = 1.0 if alike else float(stats.friedmanchisquare(*given.T).pvalue)
    return Ranks(mean, "friedman", p, critical_difference(n_sides, n_tables), n_tables)


def _tie(values: F8) -> F8:
    """Return values whose rows have one number for all that are equal but for rounding."""
    whole = np.abs(values).max(axis=1, keepdims=True)
    return np.asarray(np.round(values / np.where(whole > 0, whole, 1.0), -round(math.log10(_ROUNDING))) * whole)


def critical_difference(n_sides: int, n_tables: int) -> float:
    """Return the difference of two mean ranks that chance exceeds in one of twenty cases (Nemenyi)."""
    q = stats.studentized_range.ppf(1 - SIGNIFICANCE, n_sides, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_sides * (n_sides + 1) / (6 * n_tables)))
