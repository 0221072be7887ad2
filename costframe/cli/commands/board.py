"""The arguments, options and help of `costframe board`."""

from pathlib import Path
from typing import Any

import click

from costframe.cli.arguments import force_option, level_option, reference_option, target_path, text
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe compare heart.csv spam.csv --target label --repeats 10
  costframe board comparison/results.jsonl theirs.jsonl --output board
"""


@click.command(epilog=EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=text)
@reference_option
@level_option
@click.option(
    "--output", metavar="DIR", type=target_path, default=Path("board"), show_default=True,
    help="Directory for the page, pictures, tables, and all lines in one file.",
)  # fmt: skip
@force_option
def board(**options: Any) -> None:
    """Merge FILES with lines of results, from anybody, into one page.

    FILES are those that `costframe compare` writes with several tables or --repeats, or their directories. Results are
    compared where rows, prices, score and splits are the same, by the digests in the lines; what differs under one name
    is kept apart, and the page says so. Equal lines count once.
    """
    run("costframe.cli.board:board", options)
