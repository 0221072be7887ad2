"""Progress of sweeps: a bar on a terminal, else a line per fit."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from costframe.report.terminal import Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costframe.frontier.trial import Progress as ProgressCallback

__all__ = ["show_progress"]


@contextlib.contextmanager
def show_progress(instead: ProgressCallback | None = None) -> Iterator[ProgressCallback]:
    """Yield the progress callback of a sweep: `instead` if given, else one for the error stream."""
    if instead is not None:
        yield instead
        return
    console = Output(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (TextColumn("fitting"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("[dim]{task.description}"))  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def update(done: int, total: int, text: str) -> None:
            progress.update(task, completed=done, total=total, description=escape(_short(done, text)))

        yield update


def _short(done: int, text: str) -> str:
    """Leave out results; mention compilation, which takes some seconds in a first fit."""
    return text.partition(":")[0] + ("" if done else " (the first fit compiles)")


class _Lines:
    """A line for each finished fit."""

    def __init__(self, console: Output) -> None:
        self.console, self.done = console, 0

    def __call__(self, done: int, total: int, text: str) -> None:
        if done > self.done:
            self.done = done
            self.console.print(f"{done}/{total} {text}", markup=False, soft_wrap=True)
