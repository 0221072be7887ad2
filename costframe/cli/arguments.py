"""Arguments and options that several commands have."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from costframe.core.errors import ParameterError, printable
from costframe.core.files import check_target, write_folder
from costframe.core.piped import STANDARD_STREAM

if TYPE_CHECKING:
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.prices.costs import CostModel

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


def _costs_option(more: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about = f"Prices of features and resources, TOML or JSON.{more}"
    return click.option("--costs", metavar="FILE", type=text, help=about)


costs_option = _costs_option()


cv_option = click.option(
    "--cv", type=click.IntRange(0), metavar="N",
    help="Estimate scores on N folds of train and valid, with a further fit for each; 0 uses valid alone. [default: 5 "
    "if valid has fewer than 1,000 rows, else 0]",
)  # fmt: skip


ignore_option = click.option(
    "--ignore", metavar="COL", type=text, multiple=True, help="Column to leave out; may be repeated."
)


missing_option = click.option(
    "--missing", metavar="TEXT", type=text, multiple=True,
    help="Text of a table file that stands for a missing value, such as haemolysed; may be repeated.",
)  # fmt: skip


allow_unknown_option = click.option(
    "--allow-unknown", is_flag=True,
    help="Go on where, in a column, most rows have labels that the model does not know, or no row has a value.",
)  # fmt: skip

group_option = click.option(
    "--group", metavar="COL", type=text,
    help="Column that says whose a row is, such as patient_id: no feature. Its rows stay in one part and one fold, and "
    "errors are those of fresh groups.",
)  # fmt: skip


part_option = click.option(
    "--part", type=click.Choice(["train", "valid", "test"]), help="Use only the rows of this part."
)


def _wrapper(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> Callable[[FittedEstimator], FittedEstimator]:
    """Return the function that wraps a model as `--until` says; refuse other texts."""
    if text is None:
        return lambda fitted: fitted
    try:
        until = text if text == "class" else float(text)
    except ValueError:
        raise ParameterError(f"--until: expected 'class' or a number, got {text!r}") from None

    def wrap(fitted: FittedEstimator) -> FittedEstimator:
        from costframe.core.predictors.certain import certain

        wrapped: FittedEstimator = certain(fitted, until)
        return wrapped

    return wrap


until_option = click.option(
    "--until", "wrap", metavar="class|NUMBER", callback=_wrapper,
    help="End a row as soon as the rest cannot change its class, or move its score by more than this.",
)  # fmt: skip


score_option = click.option(
    "--score", metavar="NAME", type=text,
    help="accuracy, roc_auc, average_precision, f1 or log_loss; r2 or rmse; ndcg@5, precision@5 or "
    "average_precision@5, or another number of places; or any name that scikit-learn has for the task, such as "
    "balanced_accuracy. Errors have a minus sign, for higher is better. [default: by task]",
)  # fmt: skip


cluster_option = click.option(
    "--cluster", metavar="ADDRESS", type=text, help="Fit on the workers of a dask cluster, such as tcp://host:8786."
)


def first_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading DATA that people use first: prices and target."""
    command = click.option("--target", metavar="COL", type=text, help="Column to predict, if DATA is a file.")(command)
    return _costs_option(" [default: price 1 for every feature]")(command)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the further options for reading DATA."""
    for option in reversed([
        click.option(
            "--task",
            type=click.Choice(["classification", "regression", "ranking"]),
            help="By default chosen by the target: text, truth values and few whole numbers are classes; a column qid "
            "makes a ranking; everything else is regression.",
        ),
        ignore_option,
        click.option(
            "--categorical", metavar="COL", type=text, multiple=True,
            help="Feature to split by categories, texts or numbers; may be repeated. Texts of few values, and "
            "categories of a Parquet file, are split so without it.",
        ),
        missing_option,
        group_option,
        click.option(
            "--keep-id", "keep_ids", metavar="COL", type=text, multiple=True,
            help="Column that is a feature although it looks like an id; may be repeated.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), metavar="N",
            help="Seed for splitting the rows into train, valid and test, if they do not come in these parts. "
            "[default: 0]",
        ),
    ]):  # fmt: skip
        command = option(command)
    return command


def split_names(lists: Sequence[str]) -> list[str] | None:
    """Return the names of lists such as `miser,stumps`; None without any list."""
    names = [name.strip() for text in lists for name in text.split(",") if name.strip()]
    if lists and not names:
        raise ParameterError(f"--algorithms: expected names, separated by commas, got {','.join(lists)!r}")
    return names or None


def check_fit(algorithms: Iterable[str] | None, task: str | None, score: str | None) -> None:
    """Refuse unknown algorithms and scores, and algorithms without the task, before reading a table."""
    from costframe.core.plugins import registry
    from costframe.study.algorithms import EVERY, choose_algorithms
    from costframe.training.scoring import score_named

    for name in algorithms or ():
        if name != EVERY:
            registry().algorithm(name)
    if task is not None:
        choose_algorithms(task, algorithms)
    if score is not None:
        score_named(score)


def check_goal(
    tradeoff: float | None, budget: float | None, costs: CostModel | None = None, score: str | None = None
) -> None:
    """Refuse a fit at a tradeoff and within a budget; with prices, also one without both that has no bill to lower."""
    known = costs is not None and (costs.errors is None or score is not None)
    if (tradeoff is not None and budget is not None) or (tradeoff is None and budget is None and known):
        raise ParameterError(
            "give either --tradeoff (loss per unit of cost) or --budget (mean cost per row at most), or neither with "
            "prices of errors and without --score, for the least bill"
        )


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written, without creating it."""
    with _name_path(path):
        target = check_target(path)
        if not target.parent.exists():
            raise ParameterError(f"--output {path}: there is no directory {path.parent}")
        _try_writing(target.parent)


