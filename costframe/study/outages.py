"""What outages cost a model: its score and cost on held-out rows without each of its resources, sources or features."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike

from costframe.core.cost.expected import ExpectedCost
from costframe.core.predictors.fitted import FittedEstimator, as_predictor, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.digest import prices_digest
from costframe.core.terms.outages import Outage, Outages
from costframe.study.estimates import difference_error, of_bill
from costframe.study.measured import Measured, measure_copies
from costframe.study.objective import objective_of
from costframe.study.outage_groups import groups_of_sources, list_groups, split_by_spending
from costframe.study.rows import StudyRows
from costframe.study.score_choice import TASK_OF, choose_score_at_prices
from costframe.training.library_scores import LibraryScore

_MOST_ROWS = 20_000  # enough for the third decimal of a score


def outages(
    model: Predictor | FittedEstimator,
    X: Any,
    y: ArrayLike,
    *,
    sources: Any = None,
    scoring: Any = None,
    costs: object = None,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    made: Any = None,
) -> Outages:
    """Return what an outage of each source costs a model in score, and in cost per row.

    By default what may be down is each resource, with all features that need it; each feature with a price that needs
    none; and all other features together. Of more than 12 these are the ones that rows pay the most for. Of more than
    20,000 rows the figures are of every second, third, ... one. `cf.save` keeps them with the model, so that `open` of
    its sources tells them.

    Parameters
    ----------
    model : fitted estimator or Predictor
    X, y, sample_weight, qid, groups, made
        Labelled rows that it was not trained on, as for `Frontier.fit`.
    sources : Sources, or mapping of str to names of features, optional
        What may be down instead, by name: all features of a lookup together.
    scoring : str or callable, optional
        By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5, or where errors have prices, their cost.
    costs : CostModel, or anything `CostModel.of` accepts, optional
        Prices in place of the model's own.

    Raises
    ------
    CostframeError
        If an argument is wrong, or the model answers nothing where something is unavailable.
    """
    predictor = as_predictor(model, "model")
    fitted: Any = model
    if model is predictor:
        is_ranker = qid is not None and predictor.classes is None
        fitted = FittedEstimator(predictor, "ranker") if is_ranker else FittedEstimator(predictor)
    prices = CostModel.of(fitted.costs_ if costs is None else costs, predictor.feature_names)
    rows = StudyRows.of(X, y, sample_weight, qid, groups=groups, made=made).with_records_for(fitted, prices)
    task = TASK_OF[kind_of(fitted) or "regressor"]
    classes = np.asarray(fitted.classes_ if task == "classification" else ())
    score = choose_score_at_prices("scoring", scoring, task, classes, prices, predictor.feature_names)
    return measure_outages(score, fitted, rows, ExpectedCost(prices), sources=sources)


def measure_outages(
    score: str | LibraryScore, model: Any, rows: StudyRows, evaluator: ExpectedCost, *, sources: Any = None
) -> Outages:
    """Measure a fitted estimator on rows, as they are and without each of its sources; see `outages`.

    The evaluator has prices.
    """
    rows = _at_most(rows, _MOST_ROWS)
    copies, predictor = list(rows.completed()), model.predictor_
    left_out: tuple[str, ...] = ()
    prices = CostModel.of(evaluator.costs, predictor.feature_names)
    whole = measure_copies(score, model, copies, evaluator)
    if sources is None:
        groups, left_out = split_by_spending(list_groups(predictor, prices), whole.report)
    else:
        groups = groups_of_sources(sources, predictor, prices)
    in_money, each = objective_of(score).is_in_money, list[Outage]()
    for group in groups:
        without = evolve(evaluator, unavailable=tuple(sorted(group.features)))
        found = measure_copies(score, model, copies, without)
        error = _error(whole, found, in_money=in_money)
        each.append(Outage(group.name, group.features, found.score.score, error, found.cost.mean))
    scored = whole.score.score, whole.score.error, whole.cost.mean
    figures = Outages(str(score), in_money, prices.unit, prices_digest(prices), len(rows.y), *scored)
    return evolve(figures, each=tuple(sorted(each, key=figures.worth)), left_out=left_out)


def _error(whole: Measured, found: Measured, *, in_money: bool) -> float:
    """Return the standard error of the difference of two scores, or bills, on the same rows."""
    moved = [each.score.influence for each in (found, whole)]
    if in_money:
        moved = [of_bill(score, each.cost.influence) for score, each in zip(moved, (found, whole), strict=True)]
    first, second = moved
    assert first is not None  # noqa: S101 - both are of rows
    assert second is not None  # noqa: S101
    return difference_error(first, second)


def _at_most(rows: StudyRows, most: int) -> StudyRows:
    """Return every row, or every second, third, ... one or query, so that there are at most about a number of rows."""
    step = -(-len(rows.y) // most)
    if step <= 1:
        return rows
    number = np.arange(len(rows.y)) if rows.qid is None else np.unique(rows.qid, return_inverse=True)[1]
    return rows.take(np.flatnonzero(number % step == 0))
