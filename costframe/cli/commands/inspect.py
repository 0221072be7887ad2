"""The arguments, options and help of `costframe inspect`."""

from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe inspect my.model
  costframe inspect my.model patients.csv --output my.html
  costframe inspect xgboost.ubj patients.parquet --costs prices.toml
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=text)
@click.argument("data", required=False, type=text)
@click.option("--output", metavar="FILE.html", type=target_path, help="Page to write, to be opened in a browser.")
@reading_options("costs", "part", "missing")
@force_option
def inspect(**options: Any) -> None:
    """Describe MODEL: its kind, stages, learners, features and prices; with rows of DATA, also their payments.

    MODEL and DATA are those of `costframe cost`. The default prices are those in MODEL. The page needs no network.
    """
    run("costframe.cli.inspect:inspect", options)
