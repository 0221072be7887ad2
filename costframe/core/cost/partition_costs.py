"""Exact costs of dask's arrays and data frames: reports of the partitions, merged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from attrs import evolve

from costframe.core.cost.asked import tell_apart
from costframe.core.cost.report import BY_ROW, CostReport
from costframe.core.errors import DataError, ParameterError
from costframe.core.tables.frames import is_dask
from costframe.core.tables.partitions import blocks, delayed_model, one_row, whole_rows

__all__ = ["cost_by_partition"]

F = TypeVar("F", bound=Callable[..., Any])


def cost_by_partition(method: F) -> F:
    """Make a method `cost` return the report of all rows for a dask array or data frame.

    It computes the means at once; arrays with a value for each row are lazy dask arrays.
    """

    @wraps(method)
    def cost(self: Any, X: Any, y_or_costs: Any = None, *, sample_weight: Any = None, **how: Any) -> Any:
        if not is_dask(X):
            return method(self, X, y_or_costs, sample_weight=sample_weight, **how)
        import dask

        model: Any = getattr(self, "predictor_", None)
        names = () if model is None else model.feature_names
        y, costs = tell_apart(y_or_costs, how.pop("y", None), how.get("costs"), names)
        how = how if costs is None else how | {"costs": costs}

        owner = next(base for base in type(self).__mro__ if vars(base).get("cost") is cost)
        rows, model = whole_rows(X, getattr(self, "feature_names_in_", None)), delayed_model(self)
        if (mask := how.get("made")) is not None and mask is not True:
            raise ParameterError("made: dask collections take True or None; give a mask with rows in memory")
        method(self, one_row(rows), **how | {"made": True})  # refuses what is wrong in any partition
        evaluate, summarize = dask.delayed(_evaluate, pure=False), dask.delayed(_summarize, pure=False)
        weights, labels = _parts_of(rows, sample_weight, "sample_weight"), _parts_of(rows, y, "y")
        reports = [
            evaluate(model, owner, *partition, how) for partition in zip(blocks(rows)[0], labels, weights, strict=True)
        ]
        summaries = zip(dask.compute(*map(summarize, reports)), reports, strict=True)
        parts = [_with_rows(small, report) for small, report in summaries if small is not None]
        if not parts:
            raise DataError("X: expected some rows, got none")
        merged = CostReport.merge(parts)
        if not merged.totals.total_weight:
            raise DataError("sample_weight: expected some positive weight, all are zero")
        return merged

    return cost  # type: ignore[return-value]


def _parts_of(X: Any, values: Any, name: str) -> list[Any]:
    """Return the weights or labels of each partition of rows, or None for each."""
    import dask

    if values is None:
        return [None for _ in blocks(X)[0]]
    known = not (hasattr(X, "columns") or np.isnan(X.shape[0]))
    if is_dask(values):
        if known and not np.isnan(values.shape[0]):
            values = values.rechunk((X.chunks[0],)) if values.shape == X.shape[:1] else values
        parts, others = blocks(X, values)
        if len(parts) != len(others):
            raise DataError(f"{name}: expected {len(parts)} partitions, as X has, got {len(others)}")
        return list(others)
    every = np.asarray(values)
    counts = X.chunks[0] if known else dask.compute(*map(dask.delayed(len), blocks(X)[0]))
    if every.shape != (sum(counts),):
        raise DataError(f"{name}: expected one value a row, shape ({sum(counts)},), got {every.shape}")
    return np.split(every, np.cumsum(counts)[:-1])


def _evaluate(model: Any, owner: type, X: Any, y: Any, weight: Any, how: Mapping[str, Any]) -> CostReport | None:
    """Return the report of a partition; None for one without rows."""
    if not len(X):
        return None
    cost, labels = vars(owner)["cost"].__wrapped__, None if y is None else np.asarray(y)
    weights = None if weight is None else np.asarray(weight)
    if weights is not None and len(weights) == len(X) and not weights.any():  # but others may have weights
        report: CostReport = cost(model, X, labels, **how)
        return evolve(report, totals=report.totals.weightless())
    found: CostReport = cost(model, X, labels, sample_weight=weights, **how)
    if found.copies:
        raise DataError("X: lacks tests that were not made; such rows are completed in memory only: give X.compute()")
    return found


def _summarize(report: CostReport | None) -> tuple[CostReport, dict[str, Any]] | None:
    """Return a report without its rows, and the shapes and types of its arrays of rows; None for no report."""
    if report is None:
        return None
    arrays = {name: getattr(report, name) for name in BY_ROW if getattr(report, name) is not None}
    kinds = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    blank: dict[str, Any] = dict.fromkeys(BY_ROW)
    return evolve(report, **blank), kinds


def _with_rows(summary: tuple[CostReport, Mapping[str, Any]], whole: Any) -> CostReport:
    """Return a report with lazy arrays of rows, of the delayed whole one."""
    import dask
    import dask.array as da

    report, kinds = summary
    take = dask.delayed(getattr, pure=False)
    rows: dict[str, Any] = {name: da.from_delayed(take(whole, name), *kind) for name, kind in kinds.items()}
    return evolve(report, **rows)
