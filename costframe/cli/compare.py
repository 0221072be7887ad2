"""`costframe compare`: the main job."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from costframe.cli.inputs import check_output, open_data, reading_options

if TYPE_CHECKING:
    from rich.console import Console

    from costframe.datasets import Dataset
    from costframe.frontier.points import Frontier, Point

__all__ = ["compare"]

EXAMPLES = """\b
Examples:
  costframe compare
  costframe compare --budget 10
  costframe compare patients.csv --costs prices.toml --target ill
  costframe compare patients.csv --costs prices.toml --target ill --output out
"""


@click.command(epilog=EXAMPLES, short_help="Show what accuracy costs: the main job.")
@click.argument("data", required=False)
@reading_options
@click.option("--algorithms", metavar="A,B", help="Which to compare. [default: all that are installed]")
@click.option("--budget", type=click.FloatRange(0), metavar="B", help="Choose the best whose mean cost is at most B.")
@click.option("--score", metavar="NAME", help="accuracy, roc_auc, average_precision, r2 or ndcg@5. [default: by task]")
@click.option(
    "--points", type=click.IntRange(1), default=12, show_default=True, help="Tradeoffs to fit each algorithm at."
)
@click.option(
    "--output", metavar="DIR", default="frontier", show_default=True, type=click.Path(path_type=Path),
    help="Where points.csv, frontier.png and frontier.svg go.",
)  # fmt: skip
def compare(
    data: str | None,
    costs: str | None,
    target: str | None,
    task: str | None,
    ignore: tuple[str, ...],
    seed: int,
    algorithms: str | None,
    budget: float | None,
    score: str | None,
    points: int,
    output: Path,
) -> None:
    """Fit algorithms at many tradeoffs between loss and cost, and show what accuracy costs.

    DATA is a CSV or Parquet file, or the name of a data set; without it, breast-cancer. Models are fitted on the rows
    of train, chosen on valid, and judged on test. Costs are exact: what each row will be charged, on average.
    """
    from costframe.frontier import Frontier
    from costframe.frontier.sweep import check_algorithms, check_score
    from costframe.report.console import output as make_console
    from costframe.report.progress import bar

    check_output(output, directory=True)
    dataset = open_data(data, costs, target, task, ignore, seed)
    console = make_console()
    wanted = None if algorithms is None else [name.strip() for name in algorithms.split(",") if name.strip()]
    names, score = check_algorithms(dataset.task, wanted), check_score(dataset, score)
    _introduce(console, dataset)
    with bar() as told:
        frontier = Frontier.sweep(dataset, names, points=points, score=score, budget=budget, progress=told)
    chosen = frontier.cheapest_within() if budget is None else frontier.within(budget)
    contents = _render(frontier, chosen, dataset)
    written = _write(output, contents)
    _show(console, dataset, frontier, chosen, budget)
    console.print(f"\nwrote {written}", soft_wrap=True, markup=False)


def _introduce(console: Console, dataset: Dataset) -> None:
    rows = ", ".join(f"{len(dataset.part(part)):,} {part}" for part in ("train", "valid", "test"))
    kind = f"{len(dataset.classes)} classes" if dataset.classes else dataset.task
    console.print(
        f"{dataset.name}: {kind}, {len(dataset.feature_names)} features\n  rows: {rows}\n"
        f"  all features cost {dataset.full_cost:,.6g} {dataset.costs.unit} per row",
        markup=False,
    )
    for note in dataset.notes:
        console.print(f"  {note}", style="dim", markup=False)


def _show(console: Console, dataset: Dataset, frontier: Frontier, chosen: Point, budget: float | None) -> None:
    from costframe.report.console import paid_table, points_table, summary

    console.print()
    console.print(points_table(frontier, chosen, width=console.width))
    console.print(
        f"\nscore: {frontier.score_name}   cost: mean {frontier.unit} per row\n"
        "rounds: mean trips to the sources per row\n"
        "* no other has a better score on valid at no more cost   > chosen",
        style="dim",
        markup=False,
    )
    console.print()
    for label, point in _choices(frontier, chosen, budget).items():
        console.print(summary(label, point, frontier))
    rows = dataset.part("test").X
    compared = {"chosen": chosen}
    for point in frontier.points:
        if point.tradeoff == 0 and point.algorithm == chosen.algorithm and point != chosen:
            compared["tradeoff 0"] = point
    reports = {label: frontier.model(point).cost(rows) for label, point in compared.items()}
    console.print(
        "\n[bold]What test rows pay for[/]: their share, and the mean cost per row\n"
        "[dim]a resource is paid once per row, with the first feature that needs it[/]\n"
    )
    console.print(paid_table(reports, dataset.costs))


def _choices(frontier: Frontier, chosen: Point, budget: float | None) -> dict[str, Point]:
    cheap, best = frontier.cheapest_within(), frontier.best()
    if cheap == best:
        choices = {"best on valid, none within 1% is cheaper": best}
    else:
        choices = {"best on valid": best, "cheapest within 1% of it": cheap}
    return choices if budget is None else choices | {f"best within {budget:g} {frontier.unit} per row": chosen}


def _render(frontier: Frontier, chosen: Point, dataset: Dataset) -> dict[str, bytes]:
    pictures = frontier.plot(chosen=chosen, title=f"{dataset.name}: what accuracy costs")
    return {
        "points.csv": frontier.to_csv().encode(),
        "frontier.png": pictures["png"],
        "frontier.svg": pictures["svg"],
    }


def _write(directory: Path, contents: dict[str, bytes]) -> str:
    from costframe.core.files import write_atomically

    existed = directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_atomically(directory / name, content)
    except OSError:
        if not existed:
            with contextlib.suppress(OSError):  # not empty: what was written whole may stay
                directory.rmdir()
        raise
    return ", ".join(str(directory / name) for name in contents)
