"""`costframe audit`: a log of inquiries replayed with its model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from costframe.cli.arguments import costs_option, text, until_option
from costframe.cli.models import open_model
from costframe.core.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.sources import Audit

__all__ = ["audit"]

DIFFERENT = 1  # exit status
EXAMPLES = """\b
Examples:
  costframe audit inquiries.jsonl my.model
  costframe audit inquiries.jsonl my.model --costs prices.toml --periods 24
"""


@click.command(epilog=EXAMPLES, short_help="Prove that what was paid is what the model says.")
@click.argument("log", type=text)
@click.argument("model", type=text)
@costs_option
@until_option
@click.option(
    "--periods", type=click.IntRange(1), default=10, show_default=True, metavar="N",
    help="Parts of the log, equally long, whose mean costs are shown.",
)  # fmt: skip
def audit(
    log: str, model: str, costs: str | None, periods: int, wrap: Callable[[FittedEstimator], FittedEstimator]
) -> None:
    """Replay LOG, a log of inquiries, with the MODEL that was served: what each row asked, paid and was answered.

    Give it the --until that `costframe predict` was given. The exit status is 1 if any row differs.
    """
    from costframe.sources import audit as replay
    from costframe.sources.logs import describe_audit

    fitted, prices = open_model(model, costs)
    found = replay(log, wrap(fitted), prices, periods=periods)
    click.echo("\n".join(printable(line) for line in describe_audit(found)))
    if len(found.periods) > 1:
        click.echo("\n".join(["", *_table(found)]))
    sys.exit(0 if found.agrees else DIFFERENT)


def _table(found: Audit) -> list[str]:
    lines = [f"{'part':>4} {'rows':>8} {'mean cost':>12} {'+-':>9} {'in vain':>9} {'no answer':>9}"]
    for number, part in enumerate(found.periods, 1):
        money = f"{part.mean:>12,.4g} {part.error:>9.2g} {part.failed:>9.4g}"
        lines.append(f"{number:>4} {part.rows:>8,} {money} {part.without_answer:>9,}")
    return lines
