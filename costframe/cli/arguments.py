"""Types of arguments, and options that several commands have, beside those of reading DATA."""

from __future__ import annotations

import math
from pathlib import Path

import click

from costframe.core.errors import ParameterError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def text(value: str) -> str:
    """Return a text that is not empty."""
    if not value.strip():
        raise click.BadParameter("expected a text, got an empty one")
    return value


def target_path(value: str) -> Path:
    """Return the path of a file or directory to write."""
    return Path(text(value))


def amount(value: str) -> float:
    """Return a finite number >= 0."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise click.BadParameter(f"expected a finite number >= 0, got {value!r}")
    return number


def cap(value: str) -> float:
    """Return a number >= 0 that a cost must not exceed; inf is no cap."""
    return math.inf if value.strip().lower() in {"inf", "infinity"} else amount(value)


def seconds(value: str) -> float:
    """Return a time such as 90, 90s, 200ms, 10m or 2h in seconds."""
    unit = next((unit for unit in _SECONDS if value.endswith(unit)), "")
    number, unit = value.removesuffix(unit), unit or "s"
    try:
        time = float(number) * _SECONDS[unit]
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time > 0):
        raise click.BadParameter(f"expected a time such as 90, 90s, 200ms, 10m or 2h, got {value!r}")
    return time


def until(_context: click.Context, _option: click.Parameter, value: str | None) -> float | str | None:
    """Return "class", or a number, at which a row ends; refuse other texts."""
    try:
        return value if value in {None, "class"} else float(str(value))
    except ValueError:
        raise ParameterError(f"--until: expected 'class' or a number, got {value!r}") from None


# Options stand together, below the functions that read them.
def percents(value: str) -> tuple[float, ...]:
    """Return percents such as 1,5,20 as shares."""
    try:
        shares = tuple(float(part) / 100 for part in value.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(math.isfinite(share) and share > 0 for share in shares):
        raise click.BadParameter(f"expected percents such as 1,5,20, got {value!r}")
    return shares


cv_option = click.option(
    "--cv", type=click.IntRange(0), metavar="N",
    help="Estimate scores on N folds of train and valid, with a further fit for each; 0 uses valid alone. [default: 5 "
    "if valid has fewer than 1,000 rows, else 0]",
)  # fmt: skip
until_option = click.option(
    "--until", metavar="class|NUMBER", callback=until,
    help="End a row as soon as the rest cannot change its class, or move its score by more than this.",
)  # fmt: skip
score_option = click.option(
    "--score", metavar="NAME", type=text,
    help="accuracy, roc_auc, average_precision, f1 or log_loss; r2 or rmse; ndcg@5, precision@5 or "
    "average_precision@5, or another number of places; or any name that scikit-learn has for the task, such as "
    "balanced_accuracy. Errors have a minus sign, for higher is better. [default: by task]",
)  # fmt: skip
reference_option = click.option(
    "--reference", metavar="NAME", type=text,
    help="Algorithm that differences over tables and splits are to. [default: the first by the alphabet]",
)  # fmt: skip
level_option = click.option(
    "--levels", metavar="P,Q", type=percents,
    help="Percents of the cost of all features at which tables and splits are compared. [default: 1,2,5,10,20,50,100]",
)  # fmt: skip
cluster_option = click.option(
    "--cluster", metavar="ADDRESS", type=text, help="Fit on the workers of a dask cluster, such as tcp://host:8786."
)
force_option = click.option("--force", is_flag=True, help="Overwrite what --output names, without asking.")
