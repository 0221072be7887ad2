"""The group of all commands, and `costframe algorithms` and `costframe datasets`."""

from __future__ import annotations

import click

from costframe import __version__
from costframe.cli.audit import audit
from costframe.cli.compare import compare
from costframe.cli.cost import cost
from costframe.cli.costs import costs
from costframe.cli.fit import fit
from costframe.cli.group import CostframeGroup, print_broken_plugins
from costframe.cli.inspect import inspect
from costframe.cli.predict import predict
from costframe.core.errors import printable
from costframe.core.plugins.registry import TASKS

__all__ = ["algorithms", "costframe", "datasets"]

EXAMPLES = """\b
Examples:
  costframe compare
  costframe costs patients.csv --target ill > prices.toml
  costframe compare patients.csv --costs prices.toml --target ill
  costframe predict frontier/recommended.model new.csv --output answers.csv
  costframe cost frontier/recommended.model new.csv --target ill
  costframe inspect frontier/recommended.model
"""


@click.group("costframe", cls=CostframeGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="costframe", message="%(prog)s %(version)s")
def costframe() -> None:
    """Train models that stay accurate while acquiring few features, with the exact cost of every prediction."""


@click.command(short_help="List the installed algorithms.")
def algorithms() -> None:
    """List the installed algorithms, and plugins that cannot be loaded."""
    from costframe.core.plugins.registry import algorithms as usable
    from costframe.report.tables import algorithms_table
    from costframe.training.console import output

    console = output()
    console.print(algorithms_table(usable(), TASKS, width=console.width))
    print_broken_plugins()
    console.finish()


@click.command(short_help="List the named data sets.")
def datasets() -> None:
    """List the named data sets, and plugins that cannot be loaded."""
    from costframe.datasets import names

    for name in names():
        click.echo(printable(name))
    print_broken_plugins()


for command in (compare, costs, predict, cost, inspect, fit, audit, algorithms, datasets):  # the most used first
    costframe.add_command(command)
