"""Pilots: tests to make in rows drawn by chance, so that enough of each class and region have had them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, I8
from costframe.core.checks import check_number
from costframe.core.errors import format_count
from costframe.core.prices.costs import CostModel
from costframe.records.guard import NEEDED, Gap, Gaps, find_gaps
from costframe.records.made import Records
from costframe.records.regions import Always

_TURNS = 10  # in which gaps are looked for, when the tests drawn so far are made
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
    gaps : Gaps
        Of the records.
    drawn : tuple of Drawn
        One for each gap, and for those of regions that are left when the whole table has enough tests.
    cost : float
        Price of all tests: of each row, of what it has not had, each resource once.
    unit : str
    """

    gaps: Gaps
    drawn: tuple[Drawn, ...]
    cost: float
    unit: str

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
    always: Always,
    records: Records,
    y: Any,
    classes: Sequence[Any],
    costs: CostModel,
    *,
    donors: int = NEEDED,
    seed: int = 0,
) -> Pilot:
    """Draw rows, by chance, in which tests would settle the gaps of records.

    Parameters
    ----------
    always, records, y, classes
        As for `find_gaps`.
    costs : CostModel
    donors : int
        Rows of each class that are to have the test, in each region that lacks them.
    seed : int
        Equal seeds draw equal rows.
    """
    check_number("donors", donors, low=NEEDED, whole=True)
    first = gaps = find_gaps(always, records, y, classes)
    drawn, made = list[Drawn](), records
    for turn in range(_TURNS):
        for number, gap in enumerate(gaps.found):
            rng = np.random.default_rng([seed, turn, number])
            drawn.append(_draw(gap, _find_rows(gap, always, y), made, donors, rng))
            made = _with_tests(made, drawn[-1])
        gaps = find_gaps(always, made, y, classes)
        if not gaps:
            break
    return Pilot(first, tuple(drawn), _price(drawn, always, records, costs), costs.unit)


def _price(drawn: Sequence[Drawn], always: Always, records: Records, costs: CostModel) -> float:
    """Return the price of tests in all rows, beside what each row has anyway."""
    lacking = {int(column) for columns in records.columns for column in columns}
    names = tuple(name for place, name in enumerate(always.names) if place not in lacking)
    by_row = dict[int, dict[str, None]]()
    for each in drawn:
        for row in each.rows.tolist():
            by_row.setdefault(row, {}).update(dict.fromkeys(each.gap.features))
    already = costs.full_cost(names)
    prices = {features: costs.full_cost([*names, *features]) - already for features in map(tuple, by_row.values())}
    return math.fsum(prices[tuple(features)] for features in by_row.values())


def _with_tests(records: Records, drawn: Drawn) -> Records:
    """Return the records as they would be when the tests are made."""
    made = records.made.copy()
    made[drawn.rows, records.names.index(drawn.gap.panel)] = True
    return evolve(records, made=made)


def _find_rows(gap: Gap, always: Always, y: Any) -> B1:
    """Return the rows that a gap is of: bool (n,)."""
    rows = np.ones(len(always.X), np.bool_) if gap.label is None else np.asarray(y) == gap.label
    return rows if gap.region is None else rows & always.find(gap.region)


def _draw(gap: Gap, rows: B1, records: Records, donors: int, rng: np.random.Generator) -> Drawn:
    waiting = np.flatnonzero(rows & ~records.made[:, records.names.index(gap.panel)])
    count = min(max(donors - gap.made, 0), len(waiting))
    return Drawn(gap, np.sort(rng.choice(waiting, count, replace=False)))
