"""From values to bins: at most 255 for the values of a feature, and one for missing values."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import ArrayLike, NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.errors import DataError
from costframe.core.learners.node_layout import Cuts, lay_out_cuts
from costframe.core.machine import empty_bytes, run_parallel
from costframe.core.workers import ALONE, Workers
from costframe.training.data import Rows
from costframe.trees.settings import TreeSettings
from costframe.trees.thresholds import (
    Sketch,
    WeightedTable,
    at_quantiles,
    between_values,
    choose_categories,
    distinct,
    quantile_columns,
)

(MISSING_BIN,) = engine.constants("missing_bin")
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
    workers : Workers
        Whose rows it puts into bins.
    """

    thresholds: tuple[F8, ...]
    categorical: B1 = field(default=Factory(lambda self: np.zeros(len(self.thresholds), np.bool_), takes_self=True))
    workers: Workers = field(default=ALONE, repr=False)

    @property
    def n_features(self) -> int:
        """Columns of the fitted data."""
        return len(self.thresholds)

    @cached_property
    def n_bins(self) -> I8:
        """Bins for values, without the missing bin, at least one: int64 (d,)."""
        return np.array([len(cuts) for cuts in self.thresholds], np.int64)

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
        categorical: B1 | None = None,
        n_threads: int = 1,
        workers: Workers = ALONE,
    ) -> BinMapper:
        """Choose thresholds: between all values if these are few, else at quantiles.

        They depend neither on the order of rows nor on how workers have dealt them.

        Parameters
        ----------
        X : (n, d)
            Numbers; infinities are ordinary values and NaN is missing.
        max_bins : int
            Upper bound on the bins for values of each feature, 2 to 255.
        sample_weight : (n,), optional
            Positive or zero; a weight of two is a row given twice, and a row of weight zero is ignored.
        subsample : int
            About how many rows to sample, by the hash of their values and by weight, for quantiles of features with
            more than `max_bins` distinct values.
        categorical : bool (d,), optional
            Features whose values are categories, finite numbers; none by default. Each category has a separate bin, or
            only the `max_bins` heaviest (of equals the lowest); others count as missing.
        n_threads : int
            Does not change the result.
        workers : Workers
            Whose rows `X` is a part of.

        Raises
        ------
        DataError
            If `X` has too many rows, or infinite categories.
        """
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        rows = WeightedTable.of(_as_table(X, workers), weight, workers)
        sketch, d = Sketch.of(rows, max_bins, subsample, n_threads), np.shape(X)[1]
        named = np.zeros(d, np.bool_) if categorical is None else np.asarray(categorical, np.bool_)

        def fit_columns(first: int) -> list[F8 | None]:
            """Return thresholds, or None for columns that need all rows."""
            here = range(first, min(first + _COLUMNS_PER_PART, d))
            known = [None if named[f] else sketch.few[f] for f in here]
            cuts = [None if values is None else between_values(values) for values in known]
            many = [at for at, f in enumerate(here) if known[at] is None and not named[f]]
            if not many:
                return cuts
            columns = _turn(sketch.sample[:, [first + at for at in many]])
            if sketch.weight is None:
                found = quantile_columns(columns, max_bins)
            else:
                masses = [distinct(column, sketch.weight) for column in columns]
                found = [at_quantiles(*each, max_bins) if len(each[0]) > max_bins else None for each in masses]
            for at, each in zip(many, found, strict=True):
                cuts[at] = each
            return cuts

        parts = run_parallel(fit_columns, range(0, d, _COLUMNS_PER_PART), n_threads)
        cuts = [column for part in parts for column in part]
        rare = [f for f in range(d) if cuts[f] is None and not (named[f] and sketch.few[f] is not None)]
        values = rows.values_of(rare)  # most of their values are rare, or categories
        for f in range(d):
            if named[f]:
                known = sketch.few[f]
                cuts[f] = choose_categories(*(values[f] if known is None else (known, known)), max_bins)
            elif cuts[f] is None:
                cuts[f] = at_quantiles(*values[f], max_bins)
        return cls(tuple(cuts), named, workers)  # type: ignore[arg-type] # none is None now

    def transform(self, X: ArrayLike, *, n_threads: int = 1) -> BinnedData:
        """Find the bin of every value.

        Parameters
        ----------
        X : (n, d)
            Numbers, with the columns of the fitted data; of several workers, the rows of this one.
        n_threads : int
            Does not change the result.

        Raises
        ------
        DataError
            If `X` has too many rows.
        """
        table = _as_table(X, self.workers)
        bins, columns = empty_bytes(table.shape, table.shape[::-1])
        cuts, named = self.cuts, np.flatnonzero(self.categorical)

        def bin_part(first: int) -> None:
            values = np.ascontiguousarray(table[first : first + _ROWS_PER_PART], np.float64)
            rows = slice(first, first + len(values))
            engine.bin_rows(values, *cuts, bins[rows], columns, first)
            if len(named):
                engine.mark_unknown(values, cuts.first, cuts.cut, named, bins[rows], columns, first)

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
    places : dict
        Memory of earlier trees for the next, lists of `room.Workplace` by the limits of trees: the system would clear
        new memory first.
    """

    bins: U8
    columns: U8
    mapper: BinMapper
    places: dict[tuple[Any, ...], list[Any]] = field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, rows: Rows, settings: TreeSettings, categorical: B1 | None = None) -> BinnedData:
        """Put training rows into bins; columns in `categorical`, bool (d,), have one bin for each category."""
        mapper = BinMapper.fit(
            rows.X,
            max_bins=settings.max_bins,
            sample_weight=rows.weight,
            categorical=categorical,
            n_threads=settings.n_threads,
            workers=rows.workers,
        )
        return mapper.transform(rows.X, n_threads=settings.n_threads)

    @property
    def workers(self) -> Workers:
        """Whose rows these are a part of."""
        return self.mapper.workers

    @property
    def n_rows(self) -> int:
        """Rows of this worker."""
        return len(self.bins)

    @cached_property
    def total_rows(self) -> int:
        """Rows of all workers."""
        return self.workers.count_all(self.n_rows)

    def take_columns(self, columns: I8) -> BinnedData:
        """Keep some columns, int64 (k,)."""
        thresholds = tuple(self.mapper.thresholds[f] for f in columns.tolist())
        mapper = BinMapper(thresholds, self.mapper.categorical[columns], self.workers)
        return BinnedData(np.ascontiguousarray(self.bins[:, columns]), self.columns[columns], mapper)

    def append_columns(self, other: BinnedData) -> BinnedData:
        """Append the columns of other data of the same rows."""
        named = np.concatenate([self.mapper.categorical, other.mapper.categorical])
        mapper = BinMapper((*self.mapper.thresholds, *other.mapper.thresholds), named, self.workers)
        bins, columns = np.hstack([self.bins, other.bins]), np.vstack([self.columns, other.columns])
        return BinnedData(bins, columns, mapper)

    def take_rows(self, rows: I8) -> BinnedData:
        """Keep some rows, int64 (m,)."""
        return BinnedData(self.bins[rows], np.ascontiguousarray(self.columns[:, rows]), self.mapper)

    @cached_property
    def split_columns(self) -> I8:
        """The columns of `splittable`, ascending: int64 (k,)."""
        return np.flatnonzero(self.splittable)

    @cached_property
    def splittable(self) -> B1:
        """Features that can split rows, not the constant ones: bool (d,)."""
        is_splittable, single = self.mapper.n_bins > 1, np.flatnonzero(self.mapper.n_bins <= 1)
        missing = np.array([np.count_nonzero(self.columns[feature] == MISSING_BIN) for feature in single], np.int64)
        missing = self.workers.sum(missing)
        is_splittable[single] = (missing > 0) & (missing < self.total_rows)
        return is_splittable


def _as_table(X: ArrayLike, workers: Workers) -> NDArray[np.generic]:
    table = np.asarray(X)
    if (n_rows := workers.count_all(len(table))) >= MAX_ROWS:
        raise DataError(f"X: must have fewer than {MAX_ROWS} rows, got {n_rows}")
    return table


def _turn(rows: NDArray[np.generic]) -> F8:
    """Copy rows, (n, k), into contiguous columns, (k, n)."""
    columns = np.empty(rows.shape[::-1])
    for begin in range(0, len(rows), _ROWS_PER_BLOCK):
        columns[:, begin : begin + _ROWS_PER_BLOCK] = rows[begin : begin + _ROWS_PER_BLOCK].T
    return columns
