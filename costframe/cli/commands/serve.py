"""The arguments, options and help of `costframe serve`."""

from typing import Any

import click

from costframe.cli.arguments import seconds, target_path, text, until_option
from costframe.cli.reading import reading_options
from costframe.cli.run import run

EXAMPLES = """\b
Examples:
  costframe serve my.model
  costframe serve my.model --source sources.toml --deadline 200ms --workers 4
  costframe serve my.model --host 0.0.0.0 --allow-host tests.example.org \\
    --key-file states.key
  costframe serve my.model --mcp
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=text)
@reading_options("costs")
@until_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", type=text, help="Address to bind.")
@click.option(
    "--port", default=8000, show_default=True, metavar="N", type=click.IntRange(1, 65535), help="Port to bind."
)
@click.option(
    "--workers", default=1, show_default=True, metavar="N", type=click.IntRange(1), help="Processes that serve."
)
@click.option(
    "--allow-host", "hosts", metavar="NAME", multiple=True, type=text,
    help="Name that requests may call the service by, beside localhost and --host; * is any; may be repeated.",
)  # fmt: skip
@click.option(
    "--key-file", metavar="FILE", type=target_path,
    help="Key that signs states, at least 16 bytes: nobody else can make one.",
)  # fmt: skip
@click.option("--source", metavar="FILE", type=target_path, help="Live sources, TOML, for rows that come with a key.")
@click.option("--deadline", metavar="TIME", type=seconds, help="With --source: the most time of each row, as 200ms.")
@click.option(
    "--in-flight", type=click.IntRange(1), default=64, show_default=True, metavar="N",
    help="With --source: rows at once; further ones are refused.",
)  # fmt: skip
@click.option("--mcp", is_flag=True, help="Serve tools for agents on standard input and output instead.")
def serve(**options: Any) -> None:
    """Serve MODEL: what to ask next, at which price and why, until the answer; as JSON, and as a page for people.

    MODEL is that of `costframe predict`. The page is at /, the interface at /openapi.json: /next takes one step of a
    conversation, and /predict a whole row. The service keeps nothing between requests, for the state goes to the
    caller and back; any number of processes may serve. When the file of the model changes, the new model serves, and
    conversations go on with the one they began with. It needs costframe[serve], and costframe[mcp] with --mcp.
    """
    run("costframe.cli.serve:serve", options)
