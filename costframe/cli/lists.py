"""`costframe algorithms` and `costframe datasets`: what is installed."""

from __future__ import annotations

import click

from costframe.cli.told import say_broken
from costframe.core.plugins.registry import TASKS

__all__ = ["algorithms", "datasets"]


@click.command(short_help="List the installed algorithms.")
def algorithms() -> None:
    """List the installed algorithms, and plugins that cannot be loaded."""
    from costframe.core.plugins.registry import algorithms as usable
    from costframe.report.algorithms import algorithms_table
    from costframe.report.terminal import output

    console = output()
    console.print(algorithms_table(usable(), TASKS, width=console.width))
    say_broken()
    console.finish()


@click.command(short_help="List the data sets that have a name.")
def datasets() -> None:
    """List the data sets that have a name, and plugins that cannot be loaded."""
    from costframe.datasets import names

    for name in names():
        click.echo(name)
    say_broken()
