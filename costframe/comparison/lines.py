"""Files of JSON lines: one record a line, appended as a whole; a last line that was cut off is taken away."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from costframe.comparison.records import Record
from costframe.core.errors import CostframeError, ParameterError, StorageError
from costframe.core.strict_json import as_json, parse_strictly

RESULTS = "results.jsonl"  # in the directory of a comparison


def to_line(record: Record) -> str:
    """Return the line of a record, without its end: keys in the order of its fields, floats to the last bit."""
    return json.dumps(as_json(record.to_json()), allow_nan=False)


def append_record(path: Path, record: Record) -> None:
    """Append a record's line to a file in one write, and wait until the disk has it; leave no part of a line."""
    content = f"{to_line(record)}\n".encode()
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                while content:  # a disk that is nearly full takes a part without an error
                    content = content[file.write(content) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


@frozen(eq=False)
class Lines:
    """The records of a file, in the order of its lines, and whether a last line was cut off, which is no record."""

    records: tuple[Record, ...]
    is_cut: bool


def read_lines(path: Path, *, repair: bool = False) -> Lines:
    """Read the records of a file.

    A run that was killed while it wrote may have left a part of a last line: `repair` takes it off the file, so that
    others can follow.

    Raises
    ------
    StorageError
        If the file cannot be read.
    ParameterError
        If another line is damaged; the text names the file and the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    records, sound, lines = list[Record](), 0, content.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                records.append(_parse(line, f"{path}, line {number}"))
            except ParameterError as error:
                if line.endswith(b"\n") or not isinstance(error.__cause__, ValueError):
                    raise
                break  # the last one, which is no JSON and has no end
        sound += len(line)
    if repair:
        _repair(path, content, sound)
    return Lines(tuple(records), sound < len(content))


def _repair(path: Path, content: bytes, sound: int) -> None:
    """Take a damaged end off a file, and end its last line, so that a further one can follow."""
    try:
        if sound < len(content):
            os.truncate(path, sound)
        if content[:sound] and not content[:sound].endswith(b"\n"):
            with path.open("ab", buffering=0) as file:
                file.write(b"\n")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _parse(line: bytes, where: str) -> Record:
    try:
        value = parse_strictly(line)
    except ValueError as error:
        raise ParameterError(f"{where}: is no record: {error}") from error
    try:
        return Record.of_json(value, where)
    except CostframeError as error:
        text = str(error)
        raise ParameterError(text if text.startswith(where) else f"{where}: {text}") from None


def to_lines(records: Iterable[Record]) -> str:
    """Return the content of a file of records."""
    return "".join(f"{to_line(record)}\n" for record in records)
