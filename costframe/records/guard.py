"""A guard against tests of which nobody knows what they show: the rows of a class, or of a region, that lack donors.

What a test would have shown is drawn from donors of the same class (`costframe.records.completion`). Where a class has
next to none, in the table or in a region of it, any figure is a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1
from costframe.core.errors import printable, quote_names, shown
from costframe.records.completion import FEWEST_OF_CLASS
from costframe.records.made import Records
from costframe.records.regions import Always, Region, find_regions

NEEDED = FEWEST_OF_CLASS
"""Donors that a class needs: with fewer, the mean of what a test shows is off by a third of its spread or more
(1 / sqrt(10) = 0.32), and a completion, which draws from the nearest 5, has no choice of them."""

SUBSTANTIAL = 0.05
"""Least share of the rows of a class that lack a test in a region: what fewer ones show moves figures by less than
their errors."""


@frozen
class Gap:
    """Rows of a class, in a region or in the whole table, of which nobody knows what a test shows.

    Attributes
    ----------
    panel : str
        Name of the features that are made together.
    features : tuple of str
    region : Region or None
        None is the whole table.
    label : object
        The class; None where labels are no classes.
    made, rows : int
        In how many of the rows it was made.
    """

    panel: str
    features: tuple[str, ...]
    region: Region | None
    label: Any
    made: int
    rows: int

    @property
    def is_whole(self) -> bool:
        """Whether it is of the whole table."""
        return self.region is None

    def __str__(self) -> str:
        of = "" if self.label is None else f" of class {quote_names([self.label])}"
        where = "" if self.region is None else f" where {self.region}"
        return f"{printable(self.panel)}{of}{where}, made for {self.made:,} of {self.rows:,}"


@frozen
class Gaps:
    """The gaps of the records of a table, those of the whole table first, and what follows from them."""

    found: tuple[Gap, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.found)

    @property
    def whole(self) -> tuple[Gap, ...]:
        """Those of the whole table."""
        return tuple(gap for gap in self.found if gap.is_whole)

    @property
    def regional(self) -> tuple[Gap, ...]:
        """Those of regions."""
        return tuple(gap for gap in self.found if not gap.is_whole)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The features that no model reads, as a class has too few donors in the whole table."""
        return tuple(dict.fromkeys(name for gap in self.whole for name in gap.features))

    def sentences(self) -> list[str]:
        """Return what to say of them: a sentence for each panel and region."""
        return [_in_words(list(gaps)) for _, gaps in groupby(self.found, lambda gap: (gap.panel, gap.region))]


def find_gaps(always: Always, records: Records | None, y: Any, classes: Sequence[Any] = (), seed: int = 0) -> Gaps:
    """Return where a class lacks donors, in the whole table, and for other panels in regions of it.

    Parameters
    ----------
    always : Always
        The table, with the columns that make regions.
    records : Records or None
        Which panels were made in its rows; None if all were.
    y : (n,)
        Labels.
    classes : sequence
        The classes, each of which needs donors; () if labels are none.
    seed : int
    """
    if records is None:
        return Gaps()
    whole, regional, kinds = find_whole_gaps(always.names, records, y, classes), list[Gap](), _kinds(y, classes)
    for place, name in enumerate(records.names):
        made, features = records.made[:, place], records.features(place, always.names)
        if not any(gap.features == features for gap in whole.found):
            for region in find_regions(always, made, seed):
                regional += _lacking(name, features, region, made, kinds, always.find(region))
    return Gaps((*whole.found, *regional))


def find_whole_gaps(names: Sequence[str], records: Records, y: Any, classes: Sequence[Any] = ()) -> Gaps:
    """Return where a class lacks donors in the whole table, of columns with names; see `find_gaps`."""
    kinds, every = _kinds(y, classes), np.ones(len(records.made), np.bool_)
    found = list[Gap]()
    for place, name in enumerate(records.names):
        found += _lacking(name, records.features(place, names), None, records.made[:, place], kinds, every)
    return Gaps(tuple(found))


def _kinds(y: Any, classes: Sequence[Any]) -> list[tuple[Any, B1]]:
    """Return which rows are of each class, or all of them, of no class."""
    return [(label, np.asarray(y) == label) for label in classes] or [(None, np.ones(len(y), np.bool_))]


def _lacking(
    name: str,
    features: tuple[str, ...],
    region: Region | None,
    made: B1,
    kinds: Iterable[tuple[Any, B1]],
    inside: B1,
) -> Iterable[Gap]:
    """Yield the gaps of a panel in a region, a class at a time."""
    for label, of_kind in kinds:
        rows = inside & of_kind
        donors, count = int((rows & made).sum()), int(rows.sum())
        lacking = count - donors
        few = region is not None and lacking < NEEDED
        if donors < NEEDED and lacking > SUBSTANTIAL * of_kind.sum() and not few:
            yield Gap(name, features, region, label, donors, count)


def _in_words(gaps: Sequence[Gap]) -> str:
    """Return a sentence on the gaps of a panel in one region."""
    first, labels = gaps[0], [gap.label for gap in gaps if gap.label is not None]
    made, rows = sum(gap.made for gap in gaps), sum(gap.rows for gap in gaps)
    of = f" of class {' or '.join(map(shown, labels))}" if labels else ""
    where = "" if first.region is None else f" where {first.region}"
    said = f"nobody knows what {printable(first.panel)} shows of rows{of}{where}: it was made for {made:,} of {rows:,}"
    if first.region is not None:
        return said
    return f"{said}; {quote_names(first.features)} {'is' if len(first.features) == 1 else 'are'} left out"
