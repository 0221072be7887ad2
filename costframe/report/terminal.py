"""Console for results: a terminal of any width, a file, or a pipe that its reader may close."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.measure import Measurement

from costframe.report.streams import abandon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.table import Table

__all__ = ["Output", "narrow_table", "output"]

WIDTH_OF_FILES, LEAST_WIDTH = 120, 40
BOUNDLESS = 10_000


class Output(Console):
    """A console whose reader may leave: later prints do nothing, and `finish` raises the error."""

    reader_gone = False

    def on_broken_pipe(self) -> NoReturn:
        """Leave the error to `print` instead of ending the process during its work."""
        raise BrokenPipeError

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, unless the reader has gone."""
        try:
            super().print(*objects, **how)
        except BrokenPipeError:
            self.reader_gone = self.quiet = True
            abandon(self.file)

    def finish(self) -> None:
        """Raise the broken-pipe error if the reader has gone; call it after all work."""
        if self.reader_gone:
            raise BrokenPipeError


def output() -> Output:
    """Return the console for results: as wide as the terminal, or a default width without one."""
    console = Output(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    console.width = max(console.width, LEAST_WIDTH)  # a narrower terminal breaks lines itself
    return console


def narrow_table(
    make: Callable[[frozenset[str]], Table], ways: Sequence[Iterable[str]], width: int
) -> tuple[Table, frozenset[str]]:
    """Return a table that fits the width, and the parts left out.

    Parameters
    ----------
    make : callable
        Makes the table without some of its parts.
    ways : sequence of iterables of str
        Sets of parts to leave out, in order of preference; the last one applies if no table fits.
    width : int
        Width of the terminal, in letters.
    """
    console = Console(width=BOUNDLESS)
    for without in map(frozenset, ways):
        table = make(without)
        if Measurement.get(console, console.options, table).maximum <= width:
            break
    return table, without