def check_apart(outputs: Mapping[str, Iterable[Path | None]], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse to write over what a command reads, by whichever path or link, before it reads anything.

    Both are by the name of their argument. A folder of DATA is all files in it, of which no new one is to be, and - a
    standard stream.
    """
    written = [(option, path) for option, paths in outputs.items() for path in paths if path is not None]
    for option, path in written:
        for name, given in inputs.items():
            if _is_part(path, given):
                raise ParameterError(f"{option} {path}: expected a file outside {name}, of which it would be a part")
    taken = [(option, path, status) for option, path in written if (status := _status(path, sys.stdout)) is not None]
    for name, given in inputs.items() if taken else ():
        for status in (_status(each, sys.stdin) for each in ([] if given is None else _files_of(str(given)))):
            for option, path, there in taken:
                if status is not None and os.path.samestat(there, status):
                    raise ParameterError(f"{option} {path}: expected another file than that of {name}")


def _is_part(path: Path, given: str | Path | None) -> bool:
    """Return whether a file would be one of the table in a folder, or of those that a pattern of Parquet matches."""
    if given is None or path.suffix.lower() != ".parquet":
        return False
    place, given = path.resolve(), str(given)
    if Path(given).is_dir():
        return Path(given).resolve() in place.parents
    pattern = str(Path(given).absolute())
    return has_magic(given) and any(place.match(each) for each in (pattern, pattern.replace("**/", "")))


def _files_of(given: str) -> list[Path]:
    """Return the files that an argument names: those of a folder or of a pattern, else one."""
    if Path(given).is_dir():
        return [each for each in Path(given).rglob("*") if each.is_file()]
    return [Path(given), *map(Path, glob(given, recursive=True) if has_magic(given) else ())]  # noqa: PTH207 - any root


def _status(path: Path, stream: Any) -> os.stat_result | None:
    """Return what the system says of a regular file, or of the one behind a standard stream; None of others."""
    try:
        status = os.fstat(stream.fileno()) if str(path) == STANDARD_STREAM else path.resolve().stat()
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def check_directory(path: Path, names: Iterable[str]) -> None:
    """Refuse a directory in which the files `names` cannot be written, without creating them."""
    with _name_path(path):
        if path.is_dir():
            above = path
            for name in names:
                with _name_path(path / name):
                    check_target(path / name)
        else:
            if path.exists() or path.is_symlink():
                what = "a file" if path.is_file() else "no directory" if path.exists() else "a link to nothing"
                raise ParameterError(f"--output {path}: is {what}, expected a directory")
            above = next(folder for folder in path.absolute().parents if folder.exists())
        _try_writing(above)


def write_into(directory: Path, contents: Mapping[str, bytes]) -> str:
    """Write files into a directory, all or none; return their paths as a text."""
    return ", ".join(map(str, write_folder(directory, contents)))


def _try_writing(directory: Path) -> None:
    """Create a temporary file, because permissions alone are not a reliable test."""
    with tempfile.TemporaryFile(dir=directory):
        pass


@contextlib.contextmanager
def _name_path(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ParameterError(f"--output {path}: cannot be written: {error.strerror or error}") from error


force_option = click.option("--force", is_flag=True, help="Overwrite what --output names, without asking.")


def on_terminal() -> bool:
    """Return whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def check_overwrite(paths: Iterable[Path], *, force: bool, instead: str = "choose another place") -> None:
    """Ask before overwriting files or filled directories; refuse it if nobody is there to answer, naming --force."""
    taken = [path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))]
    if force or not taken:
        return
    listed = ", ".join(printable(str(path)) for path in taken)
    if not on_terminal():
        raise ParameterError(f"--output: {listed} would be overwritten; {instead}, or add --force")
    if not click.confirm(f"overwrite {listed}?", err=True):
        raise ParameterError(f"--output: {listed} was not overwritten")
