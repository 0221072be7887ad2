"""Threads for functions that wait."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

Job = tuple[Callable[..., Any], tuple[Any, ...], Callable[[Any, Exception | None], bool]]


class Threads:
    """Threads of one event loop, at most `most`; unlike those of an executor, they end with the process."""

    def __init__(self, most: int) -> None:
        self._most, self._free = most, asyncio.Semaphore(most)
        self._idle: list[SimpleQueue[Job | None]] = []  # each with a thread that waits for a job from it
        self._is_closed = False

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let the threads go, each when its function has ended."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().put(None)

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a thread, which is not free again until the function has ended."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if self._idle:
            jobs = self._idle.pop()
        else:
            jobs = SimpleQueue()
            try:
                Thread(target=_work, args=(jobs,), name="costframe-call", daemon=True).start()
            except RuntimeError:  # the system has no more threads
                self._free.release()
                raise

        def settle(value: Any, error: Exception | None) -> None:
            if self._is_closed:
                jobs.put(None)
            else:
                self._idle.append(jobs)
            self._free.release()
            if future.done():  # its time was over
                if inspect.iscoroutine(value):
                    value.close()
            elif error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def report(value: Any, error: Exception | None) -> bool:
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:  # the loop has ended before
                return False
            return True

        jobs.put((function, arguments, report))
        return await future

    async def end(self) -> None:
        """Wait until all functions have ended."""
        for _ in range(self._most):
            await self._free.acquire()


def _work(jobs: SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        function, arguments, report = job
        value: Any = None
        error: Exception | None = None
        try:
            value = function(*arguments)
        except StopIteration:  # no future can hold it
            error = RuntimeError()
        except Exception as raised:  # noqa: BLE001 - passes on what the function raises
            error = raised
        except BaseException:  # noqa: BLE001 - would end the event loop
            error = RuntimeError()
        if not report(value, error):
            return
        del job, function, arguments, report, value, error  # they may be the last to hold the threads
