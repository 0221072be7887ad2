"""The screen of `costframe compare` while it runs: progress, and frontiers so far."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live

from costframe.training.console import Lines, Output, progress_bar, update_bar

LEAST_WAIT, WAIT_BY_WORK = 5.0, 10.0  # seconds between two frontiers; and as a multiple of the time to make one
SPREAD_OUT = 2.0  # a stream of lines gets a further frontier when this many times the first one's time have passed


class Screen:
    """Shows progress and interim frontiers on the error stream, and keeps the latter as files.

    Parameters
    ----------
    write : callable
        Writes the files of results, such as a frontier, also with what outages cost, and returns them as a text.
    table : callable
        Returns the table of results, to show.
    ends : float
        When the last results are due, by the monotonic clock; the screen shows none that would delay them.
    identify : callable
        Returns what differs between results with other files; by default the points of a frontier.
    is_lasting : callable
        Returns whether results are worth files; by default whether a frontier has files of models.
    """

    def __init__(
        self,
        write: Callable[..., str],
        table: Callable[[Any], RenderableType],
        ends: float = math.inf,
        *,
        identify: Callable[[Any], Any] = lambda frontier: frontier.points,
        is_lasting: Callable[[Any], bool] = lambda frontier: any(map(frontier.file, frontier.points)),
    ) -> None:
        self._write, self._table, self._ends = write, table, ends
        self._identify, self._is_lasting = identify, is_lasting
        self._written: tuple[tuple[Any, ...], str] | None = None
        self._console = Output(stderr=True, highlight=False)
        self._bar = progress_bar(self._console) if self._console.is_terminal else None
        self._lines = Lines(self._console)
        self._live: Live | None = None
        self._waiting: Callable[[], Any] | None = None
        self._due = self._shown = self._took = 0.0
        self.began = time.monotonic()
        self.interrupted = False
        self.so_far: Callable[[], Any] | None = None

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

    def interim(self, make: Callable[[], Any]) -> None:
        """Take a function that returns the results so far, because there are further fits."""
        self._waiting = self.so_far = make
        self._show_if_due()

    def keep(self, results: Any, *more: Any) -> str:
        """Write the files of results, unless they are those of the same ones; return them as a text."""
        content = self._identify(results), *more
        if self._written is None or self._written[0] != content:
            self._written = content, self._write(results, *more)
        return self._written[1]

    def _show_if_due(self) -> None:
        if self._waiting is None or not self._due <= (begun := time.monotonic()) <= self._ends - self._took:
            return
        results, self._waiting = self._waiting(), None
        self._print(results, begun - self.began)  # before the pictures, which take longer
        if self._is_lasting(results):  # a first look at a small table has no files, and is soon replaced
            self.keep(results)
        self._took = time.monotonic() - begun
        self._due = time.monotonic() + max(LEAST_WAIT, WAIT_BY_WORK * self._took)

    def _print(self, results: Any, elapsed: float) -> None:
        if self._live is not None:
            shown: Any = self._bar
            self._live.update(Group(self._table(results), shown))
        elif elapsed >= SPREAD_OUT * self._shown:
            self._shown = elapsed
            self._console.print(f"\nso far, after {math.ceil(elapsed)} s:", markup=False)
            self._console.print(self._table(results))
