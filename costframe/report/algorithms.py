"""Table of the installed algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from costframe.core.plugins.registry import two_classes_only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costframe.hooks import Algorithm

__all__ = ["algorithms_table"]

NARROW = 70  # a narrower table has the summary below the name


def algorithms_table(algorithms: Mapping[str, Algorithm], roles: Mapping[str, str], *, width: int) -> Table:
    """Return a table of algorithms with their tasks; `roles` maps each task to the attribute of its estimator."""
    narrow = width < NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=not narrow)
    for header in ("algorithm", "tasks", "summary")[: 1 if narrow else 3]:
        table.add_column(header, overflow="fold", min_width=len(header))
    for name, algorithm in algorithms.items():
        kinds = {task: getattr(algorithm, role) for task, role in roles.items()}
        tasks = ", ".join(_task_text(task, kind) for task, kind in kinds.items() if kind is not None)
        what = Text.assemble(f"{algorithm.summary} ", (f"({algorithm.reference})", "dim"))
        if narrow:
            table.add_row(Text.assemble((name, "bold"), f": {tasks}\n", what, "\n"))
        else:
            table.add_row(Text(name, "bold"), tasks, what)
    return table


def _task_text(task: str, kind: type) -> str:
    return f"{task} of two classes" if two_classes_only(kind) else task
