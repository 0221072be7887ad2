"""Consoles: results on a terminal, the progress of many fits, and readers that have gone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from costframe.core.errors import printable

ProgressCallback = Callable[[int, int, str], None]  # finished fits, expected fits, a text about the current one

WIDTH_OF_FILES, LEAST_WIDTH = 120, 40


def abandon(stream: IO[Any]) -> None:
    """Redirect a broken stream to nowhere, so that the interpreter does not fail on it at its end."""
    with contextlib.suppress(OSError, ValueError):  # streams of tests have no file number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


class Output(Console):
    """A console whose reader may leave: later prints do nothing, and `finish` raises the error.

    Texts are printed with escapes for what controls a terminal, except line ends; names must have theirs escaped.
    """

    reader_gone = False

    def on_broken_pipe(self) -> NoReturn:
        """Leave the error to `print` instead of ending the process during its work."""
        raise BrokenPipeError

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, unless the reader has gone."""
        try:
            super().print(*map(_escaped, objects), **how)
        except BrokenPipeError:
            self.reader_gone = self.quiet = True
            abandon(self.file)

    def finish(self) -> None:
        """Raise the broken-pipe error if the reader has gone; call it after all work."""
        if self.reader_gone:
            raise BrokenPipeError


def _escaped(text: Any) -> Any:
    """Escape the lines of a text, of a file's path for example."""
    return "\n".join(map(printable, text.split("\n"))) if isinstance(text, str) else text


def output() -> Output:
    """Return the console for results: as wide as the terminal, or a default width without one."""
    console = Output(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    console.width = max(console.width, LEAST_WIDTH)  # a narrower terminal breaks lines itself
    return console


@contextlib.contextmanager
def show_progress() -> Iterator[ProgressCallback]:
    """Yield the progress callback of a sweep, for the error stream."""
    console = Output(stderr=True, highlight=False)
    if not console.is_terminal:
        yield Lines(console)
        return
    with progress_bar(console) as bar:
        yield lambda done, total, text: update_bar(bar, done, total, text)


@contextlib.contextmanager
def show_plan_and_progress() -> Iterator[ProgressCallback]:
    """Yield the progress callback of a search, which first prints what is to be fitted, for the error stream."""
    told: list[str] = []

    def tell(done: int, total: int, text: str) -> None:
        if not told:
            Output(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)
        told[:] = [text]
        progress(done, total, text)

    with show_progress() as progress:
        yield tell


def progress_bar(console: Console) -> Progress:
    """Return a bar for the percentage, the time so far and the text of the current fit."""
    columns = (TextColumn("fitting"), BarColumn(bar_width=24), TaskProgressColumn(), TimeElapsedColumn(),
               TextColumn("[dim]{task.description}"))  # fmt: skip
    bar = Progress(*columns, console=console, transient=True)
    bar.add_task("", total=None)
    return bar


def update_bar(bar: Progress, done: int, total: int, text: str) -> None:
    """Show the progress of a sweep on the bar of `progress_bar`."""
    bar.update(bar.tasks[0].id, completed=done, total=total, description=escape(printable(text.partition(":")[0])))


class Lines:
    """A line for each finished fit, with the share of the work that is done."""

    def __init__(self, console: Output) -> None:
        self.console, self.done = console, 0

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take the progress of a sweep."""
        if done > self.done and ": " in text:
            self.done = done
            self.console.print(f"{done / total:4.0%} {printable(text)}", markup=False, soft_wrap=True)
