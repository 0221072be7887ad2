"""The arguments, options and help of `costframe costs`."""

from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe costs patients.csv --target ill > prices.toml
  costframe costs patients.csv --target ill --unit CAD --output prices.toml
  costframe costs patients.csv --target ill --costs some.toml --output all.toml
"""


@click.command(epilog=EXAMPLES)
@click.argument("data", type=text)
@reading_options("target", help="Column to predict, which has no price.")
@click.option("--output", metavar="FILE", type=target_path, help="File to write, TOML. [default: standard output]")
@click.option("--unit", metavar="TEXT", type=text, help="Unit of the prices, such as CAD. [default: that of --costs]")
@reading_options("costs", "ignore", "missing")
@reading_options(
    "records",
    help='Call empty cells of all columns "not made": nobody made these tests; or, with --no-records, of none. '
    "[default: of columns that are empty in more than 2 % of rows]",
)
@force_option
def costs(**options: Any) -> None:
    """Write the prices of the columns of DATA, as TOML with placeholders to fill in.

    The command keeps the prices in --costs and adds the missing ones. It guesses resources, which a row pays once, from
    one-hot columns (color_red, color_blue), from statistics of one measurement (mean radius, worst radius), and from
    three or more columns that begin alike; comments in the file say what it guessed. Ids, constants and free texts go
    into a list `ignore` with the reasons: they are no features. With classes to predict, a table of the prices of
    errors follows, as comments. Columns that are empty in more
    than 2 % of rows become tests that nobody made there (absent = "not made"), and a comment says how well that tells
    the target. The command names columns that look like a second outcome. DATA is the name of a data set, or
    a table file; these end in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow; or a folder of
    Parquet files, or a pattern of such.
    """
    run("costframe.cli.costs:costs", options)
