"""`costframe audit`, the group of all commands, and `costframe algorithms` and `costframe datasets`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from costframe import __version__
from costframe.cli.arguments import costs_option, text, until_option
from costframe.cli.compare import compare
from costframe.cli.cost import cost
from costframe.cli.costs import costs
from costframe.cli.fit import fit
from costframe.cli.given_data import open_model
from costframe.cli.group import CostframeGroup, print_broken_plugins
from costframe.cli.inspect import inspect
from costframe.cli.predict import predict
from costframe.cli.promise import promise
from costframe.core.errors import printable
from costframe.core.plugins import TASKS

if TYPE_CHECKING:
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.sources import Audit

DIFFERENT = 1  # exit status
_AUDIT_EXAMPLES = """\b
Examples:
  costframe audit inquiries.jsonl my.model
  costframe audit inquiries.jsonl my.model --costs prices.toml --periods 24
"""


@click.command(epilog=_AUDIT_EXAMPLES, short_help="Prove that what was paid is what the model says.")
@click.argument("log", type=text)
@click.argument("model", type=text)
@costs_option
@until_option
@click.option(
    "--periods", type=click.IntRange(1), default=10, show_default=True, metavar="N",
    help="Parts of the log, equally long, whose mean costs are shown.",
)  # fmt: skip
def audit(
    log: str, model: str, costs: str | None, periods: int, wrap: Callable[[FittedEstimator], FittedEstimator]
) -> None:
    """Replay LOG, a log of inquiries, with the MODEL that was served: what each row asked, paid and was answered.

    Give it the --until that `costframe predict` was given. The exit status is 1 if any row differs.
    """
    from costframe.sources import audit as replay
    from costframe.sources.audits import describe_audit

    fitted, prices = open_model(model, costs)
    found = replay(log, wrap(fitted), prices, periods=periods)
    click.echo("\n".join(printable(line) for line in describe_audit(found)))
    if len(found.periods) > 1:
        click.echo("\n".join(["", *_table(found)]))
    sys.exit(0 if found.agrees else DIFFERENT)


def _table(found: Audit) -> list[str]:
    lines = [f"{'part':>4} {'rows':>8} {'mean cost':>12} {'+-':>9} {'in vain':>9} {'no answer':>9}"]
    for number, part in enumerate(found.periods, 1):
        error = "too few" if math.isnan(part.error) else f"{part.error:.2g}"
        money = f"{part.mean:>12,.4g} {error:>9} {part.failed:>9.4g}"
        lines.append(f"{number:>4} {part.rows:>8,} {money} {part.without_answer:>9,}")
    return lines


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
    from costframe.core.plugins import algorithms as usable
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


_FIRST = compare, costs, predict, cost, inspect  # the most used
for command in (*_FIRST, fit, promise, audit, algorithms, datasets):
    costframe.add_command(command)
