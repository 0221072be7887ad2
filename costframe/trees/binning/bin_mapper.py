"""From values to bins: at most 255 for the values of a feature, and one for missing values."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import Factory, field, frozen

from costframe.core.errors import DataError
from costframe.core.learners.cuts import Cuts, lay_out_cuts
from costframe.core.threads import run_parallel
from costframe.trees.binning.thresholds import (
    at_quantiles,
    between_values,
    choose_categories,
    distinct,
    few_values,
    quantile_columns,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.trees.growing.room import Room

__all__ = ["MISSING_BIN", "BinMapper", "BinnedData"]

MISSING_BIN = 255
MAX_ROWS = 2**30  # with more, packed sums would have too few bits for gradients
_ROWS_PER_PART = 8192
_COLUMNS_PER_PART = 32
_ROWS_PER_BLOCK = 512  # that the cache holds while they are turned into columns


@frozen(eq=False)
class BinMapper:
    """The upper ends of each feature's bins, or the categories of its bins.

    Parameters
    ----------
    thresholds : tuple of float64 (n_bins,), one array per feature
        `x <= thresholds[f][b]` exactly if the bin of x is at most b. Strictly ascending; the last is +inf: a split
        there separates all values from missing values. For a categorical feature: the category of each bin; any other
        value is missing.
    categorical : bool (d,)
        Which features have categories; none by default.
    """

    thresholds: tuple[NDArray[np.float64], ...]
    categorical: NDArray[np.bool_] = field(
        default=Factory(lambda self: np.zeros(len(self.thresholds), np.bool_), takes_self=True)
    )

    @property
    def n_features(self) -> int:
        """Columns of the fitted data."""
        return len(self.thresholds)

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins for values, without the missing bin, at least one: int64 (d,)."""
        return np.array([len(each) for each in self.thresholds], np.int64)

    @cached_property
    def has_categories(self) -> bool:
        """Whether any feature has categories."""
        return bool(self.categorical.any())

    @classmethod
    def fit(
        cls,
        X: ArrayLike,
        *,
        max_bins: int = 255,
        sample_weight: ArrayLike | None = None,
        subsample: int = 200_000,
        random_state: int = 0,
        categorical: NDArray[np.bool_] | None = None,
        n_threads: int = 1,
    ) -> BinMapper:
        """Choose thresholds: between all values if these are few, else at quantiles.

        Parameters
        ----------
        X : (n, d)
            Numbers; infinities are ordinary values and NaN is missing.
        max_bins : int
            Upper bound on the bins for values of each feature, 2 to 255.
        sample_weight : (n,), optional
            Positive or zero; a weight of two is a row given twice, and a row of weight zero is ignored.
        subsample : int
            Most rows for quantiles of features with more than `max_bins` distinct values, drawn by `random_state` and
            by weight.
        categorical : bool (d,), optional
            Features whose values are categories, finite numbers; none by default. Each category has a separate bin, or
            only the `max_bins` heaviest (of equals the lowest); others count as missing.
        n_threads : int
            Does not change the result.

        Raises
        ------
        DataError
            If `X` has too many rows, or infinite categories.
        """
        table, weight = _drop_unweighted(_as_table(X), sample_weight)
        few = few_values(table, max_bins, n_threads=n_threads)
        named = np.zeros(table.shape[1], np.bool_) if categorical is None else np.asarray(categorical, np.bool_)
        sample, sampled_weight = table, weight
        if len(table) > subsample:
            drawn = _draw_rows(len(table), weight, subsample, np.random.default_rng(random_state))
            sample, sampled_weight = table[drawn], None

        def fit_column(
            feature: int, column: NDArray[np.float64], cuts: NDArray[np.float64] | None
        ) -> NDArray[np.float64]:
            known = few[feature]
            if named[feature]:
                return choose_categories(np.ascontiguousarray(table[:, feature], np.float64), known, weight, max_bins)
            if known is not None:
                return between_values(known)
            if cuts is not None:
                return cuts
            values, masses = distinct(column, sampled_weight)
            if len(values) <= max_bins:  # most of its values are rare: it needs all rows
                values, masses = distinct(np.ascontiguousarray(table[:, feature], np.float64), weight)
            return at_quantiles(values, masses, max_bins)

        def fit_columns(first: int) -> list[NDArray[np.float64]]:
            columns = _turn(sample[:, first : first + _COLUMNS_PER_PART])
            cuts: list[Any] = [None] * len(columns)
            many = [at for at in range(len(columns)) if few[first + at] is None and not named[first + at]]
            if sampled_weight is None and many:
                ordered = columns if len(many) == len(columns) else columns[many]
                ordered.sort(axis=1)
                for at, found in zip(many, quantile_columns(ordered, max_bins), strict=True):
                    cuts[at] = found
            return [fit_column(first + at, column, cuts[at]) for at, column in enumerate(columns)]

        parts = run_parallel(fit_columns, range(0, table.shape[1], _COLUMNS_PER_PART), n_threads)
        return cls(tuple(column for part in parts for column in part), named)

    def transform(self, X: ArrayLike, *, n_threads: int = 1) -> BinnedData:
        """Find the bin of every value.

        Parameters
        ----------
        X : (n, d)
            Numbers, with the columns of the fitted data.
        n_threads : int
            Does not change the result.

        Raises
        ------
        DataError
            If `X` has too many rows.
        """
        from costframe.trees.binning.binning_kernels import bin_rows, mark_unknown

        table = _as_table(X)
        bins, columns = np.empty(table.shape, np.uint8), np.empty(table.shape[::-1], np.uint8)
        cuts, named = self.cuts, np.flatnonzero(self.categorical)

        def bin_part(first: int) -> None:
            rows = slice(first, first + _ROWS_PER_PART)
            values = np.ascontiguousarray(table[rows], np.float64)
            bin_rows(values, cuts, bins[rows], columns, first)
            if len(named):
                mark_unknown(values, cuts, named, bins[rows], columns, first)

        run_parallel(bin_part, range(0, len(table), _ROWS_PER_PART), n_threads)
        return BinnedData(bins, columns, self)

    @cached_property
    def cuts(self) -> Cuts:
        """The thresholds of all features, ready for binning."""
        first = np.concatenate([[0], np.cumsum(self.n_bins)])
        return lay_out_cuts(first, np.concatenate([np.empty(0), *self.thresholds]))


