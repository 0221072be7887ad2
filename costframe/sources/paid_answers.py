"""Answers of calls that were paid for, by key, so that no later ask pays for them again."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from contextlib import suppress
from fractions import Fraction
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from costframe.core.errors import DataError, shown
from costframe.sources.replay import read_lines

FORMAT = "paid calls 1"
_AMOUNT = re.compile("[0-9]{1,2000}(/[0-9]{1,2000})?")  # as a Fraction is written; exponents could take forever
_OPEN: set[Path] = set()  # files in use in this process: two functions must not take each other's answers


class PaidAnswers:
    """Outputs of paid calls by key, in memory and, with a path, in a file of one JSON line a call.

    A line is written when its call ends, also that of a call that failed and was paid. A last line that was cut off
    with its process is left out.

    Parameters
    ----------
    path : Path or None
    function : str
        Name of the function that was called: a file holds answers of one.

    Attributes
    ----------
    outputs : dict of hashable to object
    paid : Fraction
        What calls were paid, as the file told when it was opened.
    """

    def __init__(self, path: Path | None, function: str) -> None:
        self._path, self._lock = None if path is None else path.absolute(), Lock()
        self._header = {"costframe": FORMAT, "function": function}
        self._file: FileIO | None = None
        self.outputs: dict[Hashable, Any] = {}
        self.paid = Fraction(0)
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        """Take the answers of earlier runs."""
        is_ours = False
        for number, line in read_lines(path):
            if "costframe" in line:
                is_ours = line == self._header
                if not is_ours:
                    raise DataError(f"{path}, line {number}: expected {shown(self._header)}, got {shown(line)}")
                continue
            paid = _read_amount(line) if is_ours else None
            if paid is None or not isinstance(line.get("key"), str | int | float):
                raise DataError(f"{path}, line {number}: expected a paid call, got {shown(line)}")
            self.paid += paid
            if "output" in line:
                self.outputs[line["key"]] = line["output"]

    def can_hold(self, key: Hashable) -> bool:
        """Return whether a key can be written and found again: any key in memory, texts and numbers in a file."""
        return self._path is None or isinstance(key, str | int | float | np.integer)

    def keep(self, key: Hashable, paid: Fraction, output: Any) -> None:
        """Keep the output of a call; a `DataError` if it cannot be written, though it is kept in memory."""
        self.outputs[key] = output
        self._write({"key": key, "paid": str(paid), "output": output})

    def note_failure(self, key: Hashable, paid: Fraction) -> None:
        """Note what a call without an output was paid."""
        if paid:
            self._write({"key": key, "paid": str(paid)})

    def _write(self, line: dict[str, Any]) -> None:
        if self._path is None:
            return
        try:
            text = json.dumps(line, default=_plain)
        except (TypeError, ValueError, RecursionError):
            kind = type(line.get("output")).__name__
            raise DataError(
                f"answers: expected outputs that JSON can hold, got one of type {kind}; return numbers, texts, or a "
                "mapping of them"
            ) from None
        try:
            self.open()
            with self._lock:
                _write_whole(self._file, f"{text}\n")
        except OSError as error:
            raise DataError(f"answers: {self._path} cannot be written: {error.strerror or error}") from None

    def open(self) -> None:
        """Open the file to add lines, behind one that may be cut off; a `DataError` if another has it open."""
        with self._lock:
            if self._path is None or self._file is not None:
                return
            if self._path in _OPEN:
                raise DataError(f"answers: {self._path} is open in another source; close that, or name another file")
            try:
                file = FileIO(self._path, "a")
                _write_whole(file, "\n" * (file.tell() > 0) + json.dumps(self._header) + "\n")
            except OSError as error:
                raise DataError(f"answers: {self._path} cannot be written: {error.strerror or error}") from None
            self._file = file
            _OPEN.add(self._path)

    def close(self) -> None:
        """Close the file; a later line opens it again."""
        with self._lock:
            if self._file is not None and self._path is not None:
                self._file.close()
                self._file = None
                _OPEN.discard(self._path)

    def __del__(self) -> None:
        self.close()


def _read_amount(line: dict[str, Any]) -> Fraction | None:
    """Return what a call of a file was paid; None if the line does not say so."""
    paid = line.get("paid")
    with suppress(ValueError, ZeroDivisionError):
        if isinstance(paid, str) and _AMOUNT.fullmatch(paid):
            return Fraction(paid)
    return None


def _write_whole(file: FileIO | None, text: str) -> None:
    left = memoryview(text.encode())
    while left and file is not None:
        left = left[file.write(left) :]


def _plain(value: Any) -> Any:
    """Return a value of numpy as one of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError
