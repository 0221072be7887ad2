"""`costframe compare`: a sweep of all algorithms, and the best model under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from costframe.cli.arguments import (
    amount,
    check_directory,
    check_fit,
    folds_option,
    open_data,
    reading_options,
    score_option,
    split_names,
    target_path,
    text,
    write_into,
)
from costframe.cli.group import name_written_files, print_broken_plugins, print_failures, show_traceback
from costframe.core.errors import printable

if TYPE_CHECKING:
    from pathlib import Path

    from costframe.core.errors import CostframeError
    from costframe.datasets import Dataset
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point
    from costframe.report.console import Output

__all__ = ["compare"]

FILES = ("points.csv", "frontier.png", "frontier.svg")
EXAMPLES = """\b
Examples:
  costframe compare
  costframe compare --budget 10
  costframe compare patients.csv --costs prices.toml --target ill
  costframe compare patients.csv --costs prices.toml --target ill --output out
"""


@click.command(epilog=EXAMPLES, short_help="Compare algorithms by score and cost: the main command.")
@click.argument("data", required=False, type=text)
@reading_options
@click.option("--algorithms", metavar="A,B", type=text, help="Algorithms to compare. [default: all but baselines]")
@click.option("--budget", type=amount, metavar="B", help="Choose the best model whose mean cost is at most B.")
@folds_option
@score_option
@click.option(
    "--points", type=click.IntRange(1), metavar="N",
    help="Number of models of each algorithm, beside at most 3 within sets of features. "
    "[default: at most 24 if one fit gives a path of models, else 12 fits]",
)  # fmt: skip
@click.option(
    "--output", metavar="DIR", default="frontier", show_default=True, type=target_path,
    help="Directory for points.csv, frontier.png and frontier.svg.",
)  # fmt: skip
def compare(
    data: str | None,
    algorithms: str | None,
    budget: float | None,
    score: str | None,
    points: int | None,
    folds: int | None,
    output: Path,
    **reading: Any,
) -> None:
    """Fit algorithms at many tradeoffs between loss and cost, and compare their scores and costs.

    DATA is a CSV or Parquet file, or the name of a data set; the default is breast-cancer. The command fits models on
    train rows, chooses by estimates on held-out rows (valid, or folds of train and valid if valid is small), and scores
    the choice on test rows. It recommends the cheapest model within one standard error of the best. Costs are exact:
    the mean of the rows' charges.
    """
    from costframe.frontier import Frontier
    from costframe.frontier.checks import check_algorithms, check_score
    from costframe.report.console import output as make_console
    from costframe.report.console import show_progress

    wanted = split_names(algorithms)
    check_fit(wanted, reading["task"], score)
    check_directory(output, FILES)
    dataset = open_data(data, **reading)
    check_algorithms(dataset.task, wanted, len(dataset.classes))
    score = check_score(dataset, score)
    print_broken_plugins()
    failures: dict[str, CostframeError] = {}
    console = make_console()

    def keep(algorithm: str, error: CostframeError) -> None:
        """Show the traceback at once: where nothing can be fitted, the sweep ends in an error of its own."""
        failures[algorithm] = error
        show_traceback(error)

    _introduce(console, dataset)
    with show_progress() as progress:
        frontier = Frontier.sweep(
            dataset,
            wanted,
            points=points,
            score=score,
            budget=budget,
            folds=folds,
            progress=progress,
            failed=keep,
            n_jobs=None,
        )
    print_failures(failures)
    _report(console, dataset, frontier, budget, output)


def _report(console: Output, dataset: Dataset, frontier: Frontier, budget: float | None, output: Path) -> None:
    """Write the files, then show the results."""
    from costframe.frontier.points import describe_useless_budget

    chosen = frontier.recommended() if budget is None else frontier.within(budget)
    written = write_into(output, _render(frontier, chosen, dataset))
    with name_written_files(written):
        _show(console, dataset, frontier, chosen, budget)
        if text := describe_useless_budget(frontier, chosen, budget):
            console.print(f"\n{text}", style="bold", markup=False)
        console.print(f"\nwrote {printable(written)}", soft_wrap=True, markup=False)
        console.finish()


def _introduce(console: Output, dataset: Dataset) -> None:
    from costframe.core.errors import format_count

    rows = ", ".join(f"{len(dataset.part(part)):,} {part}" for part in ("train", "valid", "test"))
    kind = f"{len(dataset.classes)} classes" if dataset.classes else dataset.task
    console.print(
        f"{printable(dataset.name)}: {kind}, {format_count(len(dataset.feature_names), 'feature')}\n  rows: {rows}\n"
        f"  all features cost {dataset.full_cost:,.6g} {printable(dataset.costs.unit)} per row",
        markup=False,
    )
    for note in dataset.notes:
        console.print(f"  {printable(note)}", style="dim", markup=False)


def _show(console: Output, dataset: Dataset, frontier: Frontier, chosen: Point, budget: float | None) -> None:
    from costframe.frontier.display import points_table
    from costframe.report.console import summary

    rests_on = _rests_on(frontier, dataset)
    table, omitted = points_table(frontier, chosen, width=console.width)
    console.print()
    console.print(table)
    legend = f"\nscore: {frontier.score_name}   cost: mean {printable(frontier.unit)} per row\n"
    if "rounds" not in omitted:
        legend += "rounds: mean trips to the sources per row\n"
    legend += "* no model has a better score at no higher cost   > chosen\n"
    legend += (
        f"score \u00b1: an estimate and its standard error, from {rests_on}. The test score\n"
        "rests on few rows too: 9 of 10 times it is within 1.645 x the root of the sum of\n"
        "squares of both errors."
    )
    if omitted:
        legend += f"\nin points.csv, too wide for here: {', '.join(omitted)}"
    console.print(legend, style="dim", markup=False)
    console.print()
    for label, point in _choices(frontier, chosen, budget).items():
        console.print(summary(label, point, frontier))
    _show_paid(console, dataset, frontier, chosen)


def _rests_on(frontier: Frontier, dataset: Dataset) -> str:
    """Return a text that names the rows of the estimates."""
    valid = len(dataset.part("valid"))
    numbers = {len(moved) for moved in frontier.influences if moved is not None}
    if numbers == {valid}:
        return f"the {valid:,} rows of valid"
    return f"rows left out in turn, {max(numbers):,} in all" if numbers else "the algorithm itself"


def _show_paid(console: Output, dataset: Dataset, frontier: Frontier, chosen: Point) -> None:
    """Show the payments of the chosen model, and of the same algorithm's model trained without prices."""
    from costframe.core.cost.expected import ExpectedCost
    from costframe.report.tables import paid_table

    rows = dataset.part("test").X
    compared = {"chosen": chosen}
    own = [point for point in frontier.points if point.algorithm == chosen.algorithm]
    # On a path, only the first model is trained without prices.
    plain = next((point for point in own if point.tradeoff == 0), chosen)
    if plain != chosen:
        compared["tradeoff 0"] = plain
    exact = ExpectedCost(dataset.costs)
    reports = {label: exact.evaluate(frontier.model(point).predictor_, rows) for label, point in compared.items()}
    console.print(
        "\n[bold]Payments of test rows[/]: the share of rows that pay, and the mean cost per row\n"
        "[dim]a resource is paid once per row, with the first feature that needs it[/]\n"
    )
    console.print(paid_table(reports, dataset.costs, width=console.width))


def _choices(frontier: Frontier, chosen: Point, budget: float | None) -> dict[str, Point]:
    cheap, best = frontier.recommended(), frontier.best()
    if cheap == best:
        choices = {"best and recommended: no cheaper model is as good within the error": best}
    else:
        choices = {"best": best, "recommended: the cheapest model as good within the error": cheap}
    if budget is None:
        return choices
    return choices | {f"chosen within {budget:g} {printable(frontier.unit)} per row": chosen}


def _render(frontier: Frontier, chosen: Point, dataset: Dataset) -> dict[str, bytes]:
    pictures = frontier.plot(chosen=chosen, title=f"{dataset.name}: score and cost")
    return {
        "points.csv": frontier.to_csv().encode(),
        "frontier.png": pictures["png"],
        "frontier.svg": pictures["svg"],
    }
