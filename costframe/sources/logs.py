"""Logs of live inquiries, one JSON line a row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from io import FileIO
from types import TracebackType
from typing import Any, Self

import numpy as np

from costframe.core.checks import as_path
from costframe.core.predictors.prediction import Prediction
from costframe.core.prices.digest import prices_digest
from costframe.core.strict_json import as_json
from costframe.core.terms.terms import ASKED
from costframe.sources.live_row import LiveRow
from costframe.sources.terms import RowTerms

FORMAT = 1
MISSING = "NaN"
INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}  # as `float` reads them


class InquiryLog:
    """A log of inquiries, one JSON line a row: what was asked, what came, what failed, what was paid, the answer.

    Give it to a driver as `observe`. A line is written when its row ends, and the file can be read at any time.

    Parameters
    ----------
    path : str or path
        Lines are added to a log that is there.
    """

    def __init__(self, path: Any) -> None:
        self._path = as_path(path)
        self._file: FileIO | None = None
        self._terms: RowTerms | None = None
        self._header: dict[str, Any] | None = None

    def __call__(self, key: Any, row: LiveRow, end: Prediction | Exception) -> None:
        """Write one row; where that fails, the next one begins a line of its own, after the terms."""
        header = self._header if row.terms is self._terms else _make_header(row.terms)
        file = self._open()
        lines = [header] if header != self._header else []
        lines = [as_json(line, INFINITE) for line in [*lines, _make_record(key, row, end)]]
        written = (json.dumps(line, allow_nan=False) for line in lines)
        text = "".join(f"{line}\n" for line in written)
        left = memoryview(text.encode())
        try:
            while left:
                left = left[file.write(left) :]
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                error.filename = str(self._path)
            raise
        self._terms, self._header = row.terms, header

    def _open(self) -> FileIO:
        """Return the file, open to add lines; an earlier process may have left a last line that is cut off."""
        if self._file is None:
            self._file, self._terms, self._header = FileIO(self._path, "a"), None, None
            if self._path.is_file() and (size := self._path.stat().st_size):
                with self._path.open("rb") as before:
                    before.seek(size - 1)
                    self._file.write(b"" if before.read() == b"\n" else b"\n")
        return self._file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        """Open the file, or raise an `OSError`; return the log, which the end of the block closes."""
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _make_header(terms: RowTerms) -> dict[str, Any]:
    known = terms.known
    if isinstance(known, Mapping):  # here, null is a value that is not at hand, and not one that is missing
        known = {name: MISSING if value != value else value for name, value in known.items()}  # noqa: PLR0124 - NaN
    plain: dict[str, Any] = {name: getattr(terms.terms, name) for name in ASKED}
    plain |= {"known": known if isinstance(known, Mapping) else list(known), "policies": dict(terms.policies)}
    return {"costframe": FORMAT, "prices": prices_digest(terms.costs), "terms": plain}


def _make_record(key: Any, row: LiveRow, end: Prediction | Exception) -> dict[str, Any]:
    rounds = [
        {"values": outcome.values}
        | {name: part for name in ("failed", "lost") if (part := getattr(outcome, name))}
        | {name: sorted(part) for name in ("broken", "unpaid") if (part := getattr(outcome, name))}
        for outcome in row.trail
    ]
    record: dict[str, Any] = {"row": row.number, "key": key, "rounds": rounds}
    if row.late_after is not None:
        record["late_after"] = row.late_after
    record |= {"cost": row.cost, "failed_cost": row.failed_cost}
    if row.paid is not None:
        record["paid"] = row.paid
    if isinstance(end, Prediction):
        return record | {"value": np.asarray(end.value).tolist(), "exit": end.exit, "reason": end.reason}
    return record | {"error": str(end)}
