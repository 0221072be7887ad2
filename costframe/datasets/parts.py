"""The parts of a table, train, valid and test: dealt to its rows, or as a column says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.errors import DataError, shown
from costframe.core.tables.row_draws import shuffle_kinds

SPLIT, QID = "split", "qid"  # columns with the part, and the query, of each row
PARTS = ("train", "valid", "test")
# Parts of the shuffled rows of each class, in turn: 60/20/20, and a class's first row is in train.
_TURNS = np.array(["train", "valid", "train", "test", "train"])


@frozen(eq=False)
class Kinds:
    """What a split of n rows looks at."""

    n: int
    classes: NDArray[Any] | None = None  # (n,): labels, of which each part has equal shares
    queries: I8 | None = None  # (n,): rows of one query stay together
    groups: I8 | None = None  # (n,): rows of one group stay together, and so do their queries

    @property
    def what(self) -> str:
        """What is dealt to the parts, as a text."""
        if self.groups is not None:
            return f"{int(self.groups.max(initial=-1)) + 1:,} groups of rows"
        if self.queries is not None:
            return "queries"
        return "rows" if self.classes is None else "the rows of each class"

    def take(self, chosen: I8) -> Kinds:
        """Keep some rows, by number; groups and queries are counted anew."""
        units = (
            None if values is None else np.unique(values[chosen], return_inverse=True)[1].astype(np.int64)
            for values in (self.queries, self.groups)
        )
        return Kinds(len(chosen), None if self.classes is None else self.classes[chosen], *units)

    def deal(self, turns: NDArray[np.str_], rng: np.random.Generator) -> NDArray[np.str_]:
        """Deal parts in turn to rows, or to whole groups or queries, in random order, class by class: str (n,)."""
        units = self.queries if self.groups is None else self.groups
        codes = np.zeros(self.n, np.int64)
        if self.classes is not None:
            codes = np.unique(self.classes, return_inverse=True)[1].astype(np.int64)
        if units is None:
            return _deal(codes, turns, rng)
        return np.asarray(_deal(_rarest(codes, units), turns, rng)[units])


def split_rows(kinds: Kinds, seed: int) -> tuple[NDArray[np.str_], list[str]]:
    """Split rows into train, valid and test, 60/20/20: str (n,), and notes about the split."""
    split = kinds.deal(_TURNS, np.random.default_rng(seed))
    if kinds.groups is not None and (empty := [part for part in PARTS if part not in split]):
        raise DataError(f"{kinds.what} are too few to be split: none is left for {empty[0]!r}; name parts in a column")
    return split, [f"no split column: {kinds.what} are split 60/20/20 into train, valid and test by seed {seed}"]


def turns_of(split: NDArray[np.str_], most: int = 1000) -> NDArray[np.str_]:
    """Return parts to deal in turn, so that they get the shares that they have of a split, str (n,): str (turns,).

    The turns of each part are spread evenly, and the first one is for train.
    """
    shares = np.array([(split == part).mean() for part in PARTS])
    n_turns, turns, dealt = min(len(split), most), [0], np.array([1.0, 0.0, 0.0])
    while len(turns) < n_turns:
        turns.append(int(np.argmax(shares * (len(turns) + 1) - dealt)))
        dealt[turns[-1]] += 1
    return np.array(PARTS)[turns].astype(_TURNS.dtype)


def obey_split(split: NDArray[np.str_], kinds: Kinds, seed: int) -> tuple[NDArray[np.str_], list[str]]:
    """Check a given split, str (n,); take a missing valid or test part from train by seed."""
    check_split(split)
    split, notes = split.astype(_TURNS.dtype), []
    for part in PARTS[1:]:
        if part not in split:
            train = np.flatnonzero(split == "train")
            turns = np.array(["train", "train", part, "train", "train"], split.dtype)
            split[train] = kinds.take(train).deal(turns, np.random.default_rng(seed))
            notes.append(f"no row is in {part!r}: a fifth of 'train' is taken for it, by seed {seed}")
    if kinds.queries is not None and count_cut(kinds.queries, split):
        notes.append("some queries have rows in more than one part")
    return split, notes


def count_cut(units: I8, split: NDArray[np.str_]) -> int:
    """Return the number of units of rows, int64 (n,), with rows in more than one part of a split, str (n,)."""
    parts = np.unique(split, return_inverse=True)[1]
    pairs = np.unique(units.astype(np.int64) * len(PARTS) + parts)
    return int((np.unique(pairs // len(PARTS), return_counts=True)[1] > 1).sum())


def check_split(split: NDArray[np.str_]) -> None:
    """Refuse a part of another name, and a table without rows to train on; the split is str (n,)."""
    unknown = sorted(set(np.unique(split).tolist()) - set(PARTS))
    if unknown:
        is_split = set(PARTS).intersection(split.tolist())
        way_out = f"; if it is no split, give the column another name, or leave it out with --ignore {SPLIT}"
        refusal = f"expected {', '.join(PARTS)}, got {shown(unknown[0])}"
        raise DataError(f"column {SPLIT!r}: {refusal}{'' if is_split else way_out}")
    if "train" not in split:
        raise DataError(f"column {SPLIT!r}: no row is in 'train'")


def check_parts(split: NDArray[np.str_], y: NDArray[Any], classes: Sequence[Any] | None) -> None:
    """Refuse a split, str (n,), without rows in some part, and for classes, one of which has no row to train on."""
    unknown = sorted(set(np.unique(split).tolist()) - set(PARTS))
    if unknown:
        raise DataError(f"split: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    if classes is not None and len(classes) < 2:
        raise DataError(f"expected rows of at least two classes, got only {', '.join(map(repr, classes))}")
    for part in PARTS:
        if not (split == part).any():
            raise DataError(f"split: none of the {len(split)} rows is in {part!r}")
    absent = set(classes or ()) - set(np.unique(y[split == "train"]).tolist())
    if absent:
        raise DataError(f"class {min(absent)!r} has no row in 'train'")


def _deal(codes: I8, turns: NDArray[np.str_], rng: np.random.Generator) -> NDArray[np.str_]:
    """Deal parts to n items in turn, in random order, class by class: str (n,)."""
    place, first = shuffle_kinds(codes, rng)
    return np.asarray(turns[(place - first) % len(turns)])


def _rarest(codes: I8, units: I8) -> I8:
    """Return the rarest class of all that each unit of rows has, so that parts share them evenly: int64 (units,)."""
    order = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))  # of each class, the commonest first
    rarest = np.zeros(int(units.max(initial=-1)) + 1, np.int64)
    np.maximum.at(rarest, units, order[codes])
    return rarest
