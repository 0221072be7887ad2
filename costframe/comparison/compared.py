"""What a comparison says: values of each table, differences to a reference, ranks, and remarks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from functools import cached_property

from costframe.comparison.grouping import Grouped, group_records, labels_by_name
from costframe.comparison.records import Record
from costframe.comparison.standings import RanksAtLevels, Standing, differences_over_tables, ranks_over_tables
from costframe.comparison.statistics import Difference
from costframe.core.checks import check_known
from costframe.core.errors import brief, format_count


class Compared(ABC):
    """What sheets, pictures and pages ask of a comparison; `Comparison` has the attributes, and fits or reads them."""

    records: tuple[Record, ...]
    levels: tuple[float, ...]
    _reference: str | None
    remarks: tuple[str, ...]

    @cached_property
    def _grouped(self) -> Grouped:
        return group_records(self.records)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """One for each table: the values of all sides on all splits at all levels."""
        return tuple(Standing.of(group, self.levels) for group in self._grouped.groups)

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """Labels of all sides, in alphabetical order."""
        return tuple(sorted({side for standing in self.standings for side in standing.sides}))

    @property
    def tables(self) -> tuple[str, ...]:
        """Labels of all tables, in alphabetical order."""
        return tuple(standing.label for standing in self.standings)

    @cached_property
    def reference(self) -> str:
        """Label of the side that differences are to."""
        if self._reference is None or self._reference in self.sides:
            return self.sides[0] if self._reference is None else self._reference
        labels = labels_by_name(self._grouped.groups).get(self._reference, [])
        if len(labels) == 1:
            return labels[0]
        check_reference(self._reference, labels or self.sides)
        return self._reference

    @property
    def failures(self) -> tuple[Record, ...]:
        """Records of sides that could not be fitted on a split."""
        return self._grouped.failures

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what was left out or kept apart, and on fits that failed."""
        reasons: dict[tuple[str, str, str], int] = {}
        for record in self.failures:
            key = record.side.name, record.table.name, str(record.error)
            reasons[key] = reasons.get(key, 0) + 1
        failed = (
            f"{side} failed on {table}, {format_count(count, 'split')}: {error}"
            for (side, table, error), count in sorted(reasons.items())
        )
        return (*self.remarks, *self._grouped.notes, *failed)

    def standing(self, table: str) -> Standing:
        """Return the values of a table, by its label."""
        check_known("table", table, self.tables)
        return next(standing for standing in self.standings if standing.label == table)

    def difference(self, side: str, table: str) -> Difference | None:
        """Return by how much a side is better than the reference on a table; see `Standing.difference`."""
        check_known("side", side, self.sides)
        return self.standing(table).difference(side, self.reference)

    def differences(self) -> dict[str, dict[str, Difference]]:
        """Return by how much each other side is better than the reference, in the mean over tables.

        By side, then by unit: "points" are hundredths of a score, over tables with such scores; "percent" are those of
        the reference's bill, or of a score without a best value of one. Arrays are (levels + 1,), the mean over levels
        last.
        """
        return {
            side: differences_over_tables(self.standings, side, self.reference)
            for side in self.sides
            if side != self.reference
        }

    @cached_property
    def ranks(self) -> RanksAtLevels:
        """Mean ranks over tables of the sides that all tables have, with a test where there are enough tables."""
        return ranks_over_tables(self.standings)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        counts = (len(self.sides), "side"), (len(self.standings), "table"), (len(self.records), "record")
        return brief(self, *(format_count(*count) for count in counts), f"reference {self.reference!r}")


def check_reference(reference: object, sides: Iterable[str]) -> None:
    """Refuse a reference that is none of the sides; None is the first."""
    if reference is not None:
        check_known("reference", reference, sorted(sides))
