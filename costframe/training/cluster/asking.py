"""What a client of a cluster is asked, which waits for an answer no longer than the client is open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import wait
from typing import Any, TypeVar

A = TypeVar("A")

_CLOSED = frozenset({"closing", "closed"})
_LOOK = 1.0  # seconds between looks whether the client is open


def ask(client: Any, function: Callable[[], Awaitable[A]]) -> A:
    """Return the result of a function that awaits methods of a client, or of its futures and locks.

    Such methods called from another thread wait for ever if the client is closed meanwhile: its event loop ends, with
    what was asked last. This is a ConnectionError here. An interrupt cancels what is asked.
    """

    async def answer() -> A:
        return await function()

    if client.status in _CLOSED:
        raise ConnectionError("the client is closed")
    asked = asyncio.run_coroutine_threadsafe(answer(), client.loop.asyncio_loop)
    try:
        while not wait([asked], timeout=_LOOK).done and client.status not in _CLOSED:
            pass
        return asked.result(timeout=0)
    except Exception as error:
        if client.status in _CLOSED:  # the loop's end cancels; calls of what is closed fail in many ways
            raise ConnectionError("the client is closed") from error
        raise
    finally:
        asked.cancel()


def wait_for_first(client: Any, futures: Sequence[Any], seconds: float) -> None:
    """Wait until one of the futures of a client ends, with a result, an error or cancelled, or for some seconds."""

    async def first() -> None:
        waits = [asyncio.ensure_future(future.exception()) for future in futures]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in waits:
                waiting.cancel()

    ask(client, first)
