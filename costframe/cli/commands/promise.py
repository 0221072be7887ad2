"""The arguments, options and help of `costframe promise`."""

from collections.abc import Callable
from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text
from costframe.cli.reading import reading_options
from costframe.cli.run import run
from costframe.promises.promise import CONFIDENCE

EXAMPLES = """\b
Examples:
  costframe promise frontier new-patients.csv --target ill \\
    --promise "recall(yes) >= 0.95" --output kept.model
  costframe promise frontier visits.csv --target ill --group patient \\
    --promise "error <= 3%" --promise "cost <= 20" --confidence 0.95
"""


def promise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is promised, and with which probability."""
    command = click.option(
        "--confidence", type=float, metavar="C",
        help=f"Probability that all promises hold together. [default: {CONFIDENCE}]",
    )(command)  # fmt: skip
    return click.option(
        "--promise", "promised", metavar="TEXT", type=text, multiple=True,
        help="Choose the cheapest model that is certified to keep it, such as 'recall(ill) >= 0.95', 'error <= 3%', "
        "'disagreement(best) <= 0.02' or 'bill <= 12'; may be repeated.",
    )(command)  # fmt: skip


@click.command(epilog=EXAMPLES)
@click.argument("directory", type=target_path)
@click.argument("data", type=text)
@reading_options("target", required=True, help="Column of true values.")
@promise_options
@click.option("--output", metavar="MODEL", type=target_path, help="File to write the model to.")
@force_option
@reading_options(
    "records",
    help="Empty cells of columns with a price are tests that nobody made, on which nothing can be promised; or, with "
    "--no-records, what the tests answered. [default: as the prices of the run say]",
)
@reading_options("missing", "group")
def promise(**options: Any) -> None:
    """Choose the cheapest model of DIRECTORY that is certified to keep promises on the labelled rows of DATA.

    DIRECTORY is that of `costframe compare`, or of `Frontier.save`. The rows of DATA must be fresh: neither train nor
    valid rows of the run, for nothing may have chosen by them. A fifth of them fixes the order in which models are
    tested, and the others certify. With --group, each group, such as a patient, counts as one.

    Kinds of promises: error, accuracy, recall(CLASS), precision(CLASS), agreement(MODEL) and disagreement(MODEL), of a
    point of the frontier, the best one, or a column of DATA, excess(MODEL), the error rate above that of a model, cost
    and bill.
    """
    run("costframe.cli.promise:promise", options)