@frozen(eq=False)
class BinnedData:
    """Rows as bins, in both layouts: histograms read rows, a split reads one column.

    Parameters
    ----------
    bins : uint8 (n, d), row after row
        The bin of every value; 255 for missing values.
    columns : uint8 (d, n), column after column
        The same.
    mapper : BinMapper
        The meaning of the bins.

    Attributes
    ----------
    rooms : dict
        Memory of earlier trees for the next, by words per row and number of priced items: the system would clear new
        memory first.
    """

    bins: NDArray[np.uint8]
    columns: NDArray[np.uint8]
    mapper: BinMapper
    rooms: dict[tuple[int, int], list[Room]] = field(factory=dict, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.bins)

    def take_columns(self, columns: NDArray[np.int64]) -> BinnedData:
        """Keep some columns, int64 (k,)."""
        thresholds = tuple(self.mapper.thresholds[f] for f in columns.tolist())
        mapper = BinMapper(thresholds, self.mapper.categorical[columns])
        return BinnedData(np.ascontiguousarray(self.bins[:, columns]), self.columns[columns], mapper)

    def append_columns(self, other: BinnedData) -> BinnedData:
        """Append the columns of other data of the same rows."""
        named = np.concatenate([self.mapper.categorical, other.mapper.categorical])
        mapper = BinMapper((*self.mapper.thresholds, *other.mapper.thresholds), named)
        return BinnedData(np.hstack([self.bins, other.bins]), np.vstack([self.columns, other.columns]), mapper)

    def take_rows(self, rows: NDArray[np.int64]) -> BinnedData:
        """Keep some rows, int64 (m,)."""
        return BinnedData(self.bins[rows], np.ascontiguousarray(self.columns[:, rows]), self.mapper)

    @cached_property
    def splittable(self) -> NDArray[np.bool_]:
        """Features that can split rows, not the constant ones: bool (d,)."""
        found = self.mapper.n_bins > 1
        for feature in np.flatnonzero(~found):
            missing = self.columns[feature] == MISSING_BIN
            found[feature] = missing.any() and not missing.all()
        return found


def _as_table(X: ArrayLike) -> NDArray[np.generic]:
    table = np.asarray(X)
    if len(table) >= MAX_ROWS:
        raise DataError(f"X: must have fewer than {MAX_ROWS} rows, got {len(table)}")
    return table


def _turn(rows: NDArray[np.generic]) -> NDArray[np.float64]:
    """Copy rows, (n, k), into contiguous columns, (k, n)."""
    columns = np.empty(rows.shape[::-1])
    for begin in range(0, len(rows), _ROWS_PER_BLOCK):
        columns[:, begin : begin + _ROWS_PER_BLOCK] = rows[begin : begin + _ROWS_PER_BLOCK].T
    return columns


def _draw_rows(
    n_rows: int, weight: NDArray[np.float64] | None, count: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw ascending row numbers, each at most once; with weights, in proportion to each row's share."""
    if weight is None:
        return np.sort(random.choice(n_rows, count, replace=False))
    cumulated = np.cumsum(weight)
    points = (np.arange(count) + random.random(count)) * (cumulated[-1] / count)
    drawn: NDArray[np.int64] = np.searchsorted(cumulated, points, side="right")
    return drawn.clip(max=n_rows - 1)  # the last point may be rounded up


def _drop_unweighted(
    table: NDArray[np.generic], sample_weight: ArrayLike | None
) -> tuple[NDArray[np.generic], NDArray[np.float64] | None]:
    if sample_weight is None:
        return table, None
    weight = np.asarray(sample_weight, np.float64)
    kept = weight > 0
    if not kept.all():
        table, weight = table[kept], weight[kept]
    return table, None if (weight == weight[0]).all() else weight
