"""The audit of a log: differences to the model, what was paid, and how that moved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import F8
from costframe.core.checks import as_path, check_number
from costframe.core.errors import DataError, format_count, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.sources.replay import compare_row, read_amount, read_lines, read_terms

_FEW = 5  # rows of a part, with fewer of which its mean tells nothing
_MOST_DIFFERENCES = 20


@frozen
class Period:
    """Some rows of a log that follow one another."""

    rows: int
    mean: float  # mean cost of a row
    error: float  # its standard error
    failed: float  # mean price of what was asked for in vain
    without_answer: int


@frozen
class _LoggedRow:
    """What the audit adds up of one row of a log."""

    start: int  # line of the terms that it was asked under
    number: int  # in the order of the keys of a call
    cost: float
    failed_cost: float
    is_error: bool


@frozen
class Audit:
    """What a log's replay found.

    Attributes
    ----------
    rows : int
    paid, failed : float
        Sums of the log.
    differences : list of str
        Rows whose replay asks, pays or answers something else than the log says: at most 20, with their lines.
    different : int
        Number of such rows.
    periods : list of Period
    unit : str
    """

    rows: int
    paid: float
    failed: float
    differences: list[str] = field(factory=list)
    different: int = 0
    periods: list[Period] = field(factory=list)
    unit: str = "unit"

    @property
    def agrees(self) -> bool:
        """Whether what was paid is what the model says, for every row."""
        return self.different == 0

    @property
    def drift(self) -> tuple[float, float]:
        """Mean cost of the last period minus that of the first, and its standard error."""
        first, last = self.periods[0], self.periods[-1]
        return last.mean - first.mean, math.hypot(first.error, last.error)


def audit(path: Any, predictor: Predictor | FittedEstimator, costs: object = None, *, periods: int = 10) -> Audit:
    """Replay a log of inquiries with its model, and compare what was asked, paid and answered, row by row.

    Parameters
    ----------
    path : str or path
        Written by `InquiryLog`.
    predictor : Predictor, or an estimator fitted to one
        The model that was served, by `costframe.certain` if it was.
    costs : CostModel, or anything `CostModel.of` accepts
        The prices that it was served with; None uses the predictor's own.
    periods : int
        Parts of the log, equally long, whose mean costs are compared.

    Raises
    ------
    DataError
        If the file is no such log; the text names the line. A line that was cut off when its process ended is left out.
    """
    check_number("periods", periods, low=1, whole=True)
    file, model = as_path(path), as_predictor(predictor)
    prices = CostModel.of(model.costs if costs is None else costs, model.feature_names)
    rows, differences, different, terms = list[_LoggedRow](), list[str](), 0, None
    for number, line in read_lines(file):
        where = f"{file}, line {number}"
        if "costframe" in line:
            terms, start = read_terms(line, model, prices, where), number
            continue
        if terms is None:
            raise DataError(f"{where}: expected the terms of the rows first")
        row, cost, failed = (read_amount(line, name, where) for name in ("row", "cost", "failed_cost"))
        rows.append(_LoggedRow(start, int(row), cost, failed, "error" in line))
        if difference := compare_row(line, terms):
            different += 1
            if len(differences) < _MOST_DIFFERENCES:
                differences.append(f"line {number}, key {shown(line.get('key'))}: {difference}")
    if not rows:
        raise DataError(f"{file}: expected rows, got none")
    rows.sort(key=lambda row: (row.start, row.number))  # as the rows began; those that needed least ended first
    table = np.array([(row.cost, row.failed_cost, row.is_error) for row in rows])
    parts = [_summarize(part) for part in np.array_split(table, min(periods, len(table)))]
    paid, failed = math.fsum(table[:, 0]), math.fsum(table[:, 1])
    return Audit(len(table), paid, failed, differences, different, parts, prices.unit)


def _summarize(part: F8) -> Period:
    """Return the figures of some rows, given what each paid, paid in vain, and whether it had no answer."""
    with np.errstate(over="ignore"):  # of amounts that somebody altered
        error = float(part[:, 0].std(ddof=1)) / math.sqrt(len(part)) if len(part) > 1 else math.nan
    return Period(len(part), float(part[:, 0].mean()), error, float(part[:, 1].mean()), int(part[:, 2].sum()))


def describe_audit(result: Audit) -> Iterable[str]:
    """Return lines that tell a person what an audit found."""
    if result.agrees:
        yield f"{format_count(result.rows, 'row')}: every one asked, paid and answered what the model says"
    else:
        yield f"{format_count(result.different, 'row')} of {result.rows:,} differ from what the model says:"
        yield from (f"  {difference}" for difference in result.differences)
    yield f"paid {result.paid:,.6g} {result.unit}, and {result.failed:,.6g} in vain"
    if len(result.periods) > 1:
        few = min(result.periods[0].rows, result.periods[-1].rows)
        if few < _FEW:
            yield f"mean cost of the last part minus the first: too few rows to tell, {few} in a part"
            return
        moved, error = result.drift
        cause = "which chance does not explain" if abs(moved) > 2 * error else "which chance alone may explain"
        yield f"mean cost of the last part minus the first: {moved:+,.4g} +- {error:.2g}, {cause}"
