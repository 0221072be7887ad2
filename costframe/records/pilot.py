"""Pilots: tests to make in rows drawn by chance, so that enough of each class and region have had them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import B1, I8
from costframe.core.checks import check_number
from costframe.core.errors import format_count
from costframe.core.prices.costs import CostModel
from costframe.records.guard import NEEDED, Gap, Gaps
from costframe.records.made import Records
from costframe.records.regions import Always

_NORMAL = 1.645  # half the width of an interval of 90 %, in standard errors


@frozen(eq=False)
class Drawn:
    """A gap, and rows in which its test was not made, drawn by chance from those of its class and region."""

    gap: Gap
    rows: I8  # numbers from 0, ascending

    @property
    def before(self) -> float:
        """Width of an interval of 90 % of the mean of what the test shows there, in spreads of a row; may be infinite.

        The standard error of the mean of m tests is the spread of a test times 1 / sqrt(m).
        """
        return _width(self.gap.made)

    @property
    def after(self) -> float:
        """The same, when the test is made in the drawn rows too."""
        return _width(self.gap.made + len(self.rows))

    def __str__(self) -> str:
        return f"{self.gap}: {self.before:.2f}, after {len(self.rows):,} more {self.after:.2f}"


def _width(tests: int) -> float:
    return 2 * _NORMAL / math.sqrt(tests) if tests else math.inf


@frozen(eq=False)
class Pilot:
    """The tests that would settle all gaps of some records.

    Attributes
    ----------
    drawn : tuple of Drawn
        One for each gap.
    cost : float
        Price of all tests: of each row, of what it has not had, each resource once.
    unit : str
    """

    drawn: tuple[Drawn, ...] = field(converter=tuple)
    cost: float
    unit: str

    @property
    def gaps(self) -> Gaps:
        """What it settles."""
        return Gaps([each.gap for each in self.drawn])

    @property
    def panels(self) -> dict[int, tuple[str, ...]]:
        """The tests to make in each row, by its number from 0, ascending."""
        found = dict[int, dict[str, None]]()
        for each in self.drawn:
            for row in each.rows.tolist():
                found.setdefault(row, {})[each.gap.panel] = None
        return {row: tuple(found[row]) for row in sorted(found)}

    def __str__(self) -> str:
        tests = sum(map(len, self.panels.values()))
        return f"{format_count(tests, 'test')} in {format_count(len(self.panels), 'row')}, {self.cost:,.6g} {self.unit}"


def plan_pilot(
    gaps: Gaps, always: Always, records: Records, y: Any, costs: CostModel, *, donors: int = NEEDED, seed: int = 0
) -> Pilot:
    """Draw rows, by chance, in which tests would settle the gaps of records.

    Parameters
    ----------
    gaps : Gaps
        Of `find_gaps`, with the next three.
    always : Always
    records : Records
    y : (n,)
        Labels.
    costs : CostModel
    donors : int
        Rows of each class that are to have the test, in each region that lacks them.
    seed : int
        Equal seeds draw equal rows.
    """
    check_number("donors", donors, low=1, whole=True)
    drawn = [
        _draw(gap, _find_rows(gap, always, y), records, donors, np.random.default_rng([seed, number]))
        for number, gap in enumerate(gaps.found)
    ]
    names = tuple(name for place, name in enumerate(always.names) if place not in _lacking(records))
    already, by_row = costs.full_cost(names), dict[int, dict[str, None]]()
    for each in drawn:
        for row in each.rows.tolist():
            by_row.setdefault(row, {}).update(dict.fromkeys(each.gap.features))
    prices = {features: costs.full_cost([*names, *features]) - already for features in map(tuple, by_row.values())}
    return Pilot(drawn, math.fsum(prices[tuple(features)] for features in by_row.values()), costs.unit)


def _find_rows(gap: Gap, always: Always, y: Any) -> B1:
    """Return the rows that a gap is of: bool (n,)."""
    rows = np.ones(len(always.X), np.bool_) if gap.label is None else np.asarray(y) == gap.label
    return rows if gap.region is None else rows & always.find(gap.region)


def _draw(gap: Gap, rows: B1, records: Records, donors: int, rng: np.random.Generator) -> Drawn:
    waiting = np.flatnonzero(rows & ~records.made[:, records.names.index(gap.panel)])
    count = min(max(donors - gap.made, 0), len(waiting))
    return Drawn(gap, np.sort(rng.choice(waiting, count, replace=False)))


def _lacking(records: Records) -> set[int]:
    return {int(column) for columns in records.columns for column in columns}
