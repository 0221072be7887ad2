"""Where results are printed: a terminal of any width, a file, or a reader who leaves early."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.measure import Measurement

from costframe.report.streams import let_go

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.table import Table

__all__ = ["Output", "narrowed", "output"]

WIDTH_OF_FILES, LEAST_WIDTH = 120, 40
BOUNDLESS = 10_000


class Output(Console):
    """A console whose reader may leave: work goes on in silence, and `finish` tells."""

    reader_gone = False

    def on_broken_pipe(self) -> NoReturn:
        """Leave the error to `print`, rather than end the process in the midst of its work."""
        raise BrokenPipeError

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, unless nobody reads any more."""
        try:
            super().print(*objects, **how)
        except BrokenPipeError:
            self.reader_gone = self.quiet = True
            let_go(self.file)

    def finish(self) -> None:
        """Raise the error of a reader who has gone, now that all work is done."""
        if self.reader_gone:
            raise BrokenPipeError


def output() -> Output:
    """Return the console of results: as wide as the terminal, or wide enough where there is none."""
    console = Output(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    console.width = max(console.width, LEAST_WIDTH)  # what is narrower yet breaks lines by itself
    return console


def narrowed(
    make: Callable[[frozenset[str]], Table], ways: Sequence[Iterable[str]], width: int
) -> tuple[Table, frozenset[str]]:
    """Return a table that fits, and what was left out for it.

    Parameters
    ----------
    make : callable
        Makes the table without some of its parts.
    ways : sequence of iterables of str
        What may be left out, in order of preference; the last is taken where none fits.
    width : int
        Of the terminal, in letters.
    """
    console = Console(width=BOUNDLESS)
    for without in map(frozenset, ways):
        table = make(without)
        if Measurement.get(console, console.options, table).maximum <= width:
            break
    return table, without
