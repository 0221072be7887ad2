"""What `costframe algorithms` and `costframe datasets` print, and plugins that cannot be loaded."""

from __future__ import annotations

import click

from costframe.cli.exits import print_error
from costframe.core.errors import printable
from costframe.core.plugins.entries import TASKS
from costframe.core.plugins.estimators import algorithms
from costframe.core.plugins.registry import registry
from costframe.datasets import names
from costframe.report.tables import algorithms_table
from costframe.training.console import output


def list_algorithms() -> None:
    """Print a table of the installed algorithms, and plugins that cannot be loaded."""
    console = output()
    console.print(algorithms_table(algorithms(), TASKS, width=console.width))
    print_broken_plugins()
    console.finish()


def list_datasets() -> None:
    """Print the names of the data sets, and plugins that cannot be loaded."""
    for name in names():
        click.echo(printable(name))
    print_broken_plugins()


def print_broken_plugins() -> None:
    """Print the plugins that cannot be loaded, with the reasons."""
    for reason in registry().broken.values():
        print_error(f"broken: {reason}")
