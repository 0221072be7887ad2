"""What `costframe audit` does: it replays a log of inquiries with the model that was served."""

from __future__ import annotations

import math
import sys

import click

from costframe.cli.given_model import open_model
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import printable
from costframe.sources import Audit
from costframe.sources import audit as replay
from costframe.sources.audits import describe_audit

DIFFERENT = 1  # exit status


def audit(log: str, model: str, *, reading: ReadingOptions, periods: int, until: float | str | None) -> None:
    """Print what the log and the model say of each row's requests, payments and answer, and end with the status."""
    served = open_model(model, reading.costs).ended_by(until)
    result = replay(log, served.fitted, served.prices, periods=periods)
    click.echo("\n".join(printable(line) for line in describe_audit(result)))
    if len(result.periods) > 1:
        click.echo("\n".join(["", *_table(result)]))
    sys.exit(0 if result.agrees else DIFFERENT)


def _table(result: Audit) -> list[str]:
    lines = [f"{'part':>4} {'rows':>8} {'mean cost':>12} {'+-':>9} {'in vain':>9} {'no answer':>9}"]
    for number, part in enumerate(result.periods, 1):
        error = "too few" if math.isnan(part.error) else f"{part.error:.2g}"
        money = f"{part.mean:>12,.4g} {error:>9} {part.failed:>9.4g}"
        lines.append(f"{number:>4} {part.rows:>8,} {money} {part.without_answer:>9,}")
    return lines
