"""Time limits of trips: a trip whose time is over is cancelled, and nobody waits for it again."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine
from typing import Any, TypeVar

from costframe.sources.source import TripError

T = TypeVar("T")

_CLOSING = 5.0  # seconds in which abandoned tasks must end
_PATIENCE = 0.5  # seconds between cancellations of a task


class TimeLimits:
    """Runs coroutines of one event loop for a limited time, and keeps the tasks that it has abandoned."""

    def __init__(self) -> None:
        self._abandoned: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return what a coroutine returns; a `TripError` says that its time is over, or that it was cancelled."""
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            self._abandon(task)
            raise
        if not done:
            self._abandon(task)
            raise TripError(f"no answer within {seconds:.3g} s")
        if task.cancelled():
            raise TripError("the trip was cancelled")
        return task.result()

    async def close(self) -> None:
        """Cancel the abandoned tasks once more, and wait a while for their end."""
        tasks = [task for task in self._abandoned if not task.get_loop().is_closed()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING)

    def _abandon(self, task: asyncio.Task[Any]) -> None:
        def forget(ended: asyncio.Task[Any]) -> None:
            self._abandoned.discard(ended)
            try:
                error: BaseException | None = ended.exception()
            except asyncio.CancelledError as cancelled:
                error = cancelled
            while error is not None:  # its frames are in cycles with it, and may hold the only reference to a socket
                traceback.clear_frames(error.__traceback__)
                error = error.__context__

        def cancel(due: float) -> None:
            """Cancel again and again: a driver may wait for a server that is gone to confirm the first time."""
            if task.done():
                return
            if (now := loop.time()) - due < _PATIENCE:  # else the loop stood still, and the driver had no time to end
                task.cancel()
            loop.call_at(now + _PATIENCE, cancel, now + _PATIENCE)

        loop = asyncio.get_running_loop()
        self._abandoned.add(task)
        task.add_done_callback(forget)
        cancel(loop.time())
