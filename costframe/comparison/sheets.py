"""Sheets: the tables of a comparison as texts, which terminals, pages and papers show alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from costframe.comparison.compared import Compared
from costframe.comparison.levels import level_name
from costframe.comparison.standings import PERCENT, POINTS, Standing
from costframe.comparison.statistics import ENOUGH_TABLES, SIGNIFICANCE, Difference, standard_error
from costframe.core.arrays import F8
from costframe.core.display import format_cost
from costframe.core.errors import format_count

PLUS_MINUS = " ± "
MEAN = "mean"  # of the levels


@frozen
class Sheet:
    """A table of texts with a caption: a head, rows, and which cells are best in their columns."""

    name: str  # of files and labels
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]] = frozenset()  # (row, column)


def sheets_of(comparison: Compared) -> list[Sheet]:
    """Return all sheets: over tables first, then those of each table."""
    found = [*over_tables(comparison)]
    for standing in comparison.standings:
        found += table_sheets(comparison, standing)
    return found


def table_sheets(comparison: Compared, standing: Standing) -> list[Sheet]:
    """Return the sheets of one table: its values, and differences to the reference."""
    return [score_sheet(standing), *_difference_sheet(comparison, standing)]


def over_tables(comparison: Compared) -> Iterator[Sheet]:
    """Return the sheets over several tables: differences, in each unit, and ranks."""
    if len(comparison.standings) < 2:
        return
    levels, differences = comparison.levels, comparison.differences()
    for unit in (POINTS, PERCENT):
        rows, tables = [], 0
        for side, by_unit in differences.items():
            if unit in by_unit:
                found = by_unit[unit]
                tables = max(tables, found.n_tables)
                rows.append((side, *_with_errors(found), _p(found.p[-1]), str(found.n_tables)))
        if rows:
            caption = (
                f"{_better(unit)} {comparison.reference} in the mean over {format_count(tables, 'table')}, at shares "
                f"of the cost of all features; {_ERRORS}"
            )
            yield Sheet(f"differences-{unit}", caption, ("side", *_names(levels), "p", "tables"), tuple(rows))
    yield from _rank_sheet(comparison)


_ERRORS = "errors are paired by split, and corrected for splits that overlap"


def _better(unit: str) -> str:
    return "Points (hundredths) above" if unit == POINTS else "Percent better than"


def _names(levels: Sequence[float]) -> tuple[str, ...]:
    return (*map(level_name, levels), MEAN)


def _with_errors(found: Difference) -> list[str]:
    return [_signed(mean, error) for mean, error in zip(found.mean, found.corrected, strict=True)]


def _signed(mean: float, error: float) -> str:
    if math.isnan(mean):
        return "-"
    text = f"{mean + 0.0:+.1f}"
    return text if math.isnan(error) else f"{text}{PLUS_MINUS}{error:.1f}"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def _rank_sheet(comparison: Compared) -> Iterator[Sheet]:
    found = comparison.ranks
    if len(found.sides) < 2:
        return
    means = np.array([ranks.mean for ranks in found.ranks])  # (levels + 1, sides)
    rows = [(side, *(f"{mean:.2f}" for mean in means[:, place])) for place, side in enumerate(found.sides)]
    tests = [ranks.test for ranks in found.ranks]
    if any(tests):
        rows.append(("p", *(_p(ranks.p) for ranks in found.ranks)))
    n_tables = found.ranks[0].n_tables
    yield Sheet(
        "ranks",
        f"Mean ranks over {format_count(n_tables, 'table')}, 1 is best, ties share theirs; {describe_test(comparison)}",
        ("side", *_names(comparison.levels)),
        tuple(rows),
        _best(means.T, lowest=True),
    )


def describe_test(comparison: Compared) -> str:
    """Return what the ranks were tested by, or why they were not."""
    ranks = comparison.ranks.ranks[-1]
    if ranks.test == "friedman":
        return (
            f"p is that of Friedman's test, and mean ranks {ranks.critical:.2f} apart differ beyond chance "
            f"(Nemenyi, {SIGNIFICANCE:.0%})"
        )
    if ranks.test == "wilcoxon":
        return "p is that of Wilcoxon's signed ranks"
    return f"a test over tables needs {ENOUGH_TABLES}"


def _best(values: F8, *, lowest: bool) -> frozenset[tuple[int, int]]:
    """Return the places of the best cells of values, (rows, columns), behind a first column of names."""
    values = np.where(np.isnan(values), np.inf if lowest else -np.inf, values)
    best = values.min(axis=0) if lowest else values.max(axis=0)
    rows, columns = np.nonzero(values == best)
    return frozenset(zip(rows.tolist(), (columns + 1).tolist(), strict=True))


def score_sheet(standing: Standing) -> Sheet:
    """Return the test scores, or bills, of a table at the levels, means over splits with their errors."""
    rows, means = [], []
    for side in standing.sides:
        values = standing.values(side)
        mean, error = values.mean(axis=0), standard_error(values)
        means.append(mean)
        rows.append((side, *(_value(standing, *pair) for pair in zip(mean, error, strict=True)), str(len(values))))
    what = f"Bills in {standing.unit}" if standing.has_bills else f"{standing.measure} on test"
    return Sheet(
        f"scores-{standing.label}",
        f"{standing.label}: {what} within shares of {format_cost(standing.full_cost)} {standing.unit} per row, the "
        "cost of all features; means over splits with standard errors",
        ("side", *map(level_name, standing.levels), "splits"),
        tuple(rows),
        _best(np.array(means), lowest=standing.has_bills),
    )


def _value(standing: Standing, mean: float, error: float) -> str:
    if math.isnan(mean):
        return "-"
    if standing.has_bills:
        return format_cost(mean) if math.isnan(error) else f"{format_cost(mean)}{PLUS_MINUS}{error:.2g}"
    text = f"{mean:.3f}"
    return text if math.isnan(error) else f"{text}{PLUS_MINUS}{error:.3f}"


def _difference_sheet(comparison: Compared, standing: Standing) -> Iterator[Sheet]:
    rows = []
    for side in standing.sides:
        found = None if side == comparison.reference else standing.difference(side, comparison.reference)
        if found is not None:
            rows.append((side, *_with_errors(found), _p(found.p[-1]), str(found.n_splits)))
    if rows:
        yield Sheet(
            f"differences-{standing.label}",
            f"{standing.label}: {_better(standing.difference_unit).lower()} {comparison.reference}; {_ERRORS}",
            ("side", *_names(standing.levels), "p", "splits"),
            tuple(rows),
        )
