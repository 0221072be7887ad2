"""The arguments, options and help of `costframe pilot`."""

from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text
from costframe.cli.reading import reading_options
from costframe.cli.run import run
from costframe.records.guard import NEEDED

EXAMPLES = """\b
Examples:
  costframe pilot patients.csv --target ill --costs prices.toml
  costframe pilot patients.csv --target ill --costs prices.toml \\
    --records --id patient --output pilot.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("data", type=text)
@reading_options("target", required=True, help="Column to predict.")
@reading_options("costs", required=True)
@click.option(
    "--donors", type=click.IntRange(NEEDED), metavar="N", default=NEEDED, show_default=True,
    help="Rows of each class that are to have a test, in each region that lacks them.",
)  # fmt: skip
@click.option("--id", "row_id", metavar="COL", type=text, help="Column of DATA that names rows in the list.")
@click.option("--output", metavar="FILE", type=target_path, help="File for the list of rows, CSV.")
@force_option
@reading_options("records", "task", "ignore", "categorical", "missing", "keep_ids")
@reading_options("seed", help="Seed of the rows drawn by chance. [default: 0]")
def pilot(**options: Any) -> None:
    """List rows of DATA in which tests by chance would tell what nobody knows.

    Where somebody chose who was tested, a class may have next to no rows with a test, in the whole table or in a region
    of it, such as patients below 40. There, any figure of a model that buys the test is a guess. The command names
    these classes and regions, draws rows by chance that have not had the test, and prints their price.

    The interval, of 90 %, is of the mean of what the test shows in the class and region: 2 x 1.645 / sqrt(m) spreads of
    a row, with m rows tested. The list has a line for each row, with its number from 1 and the tests to make.
    """
    run("costframe.cli.pilot:pilot", options)
