"""What `costframe compare` does: a sweep of algorithms, and the best model under a budget."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from costframe.choices import Frontier
from costframe.choices.saving import remove_other_models
from costframe.cli.compare_options import ChoiceOptions, FitOptions, SplitOptions, refuse_given
from costframe.cli.compare_tables import compare_tables, time_to_fit
from costframe.cli.exits import end_interrupted, name_written_files, print_error, show_traceback
from costframe.cli.fit_checks import check_fit
from costframe.cli.given_data import open_data
from costframe.cli.listings import print_broken_plugins
from costframe.cli.outputs import check_apart, check_directory, check_overwrite, on_terminal
from costframe.cli.promised import PROMISED, Promised, check_on_test, read_promises
from costframe.cli.reading import ReadingOptions
from costframe.cli.results import Results
from costframe.cli.screen import Screen
from costframe.core.errors import CostframeError, ParameterError
from costframe.datasets import Dataset
from costframe.promises import Promise
from costframe.study.algorithms import choose_algorithms
from costframe.study.constant import fit_constant
from costframe.study.division import Division
from costframe.study.failures import UnfinishedError, failure_text
from costframe.study.fit_files import FITS
from costframe.study.fitted import StudyResult
from costframe.study.run_folder import clear_run, hold_alone, holds_fits, holds_references_only, holds_run
from costframe.study.score_choice import choose_score_of_study
from costframe.training.console import output as make_console
from costframe.training.library_scores import LibraryScore

FILES = ("points.csv", "frontier.png", "frontier.svg", "report.html", "recommended.model")
PATIENCE = 120.0  # seconds on a terminal


def compare(
    data: tuple[str, ...], *, reading: ReadingOptions, fits: FitOptions, splits: SplitOptions, choice: ChoiceOptions
) -> None:
    """Fit algorithms at many tradeoffs, write the results, and print the choice; or compare them on several splits."""
    if len(data) > 1 or splits.repeats is not None or splits.outsiders:
        refuse_given(choice, "has no effect on several tables or repeated splits; leave it out")
        compare_tables(data, reading, fits, splits)
    else:
        refuse_given(splits, "needs several tables, or --repeats")
        compare_on_table(data[0] if data else None, reading, fits, choice)


def compare_on_table(data: str | None, reading: ReadingOptions, fits: FitOptions, choice: ChoiceOptions) -> None:
    """Fit algorithms on the one split of a table, write the results, and print the choice."""
    began, output, time_limit = time.monotonic(), fits.output or Path("frontier"), fits.time_limit
    promises = read_promises(choice.promised, choice.confidence)
    check_fit(fits.algorithms, reading.task, fits.score)
    check_apart({"--output": [output / name for name in (*FILES, PROMISED)]}, {"DATA": data, "--costs": reading.costs})
    check_directory(output, FILES)
    click.get_current_context().with_resource(hold_alone(output))
    _check_room(output, resume=fits.resume, force=fits.force)
    dataset = open_data(data, reading)
    named = _choose_score(dataset, fits, promises)
    print_broken_plugins()
    results = Results(dataset, choice.budget, output, make_console())
    results.introduce()
    if time_limit is None and on_terminal():
        time_limit = PATIENCE
        results.say_limit(time_limit)
    to_fit = None if time_limit is None else time_to_fit(time_limit, began)
    (output / PROMISED).unlink(missing_ok=True)  # of an earlier run
    screen = Screen(results.write, results.table, math.inf if to_fit is None else time.monotonic() + to_fit)
    with _keeping_fits(output, resume=fits.resume):
        frontier = _sweep(
            screen,
            output,
            data=dataset,
            algorithms=fits.algorithms,
            points=fits.points,
            score=named,
            budget=choice.budget,
            cv=fits.cv,
            time_limit=to_fit,
            cluster=fits.cluster,
            references=not choice.no_references,
        )
        outages = None if screen.interrupted else results.find_outages(frontier)
        written = screen.keep(frontier, *([] if outages is None else [outages]))
        remove_other_models(output)
    with name_written_files(written):
        results.show(frontier, outages, all_points=choice.all_points)
        certificate = Promised.of(frontier, dataset, promises) if promises else Promised(None)
        certificate.show(results.console)
        results.end(", ".join([written, *certificate.write(output)]))
        certificate.end()
    if screen.interrupted:
        _end_with_fits(output, "the constant" if screen.so_far is None else "a first look")


def _choose_score(dataset: Dataset, fits: FitOptions, promises: Sequence[Promise]) -> str | LibraryScore:
    """Return the score; refuse what does not suit the data, and so before an old run is cleared."""
    choose_algorithms(dataset.task, fits.algorithms, len(dataset.classes))
    chosen = choose_score_of_study(dataset, fits.score)
    check_on_test(promises, dataset)
    if fits.cv:
        Division.of_data(dataset, fits.cv)
    return chosen


def _check_room(output: Path, *, resume: bool, force: bool) -> None:
    """Refuse a directory with fits or other results, unless the command is to resume or to replace them."""
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
    ended = any((output / FITS).glob("*.fits"))
    what = "; all finished fits are" if ended else f" before the first fit ended; {without} is"
    end_interrupted(f"interrupted{what} in {output}, --resume goes on")


def _sweep(screen: Screen, output: Path, **arguments: Any) -> Frontier:
    """Return the frontier of all fits, or after an interrupt of those that are finished, or else of the constant."""
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
            frontier = Frontier.of(StudyResult(constant, str(score), data.costs.unit, data.full_cost))
    _print_failures(failures)
    if unfinished:
        print_error(f"time was up before all fits of {', '.join(dict.fromkeys(unfinished))}; --resume goes on")
    return frontier


def _print_failures(failures: Mapping[str, CostframeError]) -> None:
    """Print the algorithms that could not be fitted, those with one reason in one line."""
    names_of: dict[str, list[str]] = {}
    for algorithm, error in failures.items():
        names_of.setdefault(str(error).removeprefix(f"{algorithm}: "), []).append(algorithm)
    for reason, names in names_of.items():
        several = f"each of {', '.join(sorted(names))}: {reason}"
        print_error(f"left out: {several if len(names) > 1 else failure_text(names[0], failures[names[0]])}")
