"""Connections to a file of SQLite, which only read, each in a thread."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TypeVar
from urllib.parse import quote

from costframe.sources.source import LackingError
from costframe.sources.sql.database import decode_text
from costframe.sources.threads import Threads

T = TypeVar("T")

_LOCKED = 2.0  # seconds that SQLite waits for a lock, which nothing can interrupt
_MOST_LENGTH = 50_000_000  # bytes, also of the keys of one trip


class SQLiteFile:
    """At most `most` connections to a file, each in a thread: one hop there and back is a whole trip."""

    def __init__(self, path: str, most: int) -> None:
        self.path, self._threads = path, Threads(most)
        self._idle: list[tuple[sqlite3.Connection, object]] = []  # with the file that each has open

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a function makes of a connection; cancelled, it interrupts that connection."""
        busy: list[sqlite3.Connection] = []
        ending = Lock()  # or an interrupt could meet the next trip that has the connection

        def connected() -> T:
            raw, file = self._take()
            busy.append(raw)
            try:
                result = work(raw)
            except BaseException:
                with ending:
                    busy.clear()
                raw.close()
                raise
            with ending:
                busy.clear()
            self._idle.append((raw, file))
            return result

        try:
            return await self._threads.call(connected)  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            with ending:
                for raw in busy:
                    raw.interrupt()
            raise

    async def close(self) -> None:
        """Close the connections, when all calls have ended: a lock is waited for some seconds."""
        await self._threads.end()
        self._threads.close()
        while self._idle:
            self._idle.pop()[0].close()

    def _take(self) -> tuple[sqlite3.Connection, object]:
        """Return a connection to the file that is there now; another may have taken its place."""
        with suppress(OSError):
            status = os.stat(self.path)  # noqa: PTH116 - quicker, at every trip
            file = status.st_dev, status.st_ino
            while self._idle:
                raw, opened = self._idle.pop()
                if opened == file:
                    return raw, file
                raw.close()
            return self._connect(), file
        raise LackingError("no file is at the address of the database")

    def _connect(self) -> sqlite3.Connection:
        address = f"file:{quote(self.path)}?mode=ro"  # or a wrong name would make an empty database
        raw = sqlite3.connect(address, timeout=_LOCKED, isolation_level=None, check_same_thread=False, uri=True)
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_LENGTH)  # a column of numbers may hold a text, too
        raw.text_factory = decode_text
        return raw
