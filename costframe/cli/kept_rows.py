"""Rows of a live run that have ended, in a file beside the output, so that an interrupted run goes on."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from costframe.core.errors import ParameterError
from costframe.core.files import write_atomically


@frozen
class KeptRows:
    """The file of a run's records, a line of JSON each, after a line that names the run by its digest."""

    path: Path
    digest: str  # differs between runs whose rows must not be mixed

    def read(self, *, resume: bool, force: bool) -> dict[int, dict[str, Any]]:
        """Return the records of an interrupted run, by row."""
        if not self.path.exists():
            return {}
        if not resume:
            if not force:
                raise ParameterError(f"{self.path}: holds rows of an interrupted run; add --resume or --force")
            return {}
        records = []
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            with contextlib.suppress(ValueError):
                if line.endswith("\n"):  # else it was cut off while it was written
                    records.append(json.loads(line))
        if not records or records[0] != {"run": self.digest}:
            raise ParameterError(
                f"{self.path}: holds rows of another model, source file, keys or options; remove it, or add --force "
                "without --resume"
            )
        return {record.pop("row"): record for record in records[1:]}

    @contextlib.contextmanager
    def open(self, records: dict[int, dict[str, Any]]) -> Iterator[IO[str]]:
        """Write the file anew with some records, and open it for further ones."""
        lines = [{"run": self.digest}, *({"row": i, **record} for i, record in records.items())]
        if self.path.exists():
            with self.path.open("rb") as before:
                self._lock(before)
        write_atomically(self.path, "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode())
        with self.path.open("a", encoding="utf-8") as file:
            self._lock(file)
            yield file

    @staticmethod
    def add(file: IO[str], row: int, record: dict[str, Any]) -> None:
        """Write the record of a row."""
        file.write(json.dumps({"row": row, **record}, allow_nan=False) + "\n")
        file.flush()

    def _lock(self, file: IO[Any]) -> None:
        """Keep a second run out, which would pay for the same rows again; the lock ends with the process at last."""
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(f"{self.path}: another run writes it; wait, or give another --output") from None
        except OSError:  # a file system without locks
            return
        if os.fstat(file.fileno()).st_ino != self.path.stat().st_ino:
            raise ParameterError(f"{self.path}: another run began it at the same time")
