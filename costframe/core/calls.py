"""Calls whose parts run in several threads, and end at the next part once the call has failed or was interrupted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from threading import get_ident
from typing import final

_PAUSE = 0.005  # seconds between two looks
_current: ContextVar[Call | None] = ContextVar("_current", default=None)


class CallEnded(BaseException):
    """The end of a part whose call has failed or was interrupted; the call itself raises the cause."""


@final
class Call:
    """A call, perhaps a part of another one, which its threads ask whether they should go on."""

    __slots__ = ("_above", "_is_ended", "_threads")

    def __init__(self) -> None:
        self._above, self._is_ended = _current.get(), False
        self._threads: list[int] = []

    def end(self) -> None:
        """Tell all parts, and theirs, to end."""
        self._is_ended = True

    @property
    def is_ended(self) -> bool:
        """Whether this call, or one that it is a part of, has ended."""
        return self._is_ended or (self._above is not None and self._above.is_ended)

    @contextlib.contextmanager
    def parts(self) -> Iterator[None]:
        """Let this thread work for the call until the end of the block."""
        token, thread = _current.set(self), get_ident()
        self._threads.append(thread)
        try:
            yield
        finally:
            _current.reset(token)
            self._threads.remove(thread)

    def wait(self, seconds: float) -> None:
        """Wait until no thread works for the call, or the time is over."""
        ends = time.monotonic() + seconds
        while self._threads and time.monotonic() < ends:
            time.sleep(_PAUSE)

    def __reduce__(self) -> tuple[type[Call], tuple[()]]:  # another process ends by itself
        return Call, ()


def check_call() -> None:
    """Raise `CallEnded` if the call that this thread works for has ended."""
    call = _current.get()
    if call is not None and call.is_ended:
        raise CallEnded
