"""`costframe compare`: a sweep of algorithms, and the best model under a budget."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from costframe.cli.arguments import (
    amount,
    check_apart,
    check_directory,
    check_fit,
    check_overwrite,
    cluster_option,
    cv_option,
    first_options,
    force_option,
    on_terminal,
    reading_options,
    score_option,
    seconds,
    split_names,
    target_path,
    text,
)
from costframe.cli.given_data import open_data
from costframe.cli.group import (
    end_interrupted,
    name_written_files,
    print_broken_plugins,
    print_error,
    print_failures,
    show_traceback,
)
from costframe.cli.promise import PROMISED, Promised, check_on_test, promise_options, read_promises
from costframe.core.errors import CostframeError, ParameterError

if TYPE_CHECKING:
    from costframe.choices.frontier import Frontier
    from costframe.cli.results import Screen

FILES = ("points.csv", "frontier.png", "frontier.svg", "report.html", "recommended.model")
PATIENCE = 120.0  # seconds on a terminal
TO_END = 0.05, 6.0  # share of a time limit, and seconds, for the last tables and pictures
EXAMPLES = """\b
Examples:
  costframe compare
  costframe compare --budget 10
  costframe compare patients.csv --costs prices.toml --target ill
  costframe compare patients.csv --costs prices.toml --target ill \\
    --algorithms all --time-limit 10m --output out
  costframe compare patients.csv --costs prices.toml --target ill \\
    --output out --resume
