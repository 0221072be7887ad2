"""The keys of the rows that a command predicts from live sources."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attrs import define, field

from costframe.core.errors import DataError, format_count, quote_names, shown
from costframe.core.tables.categories import is_missing
from costframe.core.tables.columns import decode_column
from costframe.datasets.reading import find_indices
from costframe.datasets.table_files import TableFile
from costframe.sources import Sources

_DIGITS, _LETTERS = re.compile("[0-9]+"), re.compile("[A-Za-z0-9]")
_CODE = 8  # letters of a code such as 3f2a99cd: as many are rarely the same number in a name and all keys by chance


@define
class Keys:
    """The keys of a run: one column, or several for lookups that name theirs."""

    columns: dict[str, Any]
    note: str
    rows: list[Any] = field(factory=list)

    @classmethod
    def read(cls, path: Path, sources: Sources) -> Keys:
        """Read keys as the file writes them; only a file with types, such as Parquet, has keys that are numbers."""
        file = TableFile.open(path)
        columns = file.read(texts=file.names())
        named = [lookup.key for lookup in sources.lookups.values() if lookup.key is not None]
        indices, notes = find_indices(columns, named)
        columns = {name: column for name, column in columns.items() if name not in indices} or columns
        columns = {name: decode_column(column, f"{path}: column {shown(name)}") for name, column in columns.items()}
        if lacking := [name for name in named if name not in columns]:
            raise DataError(f"{path}: no column {quote_names(lacking)}; it has {quote_names(columns)}")
        values = [[None if is_missing(key) else key for key in column.to_pylist()] for column in columns.values()]
        for name, column in zip(columns, values, strict=True):
            kinds = list | dict | bool if name in (named or columns) else list | dict
            if wrong := [key for key in column if isinstance(key, kinds)]:
                raise DataError(
                    f"{path}: column {shown(name)}: expected keys that are texts or numbers, got {shown(wrong[0])}"
                )
        if not named:
            if len(columns) > 1:
                raise DataError(
                    f"{path}: expected one column of keys, got {quote_names(columns)}; or name each source's in the "
                    "source file, by = NAME"
                )
            _check_header(path, next(iter(columns)), values[0])
        notes = [*([file.note] if file.note else []), *notes]
        notes.append(f"{path.name}: {format_count(len(values[0]), 'key')} under {quote_names(columns)}")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)] if named else values[0]
        return cls(columns, "; ".join(notes), rows)

    def name(self, row: int) -> Any:
        """Return a hashable name of a row's key."""
        return self.name_of(self.rows[row])

    @staticmethod
    def name_of(key: Any) -> Any:
        """Return a hashable name of a key."""
        return tuple(key.values()) if isinstance(key, dict) else key


def _check_header(path: Path, header: str, keys: list[Any]) -> None:
    """Refuse a first line that is a key rather than the name of the column, as in a file without a header."""
    texts = {key for key in keys if isinstance(key, str)}
    is_alike = _DIGITS.sub("0", header) in {_DIGITS.sub("0", text) for text in texts}
    is_code = len(header) >= _CODE and {_LETTERS.sub("x", text) for text in texts} == {_LETTERS.sub("x", header)}
    if header in texts or (_DIGITS.search(header) and (is_alike or is_code)):
        raise DataError(
            f"{path}: the first line, {shown(header)}, looks like a key; write the name of the column above the keys, "
            "or name it in the source file, by = NAME"
        )
