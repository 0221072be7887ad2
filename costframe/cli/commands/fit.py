"""The arguments, options and help of `costframe fit`."""

from typing import Any

import click

from costframe.cli.arguments import amount, cluster_option, cv_option, force_option, score_option, target_path, text
from costframe.cli.commands.promise import promise_options
from costframe.cli.reading import first_options, further_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe fit breast-cancer --algorithm miser --budget 10 --output my.model
  costframe fit patients.csv --costs prices.toml --target ill \\
    --algorithm miser --tradeoff 0.001 --output ill.model
"""


@click.command(epilog=EXAMPLES)
@click.argument("data", type=text)
@first_options
@click.option("--algorithm", required=True, metavar="NAME", type=text, help="A name from `costframe algorithms`.")
@click.option("--budget", type=amount, metavar="B", help="Search for the best model whose mean cost is at most B.")
@click.option("--tradeoff", type=amount, metavar="L", help="Loss accepted per unit of cost per row.")
@promise_options
@click.option("--output", required=True, metavar="MODEL", type=target_path, help="File to write the model to.")
@force_option
@score_option
@further_options
@cv_option
@cluster_option
def fit(**options: Any) -> None:
    """Fit an algorithm on the train rows of DATA, at a tradeoff, within a budget or for the least bill; save the model.

    DATA is the name of a data set, or a table file; these end in .csv, .tsv or .txt (also with .gz or .zst), .parquet,
    .feather or .arrow. It may also be a folder of Parquet files, or a pattern such as 'sales/2024-*.parquet'. Texts of
    few values are split as categories. The valid rows stop the training. With a budget, the command chooses the
    cheapest model within one standard error of the best, by the estimates of `costframe compare`, and prints its score
    and cost on test; where prices have errors, it needs no budget, and the best has the least bill; with --promise, the
    cheapest one, or cascade of two, that is certified on the test rows. The file holds the prices; `costframe.load`
    reads it. A Parquet table larger than memory is read by row groups, with dask; miser and
    cegb fit it, at a tradeoff, or at the one that follows from prices of errors. With --cluster, workers of a dask
    cluster read the Parquet files, at the same paths as this machine, and train together, likewise.
    """
    run("costframe.cli.fit:fit", options)
