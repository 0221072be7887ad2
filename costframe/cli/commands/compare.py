"""The arguments, options and help of `costframe compare`."""

from typing import Any

import click

from costframe.cli.arguments import (
    amount,
    cluster_option,
    cv_option,
    force_option,
    level_option,
    reference_option,
    score_option,
    seconds,
    target_path,
    text,
)
from costframe.cli.commands.promise import promise_options
from costframe.cli.compare_options import ChoiceOptions, FitOptions, SplitOptions
from costframe.cli.reading import first_options, further_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe compare
  costframe compare --budget 10
  costframe compare patients.csv --costs prices.toml --target ill
  costframe compare patients.csv --costs prices.toml --target ill \\
    --algorithms all --time-limit 10m --output out
  costframe compare patients.csv --costs prices.toml --target ill \\
    --output out --resume
  costframe compare heart.csv spam.csv --target label --repeats 10 \\
    --algorithms planner,cegb --reference cegb
  costframe compare heart.csv --target ill --repeats 5 \\
    --outsider policy="torch-env/bin/python policy.py"
"""


@click.command(epilog=EXAMPLES)
@click.argument("data", nargs=-1, type=text)
@first_options
@click.option("--budget", type=amount, metavar="B", help="Choose the best model whose mean cost is at most B.")
@promise_options
@click.option(
    "--output", metavar="DIR", type=target_path,
    help="Directory for all results: points.csv, pictures, report.html, and the models. [default: frontier; comparison "
    "for several tables or splits]",
)  # fmt: skip
@click.option(
    "--algorithms", metavar="A,B", type=text, multiple=True,
    help="Algorithms to compare, or all; may be repeated. [default: those that usually win]",
)  # fmt: skip
@click.option(
    "--time-limit", type=seconds, metavar="T",
    help="End after this time, such as 90, 90s, 10m or 2h. [default: 2m on a terminal, else none]",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1), metavar="N",
    help="Compare algorithms on N splits of each table, the same for all: its own first, others by seed. [default: 10 "
    "if there are several tables, or outsiders]",
)  # fmt: skip
@click.option(
    "--outsider", "outsiders", metavar='NAME="COMMAND"', type=text, multiple=True,
    help="Compare a program too, which trains and asks for values by lines of JSON; may be repeated.",
)  # fmt: skip
@reference_option
@level_option
@score_option
@further_options
@click.option("--resume", is_flag=True, help="Go on from the fits in DIR, after an interruption or a time limit.")
@force_option
@click.option("--all", "all_points", is_flag=True, help="Print all points, not the frontier alone.")
@click.option(
    "--points", type=click.IntRange(1), metavar="N",
    help="Number of models of each algorithm, beside at most 3 within sets of features. "
    "[default: at most 24 if one fit gives a path of models, else 12 fits]",
)  # fmt: skip
@click.option(
    "--no-references", is_flag=True,
    help="Leave out the simple models that everyone would try: the constant, linear models and boosting.",
)  # fmt: skip
@cv_option
@cluster_option
def compare(**options: Any) -> None:
    """Fit algorithms at many tradeoffs between loss and cost, and compare their scores and costs.

    DATA is a table file, a folder of Parquet files or a pattern of such, or the name of a data set; the default is
    breast-cancer. The command fits models on train rows, chooses by estimates on held-out rows (valid, or folds of
    train and valid if valid is small), and scores the choice on test rows. The cost on test rows is exact, the mean of
    their charges; those to choose by are estimates for fresh rows. Each finished fit is in DIR at once, with its
    models, which `costframe predict`, `cost` and `inspect` take; tables and pictures come as soon as there are models.

    With several DATA, --repeats or --outsider, it fits each algorithm on the same splits of the rows, and compares the
    models that each chooses by its own estimates within shares of the cost of all features, on test rows: a picture for
    each table, differences with errors paired by split, ranks, as report.html, CSV, JSON lines and LaTeX. Each DATA may
    be a folder with a table and its prices, costs.toml. `costframe board` merges such lines of anybody.

    With --promise, the command also writes promised.model: the cheapest model, or cascade of two, that is certified on
    the test rows to keep all promises. If there is none, it says the best that can be promised, and ends with status 2.
    """
    run("costframe.cli.compare:compare", options, fits=FitOptions, splits=SplitOptions, choice=ChoiceOptions)
