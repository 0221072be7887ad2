"""Splits of rows into train, valid and test: by seed, with equal shares of classes and whole queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError
from costframe.core.tables.splits import PARTS, check_split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["check_parts", "obey_split", "split_rows"]

# Parts of the shuffled rows of each class, in turn: 60/20/20, and a class's first row is in train.
_TURNS = np.array(["train", "valid", "train", "test", "train"])


def split_rows(
    classes: NDArray[Any] | None, queries: NDArray[np.int64] | None, n: int, seed: int
) -> tuple[NDArray[np.str_], list[str]]:
    """Split n rows into train, valid and test, 60/20/20: str (n,), and notes about the split.

    Classes, (n,), have equal shares in each part; rows of one query, int64 (n,), stay together.
    """
    rng = np.random.default_rng(seed)
    if queries is not None:
        return _deal(None, int(queries.max(initial=-1)) + 1, rng)[queries], [_note("queries", seed)]
    return _deal(classes, n, rng), [_note("rows" if classes is None else "the rows of each class", seed)]


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


def obey_split(
    split: NDArray[np.str_], classes: NDArray[Any] | None, queries: NDArray[np.int64] | None, seed: int
) -> tuple[NDArray[np.str_], list[str]]:
    """Check a given split, str (n,); take a missing valid or test part from train by seed."""
    check_split(split)
    split, notes = split.astype(_TURNS.dtype), []
    for part in PARTS[1:]:
        if part not in split:
            _take_from_train(split, part, classes, queries, np.random.default_rng(seed))
            notes.append(f"no row is in {part!r}: a fifth of 'train' is taken for it, by seed {seed}")
    if queries is not None:
        pairs = np.unique(np.stack([queries, np.unique(split, return_inverse=True)[1]]), axis=1)
        if pairs.shape[1] > len(np.unique(queries)):
            notes.append("some queries have rows in more than one part")
    return split, notes


def _take_from_train(
    split: NDArray[np.str_],
    part: str,
    classes: NDArray[Any] | None,
    queries: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> None:
    turns = np.array(["train", "train", part, "train", "train"], split.dtype)
    train = np.flatnonzero(split == "train")
    if queries is None:
        split[train] = _deal(None if classes is None else classes[train], len(train), rng, turns)
    else:
        mine, query = np.unique(queries[train], return_inverse=True)
        split[train] = _deal(None, len(mine), rng, turns)[query]


def _deal(classes: NDArray[Any] | None, n: int, rng: np.random.Generator, turns: NDArray[np.str_] = _TURNS) -> Any:
    """Deal parts to n items in turn, in random order, class by class: str (n,)."""
    order = rng.permutation(n)
    codes = np.zeros(n, np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    order = order[np.argsort(codes[order], kind="stable")]
    begin = np.searchsorted(codes[order], codes[order])
    split = np.empty(n, turns.dtype)
    split[order] = turns[(np.arange(n) - begin) % len(turns)]
    return split


def _note(what: str, seed: int) -> str:
    return f"no split column: {what} are split 60/20/20 into train, valid and test by seed {seed}"
