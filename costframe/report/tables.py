"""Tables on the terminal, narrow enough for it: algorithms and mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from costframe.core.arrays import I8
from costframe.core.errors import printable
from costframe.core.plugins.estimators import two_classes_only
from costframe.hooks import Algorithm

BOUNDLESS = 10_000
NARROW = 70  # a narrower table has the summary below the name
MOST_MISTAKES = 10  # pairs of classes, where these are too many for a square
LETTERS = 30  # of a name


def narrow_table(
    make: Callable[[frozenset[str]], Table], ways: Sequence[Iterable[str]], width: int
) -> tuple[Table, frozenset[str]]:
    """Return a table that fits the width in letters, and the parts left out.

    `make` makes the table without some parts; `ways` are sets of parts to leave out, in order of preference. The last
    one applies if no table fits.
    """
    console = Console(width=BOUNDLESS)
    for without in map(frozenset, ways):
        table = make(without)
        if Measurement.get(console, console.options, table).maximum <= width:
            break
    return table, without


def algorithms_table(algorithms: Mapping[str, Algorithm], roles: Mapping[str, str], *, width: int) -> Table:
    """Return a table of algorithms with their tasks; `roles` maps each task to the attribute of its estimator."""
    narrow = width < NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=not narrow)
    for header in ("algorithm", "tasks", "summary")[: 1 if narrow else 3]:
        table.add_column(header, overflow="fold", min_width=len(header))
    for name, algorithm in algorithms.items():
        kinds = {task: getattr(algorithm, role) for task, role in roles.items()}
        tasks = ", ".join(
            f"{task} of two classes" if two_classes_only(kind) else task
            for task, kind in kinds.items()
            if kind is not None
        )
        note = "Baseline. " if algorithm.baseline else ""
        what = Text.assemble(f"{note}{printable(algorithm.summary)} ", (f"({printable(algorithm.reference)})", "dim"))
        if narrow:
            table.add_row(Text.assemble((printable(name), "bold"), f": {tasks}\n", what, "\n"))
        else:
            table.add_row(Text(printable(name), "bold"), tasks, what)
    return table


def mistakes_table(confusion: I8, classes: Sequence[object], *, width: int) -> Table:
    """Return a table of the rows of each class by predicted class, int64 (M, M).

    If it is too wide, it lists the most frequent pairs of different classes.
    """
    names = [printable(str(label)) for label in classes]

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("true class", overflow="fold", max_width=LETTERS)
        if not without:
            for name in names:
                table.add_column(Text(f"as {name}"), justify="right", no_wrap=True)
            for name, counts in zip(names, confusion.tolist(), strict=True):
                table.add_row(Text(name), *(f"{count:,}" for count in counts))
            return table
        table.add_column("predicted as", overflow="fold", max_width=LETTERS)
        table.add_column("rows", justify="right", no_wrap=True)
        wrong = confusion * ~np.eye(len(names), dtype=np.bool_)
        order = np.argsort(-wrong, axis=None, kind="stable")[: np.count_nonzero(wrong)]
        for true, named in zip(*np.unravel_index(order[:MOST_MISTAKES], wrong.shape), strict=True):
            table.add_row(Text(names[true]), Text(names[named]), f"{wrong[true, named]:,}")
        if (hidden := order[MOST_MISTAKES:]).size:
            table.add_row(f"... {len(hidden):,} more pairs", "", f"{wrong.ravel()[hidden].sum():,}")
        return table

    return narrow_table(make, [[], ["square"]], width)[0]