"""


@click.command(epilog=EXAMPLES, short_help="Compare algorithms by score and cost: the main command.")
@click.argument("data", required=False, type=text)
@first_options
@click.option("--budget", type=amount, metavar="B", help="Choose the best model whose mean cost is at most B.")
@promise_options
@click.option(
    "--output", metavar="DIR", default="frontier", show_default=True, type=target_path,
    help="Directory for all results: points.csv, pictures, report.html, and the models.",
)  # fmt: skip
@click.option(
    "--algorithms", metavar="A,B", type=text, multiple=True,
    help="Algorithms to compare, or all; may be repeated. [default: those that usually win]",
)  # fmt: skip
@click.option(
    "--time-limit", type=seconds, metavar="T",
    help="End after this time, such as 90, 90s, 10m or 2h. [default: 2m on a terminal, else none]",
)  # fmt: skip
@score_option
@reading_options
@click.option("--resume", is_flag=True, help="Go on from the fits in DIR, after an interruption or a time limit.")
@force_option
@click.option("--all", "every", is_flag=True, help="Print all points, not the frontier alone.")
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
def compare(
    data: str | None,
    algorithms: tuple[str, ...],
    budget: float | None,
    promised: tuple[str, ...],
    confidence: float | None,
    score: str | None,
    points: int | None,
    cv: int | None,
    time_limit: float | None,
    cluster: str | None,
    every: bool,
    no_references: bool,
    output: Path,
    resume: bool,
    force: bool,
    **reading: Any,
) -> None:
    """Fit algorithms at many tradeoffs between loss and cost, and compare their scores and costs.

    DATA is a table file, a folder of Parquet files or a pattern of such, or the name of a data set; the default is
    breast-cancer. The command fits models on train rows, chooses by estimates on held-out rows (valid, or folds of
    train and valid if valid is small), and scores the choice on test rows. The cost on test rows is exact, the mean of
    their charges; those to choose by are estimates for fresh rows. Each finished fit is in DIR at once, with its
    models, which `costframe predict`, `cost` and `inspect` take; tables and pictures come as soon as there are models.

    With --promise, the command also writes promised.model: the cheapest model, or cascade of two, that is certified on
    the test rows to keep all promises. If there is none, it says the best that can be promised, and ends with status 2.
    """
    from costframe.choices.saving import remove_other_models
    from costframe.cli.results import Results, Screen
    from costframe.study.algorithms import choose_algorithms
    from costframe.study.division import Division
    from costframe.study.score_choice import choose_score_of_study
    from costframe.training.console import output as make_console

    began = time.monotonic()
    wanted, promises = split_names(algorithms), read_promises(promised, confidence)
    check_fit(wanted, reading["task"], score)
    check_apart(
        {"--output": [output / name for name in (*FILES, PROMISED)]}, {"DATA": data, "--costs": reading["costs"]}
    )
    check_directory(output, FILES)
    click.get_current_context().with_resource(_hold(output))
    _check_room(output, resume=resume, force=force)
    dataset = open_data(data, **reading)
    choose_algorithms(dataset.task, wanted, len(dataset.classes))
    named = choose_score_of_study(dataset, score)
    check_on_test(promises, dataset)
    if cv:
        Division.of_data(dataset, cv)  # it refuses a wrong number before an old run is cleared
    print_broken_plugins()
    results = Results(dataset, budget, output, make_console())
    results.introduce()
    if time_limit is None and on_terminal():
        time_limit = PATIENCE
        results.say_limit(time_limit)
    to_fit = None if time_limit is None else _time_to_fit(time_limit, began)
    (output / PROMISED).unlink(missing_ok=True)  # of an earlier run
    screen = Screen(results.write, results.table, math.inf if to_fit is None else time.monotonic() + to_fit)
    with _keeping_fits(output, resume=resume):
        frontier = _sweep(
            screen,
            output,
            data=dataset,
            algorithms=wanted,
            points=points,
            score=named,
            budget=budget,
            cv=cv,
            time_limit=to_fit,
            cluster=cluster,
            references=not no_references,
        )
        written = screen.keep(frontier)
        remove_other_models(output)
    with name_written_files(written):
        results.show(frontier, every=every)
        kept = Promised.of(frontier, dataset, promises) if promises else Promised(None)
        kept.show(results.console)
        results.end(", ".join([written, *kept.write(output)]))
        kept.end()
    if screen.interrupted:
        _end_with_fits(output, "the constant" if screen.so_far is None else "a first look")


def _hold(output: Path) -> contextlib.AbstractContextManager[None]:
    from costframe.study.runs import hold_alone

    return hold_alone(output)


def _check_room(output: Path, *, resume: bool, force: bool) -> None:
    """Refuse a directory with fits or other results, unless the command is to resume or to replace them."""
    from costframe.study.runs import holds_fits, holds_run

    if resume and force:
        raise ParameterError("give either --resume or --force")
    if resume:
        if not holds_run(output):
            raise ParameterError(f"--resume: there is no run in {output}")
    elif holds_fits(output):
        goes_on = "--resume goes on with its run, " if holds_run(output) else ""
        check_overwrite([output], force=force, instead=f"{goes_on}choose another place")
    else:
        check_overwrite([output / name for name in FILES], force=force)


@contextlib.contextmanager
def _keeping_fits(output: Path, *, resume: bool) -> Iterator[None]:
    """Clear an old run unless it is resumed; keep all finished fits, whatever ends this one, and no folder without.

    Fits of references alone are kept only after an interrupt: where no algorithm could be fitted, there is no result.
    """
    from costframe.study.runs import clear_run, holds_fits, holds_references_only, holds_run

    if not resume and (holds_run(output) or holds_fits(output)):
        clear_run(output)
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        if not holds_fits(output) or (not (interrupted or resume) and holds_references_only(output)):
            clear_run(output)
        elif interrupted:
            _end_with_fits(output)
        raise


def _end_with_fits(output: Path, without: str = "a first look") -> NoReturn:
    """End after an interrupt, and say what the directory has: all finished fits, or `without` any something else."""
    from costframe.study.fit_files import FITS

    ended = any((output / FITS).glob("*.fits"))
    what = "; all finished fits are" if ended else f" before the first fit ended; {without} is"
    end_interrupted(f"interrupted{what} in {output}, --resume goes on")


def _time_to_fit(limit: float, began: float) -> float:
    """Return the seconds for fits: without those since the command began, and those for the last tables and files."""
    share, most = TO_END
    return max(limit - (time.monotonic() - began) - max(share * limit, min(most, 0.4 * limit)), 0.01)


def _sweep(screen: Screen, output: Path, **arguments: Any) -> Frontier:
    """Return the frontier of all fits, or after an interrupt of those that are finished, or else of the constant."""
    from costframe.choices import Frontier
    from costframe.study.constant import fit_constant
    from costframe.study.failures import UnfinishedError
    from costframe.study.runs import holds_fits, holds_run

    failures: dict[str, CostframeError] = {}
    unfinished: list[str] = []

    def keep(algorithm: str, error: CostframeError) -> None:
        """Show the traceback at once: where nothing can be fitted, the sweep ends in an error of its own."""
        if isinstance(error, UnfinishedError):
            unfinished.append(algorithm)
        else:
            failures[algorithm] = error
            show_traceback(error)

    arguments |= {"progress": screen.progress, "failed": keep, "interim": screen.interim}
    try:
        with screen.showing():
            frontier = Frontier.sweep(**arguments, n_jobs=None, directory=output, resume=True)
    except KeyboardInterrupt:
        if screen.so_far is None and (holds_fits(output) or not holds_run(output)):
            raise
        data, score = arguments["data"], arguments["score"]
        screen.interrupted = True
        if screen.so_far is not None:
            frontier = screen.so_far()
        else:
            constant = [fit_constant(data, score)]
            frontier = Frontier.of(constant, str(score), data.costs.unit, data.full_cost)
    print_failures(failures)
    if unfinished:
        print_error(f"time was up before all fits of {', '.join(dict.fromkeys(unfinished))}; --resume goes on")
    return frontier
