"""What a model is worth on rows that lack tests: figures of completed copies, and what the records alone say."""

from __future__ import annotations

import numpy as np

from costframe.cli.given_model import PricedModel
from costframe.cli.scoring import AnswerBlocks, Scored, score_report
from costframe.core.arrays import F8, I8
from costframe.core.cost.report import CostReport, error_over_copies
from costframe.core.display import format_cost
from costframe.core.errors import DataError, printable
from costframe.study.estimates import Estimate
from costframe.study.rows import StudyRows
from costframe.study.service import pool_estimates
from costframe.training.library_scores import LibraryScore


def score_copies(
    model: PricedModel, X: F8, report: CostReport, rows: StudyRows, score: str | LibraryScore
) -> tuple[CostReport, Scored]:
    """Score the answers for completed copies of rows; errors of the joint figures are by Rubin's rules.

    `report` is that of the rows, float64 (n, d), with its copies.
    """
    copies = list[tuple[CostReport, Scored]]()
    for copy in report.copies:
        answers = AnswerBlocks(model.fitted, model.prices)
        answers.add(X, copy)
        copies.append(score_report(answers, copy, rows, score))
    reports, scored = [report for report, _ in copies], [scored for _, scored in copies]
    return CostReport.pool(reports), _pool(reports, scored)


def _pool(reports: list[CostReport], copies: list[Scored]) -> Scored:
    first = copies[0]
    estimates = [copy.estimate for copy in copies if isinstance(copy.estimate, Estimate)]
    refusals = [copy.estimate for copy in copies if isinstance(copy.estimate, DataError)]
    bill_error = None
    if first.bill_error is not None:
        bill_error = error_over_copies([r.mean_bill for r in reports], [copy.bill_error or 0.0 for copy in copies])
    return Scored(
        first.name,
        refusals[0] if refusals else pool_estimates(estimates),
        error_over_copies([report.mean for report in reports], [copy.cost_error for copy in copies]),
        bill_error,
        None if first.confusion is None else _mean_counts([copy.confusion for copy in copies]),
        first.classes,
        _mean([copy.rmse for copy in copies]),
        _mean([copy.mae for copy in copies]),
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _mean_counts(counts: list[I8 | None]) -> I8:
    """Return mean counts, (M, M), as whole numbers; each row of them keeps its sum, which all have alike."""
    means = np.mean([each for each in counts if each is not None], axis=0)
    upto = np.rint(np.cumsum(means, axis=1)).astype(np.int64)
    return np.asarray(np.diff(upto, axis=1, prepend=0))


def describe_records(recorded: tuple[CostReport, Scored], made: tuple[CostReport, Scored]) -> str:
    """Return a sentence on what the records alone say, beside the figures with the tests made."""
    (seen, seems), (report, scored) = recorded, made
    unit = printable(report.unit)
    if report.errors is not None:
        figures = f"its bill seems {format_cost(seen.mean_bill)}", f"{format_cost(report.mean_bill)} {unit} per row"
    elif isinstance(seems.estimate, Estimate) and isinstance(scored.estimate, Estimate):
        worth = f"its {printable(seems.name)} seems {seems.estimate.score:.3f} at {format_cost(seen.mean)}"
        service = f"{scored.estimate.score:.3f} \u00b1 {scored.estimate.error:.3f} at {format_cost(report.mean)}"
        figures = worth, f"{service} {unit} per row"
    else:
        figures = f"its cost seems {format_cost(seen.mean)}", f"{format_cost(report.mean)} {unit} per row"
    return f"In the records {figures[0]}; with the tests made, it is {figures[1]}."
