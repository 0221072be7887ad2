"""`costframe cost`: the exact cost of predicting rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from attrs import evolve

from costframe.cli.arguments import (
    allow_unknown_option,
    check_fit,
    costs_option,
    group_option,
    missing_option,
    part_option,
    score_option,
    text,
    until_option,
)
from costframe.cli.given_data import Cells, open_blocks, open_model
from costframe.core.errors import ParameterError

if TYPE_CHECKING:
    from costframe.cli.scoring import Answers, Scored
    from costframe.core.arrays import F8
    from costframe.core.cost.report import CostReport
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.prices.costs import CostModel
    from costframe.training.console import Output

MOST_TIMED = 20_000  # rows, which latencies step through one by one
EXAMPLES = """\b
Examples:
  costframe cost my.model breast-cancer --part test
  costframe cost my.model new-patients.csv --target ill
  costframe cost frontier/recommended.model patients.csv --target ill \\
    --part test
  costframe cost xgboost.ubj patients.parquet --costs prices.toml --part test
"""


@click.command(epilog=EXAMPLES, short_help="Report the exact cost of predictions.")
@click.argument("model", type=text)
@click.argument("data", type=text)
@costs_option
@click.option("--target", metavar="COL", type=text, help="Column of true values, if DATA is a file, to score with.")
@part_option
@score_option
@until_option
@missing_option
@allow_unknown_option
@group_option
@click.option(
    "--acquisition", type=click.Choice(["path", "learner"]), default="path", show_default=True,
    help="Whether a tree acquires features split by split, or all of them before it is evaluated.",
)  # fmt: skip
def cost(
    model: str,
    data: str,
    costs: str | None,
    target: str | None,
    score: str | None,
    part: str | None,
    missing: tuple[str, ...],
    allow_unknown: bool,
    group: str | None,
    acquisition: str,
    wrap: Callable[[FittedEstimator], FittedEstimator],
) -> None:
    """Report the exact cost of predicting the rows of DATA, and their payments.

    MODEL is a file of `costframe fit`, `costframe compare` or `costframe.save`, or a model of LightGBM, XGBoost or
    CatBoost. DATA is a table file with a column for each feature that the model reads, among others and in any order,
    or the name of a data set; files end in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow. It
    may also be a folder of Parquet files, or a pattern such as 'sales/2024-*.parquet', or - for CSV on standard input.
    A table is read in blocks. The default prices are those in MODEL. It is an error if most rows have labels, in a
    column, that the model does not know, or no row has a value.

    With --target, or with --score for a data set, the command scores the predictions as `costframe compare` does, gives
    the standard errors of the score and of the mean cost, counts the mistakes, and tells what they cost if the prices
    have [errors]. By default the score is that of the run of which MODEL is, else, and where the run chose by the bill,
    one by task. Of a model in the folder of a run of `costframe compare`, --part is the part that the run made, also
    where it split the rows by a seed. With --group, errors are those of fresh groups, such as patients.
    """
    from costframe.training.console import output

    if score is not None:
        check_fit(None, None, score)
    fitted, prices = open_model(model, costs)
    fitted, cells = wrap(fitted), Cells(missing, allow_unknown, fitted.decimal)
    if target is None and score is None:
        if group is not None:
            raise ParameterError("--group: has no effect without --target, or --score for a data set")
        blocks = (rows for rows, _ in open_blocks(data, fitted.predictor_, part, model, cells=cells))
        report, scored = evaluate_cost(fitted, blocks, prices, acquisition=acquisition), None
    else:
        from costframe.cli.given_data import Asked, open_labelled
        from costframe.cli.scoring import Answers, choose, score_report

        rows = open_labelled(model, fitted, data, Asked(target, part, cells, group))
        answers, chosen = Answers(fitted, prices), choose(fitted, rows.task, rows.score, score)
        report = evaluate_cost(fitted, rows.blocks, prices, answers, acquisition=acquisition)
        report, scored = score_report(answers, report, rows.labels(), chosen)
    console = output()
    show_cost(console, report, prices, part or "all", scored)
    console.finish()


def evaluate_cost(
    fitted: FittedEstimator, blocks: Iterable[F8], costs: CostModel, answers: Answers | None = None, **how: Any
) -> CostReport:
    """Return the cost of rows in blocks; where prices have times, with latencies of at most 20,000 evenly spaced.

    It adds the answers of each block to `answers`, if these are asked for.
    """
    from costframe.core.cost.report import CostReport

    reports, step, seen = [], 1, 0
    some: list[F8] = []
    for rows in blocks:
        report = fitted.cost(rows, costs=costs, **how)
        if answers is not None:
            answers.add(rows, report)
        reports.append(evolve(report, predictions=None, places=None))
        if costs.has_times:
            some.append(rows[-seen % step :: step])
            seen += len(rows)
            while sum(map(len, some)) > MOST_TIMED:
                step, some = 2 * step, [np.concatenate(some)[::2]]
    report = CostReport.merge(reports)
    if not seen:
        return report
    timed = fitted.cost(np.concatenate(some), costs=costs, latency=True, **how)
    return evolve(report, latency=timed.latency)


def errors_in_words(report: CostReport, error: float | None = None) -> str:
    """Return what the errors of rows cost, and the bill with its error, of a report that knows them."""
    from costframe.core.errors import printable

    return (
        f"its errors cost {report.mean_errors:,.6g}, so the bill is {report.mean_bill:,.6g} "
        f"\u00b1{report.bill_error if error is None else error:.2g} {printable(report.unit)} per row"
    )


def show_cost(console: Output, report: CostReport, costs: CostModel, part: str, scored: Scored | None = None) -> None:
    """Print the cost of rows, and their payments; with their score and mistakes if they are scored."""
    from costframe.core.display import compare_cost, milliseconds
    from costframe.core.display import cost as shown
    from costframe.core.errors import format_count, printable
    from costframe.report.tables import paid_table

    full = costs.full_cost(report.feature_names)
    compared = f", {compare_cost(report.mean, full)} all features of the model ({full:,.6g})" if full > 0 else ""
    least, median, most = (shown(float(q)) for q in np.quantile(report.per_row, [0, 0.5, 1]))
    rows, cost = format_count(len(report.per_row), "row"), "costs" if len(report.per_row) == 1 else "cost"
    error = "" if scored is None else f" \u00b1{scored.cost_error:.2g}"
    lines = [
        *([] if scored is None else [scored.describe(part)]),
        f"{rows} {cost} {report.mean:,.6g}{error} {printable(report.unit)} per row on average{compared}",
        f"  least {least}, median {median}, most {most}",
    ]
    if report.errors is not None:
        lines.append(f"  {errors_in_words(report, None if scored is None else scored.bill_error)}")
    if report.latency is not None and len(report.latency):
        mean = milliseconds(float(report.latency.mean()))
        middle, p95, late = map(milliseconds, report.latency_quantiles((0.5, 0.95, 0.99)))
        some = "" if len(report.latency) == len(report.per_row) else f" (of {len(report.latency):,} evenly spaced rows)"
        lines.append(f"  latency {mean} on average, median {middle}, 95 % within {p95}, 99 % within {late}{some}")
    if report.cut is not None:
        lines.append(f"  {report.cut.mean():.0%} of the rows end before the last learner")
    if report.fixed:
        lines.append(f"  and {report.fixed:,.6g} {printable(report.unit)} once for the batch")
    if unused := len(set(costs.names) - set(report.feature_names)):
        verb, features = ("is", "feature") if unused == 1 else ("are", "features")
        every = format_count(len(costs.names), "price")
        lines.append(f"  {unused:,} of {every} {verb} not used: the model has no such {features}")
    console.print("\n".join(lines), markup=False)
    if scored is not None:
        scored.show_mistakes(console)
    console.print()
    console.print(paid_table(part, report, costs, width=console.width))
