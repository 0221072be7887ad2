"""Rows of test that rows of train give away: equal ones, and rows of the same id."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import numpy as np

from costframe.core.arrays import I8
from costframe.core.errors import format_count, shown
from costframe.datasets.dataset import Dataset

_MOST_ROWS = 20_000  # of train, and of test, that are compared
_FEWEST = 10  # rows of test that are in train too
_SHARE = 0.01  # of the rows of test
_CHANCE = 0.001  # rows of train that independent columns would make equal to one of test
_VALUES = 100  # of a column that tells rows apart


def describe_shared_ids(data: Dataset, ids: Mapping[str, I8]) -> list[str]:
    """Return remarks on columns that may say whose a row is, and do so in train and test alike.

    `ids` has the number of each row's value, int64 (n,), -1 where it is missing, by column.
    """
    return [text for name, codes in ids.items() if (text := _describe_id(data, name, codes))]


def describe_equal_rows(data: Dataset, rng: np.random.Generator) -> str | None:
    """Return a remark on rows of test that are in train too; None if these are few, or features tell no rows apart."""
    share = _share_equal(data, rng)
    return f"{share:.0%} of the rows of test are in train too, equal in all features" if share else None


def _describe_id(data: Dataset, name: str, codes: I8) -> str | None:
    test = codes[data.split == "test"]
    both = np.intersect1d(test, codes[data.split == "train"])
    both = both[both >= 0]
    count = int(np.isin(test, both).sum())
    if count < max(2, _SHARE * len(test)):
        return None
    way = f"--group {shlex.quote(name)} keeps rows of one value together"
    if data.groups is not None:
        way = "the column split puts them there" if data.seed is None else "groups are of another column"
    elif data.seed is None:
        way = f"as the column split says; with --ignore split, {way}"
    values = format_count(len(both), "value")
    return f"{count:,} of the {len(test):,} rows of test share {values} of {shown(name)} with rows of train; {way}"


def _share_equal(data: Dataset, rng: np.random.Generator) -> float:
    """Return the share of rows of test that are in train too; 0 where these are few, or features tell no rows apart."""
    train, test = (
        data.X[rng.permutation(np.flatnonzero(data.split == part))[:_MOST_ROWS]] + 0.0 for part in ("train", "test")
    )
    seen = {row.tobytes() for row in train}
    count = sum(row.tobytes() in seen for row in test)
    if count < max(_FEWEST, _SHARE * len(test)):
        return 0.0
    counts = [np.unique(column, return_counts=True)[1] for column in train.T]
    chance = len(train) * np.prod([((times / len(train)) ** 2).sum() for times in counts])
    tells = max(map(len, counts)) >= min(_VALUES, len(train) // 4)
    return count / len(test) if tells and chance < _CHANCE else 0.0
