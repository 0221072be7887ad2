"""Functions as a source."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Any

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, printable, quote_names, shown
from costframe.sources.source import Reply, Source, Wanted, answer_each
from costframe.sources.threads import Threads


@define(eq=False)
class CallSource(Source):
    """Values from functions, sync or async; sync ones run in threads.

    A function that hangs keeps its thread after its time is over; it never keeps the process from ending.

    Parameters
    ----------
    calls : callable, or mapping of str to callable
        ``calls({key: places}) -> {key: {place: value}}`` for all keys of a trip; with `each`,
        ``calls(key, places) -> {place: value}``; or for each place a function ``calls[place](key) -> value``.
    each : bool
        Whether the function takes one key; all keys of a trip run side by side.
    workers : int
        Most functions, and threads for them, that run side by side.
    """

    calls: Callable[..., Any] | Mapping[str, Callable[[Any], Any]]
    each: bool = False
    workers: int = 16

    _threads: Threads | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        _check_callable(self.calls)
        check_number("workers", self.workers, low=1, whole=True)

    async def connect(self, places: Collection[str]) -> None:
        """Check that there is a function for each place, where functions have places, and what functions take."""
        if callable(self.calls):
            check_takes(self.calls, ("key", "places") if self.each else ("wanted",), "calls")
            return
        if lacking := [place for place in places if place not in self.calls]:
            raise ParameterError(f"calls: no function for {quote_names(lacking)}")
        for place in places:
            check_takes(self.calls[place], ("key",), f"calls, {shown(place)}")

    async def fetch(self, wanted: Wanted) -> Reply:
        """Call the function once, or once for each key, or for each key and place."""
        if not self.each and callable(self.calls):
            return await self._call(self.calls, dict(wanted))  # type: ignore[no-any-return]
        asks = {key: partial(self._ask, key, tuple(places)) for key, places in wanted.items()}
        return await answer_each(asks, asyncio.Semaphore(self.workers))

    async def _ask(self, key: Hashable, places: tuple[str, ...]) -> object:
        if callable(self.calls):
            return await self._call(self.calls, key, places)
        if lacking := [place for place in places if place not in self.calls]:
            raise ParameterError(f"calls: no function for {quote_names(lacking)}")
        return {place: await self._call(self.calls[place], key) for place in places}

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if is_async(function):
            return await function(*arguments)
        self._threads = self._threads or Threads(self.workers)
        reply = await self._threads.call(function, *arguments)
        return await reply if inspect.isawaitable(reply) else reply

    async def close(self) -> None:
        """Let go of the threads; calls under way end by themselves."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function, or an object that is called, is a coroutine function."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _check_callable(calls: Any) -> None:
    functions = calls.values() if isinstance(calls, Mapping) else [calls]
    if not functions or not all(map(callable, functions)):
        raise ParameterError(f"calls: expected a function, or functions by place, got {shown(calls)}")


def check_takes(function: Callable[..., Any], names: tuple[str, ...], where: str) -> None:
    """Refuse a function that cannot be called with arguments of these names, by position."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some built-in functions
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        called = getattr(function, "__qualname__", type(function).__name__)
        raise ParameterError(
            f"{where}: expected a function of ({', '.join(names)}), got {printable(called)}{signature}: {error}"
        ) from None
