"""The division of a study's rows: to train on, to stop and choose by, to test on, and folds of the first two."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import I8
from costframe.datasets import Dataset
from costframe.study.candidates import Prices
from costframe.study.folds import Fold, folds_by, folds_of
from costframe.study.rows import StudyRows, check_groups
from costframe.study.settings import check_share


@frozen(eq=False)
class StudyData:
    """Rows to train on, and perhaps others to choose by and to test on; rows of a group are in one of the first two."""

    train: StudyRows
    valid: StudyRows | None = None
    test: StudyRows | None = None

    def __attrs_post_init__(self) -> None:
        check_groups(self.train, self.valid)

    def with_records(self, prices: Prices, *, by_class: bool) -> StudyData:
        """Return the rows with what is known of their tests, if prices or masks say that some were not made."""
        parts = {"train": self.train, "valid": self.valid, "test": self.test}
        given = {name: rows for name, rows in parts.items() if rows is not None}
        if not prices.costs.panels and all(rows.made is None for rows in given.values()):
            return self
        known = {name: rows.with_records(prices.costs, prices.names, by_class=by_class) for name, rows in given.items()}
        if any(rows.made is not None for rows in given.values()):  # rows of several parts may be joined
            known = {name: rows.with_mask() for name, rows in known.items()}
        return evolve(self, **known)


@frozen(eq=False)
class Division:
    """Rows to train on, to stop and choose by, and to test on, and folds of the first two."""

    train: StudyRows
    valid: StudyRows
    test: StudyRows | None
    folds: tuple[Fold, ...] = ()
    folds_repeat: bool = False  # whether folds repeat single fits of estimators with a tradeoff too

    @classmethod
    def of_data(cls, data: Dataset, cv: Any = 0) -> Division:
        """Divide a data set by its parts, and train and valid into a number of folds, or by a splitter."""
        train, valid, test = (
            StudyRows.of_part(data.part(name)).with_records_of(data) for name in ("train", "valid", "test")
        )
        order = np.arange(len(train.y) + len(valid.y))
        return cls(
            train, valid, test, _folds(train, valid, cv, order, classes=data.task == "classification"), cv is not None
        )

    @classmethod
    def of_rows(cls, rows: StudyData, *, cv: Any, share: float, seed: Any, classes: bool) -> Division:
        """Hold out a share of rows for validation if there are none, and make folds: of a number, or by a splitter."""
        train, valid = rows.train, rows.valid
        order = np.arange(len(train.y) + (0 if valid is None else len(valid.y)))
        if valid is None:
            check_share("validation_fraction", share)
            parts = train.hold_out(share, seed, classes=classes)
            order, (train, valid) = np.concatenate(parts), map(train.take, parts)
        return cls(train, valid, rows.test, _folds(train, valid, cv, order, classes=classes), cv is not None)


def _folds(train: StudyRows, valid: StudyRows, cv: Any, order: I8, *, classes: bool) -> tuple[Fold, ...]:
    """Divide train and valid into a number of folds, or by a splitter; see `folds_of` and `folds_by`."""
    splits = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if splits and not isinstance(cv, str):
        return folds_by(train, valid, cv, order)
    return folds_of(train, valid, cv, classes=classes)
