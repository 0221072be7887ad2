"""Connections to PostgreSQL, each trip one round trip that can only read, behind poolers too."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from costframe.core.errors import InquiryError
from costframe.sources.failures import sqlstate
from costframe.sources.source import LackingError, TripError

_IDLE = 10.0  # seconds after which a connection is tried before its use: what is between may have dropped it
_TRYING = 1.0  # seconds that this may take

# Sent before each statement, in its message, for its transaction only: a session may be shared, and startup parameters
# refused. Two messages, or a pipeline, whose last one asks for what may be there already, keep a pooler's connection.
_TERMS = b"""SELECT set_config('transaction_read_only', 'on', true), set_config('DateStyle', 'ISO', true),
set_config('extra_float_digits', '3', true), set_config('bytea_output', 'hex', true),
set_config('IntervalStyle', 'postgres', true);
"""

_UNQUOTED = " (the server's own text may hold a secret)"
_REFUSALS = [  # what servers say when they refuse a connection, what it means, and whether they will say so again
    ("unsupported startup parameter|unrecognized configuration parameter|invalid value for parameter",
     "the server, or a pooler before it, refuses options of the address or PGOPTIONS", True),
    ("too many|remaining connection slots|no more connections", "too many connections", False),
    ("starting up|shutting down|recovery mode", "connection: the server is not ready", False),
    ("authentication failed|no password supplied|no such user|role .* does not exist",
     "permission: the user or the password is refused", True),
    ("no pg_hba.conf entry|not permitted to log in|permission denied", "permission: the user may not connect", True),
    ("database .* does not exist|no such database", "no such database", True),
    ("timeout|timed out", "timeout", False),
    ("SSL|certificate", "connection: TLS is expected and not there, or a certificate is refused", False),
    ("Connection refused", "connection refused: nothing listens at the address", False),
    ("could not translate host|failed to resolve host|[Nn]ame or service not known", "connection: no such host", False),
]  # fmt: skip


class Connections:
    """At most `most` connections to the server of an address, opened when they are needed."""

    def __init__(self, url: str, most: int) -> None:
        self._url, self._most = url, most
        self._free = asyncio.Semaphore(most)
        self._idle: list[tuple[Any, float]] = []  # with the time of its last use
        self._all: set[Any] = set()

    async def run(self, statement: bytes, given: Sequence[str]) -> Any:
        """Return psycopg's result of a statement; once more on a new connection where the old one has ended.

        The statement can only read, so that nothing happens twice.
        """
        async with self._free:
            with suppress(_EndedError):
                return await self._run(await self._take(), statement, given)
            self._drop_idle()  # a server that has ended one has likely ended all
            try:
                return await self._run(await self._connect(), statement, given)
            except _EndedError as ended:
                raise TripError(str(ended)) from None

    async def close(self) -> None:
        """Close all connections."""
        self._idle.clear()
        for connection in list(self._all):
            await self._end(connection)
        self._free = asyncio.Semaphore(self._most)  # the next trip may be in another event loop

    async def _run(self, connection: Any, statement: bytes, given: Sequence[str]) -> Any:
        """Return the result of a statement; the connection is free again, or closed if it may not be sound."""
        import psycopg

        try:
            cursor = await connection.execute(_TERMS + statement, given)
            cursor.nextset()
        except psycopg.Error as error:
            idle = psycopg.pq.TransactionStatus.IDLE
            if not connection.closed and connection.info.transaction_status == idle:
                self._idle.append((connection, time.monotonic()))
                raise
            await self._end(connection)
            code = sqlstate(error)
            if code and not code.startswith(("08", "57P")):
                raise
            raise _EndedError(f"connection: the server has ended it{f', SQLSTATE {code}' if code else ''}") from None
        except BaseException:
            await self._end(connection)
            raise
        self._idle.append((connection, time.monotonic()))
        return cursor.pgresult

    async def _take(self) -> Any:
        """Return a connection that was used before, tried if it has long been idle, or a new one."""
        while self._idle:
            connection, since = self._idle.pop()
            if time.monotonic() - since < _IDLE or await self._is_alive(connection):
                return connection
        return await self._connect()

    async def _is_alive(self, connection: Any) -> bool:
        """Return whether a connection answers soon; it is closed if it does not."""
        asking = asyncio.ensure_future(connection.execute(b"SELECT 1"))
        try:
            await asyncio.wait({asking}, timeout=_TRYING)
        finally:
            if not asking.done():
                _hang_up(connection)  # or psycopg would wait for the server to confirm that it cancels
                await asyncio.wait({asking})
            if asking.exception() is not None:
                await self._end(connection)
        return asking.exception() is None

    async def _connect(self) -> Any:
        import psycopg

        try:
            connection = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, cursor_factory=psycopg.AsyncClientCursor, client_encoding="UTF8"
            )
        except psycopg.OperationalError as error:
            raise _refusal(error) from None
        self._all.add(connection)
        return connection

    async def _end(self, connection: Any) -> None:
        self._all.discard(connection)
        await connection.close()

    def _drop_idle(self) -> None:
        while self._idle:
            connection, _ = self._idle.pop()
            self._all.discard(connection)
            connection.pgconn.finish()


class _EndedError(Exception):
    """The server has ended a connection."""


def _hang_up(connection: Any) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def _refusal(error: Exception) -> InquiryError:
    """Return why no connection was made; the text that says so may hold a secret."""
    for said, why, is_lasting in _REFUSALS:
        if re.search(said, str(error)):
            return (LackingError if is_lasting else TripError)(f"{why}{_UNQUOTED}")
    return TripError(f"connection: it cannot be made{_UNQUOTED}")
