"""The arguments, options and help of `costframe cost`."""

from typing import Any

import click

from costframe.cli.arguments import score_option, text, until_option
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe cost my.model breast-cancer --part test
  costframe cost my.model new-patients.csv --target ill
  costframe cost frontier/recommended.model patients.csv --target ill \\
    --part test
  costframe cost xgboost.ubj patients.parquet --costs prices.toml --part test
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=text)
@click.argument("data", type=text)
@reading_options("costs")
@reading_options("target", help="Column of true values, if DATA is a file, to score with.")
@reading_options("part")
@score_option
@until_option
@reading_options("missing", "allow_unknown", "group", "records")
@click.option(
    "--acquisition", type=click.Choice(["path", "learner"]), default="path", show_default=True,
    help="Whether a tree acquires features split by split, or all of them before it is evaluated.",
)  # fmt: skip
def cost(**options: Any) -> None:
    """Report the exact cost of predicting the rows of DATA, and their payments.

    MODEL is a file of `costframe fit`, `costframe compare` or `costframe.save`, or a model of LightGBM, XGBoost or
    CatBoost. DATA is a table file with a column for each feature that the model reads, among others and in any order,
    or the name of a data set; files end in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow. It
    may also be a folder of Parquet files, or a pattern such as 'sales/2024-*.parquet', or - for CSV on standard input.
    A table is read in blocks. The default prices are those in MODEL. It is an error if most rows have labels, in a
    column, that the model does not know, or no row has a value.

    With --target, or with --score for a data set, the command scores the predictions as `costframe compare` does, gives
    the standard errors of the score and of the mean cost, counts the mistakes, and tells what they cost if the prices
    have [errors]. By default the score is that of the run of which MODEL is, else, and where the run chose by the bill,
    one by task. Of a model in the folder of a run of `costframe compare`, --part is the part that the run made, also
    where it split the rows by a seed. With --group, errors are those of fresh groups, such as patients.
    """
    run("costframe.cli.cost:cost", options)
