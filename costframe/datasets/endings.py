"""Endings of the names of table files, by kind; light, for commands look at them before pyarrow loads."""

from __future__ import annotations

import os
from pathlib import PurePath

TEXTS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""Endings of tables as text, with the usual separator."""

_STORED = (".parquet", ".feather", ".arrow")
_PACKED = (".gz", ".zst")  # of texts only: the other formats compress their columns themselves

ENDINGS = ".csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow"
"""The endings as texts of errors and help list them."""


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Return the ending of a table file without that of its compression, such as ".csv" of table.csv.gz, or None."""
    endings = [ending.lower() for ending in PurePath(path).suffixes[-2:]]
    if endings and endings[-1] in _PACKED:
        return endings[0] if endings[0] in TEXTS else None
    return endings[-1] if endings and endings[-1] in (*TEXTS, *_STORED) else None
