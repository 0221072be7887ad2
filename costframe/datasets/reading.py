"""What is asked of a table: its target, what is no feature, and prices of the others."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from costframe.core.checks import as_path, check_choice, check_flag, check_name_list, check_number
from costframe.core.errors import CostframeError, DataError, ParameterError, Problems, quote_names, shown, suggestion
from costframe.core.plugins.entries import TASKS
from costframe.core.prices.costs import CostModel, FeaturePrice
from costframe.datasets.column_prices import order_prices, read_empty_cells, source_of
from costframe.datasets.ids import IdColumn
from costframe.datasets.parts import QID, SPLIT
from costframe.datasets.price_draft import describe_open
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import describe_codes

_KEEP = "; --keep-id COL keeps a column as a feature (keep_ids= in Python)"
_INDEX = re.compile(r"Unnamed: \d+(?:\.\d+)?")


@frozen
class Reading:
    """Settings for reading a table; see `read_table`. Prices are loaded, and `source` is their name."""

    name: str
    target: str
    task: str | None
    ignore: tuple[str, ...]
    categorical: tuple[str, ...]
    seed: int
    prices: object
    source: str
    from_file: bool
    group: str | None = None
    keep_ids: tuple[str, ...] = ()
    records: bool | None = None  # whether empty cells of priced columns are tests that nobody made
    by_prices: tuple[str, ...] = ()  # those in `ignore` that the prices ignore
    ids: Mapping[str, IdColumn] = field(factory=dict)  # those in `ignore` that are ids

    @classmethod
    def of(
        cls, file: Path, target: str, costs: object, task: str | None, ignore: Iterable[str],
        categorical: Iterable[str], seed: int, group: str | None = None, keep_ids: Iterable[str] = (),
        records: bool | None = None,
    ) -> Reading:  # fmt: skip
        """Load the prices, if they are in a file."""
        if not isinstance(target, str):
            raise ParameterError(f"target: expected the name of a column, got {shown(target)}")
        if not (group is None or isinstance(group, str)):
            raise ParameterError(f"group: expected the name of a column, got {shown(group)}")
        check_choice("task", task, (*TASKS, None))
        if records is not None:
            check_flag("records", records)
        check_number("seed", seed, whole=True)
        ignore, categorical, keep_ids = (
            check_name_list(name, names, ordered=False)
            for name, names in (("ignore", ignore), ("categorical", categorical), ("keep_ids", keep_ids))
        )
        from_file = isinstance(costs, str | os.PathLike)
        prices, source = CostModel.load(costs) if from_file else costs, source_of(costs, "its prices")  # type: ignore[arg-type]
        prices = CostModel.of(prices) if isinstance(prices, Mapping) else prices
        return cls(
            file.name, target, task, ignore, categorical, seed, prices, source, from_file, group, keep_ids, records
        )  # fmt: skip

    @property
    def grouped(self) -> tuple[str, ...]:
        """The column of groups, if there is one."""
        return () if self.group is None else (self.group,)

    @property
    def asks_of_tests(self) -> bool:
        """Whether remarks ask if empty cells are tests that nobody made: of given prices, unless that is said."""
        return self.records is None and self.prices is not None

    def among(self, columns: Collection[str]) -> Reading:
        """Ignore the columns that the prices ignore too, those that there are."""
        given = self.prices.ignore if isinstance(self.prices, CostModel) else ()
        more = tuple(name for name in given if name in columns and name not in {self.target, *self.ignore})
        return evolve(self, ignore=(*self.ignore, *more), by_prices=more)

    def leaving_out(self, ids: Mapping[str, IdColumn]) -> Reading:
        """Ignore columns that are surely ids, but for those that have a price or are split by categories."""
        prices = self.prices
        priced = set(prices.names) if isinstance(prices, CostModel) else set(ids) if prices is not None else set()
        stays = {*priced, *self.categorical, *self.ignore}
        dropped = {name: column for name, column in ids.items() if column.is_sure and name not in stays}
        known = tuple(name for name in ids if name not in dropped)
        return evolve(self, ignore=(*self.ignore, *dropped), ids=dropped, keep_ids=(*self.keep_ids, *known))

    def described(self, missing: tuple[str, ...], dated: Mapping[str, FeaturePrice]) -> dict[str, Any]:
        """Return the arguments that make the same table of the same file, JSON values, without the prices."""
        names = {name: sorted(getattr(self, name)) for name in ("ignore", "categorical", "keep_ids")}
        epochs = {name: price.epoch for name, price in dated.items() if price.epoch is not None}
        rest = {"missing": sorted(missing), "group": self.group, "seed": self.seed, "epochs": epochs}
        rest |= {"records": self.records}
        return {"target": self.target, "task": self.task} | names | rest

    def features(self, columns: Iterable[str], problems: Problems) -> tuple[str, ...]:
        """Return the features among a file's columns, in their order."""
        table = list(columns)
        for name in (self.target, *self.ignore, *self.categorical, *self.grouped, *self.keep_ids):
            with problems.collect():
                if name not in table:
                    what = "target column" if name == self.target else "column"
                    raise DataError(
                        f"no {what} {name!r}{suggestion(name, table)}; the columns are {quote_names(table)}"
                    )
        others = {self.target, SPLIT, QID, *self.ignore, *self.grouped, *find_indices(table)[0]}
        features = tuple(name for name in table if name not in others)
        with problems.collect():
            if self.target in {SPLIT, QID}:
                raise DataError(f"the column {self.target!r} has a meaning of its own and cannot be the target")
            if self.target in self.ignore:
                raise DataError(f"the column {self.target!r} cannot be both the target and ignored")
            if self.group in {self.target, SPLIT, QID}:
                raise DataError(f"the column {self.group!r} has a meaning of its own and cannot name groups")
            if not features:
                ids = [f"{shown(name)} is {column.describe()}" for name, column in self.ids.items()]
                raise DataError("; ".join(["no column is left to be a feature", *ids]) + (_KEEP if ids else ""))
        for name in self.categorical:
            with problems.collect():
                if name in others:
                    raise DataError(f"the column {name!r} is to be split by categories, and is no feature")
        return features

    def price(
        self, opened: TableFile, columns: Collection[str], features: tuple[str, ...], problems: Problems
    ) -> tuple[CostModel | None, list[str]]:
        """Return prices of the features of a file, in their order, and notes on the file and prices."""
        others = {self.target: "the target"}
        indices, index_notes = find_indices(columns, {self.target, *self.ignore})
        others |= dict.fromkeys(indices, "an index")
        adding = f"`costframe costs {shlex.quote(str(opened.path))} --costs {shlex.quote(self.source)}` adds them"
        model = None
        with problems.collect() if features and self.target in columns else contextlib.suppress(CostframeError):
            model = order_prices(
                read_empty_cells(CostModel.of(self.prices, features), self.records),
                features,
                table=str(opened.path),
                source=self.source,
                others=others,
                ignored=(*self.ignore, *self.grouped),
                way_out=adding if self.from_file else "",
            )
        notes = [opened.note] if opened.note else []
        notes += index_notes
        notes += [f"left out, as {self.source} says: {quote_names(self.by_prices)}"] if self.by_prices else []
        notes += [
            f"left out: {shown(name)}, {column.describe()}; --keep-id {shlex.quote(name)}, or a price, keeps it"
            for name, column in self.ids.items()
        ]
        notes += [] if self.prices is not None else ["no prices given: every feature costs one unit"]
        codes = [name for name in opened.codes if name in features and name not in self.categorical]
        notes += [describe_codes(codes)] if codes else []
        note = describe_open(as_path(self.source)) if self.from_file else None
        return model, [*notes, note] if note else notes


def find_indices(names: Iterable[str], but: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the columns that are an index that `to_csv` wrote, except some, and a note on them if there are any."""
    indices = [name for name in names if _INDEX.fullmatch(name) and name not in but]
    return indices, [f"{quote_names(indices)}: left out, an index without a name"] if indices else []
