"""What each row adds to the worth of a model, its score or minus its bill, in completed copies of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.cost.expected import ExpectedCost
from costframe.study.objective import objective_of
from costframe.study.rows import StudyRows
from costframe.training.influences import influence
from costframe.training.library_scores import LibraryScore
from costframe.training.scoring import score_named, with_labels


def row_worths(score: str | LibraryScore, model: Any, copies: Sequence[StudyRows]) -> F8:
    """Return what each row adds to a model's worth in each completed copy: float64 (n, M).

    The sum of a column is the score of the copy, less the mean cost where scores are minus the cost of errors. For a
    mean over rows each adds its own part; for other scores it is the row's influence, and an equal share of the score.
    """
    return np.column_stack([_in_copy(score, model, copy) for copy in copies])


def _in_copy(score: str | LibraryScore, model: Any, rows: StudyRows) -> F8:
    predictor = model.predictor_.of_queries(rows.qid)
    report = ExpectedCost(model.costs_).evaluate(predictor, rows.X, sample_weight=rows.weight)
    assert report.predictions is not None  # noqa: S101 - routing is hard
    y, name = rows.codes(model), with_labels(score, getattr(model, "classes_", None), rows.X)
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    share = weight / weight.sum()
    moved = influence(name, y, report.predictions, rows.weight, rows.qid)
    if (weight == np.floor(weight)).all():  # of which `influence` makes repeated rows
        moved = moved * np.sqrt(np.maximum(weight, 1.0))
    value = score_named(name)(y, report.predictions, rows.weight, rows.qid)
    worths = moved + (value - moved.sum()) * share
    return np.asarray(worths - share * report.per_row if objective_of(score).is_in_money else worths)
