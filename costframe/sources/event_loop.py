"""The event loop of the sync drivers, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from costframe.core.errors import ParameterError

T = TypeVar("T")
_LOCK = threading.Lock()
_CLEANING = 5.0  # seconds that an interrupt waits at most
_background: tuple[int, asyncio.AbstractEventLoop] | None = None  # with its process: a fork has no threads


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of the sync drivers, a thread of its own, and wait for it.

    An interrupt cancels it, and waits until it has cleaned up. A `ParameterError` refuses a call in that thread, which
    would wait for itself.
    """
    loop = _loop()
    if _is_running_in(loop):
        work.close()
        raise ParameterError(
            "a sync driver was called in the event loop of the sync drivers, where `observe` and async functions of "
            "sources run: call predict_one_async or predict_stream_async there"
        )
    ended = threading.Event()

    async def to_its_end() -> T:
        try:
            return await work
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(to_its_end(), loop)
    try:
        return future.result()
    except BaseException:
        if future.cancel():
            ended.wait(_CLEANING)
        raise


def _is_running_in(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):  # of a source: for its caller, not for this loop
            loop.run_forever()


def _loop() -> asyncio.AbstractEventLoop:
    global _background  # noqa: PLW0603 - one loop serves all sync calls of the process
    with _LOCK:
        if _background is None or _background[0] != os.getpid():
            loop = asyncio.new_event_loop()
            started = threading.Event()
            loop.call_soon(started.set)
            threading.Thread(target=_serve, args=(loop,), name="costframe-sources", daemon=True).start()
            started.wait()
            _background = os.getpid(), loop
        return _background[1]
