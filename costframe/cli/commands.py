"""All commands in one group."""

from __future__ import annotations

import click

from costframe import __version__
from costframe.cli.compare import compare
from costframe.cli.cost import cost
from costframe.cli.fit import fit
from costframe.cli.group import CostframeGroup
from costframe.cli.lists import algorithms, datasets

__all__ = ["costframe"]

EXAMPLES = """\b
Examples:
  costframe compare
  costframe compare patients.csv --costs prices.toml --target ill
  costframe fit breast-cancer --algorithm miser --budget 10 --output my.model
  costframe cost my.model breast-cancer
"""


@click.group("costframe", cls=CostframeGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="costframe", message="%(prog)s %(version)s")
def costframe() -> None:
    """Train models that stay accurate while acquiring few features, and say exactly what a prediction costs."""


for command in (compare, fit, cost, algorithms, datasets):
    costframe.add_command(command)
