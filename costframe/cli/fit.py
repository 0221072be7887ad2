"""What `costframe fit` does: it trains one model, and saves it to a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from costframe.choices import Frontier, Point
from costframe.choices.sentences import describe_model, describe_useless_budget
from costframe.cli.exits import end_interrupted, name_written_files
from costframe.cli.fit_checks import check_fit, check_goal
from costframe.cli.fit_large import fit_large
from costframe.cli.given_data import is_larger_than_memory, open_data
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.promised import certify_on_test, check_on_test, describe, read_promises, write_certified
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import ParameterError, format_count, printable
from costframe.core.storage.saving import content_of, write_content
from costframe.datasets import Dataset
from costframe.datasets.leaks import Leak
from costframe.promises import Promise
from costframe.study.algorithms import check_saved, choose_algorithms
from costframe.training.console import Output, show_progress
from costframe.training.console import output as make_console


def fit(
    data: str,
    *,
    reading: ReadingOptions,
    algorithm: str,
    tradeoff: float | None,
    budget: float | None,
    promised: tuple[str, ...],
    confidence: float | None,
    cv: int | None,
    score: str | None,
    cluster: str | None,
    output: Path,
    force: bool,
) -> None:
    """Fit an algorithm, save the chosen model, and print its score and its cost."""
    promises = read_promises(promised, confidence)
    _check_goal(promises, tradeoff, budget)
    check_fit([algorithm], reading.task, score)
    check_apart({"--output": [output]}, {"DATA": data, "--costs": reading.costs})
    check_file(output)
    check_overwrite([output], force=force)
    if cluster is not None or is_larger_than_memory(data):
        for option, given in (("--promise", promises), ("--cv", cv is not None)):
            if given:
                raise ParameterError(f"{option}: has no effect, {data} is not in memory and is fitted once")
        fit_large(data, algorithm, tradeoff, budget, score, output, cluster, reading)
        return
    dataset = open_data(data, reading)
    _check_goal(promises, tradeoff, budget, dataset, score)
    choose_algorithms(dataset.task, [algorithm], len(dataset.classes))
    check_saved(algorithm, dataset.task, len(dataset.classes))
    console = make_console()
    for note in dataset.notes:
        console.print(printable(note), style="" if isinstance(note, Leak) else "dim", markup=False)
    if tradeoff is not None and cv is None:
        cv = 0  # there is no choice to estimate
    terms = {"score": score, "budget": budget, "cv": cv}
    frontier, interrupted = _sweep(dataset, [algorithm], None if tradeoff is None else [tradeoff], **terms)
    if promises:
        _keep_promised(console, dataset, frontier, promises, output)
    else:
        with _name_budget(interrupted=interrupted):
            point = frontier.recommended(budget) if tradeoff is None else frontier.points[0]
        write_content(output, content_of(frontier.model(point).predictor_, dataset.costs, dataset.decimal))
        _report(console, dataset, frontier, point, budget, output)
    if interrupted:
        fits = format_count(len(frontier.points), "model")
        end_interrupted(f"interrupted; {output} is the best of the {fits} fitted so far")


def _check_goal(
    promises: Sequence[Promise],
    tradeoff: float | None,
    budget: float | None,
    dataset: Dataset | None = None,
    score: str | None = None,
) -> None:
    """Refuse a tradeoff or budget beside promises, and what `check_goal` does without; then what a data set has not."""
    if not promises:
        check_goal(tradeoff, budget, *(() if dataset is None else (dataset.costs, score)))
    elif tradeoff is not None or budget is not None:
        raise ParameterError("--promise: is kept at the least cost; leave out --tradeoff and --budget")
    elif dataset is not None:
        check_on_test(promises, dataset)


def _keep_promised(
    console: Output, dataset: Dataset, frontier: Frontier, promises: Sequence[Promise], output: Path
) -> None:
    """Save the cheapest model that is certified on the test rows, and print the certificate."""
    certified = certify_on_test(frontier, dataset, promises)
    write_certified(certified, output, dataset.decimal)
    with name_written_files(str(output)):
        console.print(describe(certified, "test rows"), markup=False)
        console.print(f"wrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()


def _sweep(*given: Any, **terms: Any) -> tuple[Frontier, bool]:
    """Return the frontier of all fits, or after an interrupt of those that ended, and whether there was one."""
    so_far: list[Callable[[], Frontier]] = []
    with show_progress() as progress:
        asked: dict[str, Any] = {"progress": progress, "interim": so_far.append, "references": False}
        try:
            return Frontier.sweep(*given, **(terms | asked)), False
        except KeyboardInterrupt:
            if not so_far:
                end_interrupted("interrupted before the first fit ended, nothing was written")
            return so_far[-1](), True


@contextlib.contextmanager
def _name_budget(*, interrupted: bool) -> Iterator[None]:
    """End after an interrupt if no model so far is within the budget."""
    try:
        yield
    except ParameterError:
        if interrupted:
            end_interrupted("interrupted before a model within the budget was fitted, nothing was written")
        raise


def _report(
    console: Output, dataset: Dataset, frontier: Frontier, point: Point, budget: float | None, output: Path
) -> None:
    with name_written_files(str(output)):
        console.print(describe_model(frontier, point, chosen=False), markup=False)
        features, learners = (
            format_count(len(dataset.feature_names), "feature"),
            format_count(point.n_learners, "learner"),
        )
        console.print(f"It reads {point.n_features} of {features}, with {learners}.", markup=False)
        if budget is not None and (text := describe_useless_budget(frontier, point, budget)):
            console.print(text, style="bold", markup=False)
        console.print(f"wrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()
