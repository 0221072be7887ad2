"""The arguments, options and help of `costframe page`."""

from typing import Any

import click

from costframe.cli.arguments import force_option, target_path, text
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe page my.model --output ask.html
  costframe page xgboost.ubj --costs prices.toml --output ask.html
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=text)
@click.option(
    "--output", metavar="FILE.html", type=target_path, required=True, help="Page to write, to be opened in a browser."
)
@click.option("--title", metavar="TEXT", type=text, help="Heading of the page.  [default: name of MODEL's file]")
@reading_options("costs")
@force_option
def page(**options: Any) -> None:
    """Write a page that asks as MODEL does, question by question, and answers: one file to hand over.

    MODEL is that of `costframe cost`: a sum of trees, a tree of stages or a plan. The model and the engine are in the
    page, which needs no network, server or installation, and sends nothing. The default prices are those in MODEL.
    """
    run("costframe.cli.page:page", options)
