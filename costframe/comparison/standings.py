"""Standings: values of all sides of a table at all levels, by split, and their differences to a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from costframe.comparison.grouping import Group
from costframe.comparison.levels import values_at
from costframe.comparison.records import Record
from costframe.comparison.statistics import Difference, Ranks, mean_difference, paired_difference, rank_sides
from costframe.core.arrays import F8
from costframe.core.checks import check_known
from costframe.training.scoring import best_value, score_label

POINTS, PERCENT = "points", "percent"  # units of differences: hundredths of a score, and of the reference's value


@frozen(eq=False)
class Standing:
    """The sides of one table, by their label, on their splits, at levels that are shares of the cost of all features.

    Attributes
    ----------
    label : str
        Of the table.
    levels : tuple of float
    records : mapping of str to mapping of str to Record
        By side, and by the digest of the split.
    """

    label: str
    levels: tuple[float, ...]
    records: Mapping[str, Mapping[str, Record]]

    @classmethod
    def of(cls, group: Group, levels: tuple[float, ...]) -> Standing:
        """Return the standing of a group of records."""
        return cls(group.label, levels, group.records)

    @cached_property
    def first(self) -> Record:
        """A record of the table, which has its facts."""
        return next(iter(next(iter(self.records.values())).values()))

    @property
    def sides(self) -> tuple[str, ...]:
        """Labels of the sides, in alphabetical order."""
        return tuple(self.records)

    @property
    def has_bills(self) -> bool:
        """Whether bills are compared, of which lower ones are better."""
        return self.first.has_bills

    @property
    def measure(self) -> str:
        """What is compared, as headings name it."""
        return "bill" if self.has_bills else score_label(self.first.score)

    @property
    def unit(self) -> str:
        """The unit of costs."""
        return self.first.prices.unit

    @property
    def full_cost(self) -> float:
        """Price of all features for one row."""
        return self.first.prices.full_cost

    @property
    def budgets(self) -> F8:
        """The budgets of the levels: float64 (levels,)."""
        return np.array(self.levels) * self.full_cost

    @property
    def difference_unit(self) -> str:
        """Hundredths of a score that ends at one; of bills, and scores without that end, percent of the reference's."""
        return POINTS if best_value(self.first.score) == 1 else PERCENT

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Digests of all splits, in the order of their repeats."""
        repeats: dict[str, int] = {}  # one split may be another repeat of a run with another seed
        for records in self.records.values():
            for digest, one in records.items():
                repeats[digest] = min(one.split.repeat, repeats.get(digest, one.split.repeat))
        return tuple(sorted(repeats, key=lambda digest: (repeats[digest], digest)))

    @cached_property
    def test_share(self) -> float:
        """Test rows of a split over its other rows, in the mean over splits."""
        facts = {one.split.digest: one.split for records in self.records.values() for one in records.values()}
        return float(np.mean([facts[digest].test / (facts[digest].train + facts[digest].valid) for digest in facts]))

    def values(self, side: str, splits: Sequence[str] | None = None) -> F8:
        """Return test scores, or bills, of a side at the levels, on its splits or some: float64 (splits, levels)."""
        check_known("side", side, self.sides)
        records = self.records[side]
        chosen = [digest for digest in self.splits if digest in records] if splits is None else splits
        return np.array([self._values[side][digest] for digest in chosen])

    @cached_property
    def _values(self) -> dict[str, dict[str, F8]]:
        return {
            side: {digest: values_at(record, self.levels) for digest, record in records.items()}
            for side, records in self.records.items()
        }

    def common_splits(self, *sides: str) -> list[str]:
        """Return the digests of the splits that all of some sides have."""
        return [digest for digest in self.splits if all(digest in self.records[side] for side in sides)]

    def difference(self, side: str, reference: str) -> Difference | None:
        """Return by how much a side is better than another at the levels, and in their mean, which stands last.

        Both are compared on the same splits; None where they share none. Above zero the side is better: it has a higher
        score, or a lower bill. `difference_unit` is the unit; percent of a value of 0 are NaN, unless both are 0.
        """
        if side not in self.records or reference not in self.records:
            return None
        splits = self.common_splits(side, reference)
        if not splits:
            return None
        one, other = (self._with_mean(name, reference, splits) for name in (side, reference))
        return paired_difference(one, other, self.test_share)

    def _with_mean(self, side: str, reference: str, splits: Sequence[str]) -> F8:
        """Return values in the unit of differences, higher is better, with their mean: float64 (splits, levels + 1)."""
        values = 100 * self.better(side, splits)
        if self.difference_unit == PERCENT:
            whole = np.abs(self.better(reference, splits).mean(axis=0))
            of_nothing = np.where(values == 0, 0.0, np.nan)
            values = np.divide(values, whole, out=of_nothing, where=whole > 0)
        return with_mean(values)

    def better(self, side: str, splits: Sequence[str] | None = None) -> F8:
        """Return values of which higher ones are better: scores, or minus bills: float64 (splits, levels)."""
        values = self.values(side, splits)
        return -values if self.has_bills else values


def with_mean(values: F8) -> F8:
    """Return values with their mean over levels, the last axis, behind them."""
    return np.concatenate([values, values.mean(axis=-1, keepdims=True)], axis=-1)


def differences_over_tables(standings: Sequence[Standing], side: str, reference: str) -> dict[str, Difference]:
    """Return the mean differences over all tables that have both sides, by their unit."""
    found: dict[str, list[Difference]] = {}
    for standing in standings:
        if (difference := standing.difference(side, reference)) is not None:
            found.setdefault(standing.difference_unit, []).append(difference)
    return {unit: mean_difference(tables) for unit, tables in found.items()}


@frozen(eq=False)
class RanksAtLevels:
    """Ranks of the sides that all tables have, at each level, and by the mean over levels, which stands last."""

    sides: tuple[str, ...]
    left_out: tuple[str, ...]  # sides that some table lacks
    ranks: tuple[Ranks, ...]


def ranks_over_tables(standings: Sequence[Standing]) -> RanksAtLevels:
    """Rank sides on each table by their means over the splits that all of them have."""
    every = sorted({side for standing in standings for side in standing.sides})
    ranked = [side for side in every if all(side in standing.records for standing in standings)]
    values = []
    for standing in standings:
        splits = standing.common_splits(*ranked)
        if not splits:
            return RanksAtLevels((), tuple(every), ())
        means = [with_mean(standing.better(side, splits).mean(axis=0)) for side in ranked]
        values.append(_fill(np.array(means)))
    if not ranked or not values:
        return RanksAtLevels((), tuple(every), ())
    stacked = np.array(values)  # (tables, sides, levels + 1)
    ranks = tuple(rank_sides(stacked[:, :, place]) for place in range(stacked.shape[2]))
    return RanksAtLevels(tuple(ranked), tuple(side for side in every if side not in ranked), ranks)


def _fill(values: F8) -> F8:
    """Return values of sides, (sides, levels), in which a side without a model so cheap is the last."""
    least = np.nanmin(values, axis=0, initial=0.0)
    return np.where(np.isnan(values), least - 1.0, values)
