"""`costframe fit`: one model into one file."""

from __future__ import annotations

from pathlib import Path

import click

from costframe.cli.inputs import check_one_of, check_output, open_data, reading_options

__all__ = ["fit"]

EXAMPLES = """\b
Examples:
  costframe fit breast-cancer --algorithm miser --budget 10 --output my.model
  costframe fit patients.csv --costs prices.toml --target ill \\
    --algorithm miser --tradeoff 0.001 --output ill.model
"""


@click.command(epilog=EXAMPLES, short_help="Fit one algorithm, and save the model.")
@click.argument("data")
@reading_options
@click.option("--algorithm", required=True, metavar="NAME", help="As `costframe algorithms` lists them.")
@click.option("--tradeoff", type=click.FloatRange(0), metavar="L", help="Loss accepted per unit of cost per row.")
@click.option(
    "--budget", type=click.FloatRange(0), metavar="B", help="Search for the best whose mean cost on valid is at most B."
)
@click.option("--score", metavar="NAME", help="accuracy, roc_auc, average_precision, r2 or ndcg@5. [default: by task]")
@click.option(
    "--output", required=True, metavar="MODEL", type=click.Path(path_type=Path), help="The file to write the model to."
)
def fit(
    data: str,
    costs: str | None,
    target: str | None,
    task: str | None,
    ignore: tuple[str, ...],
    seed: int,
    algorithm: str,
    tradeoff: float | None,
    budget: float | None,
    score: str | None,
    output: Path,
) -> None:
    """Fit an algorithm on the train rows of DATA, at a tradeoff or within a budget, and save the predictor.

    The valid rows stop the training and choose within the budget; score and cost are then told for test. The file holds
    the prices too; `costframe.load` reads it.
    """
    from costframe.core.storage import save
    from costframe.frontier import Frontier
    from costframe.report.console import output as make_console
    from costframe.report.console import summary
    from costframe.report.progress import bar

    check_one_of(tradeoff, budget)
    check_output(output, directory=False)
    dataset = open_data(data, costs, target, task, ignore, seed)
    console = make_console()
    for note in dataset.notes:
        console.print(note, style="dim", markup=False)
    with bar() as told:
        tradeoffs = None if tradeoff is None else [tradeoff]
        frontier = Frontier.sweep(dataset, [algorithm], tradeoffs, score=score, budget=budget, progress=told)
    point = frontier.points[0] if budget is None else frontier.within(budget)
    save(frontier.model(point).predictor_, output, costs=dataset.costs)
    console.print(summary("fitted", point, frontier))
    console.print(
        f"  it reads {point.n_features} of {len(dataset.feature_names)} features, with {point.n_learners:,} learners",
        markup=False,
    )
    console.print(f"wrote {output}", soft_wrap=True, markup=False)
