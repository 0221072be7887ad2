"""Repeated splits of a table's rows: the same for every side, whatever else is compared."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe.core.digests import digest_of
from costframe.core.errors import CostframeError, DataError
from costframe.datasets import Dataset
from costframe.datasets.parts import PARTS, Kinds, turns_of
from costframe.study.score_choice import choose_score_of_study
from costframe.training.error_costs import ERROR_COST
from costframe.training.library_scores import LibraryScore


@frozen(eq=False)
class Split:
    """A table whose rows are dealt to train, valid and test for one repeat.

    `seed` is None for the parts in which the rows came.
    """

    data: Dataset
    repeat: int
    seed: int | None
    score: str | LibraryScore

    @property
    def digest(self) -> str:
        """What tells the split of the rows from others, in hexadecimal letters."""
        return digest_of(sum(number * (self.data.split == part) for number, part in enumerate(PARTS)))

    @property
    def score_is_bill(self) -> bool:
        """Whether prices have errors, so that sides are compared by bills."""
        return str(self.score) == ERROR_COST

    def count(self, part: str) -> int:
        """Return the number of rows of a part."""
        return int((self.data.split == part).sum())


def split_repeatedly(data: Dataset, repeats: int, seed: int, score: object) -> list[Split]:
    """Return the splits of a table; refuse one that a repeat cannot split, or in whose parts the score is undefined.

    The first is the table's own if its rows came in parts. Others are drawn by `seed` plus the number of the repeat: in
    parts of the sizes that the own ones have, else 60/20/20, with equal shares of classes; groups and queries stay
    together.
    """
    splits = []
    for repeat in range(repeats):
        try:
            split = data if data.seed is None and not repeat else draw_split(data, seed + repeat)
            splits.append(Split(split, repeat, split.seed, choose_score_of_study(split, score)))
        except CostframeError as error:
            text = str(error)
            if text.startswith((f"{data.name}: ", f"{data.name}, ")):  # it names the table once
                text = text[len(data.name) + 2 :]
            raise type(error)(f"{data.name}, repeat {repeat}: {text}") from error
    return splits


def draw_split(data: Dataset, seed: int) -> Dataset:
    """Return the same rows, split anew by a seed: in parts of the sizes that its own have if the rows came in parts."""
    if data.seed is not None:
        return data.split_anew(seed)
    classes = data.y if data.task == "classification" else None
    kinds = Kinds(len(data.y), classes, data.qid, data.groups)
    split = kinds.deal(turns_of(data.split), np.random.default_rng(seed))
    if empty := [part for part in PARTS if part not in split]:
        raise DataError(f"{kinds.what} are too few to be split: none is left for {empty[0]!r}")
    return evolve(data, split=split, seed=seed)


def digest_content(data: Dataset) -> str:
    """Return what tells a table from others, without the split of its rows and its prices, in hexadecimal letters."""
    rows = data.X, data.y, data.qid, data.groups, data.made
    return digest_of(*rows, data.feature_names, data.task, data.classes, dict(data.categorical))
