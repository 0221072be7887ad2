"""CatBoost's splits, numbered feature by feature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.adoption.thresholds import float32_at_most
from costframe.adoption.trees import SplitTests
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import AdoptionError, quote_names

FLOAT, CATEGORICAL = "float", "categorical"


@frozen
class Feature:
    """A column of the rows: its number there, its number among features of its kind, and its name ("" if none)."""

    kind: str
    column: int
    index: int
    name: str

    @property
    def title(self) -> str:
        """Name in errors and in default names of columns."""
        return self.name or f"f{self.column}"


@frozen(eq=False)
class SplitGroup:
    """The splits of one feature, in their order."""

    feature: Feature | None  # None if the splits cannot be adopted; then `reason` says why
    values: F8  # (splits,): borders of numbers, ascending, or hashes of categories, distinct
    nan_right: bool = False  # whether a border lets NaN pass like infinity
    reason: str = ""


@frozen(eq=False)
class Splits:
    """All splits of a model by number: groups of numbers first, then categories."""

    # column, index (splits,): of the feature; -1 if the split cannot be adopted
    column: I8
    index: I8
    value: F8  # (splits,): border, or hash of the category that goes right
    categorical: B1  # (splits,)
    threshold: F8  # (splits,): largest double that goes left; NaN for categories
    missing_left: B1  # (splits,): whether NaN goes left
    reasons: tuple[tuple[int, str], ...]  # first number of each group that cannot be adopted, ascending, and why

    @classmethod
    def of(cls, groups: Sequence[SplitGroup], where: str) -> Splits:
        """Assign numbers to the splits of groups; refuse borders that do not ascend, and categories that repeat."""
        for group in groups:
            _check_group(group, where)
        sizes = np.array([len(group.values) for group in groups], np.int64)
        first = np.cumsum(sizes) - sizes

        def by_split(values: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
            return np.repeat(np.array(values, dtype), sizes)

        value = np.concatenate([np.empty(0), *(group.values for group in groups)])
        categorical = by_split(
            [group.feature is not None and group.feature.kind == CATEGORICAL for group in groups], np.bool_
        )
        # NaN like infinity does not pass a border that is infinite itself
        missing_left = ~by_split([group.nan_right for group in groups], np.bool_) | (value == np.inf)
        return cls(
            by_split([-1 if group.feature is None else group.feature.column for group in groups], np.int64),
            by_split([-1 if group.feature is None else group.feature.index for group in groups], np.int64),
            value,
            categorical,
            np.where(categorical, np.nan, float32_at_most(value)),
            missing_left,
            tuple(
                (at, group.reason) for at, group in zip(first.tolist(), groups, strict=True) if group.feature is None
            ),
        )

    def __len__(self) -> int:
        """Count the splits."""
        return len(self.column)

    @property
    def tests(self) -> SplitTests:
        """The splits as tests of nodes."""
        count = self.categorical.astype(np.int64)
        return SplitTests(self.column, self.threshold, self.missing_left, count, self.value[self.categorical])

    def check_used(self, used: NDArray[np.integer[Any]], where: str) -> None:
        """Refuse a split number that does not exist, or whose split cannot be adopted."""
        if used.size and (used.min() < 0 or used.max() >= len(self)):
            raise AdoptionError(f"{where}: a tree has a split beyond the {len(self):,} of its features")
        for split in used[self.column[used] < 0][:1]:
            reason = next(reason for first, reason in reversed(self.reasons) if first <= split)
            raise AdoptionError(f"{where}: {reason}")


def ctr_reason(names: Iterable[str]) -> str:
    """Return why splits by target statistics of categorical features cannot be adopted."""
    return (
        f"it splits by statistics of the target (CTR) of {quote_names(names)}, which cannot be adopted; train it with "
        "one_hot_max_size at or above the number of categories"
    )


def _check_group(group: SplitGroup, where: str) -> None:
    if group.feature is None:
        return
    named = f"{where}: feature {group.feature.title!r}"
    if group.feature.column < 0:
        raise AdoptionError(f"{named}: expected a column of 0 or more, got {group.feature.column}")
    if group.feature.kind == CATEGORICAL:
        if len(np.unique(group.values)) < len(group.values):
            raise AdoptionError(f"{named} has a category twice")
    elif not (group.values[1:] >= group.values[:-1]).all() or np.isnan(group.values[:1]).any():
        raise AdoptionError(f"{named}: expected ascending borders")
