"""Figures of a comparison as CSV and JSON lines, in long form: one row a figure, floats to the last bit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from costframe.comparison.compared import Compared
from costframe.comparison.levels import choose_at, worth_of
from costframe.comparison.standings import Standing
from costframe.comparison.statistics import Difference, standard_error
from costframe.core.cells import guard
from costframe.core.strict_json import as_json

Row = dict[str, Any]


def level_rows(comparison: Compared) -> Iterator[Row]:
    """Yield a row for each table, side, split and level: the model chosen there, its estimates and test figures."""
    for standing in comparison.standings:
        for side, records in standing.records.items():
            for digest in standing.splits:
                if (record := records.get(digest)) is None:
                    continue
                for level, model in zip(comparison.levels, choose_at(record, comparison.levels), strict=True):
                    if model is None:
                        continue
                    yield {
                        "table": standing.label,
                        "side": side,
                        "repeat": record.split.repeat,
                        "seed": record.split.seed,
                        "split": digest,
                        "level": level,
                        "budget": level * standing.full_cost,
                        "model": model.name,
                        "score": model.score,
                        "cost": model.cost,
                        "test_score": model.test_score,
                        "test_error": model.test_error,
                        "test_cost": model.test_cost,
                        "value": worth_of(record, model),
                        "measure": standing.measure,
                        "features": model.features,
                    }


def summary_rows(comparison: Compared) -> Iterator[Row]:
    """Yield a row for each mean of a side at a level: of its values, of its difference to the reference, of its rank.

    `table` is None over tables, `level` None for the mean over levels, and a figure None where there is none.
    """
    for standing in comparison.standings:
        yield from _value_rows(comparison, standing)
    for standing in comparison.standings:
        for side in standing.sides:
            found = standing.difference(side, comparison.reference) if side != comparison.reference else None
            if found is not None:
                yield from _difference_rows(comparison, found, standing.label, side, standing.difference_unit)
    for side, by_unit in comparison.differences().items():
        for unit, found in by_unit.items():
            yield from _difference_rows(comparison, found, None, side, unit)
    for level, ranks in zip((*comparison.levels, None), comparison.ranks.ranks, strict=False):
        for side, mean in zip(comparison.ranks.sides, ranks.mean.tolist(), strict=True):
            about = {"table": None, "side": side, "reference": None, "level": level, "mean": mean, "unit": "rank"}
            yield _row("rank", about, p=ranks.p, critical=ranks.critical, n_tables=ranks.n_tables)


def _row(kind: str, about: Mapping[str, Any], **more: Any) -> Row:
    """Return a row with all columns, None where it has no figure."""
    columns = "error", "corrected_error", "p", "critical", "n_splits", "n_tables"
    return as_json({"kind": kind, **about, **{name: more.get(name) for name in columns}})  # type: ignore[no-any-return]


def _value_rows(comparison: Compared, standing: Standing) -> Iterator[Row]:
    for side in standing.sides:
        values = standing.values(side)
        means, errors = values.mean(axis=0).tolist(), standard_error(values).tolist()
        for level, mean, error in zip(comparison.levels, means, errors, strict=True):
            about = {"table": standing.label, "side": side, "reference": None, "level": level}
            about |= {"mean": mean, "unit": standing.unit if standing.has_bills else standing.measure}
            yield _row("value", about, error=error, n_splits=len(values), n_tables=1)


def _difference_rows(comparison: Compared, found: Difference, table: str | None, side: str, unit: str) -> Iterator[Row]:
    figures = (array.tolist() for array in (found.mean, found.error, found.corrected, found.p))
    for level, mean, error, corrected, p in zip((*comparison.levels, None), *figures, strict=True):
        about = {"table": table, "side": side, "reference": comparison.reference, "level": level}
        about |= {"mean": mean, "unit": unit}
        counts = {"n_splits": found.n_splits, "n_tables": found.n_tables}
        yield _row("difference", about, error=error, corrected_error=corrected, p=p, **counts)


def to_csv(rows: Iterable[Row]) -> str:
    """Return rows of the same columns as CSV; texts are as `guard` has them, and None is empty."""
    text, listed = io.StringIO(), list(rows)
    if not listed:
        return ""
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: guard(value) if isinstance(value, str) else value for key, value in row.items()}
                     for row in listed)  # fmt: skip
    return text.getvalue()


def to_json_lines(rows: Iterable[Row]) -> str:
    """Return rows as JSON, one a line."""
    return "".join(f"{json.dumps(as_json(row), allow_nan=False)}\n" for row in rows)
