"""The arguments, options and help of `costframe predict`."""

from typing import Any

import click

from costframe.cli.arguments import cap, force_option, seconds, target_path, text, until_option
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe predict my.model patients.csv --output predictions.csv
  costframe predict my.model patients.parquet --keep id --acquired \\
    --output answers.parquet
  zcat new.csv.gz | costframe predict xgboost.ubj - --costs prices.toml \\
    --output - | head
  costframe predict my.model new.csv --max-cost 10 --unavailable mri \\
    --output cheap.csv
  costframe predict my.model --source sources.toml --keys today.csv \\
    --deadline 200ms --output answers.csv --log inquiries.jsonl
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=text)
@click.argument("data", type=text, required=False)
@click.option(
    "--output", metavar="FILE", required=True, type=target_path,
    help="File to write: .csv, .tsv or .parquet; - for CSV on standard output.",
)  # fmt: skip
@click.option("--keep", metavar="COL", type=text, multiple=True, help="Column to copy, an id say; may be repeated.")
@click.option("--acquired", is_flag=True, help="Add a column with the features that each row had.")
@click.option("--max-cost", metavar="C", type=cap, help="Hard cap on the cost of each row.")
@click.option(
    "--unavailable", metavar="NAME", type=text, multiple=True,
    help="Feature or resource that cannot be had; may be repeated.",
)  # fmt: skip
@until_option
@reading_options("costs", "part", "missing", "allow_unknown")
@force_option
@click.option("--source", metavar="FILE", type=target_path, help="Live sources, TOML, in place of DATA.")
@click.option("--keys", metavar="FILE", type=target_path, help="Keys of the rows to predict from sources, a table.")
@click.option("--deadline", metavar="TIME", type=seconds, help="With --source: time of each row, such as 200ms or 2s.")
@click.option("--log", metavar="FILE", type=target_path, help="With --source: log of inquiries, for `costframe audit`.")
@click.option("--resume", is_flag=True, help="With --source: go on with an interrupted run.")
@click.option(
    "--in-flight", type=click.IntRange(1), default=1000, show_default=True, metavar="N",
    help="With --source: rows that advance together.",
)  # fmt: skip
@click.option("--cluster", metavar="ADDRESS", type=text, help="With --source: ask from the workers of a dask cluster.")
def predict(**options: Any) -> None:
    """Predict the rows of DATA, in their order: prediction, probability of each class, and cost of each row.

    MODEL is a file of `costframe fit`, `costframe compare` or `costframe.save`, or a model of LightGBM, XGBoost or
    CatBoost. DATA is a table file with a column for each feature that the model reads, but for unavailable ones, among
    others and in any order, or the name of a data set; files end in .csv, .tsv or .txt (also with .gz or .zst),
    .parquet, .feather or .arrow. It may also be a folder of Parquet files, or a pattern such as
    'sales/2024-*.parquet', or - for CSV on standard input.
    The default prices are those in MODEL. A table is read and written in blocks. It is an error, and nothing is
    written, if most rows have labels, in a column, that the model does not know, or no row has a value; --allow-unknown
    predicts all the same. In CSV, texts that a spreadsheet would run, such as =1+1, have an apostrophe in front, which
    costframe takes away when it reads them.

    With --source and --keys, the values come from the databases and services in a source file, and only those that a
    row needs. Keys are texts as they are written, 0007 is not 7; those of a Parquet, Feather or Arrow file have its
    types. Tables and columns are checked, and connections open, before the first row and its deadline begin. The exit
    status is 0 if all went well, 3 if some rows had to do without values that did not come, and 4 if some have no
    answer, the sources have none of the keys, gave no value at all, or none of a feature that the model asked for, or
    most of its labels are unknown to the model, unless with --allow-unknown.
    """
    run("costframe.cli.predict:predict", options)
