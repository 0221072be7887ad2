"""`costframe fit`: training of one model, saved to a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from costframe.cli.arguments import (
    amount,
    check_apart,
    check_file,
    check_fit,
    check_goal,
    check_overwrite,
    cluster_option,
    cv_option,
    first_options,
    force_option,
    reading_options,
    score_option,
    target_path,
    text,
)
from costframe.cli.given_data import is_larger_than_memory, open_data
from costframe.cli.group import end_interrupted, name_written_files
from costframe.cli.promise import (
    certify_on_test,
    check_on_test,
    describe,
    promise_options,
    read_promises,
    write_certified,
)
from costframe.core.errors import ParameterError, format_count, printable
from costframe.promises import Promise

if TYPE_CHECKING:
    from costframe.choices.frontier import Frontier
    from costframe.datasets import Dataset
    from costframe.study.points import Point
    from costframe.training.console import Output

EXAMPLES = """\b
Examples:
  costframe fit breast-cancer --algorithm miser --budget 10 --output my.model
  costframe fit patients.csv --costs prices.toml --target ill \\
    --algorithm miser --tradeoff 0.001 --output ill.model
"""


@click.command(epilog=EXAMPLES, short_help="Fit one algorithm, and save the model.")
@click.argument("data", type=text)
@first_options
@click.option("--algorithm", required=True, metavar="NAME", type=text, help="A name from `costframe algorithms`.")
@click.option("--budget", type=amount, metavar="B", help="Search for the best model whose mean cost is at most B.")
@click.option("--tradeoff", type=amount, metavar="L", help="Loss accepted per unit of cost per row.")
@promise_options
@click.option("--output", required=True, metavar="MODEL", type=target_path, help="File to write the model to.")
@force_option
@score_option
@reading_options
@cv_option
@cluster_option
def fit(
    data: str,
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
    **reading: Any,
) -> None:
    """Fit an algorithm on the train rows of DATA, at a tradeoff, within a budget or for the least bill; save the model.

    DATA is the name of a data set, or a table file; these end in .csv, .tsv or .txt (also with .gz or .zst), .parquet,
    .feather or .arrow. It may also be a folder of Parquet files, or a pattern such as 'sales/2024-*.parquet'. Texts of
    few values are split as categories. The valid rows stop the training. With a budget, the command chooses the
    cheapest model within one standard error of the best, by the estimates of `costframe compare`, and prints its score
    and cost on test; where prices have errors, it needs no budget, and the best has the least bill; with --promise, the
    cheapest one, or cascade of two, that is certified on the test rows. The file holds the prices; `costframe.load`
    reads it. A Parquet table larger than memory is read by row groups, with dask; miser and
    cegb fit it, at a tradeoff, or at the one that follows from prices of errors. With --cluster, workers of a dask
    cluster read the Parquet files, at the same paths as this machine, and train together, likewise.
    """
    from costframe.core.storage.saving import content_of, write_content
    from costframe.datasets.leaks import Leak
    from costframe.study.algorithms import check_saved, choose_algorithms
    from costframe.training.console import output as make_console

    promises = read_promises(promised, confidence)
    _check_goal(promises, tradeoff, budget)
    check_fit([algorithm], reading["task"], score)
    check_apart({"--output": [output]}, {"DATA": data, "--costs": reading["costs"]})
    check_file(output)
    check_overwrite([output], force=force)
    if cluster is not None or is_larger_than_memory(data):
        from costframe.cli.fit_large import fit_large

        for option, given in (("--promise", promises), ("--cv", cv is not None)):
            if given:
                raise ParameterError(f"{option}: has no effect, {data} is not in memory and is fitted once")
        fit_large(data, algorithm, tradeoff, budget, score, output, cluster, reading)
        return
    dataset = open_data(data, **reading)
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
    from costframe.choices import Frontier
    from costframe.training.console import show_progress

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
    from costframe.choices.sentences import describe_model, describe_useless_budget

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
