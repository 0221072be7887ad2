"""The arguments, options and help of `costframe audit`."""

from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text, until_option
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe audit inquiries.jsonl my.model
  costframe audit inquiries.jsonl my.model --costs prices.toml --periods 24
  costframe audit inquiries.jsonl my.model --output rows.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("log", type=text)
@click.argument("model", type=text)
@reading_options("costs")
@until_option
@click.option(
    "--periods", type=click.IntRange(1), default=10, show_default=True, metavar="N",
    help="Parts of the log, equally long, whose mean costs are shown.",
)  # fmt: skip
@click.option(
    "--output", metavar="FILE", type=target_path,
    help="Write the rows of the log, to learn from with --records: what was not asked for is empty. .csv, .tsv or "
    ".parquet.",
)  # fmt: skip
@force_option
def audit(**options: Any) -> None:
    """Replay LOG, a log of inquiries, with the MODEL that was served: what each row asked, paid and was answered.

    Its rows are records: the model chose what was asked. Join their labels by the key, and learn from them with
    --records. Give it the --until that `costframe predict` was given. The exit status is 1 if any row differs.
    """
    run("costframe.cli.audit:audit", options)
