"""What `costframe cost` does: it reports the exact cost of predicting rows, and scores the predictions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from attrs import evolve

from costframe.cli.fit_checks import check_fit
from costframe.cli.given_model import PricedModel, open_model
from costframe.cli.labelled_rows import LabelledRows, open_labelled
from costframe.cli.model_rows import EvenRows, open_blocks
from costframe.cli.outages import find_outages, show_outages
from costframe.cli.reading import ReadingOptions
from costframe.cli.scored_copies import describe_records, score_copies
from costframe.cli.scoring import AnswerBlocks, Scored, pick_score, score_report
from costframe.core.arrays import F8
from costframe.core.cost.report import CostReport
from costframe.core.display import compare_cost, format_cost, milliseconds
from costframe.core.errors import ParameterError, format_count, printable
from costframe.core.prices.costs import CostModel
from costframe.report.payments import paid_table
from costframe.training.console import Output, output
from costframe.training.library_scores import LibraryScore

MOST_ROWS = 20_000  # whose latencies, and outages, are measured: some models step through them one by one


def cost(
    model: str,
    data: str,
    *,
    reading: ReadingOptions,
    score: str | None,
    acquisition: str,
    until: float | str | None,
) -> None:
    """Print the cost of predicting rows, with labels also the score and the mistakes."""
    if score is not None:
        check_fit(None, None, score)
    given = open_model(model, reading.costs, records=reading.records).ended_by(until)
    if reading.target is None and score is None:
        if reading.group is not None:
            raise ParameterError("--group: has no effect without --target, or --score for a data set")
        blocks = (rows for rows, _ in open_blocks(data, given, reading))
        report, scored, seems, outages = evaluate_cost(given, blocks, acquisition=acquisition), None, None, None
    else:
        rows = open_labelled(given, data, reading)
        chosen = pick_score(given.fitted, rows.task, rows.score, score)
        some = EvenRows(MOST_ROWS)
        rows = evolve(rows, blocks=some.watch(rows.blocks), labels=cache(rows.labels))
        report, scored, seems = evaluate_labelled(given, rows, chosen, acquisition=acquisition)
        outages = find_outages(given, some, rows.labels(), chosen, acquisition)
    console = output()
    show_cost(console, report, given.prices, reading.part or "all", scored)
    if seems is not None:
        console.print(f"\n{seems}", markup=False)
    if outages is not None:
        show_outages(console, outages, f"rows of {reading.part}" if reading.part else "rows")
    console.finish()


def evaluate_labelled(
    model: PricedModel, rows: LabelledRows, score: str | LibraryScore, **how: Any
) -> tuple[CostReport, Scored, str | None]:
    """Return the cost and score of rows with labels, and where rows lack tests what the records alone would say."""
    answers = AnswerBlocks(model.fitted, model.prices)
    if not model.prices.panels:
        report = evaluate_cost(model, rows.blocks, answers, **how)
        return *score_report(answers, report, rows.labels(), score), None
    X = np.concatenate(list(rows.blocks))  # donors may be anywhere
    labels = rows.labels()
    report = model.fitted.cost(X, y=labels.y, costs=model.prices, **how)
    recorded = score_report(answers, evaluate_cost(model, [X], answers, made=True, **how), labels, score)
    if not report.copies:
        return *recorded, None
    scored = score_copies(model, X, report, labels, score)
    return *scored, describe_records(recorded, scored)


def evaluate_cost(
    model: PricedModel, blocks: Iterable[F8], answers: AnswerBlocks | None = None, **how: Any
) -> CostReport:
    """Return the cost of rows in blocks; where prices have times, with latencies of at most 20,000 evenly spaced.

    It adds the answers of each block to `answers`, if these are asked for.
    """
    fitted, costs = model.fitted, model.prices
    reports, some = [], EvenRows(MOST_ROWS if costs.has_times else 0)
    for rows in some.watch(blocks):
        report = fitted.cost(rows, costs=costs, **how)
        if answers is not None:
            answers.add(rows, report)
        reports.append(evolve(report, predictions=None, places=None))
    report = CostReport.merge(reports)
    if not some.most or not some.seen:
        return report
    timed = fitted.cost(some.rows, costs=costs, latency=True, **how)
    return evolve(report, latency=timed.latency)


def errors_in_words(report: CostReport, error: float | None = None) -> str:
    """Return what the errors of rows cost, and the bill with its error, of a report that knows them."""
    return (
        f"its errors cost {report.mean_errors:,.6g}, so the bill is {report.mean_bill:,.6g} "
        f"\u00b1{report.bill_error if error is None else error:.2g} {printable(report.unit)} per row"
    )


def show_cost(console: Output, report: CostReport, costs: CostModel, part: str, scored: Scored | None = None) -> None:
    """Print the cost of rows, and their payments; with their score and mistakes if they are scored."""
    full = costs.full_cost(report.feature_names)
    compared = f", {compare_cost(report.mean, full)} all features of the model ({full:,.6g})" if full > 0 else ""
    least, median, most = (format_cost(float(q)) for q in np.quantile(report.per_row, [0, 0.5, 1]))
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
