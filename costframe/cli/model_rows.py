"""Rows of DATA for a model, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from costframe.cli.exits import print_error
from costframe.cli.given_data import is_file, load_named, refuse_for_named
from costframe.cli.given_model import PricedModel
from costframe.cli.reading import ReadingOptions
from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, ParameterError, quote_names
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset
from costframe.datasets.model_rows import ModelRows
from costframe.datasets.table_files import TableFile


def open_blocks(
    data: str,
    model: PricedModel,
    reading: ReadingOptions,
    keep: tuple[str, ...] = (),
    unavailable: tuple[str, ...] = (),
) -> Iterator[tuple[F8, dict[str, Any]]]:
    """Yield rows of a file or data set for a model, float64 (rows, d), and columns to copy, block by block.

    Nothing is read of features that are unavailable: a file may lack them. What is unusual about a file goes to the
    error stream, in one line.
    """
    predictor, part = model.predictor, reading.part
    if not is_file(data):
        if keep:
            raise ParameterError(f"--keep is for files; the data set {data} has features only")
        refuse_for_named(data, {"--missing": reading.missing})
        dataset = load_named(data)
        X = features_of(dataset, model, data)
        yield X if part is None else X[dataset.split == part], {}
        return
    file = TableFile.open(data, reading.missing, model.fitted.decimal)
    if file.note is not None:
        print_error(file.note)
    names, used, allow_unknown = predictor.feature_names, predictor.used_features, reading.allow_unknown
    labels, reader = predictor.categories, model.path
    rows = ModelRows(file, names, part, labels, reader, keep, used, unavailable, print_error, allow_unknown)
    yield from rows.blocks()


def open_rows(data: str, model: PricedModel, reading: ReadingOptions) -> F8:
    """Read the rows of a file or data set for a model, float64 (rows, d); see `open_blocks`."""
    return np.concatenate([X for X, _ in open_blocks(data, model, reading)])


def features_of(dataset: Dataset, model: PricedModel, data: str) -> F8:
    """Return the columns of a data set that a model reads, float64 (n, d); refuse it if one does not fit."""
    predictor = model.predictor
    missing = [name for name in predictor.feature_names if name not in dataset.feature_names]
    if missing:
        raise DataError(f"{data}: no feature {missing[0]!r}, which {model.path} reads")
    for name, labels in predictor.categories.items():
        if {**dataset.categorical, **dataset.dates}.get(name) != labels:
            known = quote_names(labels) if isinstance(labels, tuple) else "hashes of texts, or dates"
            raise DataError(f"{data}: feature {name!r} has other labels than {model.path}: {known}")
    return dataset.X[:, [dataset.feature_names.index(name) for name in predictor.feature_names]]


def check_error_prices(
    costs: CostModel, names: Sequence[str], rows: F8, first: int, barred: Iterable[str] = ()
) -> None:
    """Refuse rows of a block, float64 (rows, d), in which a price of errors is none, by their number in the table."""
    if costs.errors is not None and set(names).difference(barred).issuperset(costs.errors.columns):
        costs.errors.check_rows(rows, names, "errors", first)


@define(eq=False)
class EvenRows:
    """Evenly spaced rows of a table that comes in blocks: every one, every second, fourth, ... one.

    Attributes
    ----------
    most : int
        The largest number of rows to keep.
    seen : int
        Rows so far.
    """

    most: int
    seen: int = field(default=0, init=False)
    _step: int = field(default=1, init=False)
    _kept: list[F8] = field(factory=list, init=False)

    def watch(self, blocks: Iterable[F8]) -> Iterator[F8]:
        """Yield blocks of rows, float64 (n, d), as they come."""
        for rows in blocks:
            if self.most:
                self._kept.append(rows[-self.seen % self._step :: self._step])
            self.seen += len(rows)
            while sum(map(len, self._kept)) > self.most:
                self._step, self._kept = 2 * self._step, [np.concatenate(self._kept)[::2]]
            yield rows

    @property
    def rows(self) -> F8:
        """The kept rows: float64 (m, d)."""
        return np.concatenate(self._kept)

    @property
    def places(self) -> I8:
        """Their places among all rows: int64 (m,)."""
        return np.arange(0, self.seen, self._step)
