"""`costframe algorithms` and `costframe datasets`: what is installed."""

from __future__ import annotations

import click

from costframe.core.registry import TASKS, registry

__all__ = ["algorithms", "datasets"]


@click.command(short_help="List the installed algorithms.")
def algorithms() -> None:
    """List the installed algorithms, and plugins that cannot be loaded."""
    from rich.table import Table
    from rich.text import Text

    from costframe.core.registry import algorithms as usable
    from costframe.report.console import output

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("algorithm", no_wrap=True, style="bold")
    table.add_column("tasks")
    table.add_column("what it is")
    for name, algorithm in usable().items():
        tasks = ", ".join(task for task, role in TASKS.items() if getattr(algorithm, role) is not None)
        table.add_row(name, tasks, Text.assemble(f"{algorithm.summary} ", (f"({algorithm.reference})", "dim")))
    output().print(table)
    _broken()


@click.command(short_help="List the data sets that have a name.")
def datasets() -> None:
    """List the data sets that have a name, and plugins that cannot be loaded."""
    from costframe.datasets import names

    for name in names():
        click.echo(name)
    _broken()


def _broken() -> None:
    for reason in registry().broken.values():
        click.echo(f"broken: {reason}", err=True)
