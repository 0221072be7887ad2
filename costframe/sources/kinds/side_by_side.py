"""Answers for keys, side by side: one that fails ends no other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from costframe.sources.source import TripError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["answer_each"]

K = TypeVar("K")


async def answer_each(asks: Mapping[K, Callable[[], Awaitable[Any]]], limit: asyncio.Semaphore) -> dict[K, Any]:
    """Await an answer for each key, within a limit; an exception is in the place of one that failed."""

    async def one(ask: Callable[[], Awaitable[Any]]) -> object:
        async with limit:
            try:
                return await ask()
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                return TripError("it was cancelled")  # by itself: nobody has cancelled this task
            except Exception as error:  # noqa: BLE001 - one that fails never ends the trip of others
                return error

    return dict(zip(asks, await asyncio.gather(*map(one, asks.values())), strict=True))
