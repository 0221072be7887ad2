"""The score of a study: the one that the caller names, the cost of errors, or the task's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import DataError
from costframe.core.plugins.entries import TASKS
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset
from costframe.training.library_scores import LibraryScore
from costframe.training.query_scores import QueryScore
from costframe.training.scoring import SHORT_NAMES, check_fitting, default_score, error_cost, resolve_score

if TYPE_CHECKING:
    from costframe.datasets.large_tables import LargeDataset

TASK_OF = {kind: task for task, kind in TASKS.items()}  # by the kind of an estimator


def choose_score(parameter: str, score: Any, task: str, n_classes: int) -> str | LibraryScore:
    """Return the score to use, by default the task's own; refuse a score that the task does not have."""
    chosen = default_score(task, n_classes) if score is None else resolve_score(score, parameter)
    check_fitting(parameter, chosen, task, n_classes)
    return SHORT_NAMES.get(chosen, chosen) if isinstance(chosen, str) else chosen


def choose_error_cost(costs: CostModel, task: str, classes: NDArray[Any] | None, names: Sequence[str]) -> LibraryScore:
    """Return the cost of errors as a score; refuse prices for another task or other classes."""
    assert costs.errors is not None  # noqa: S101 - callers look
    costs.errors.check_kind(TASKS[task], classes, names)
    return error_cost(costs.errors, names)


def choose_score_at_prices(
    parameter: str, score: Any, task: str, classes: NDArray[Any], costs: CostModel, names: Sequence[str]
) -> str | LibraryScore:
    """Return the score to use: by default the cost of errors where prices have errors, else the task's own.

    Parameters
    ----------
    parameter : str
        Begins errors of `score`.
    score : str, callable or None
        What a caller gives.
    task : {"classification", "regression", "ranking"}
    classes : array (K,)
        Labels of a classification.
    costs : CostModel
    names : sequence of str
        Columns of the rows to score.
    """
    if score is None and costs.errors is not None:
        return choose_error_cost(costs, task, classes if task == "classification" else None, names)
    return choose_score(parameter, score, task, max(len(classes), 2) if task == "classification" else 0)


def check_score(data: Dataset | LargeDataset, score: Any) -> str | LibraryScore:
    """Return the score to use for a data set, by default the task's own; errors are those of `_check_parts`."""
    name = choose_score("score", score, data.task, len(data.classes))
    _check_parts(data, name)
    return name


def _check_parts(data: Dataset | LargeDataset, name: str | LibraryScore) -> None:
    """Refuse data that lack rows of some class, or grade, that a score needs."""
    needs_both = str(name) in {"average_precision", "f1"} and len(data.classes) == 2
    for part in ("valid", "test") if needs_both or str(name).startswith("roc_auc") else ():
        absent = set(data.classes) - set(np.unique(data.part(part).y).tolist())
        if absent:
            raise DataError(f"{data.name}: class {min(absent)!r} has no row in {part!r}, so there is no {name}")
    if by_query := QueryScore.named(name):
        for part in ("valid", "test"):
            by_query.check_grades(data.part(part).y, f"{data.name}, {part!r}")


def choose_score_of_study(data: Dataset, score: Any) -> str | LibraryScore:
    """Return the score to use for a study of a data set, as `choose_score_at_prices` does.

    It refuses rows of any part in which the value of a column cannot be a price, and data that lack what the score
    needs, before anything is fitted.
    """
    chosen = choose_score_at_prices("score", score, data.task, np.array(data.classes), data.costs, data.feature_names)
    if score is None and data.costs.errors is not None:
        data.costs.errors.check_rows(data.X, data.feature_names, data.name)
    else:
        _check_parts(data, chosen)
    return chosen
