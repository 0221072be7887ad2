"""What a model is worth on rows with labels: its score and mean cost with their errors, and its mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import define, field, frozen

from costframe.cli.model_rows import check_error_prices
from costframe.core.arrays import F8, I8
from costframe.core.cost.report import CostReport
from costframe.core.display import with_error
from costframe.core.errors import DataError, ParameterError, format_count, printable
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.prices.costs import CostModel
from costframe.core.stages.ends import contradicts
from costframe.core.terms.classes import places
from costframe.report.model_facts import without_labels
from costframe.report.tables import mistakes_table
from costframe.study.estimates import Estimate, estimate_on_rows
from costframe.study.rows import StudyRows
from costframe.study.score_choice import choose_score
from costframe.training.console import Output
from costframe.training.error_costs import ErrorCosts
from costframe.training.influences import error_of_mean
from costframe.training.library_scores import LibraryScore

_ARGMAX_FREE = {"roc_auc", "average_precision"}  # scores that ask only for the order of rows


@frozen(eq=False)
class Scored:
    """A model's score on rows, the standard error of their mean cost, and its mistakes."""

    name: str  # of the score
    estimate: Estimate | DataError  # the error where these rows have no such score
    cost_error: float  # NaN for one row, or one query
    bill_error: float | None = None  # standard error of the mean bill; None for one over rows
    # (M, M): rows of each class (first axis) by predicted class; None without classes
    confusion: I8 | None = None
    classes: tuple[Any, ...] = ()
    # rmse, mae: root mean squared and mean absolute error, of regressions
    rmse: float | None = None
    mae: float | None = None

    def describe(self, part: str) -> str:
        """Return a line with the score, or with the reason why there is none."""
        if isinstance(self.estimate, DataError):
            return printable(str(self.estimate))
        rows = "all rows, with any that it was trained on" if part == "all" else f"the rows of {part}"
        return f"{printable(self.name)} {with_error(self.estimate.score, self.estimate.error)} on {rows}"

    def show_mistakes(self, console: Output) -> None:
        """Print the mistakes: of classes how many rows of each are predicted as which, else the mean errors."""
        if self.rmse is not None and self.mae is not None:
            console.print(f"  errors: RMSE {self.rmse:,.6g}, MAE {self.mae:,.6g}", markup=False)
        if self.confusion is None:
            return
        total, right = int(self.confusion.sum()), int(np.trace(self.confusion))
        wrong = format_count(total - right, "row")
        console.print(f"\n[bold]Mistakes[/]: {wrong} of {total:,} ({(total - right) / total:.1%})\n")
        console.print(mistakes_table(self.confusion, self.classes, width=console.width))


def pick_score(fitted: FittedEstimator, task: str, of_run: str | None, score: str | None) -> str | LibraryScore:
    """Return the score to use: the one given, that of the run that fitted the model, or the task's own."""
    n_classes = len(fitted.classes_) if fitted.kind == "classifier" else 0
    if score is None and of_run is not None:
        try:
            return choose_score("score", of_run, task, n_classes)
        except ParameterError:  # a function of a run from Python, of which it knows a digest only
            pass
    try:
        return choose_score("score", score, task, n_classes)
    except ParameterError as error:
        if fitted.kind == "classifier" or not (kind := without_labels(fitted.predictor_)):
            raise
        named = "name them by cf.adopt(...).with_classes([...]), and save that"
        raise ParameterError(f"{error}; the model is a {kind}: {named}") from None


@define(eq=False)
class AnswerBlocks:
    """The answers for rows, block by block, to be scored with labels that come at the end."""

    fitted: FittedEstimator
    costs: CostModel
    predictions: list[F8] = field(factory=list)
    classes: list[I8] = field(factory=list)  # places of the answers among the classes
    priced: list[F8] = field(factory=list)  # columns that are prices of errors

    def add(self, rows: F8, report: CostReport) -> None:
        """Add the answers for some rows."""
        predictor, values = self.fitted.predictor_, np.asarray(report.predictions)
        self.predictions.append(values)
        if predictor.classes is not None:
            check_error_prices(self.costs, predictor.feature_names, rows, sum(map(len, self.predictions[:-1])))
            self.classes.append(places(predictor.decide(report.ends, rows, self.costs), predictor.classes))
        columns = () if self.costs.errors is None else self.costs.errors.columns
        self.priced.append(rows[:, [predictor.feature_names.index(name) for name in columns]])

    def error_costs(self, rows: StudyRows) -> F8 | None:
        """Return what the answers cost for rows with labels, float64 (n,); None for prices without errors."""
        errors, classes = self.costs.errors, self.fitted.predictor_.classes
        if errors is None or self.fitted.kind == "ranker":
            return None
        errors.check_kind(self.fitted.kind, classes)
        costs = ErrorCosts(errors, errors.columns, classes, np.concatenate(self.priced))
        return costs.of_rows(rows.codes(self.fitted), np.concatenate(self.predictions))


def score_report(
    answers: AnswerBlocks, report: CostReport, rows: StudyRows, score: str | LibraryScore
) -> tuple[CostReport, Scored]:
    """Score answers for rows, whose features are not asked, count mistakes, and add their costs to the report."""
    fitted, predictions = answers.fitted, np.concatenate(answers.predictions)
    if fitted.kind != "classifier" and predictions.ndim > 1:
        raise ParameterError(f"--target: the model predicts {predictions.shape[1]} values for each row, not one")
    details: dict[str, Any] = {}
    if fitted.kind == "classifier":
        named = np.concatenate(answers.classes)
        if answers.costs.errors is None:
            _check_argmax(str(score), predictions, named)
        confusion = np.zeros((len(fitted.classes_), len(fitted.classes_)), np.int64)
        np.add.at(confusion, (rows.codes(fitted), named), 1)
        details = {"confusion": confusion, "classes": tuple(fitted.classes_.tolist())}
    elif rows.qid is None:
        error = predictions - rows.y
        details = {"rmse": float(np.sqrt(np.mean(error**2))), "mae": float(np.abs(error).mean())}
    errors = answers.error_costs(rows)
    try:
        estimate: Estimate | DataError = estimate_on_rows(score, rows, fitted, predictions)
    except DataError as reason:
        estimate = reason
    if errors is not None:
        report = report.with_errors(errors, np.ones(len(errors)))
        details["bill_error"] = None if rows.units is None else error_of_mean(report.bill, rows.units)
    return report, Scored(str(score), estimate, error_of_mean(report.per_row, rows.units), **details)


def _check_argmax(score: str, predictions: F8, named: I8) -> None:
    if score not in _ARGMAX_FREE and contradicts(predictions, named).any():
        raise ParameterError(
            f"--score {score}: goes by the largest probabilities, and the classes that this model predicts are not "
            f"those; {' and '.join(sorted(_ARGMAX_FREE))} go by the order of rows"
        )
