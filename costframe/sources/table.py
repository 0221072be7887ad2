"""A table in memory as a source, also one read from a file."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from attrs import define, field

from costframe.core.checks import needed
from costframe.core.errors import DataError, InquiryError, ParameterError, quote_names, shown
from costframe.core.tables.categories import is_missing
from costframe.core.tables.frames import column_names
from costframe.sources.keys import as_type
from costframe.sources.source import KeyRefusedError, Reply, Source, Wanted

_KINDS = {str, int, float, date, datetime, Decimal, UUID}


@define(eq=False, repr=False)
class TableSource(Source):
    """Values from a table in memory; its places are columns.

    Parameters
    ----------
    table : data frame, or mapping of str to sequence (rows,)
        Columns by name.
    key : str, optional
        The column of keys; None numbers the rows from 0. A key in two rows fails. Keys of one type are found by their
        texts, too, and texts by whole numbers.
    """

    table: Any
    key: str | None = None

    _columns: dict[str, Any] = field(factory=dict, init=False)
    _rows: dict[Hashable, list[int]] = field(factory=dict, init=False)
    _kind: type | None = field(default=None, init=False)  # of all keys

    def __attrs_post_init__(self) -> None:
        names = list(self.table) if isinstance(self.table, dict) else column_names(self.table)
        if not names:
            raise ParameterError(f"table: expected columns with names, at least one, got {type(self.table).__name__}")
        if self.key is not None and not isinstance(self.key, str):
            raise ParameterError(f"key: expected the name of a column, got {shown(self.key)}")
        self._columns = {name: _listed(self.table[name], name) for name in names}
        sizes = {len(column) for column in self._columns.values()}
        if len(sizes) > 1:
            raise DataError(f"table: expected columns of one length, got {sorted(sizes)}")
        if self.key is not None and self.key not in self._columns:
            raise ParameterError(f"key: expected a column of the table, got {shown(self.key)}")
        for i, key in enumerate(range(sizes.pop()) if self.key is None else self._columns[self.key]):
            if not is_missing(key):  # is nobody's key; Python finds the same NaN, and no other
                self._rows.setdefault(key, []).append(i)
        kinds = {type(key) for key in self._rows}
        if len(kinds) == 1 and kinds <= _KINDS:
            (self._kind,) = kinds

    def __repr__(self) -> str:
        """Name its size."""
        return f"TableSource({len(self._rows)} keys x {len(self._columns)} columns)"

    async def connect(self, places: Collection[str]) -> None:
        """Check that the table has the places."""
        if lacking := [place for place in places if place not in self._columns]:
            raise InquiryError(f"no column {quote_names(lacking)}; the table has {quote_names(self._columns)}")

    async def fetch(self, wanted: Wanted) -> Reply:
        """Look the rows up."""
        reply: dict[Hashable, Any] = {}
        for key, places in wanted.items():
            try:
                stored = key if self._kind is None else as_type(key, self._kind)
            except KeyRefusedError as error:
                reply[key] = error
            else:
                if stored in self._rows:
                    reply[key] = self._values(self._rows[stored], places)
        return reply

    def _values(self, rows: list[int], places: Collection[str]) -> object:
        if len(rows) > 1:
            return InquiryError(f"{len(rows)} rows have this key")
        return {place: self._columns[place][rows[0]] for place in places if place in self._columns}


def _listed(column: Any, name: str) -> list[Any]:
    for method in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        if hasattr(column, method):
            return list(getattr(column, method)())
    values = np.asanyarray(column)
    if values.ndim != 1:
        raise ParameterError(f"table: expected a list of values as column {name!r}, got {shown(column)}")
    return list(values.tolist())  # a masked array has None for what it hides


def read_source(path: str, key: str, folder: Path = Path()) -> TableSource:
    """Read a file with a table, such as CSV or Parquet, beside the file that names it."""
    needed("pyarrow", "cli")
    from costframe.datasets.table_files import TableFile

    return TableSource(TableFile.open(folder / path).read(texts=[key]), key)
