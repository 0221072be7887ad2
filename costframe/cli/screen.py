"""The screen of `costframe compare` while it runs: progress, and frontiers so far."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live

from costframe.choices import Frontier
from costframe.core.terms.outages import Outages
from costframe.training.console import Lines, Output, progress_bar, update_bar

LEAST_WAIT, WAIT_BY_WORK = 5.0, 10.0  # seconds between two frontiers; and as a multiple of the time to make one
SPREAD_OUT = 2.0  # a stream of lines gets a further frontier when this many times the first one's time have passed


class Screen:
    """Shows progress and interim frontiers on the error stream, and keeps the latter as files.

    Parameters
    ----------
    write : callable
        Writes the files of a frontier, also with what outages cost, and returns them as a text.
    table : callable
        Returns the table of a frontier, to show.
    ends : float
        When the last frontier is due, by the monotonic clock; the screen shows none that would delay it.
    """

    def __init__(
        self, write: Callable[..., str], table: Callable[[Frontier], RenderableType], ends: float = math.inf
    ) -> None:
        self._write, self._table, self._ends = write, table, ends
        self._written: tuple[tuple[Any, ...], str] | None = None
        self._console = Output(stderr=True, highlight=False)
        self._bar = progress_bar(self._console) if self._console.is_terminal else None
        self._lines = Lines(self._console)
        self._live: Live | None = None
        self._waiting: Callable[[], Frontier] | None = None
        self._due = self._shown = self._took = 0.0
        self.began = time.monotonic()
        self.interrupted = False
        self.so_far: Callable[[], Frontier] | None = None

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        """Show what comes until the end of the block."""
        if self._bar is None:
            yield
            return
        with Live(self._bar, console=self._console, transient=True, refresh_per_second=4) as self._live:
            yield

    def progress(self, done: int, total: int, text: str) -> None:
        """Take the progress of a sweep."""
        if self._bar is None:
            self._lines(done, total, text)
        else:
            update_bar(self._bar, done, total, text)
        self._show_if_due()

    def interim(self, make: Callable[[], Frontier]) -> None:
        """Take a function that returns the frontier so far, because there are further fits."""
        self._waiting = self.so_far = make
        self._show_if_due()

    def keep(self, frontier: Frontier, outages: Outages | None = None) -> str:
        """Write the files of a frontier, unless they are those of the same points; return them as a text."""
        content = frontier.points, outages
        if self._written is None or self._written[0] != content:
            self._written = content, self._write(frontier, outages)
        return self._written[1]

    def _show_if_due(self) -> None:
        if self._waiting is None or not self._due <= (begun := time.monotonic()) <= self._ends - self._took:
            return
        frontier, self._waiting = self._waiting(), None
        self._print(frontier, begun - self.began)  # before the pictures, which take longer
        if any(map(frontier.file, frontier.points)):  # a first look at a small table has none, and is soon replaced
            self.keep(frontier)
        self._took = time.monotonic() - begun
        self._due = time.monotonic() + max(LEAST_WAIT, WAIT_BY_WORK * self._took)

    def _print(self, frontier: Frontier, elapsed: float) -> None:
        if self._live is not None:
            shown: Any = self._bar
            self._live.update(Group(self._table(frontier), shown))
        elif elapsed >= SPREAD_OUT * self._shown:
            self._shown = elapsed
            self._console.print(f"\nso far, after {math.ceil(elapsed)} s:", markup=False)
            self._console.print(self._table(frontier))
