"""The search of feature sets by quick fits on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from costframe import CostframeError
from costframe.plugin import F8, Rows
from costframe.sets import SetArchive
from costframe.trees import BoostedFolds, Scorer
from costframe_planner.problem import Problem

_QUICK_ROWS = 8_000
_FEW_ROWS = 2_000
_FOR_FEW, _FOR_MANY = (8, 0.2, 40), (16, 0.28, 28)  # leaves, step and rounds of quick fits, for few rows and for many
# Where all rounds lose so much of the gain of all features to noise, cheap sets would seem to gain nothing: quick fits
# stop at their best round, with this patience
_LOST_TO_NOISE, _QUICK_PATIENCE = 1 / 8, 10
_FOR_BILLS = 4, 0.1, 40  # quick fits on few rows, where the search is by bill and without patience
_JUDGED = 3  # held-out folds of quick fits on few rows; one fold for many rows


def search_sets(problem: Problem, progress: Callable[[float], None], scorer: Scorer | None) -> SetArchive:
    """Search sets of features by quick fits on a sample of the rows."""
    data, rows, fold, half_of, stakes = problem.sample(_QUICK_ROWS)
    few, folds = len(rows) <= _FEW_ROWS, np.unique(fold).tolist()
    judged = folds[: _JUDGED if few else 1]
    shape = _FOR_FEW if problem.n_rows <= _FEW_ROWS else _FOR_MANY
    if stakes is not None and few:
        shape, judged = _FOR_BILLS, folds  # bills of few rows are noisy

    def loss(n_rounds: int, patience: int | None) -> float:
        """Return the loss of a quick fit on all features."""
        trees = problem.trees(*shape[:2], n_rounds, patience)
        return BoostedFolds.fit(data, rows, problem.loss, fold, trees, judged=judged).loss

    def is_noisy() -> bool:
        nothing, best, every = loss(0, None), loss(shape[2], shape[2]), loss(shape[2], None)
        return every - best > _LOST_TO_NOISE * (nothing - best)

    at = np.flatnonzero(np.isin(fold, judged))
    archive = SetArchive(
        data,
        rows,
        problem.loss,
        fold,
        half_of,
        tuple(judged),
        problem.prices,
        problem.trees(*shape, _QUICK_PATIENCE if stakes is None and is_noisy() else None),
        problem.n_threads,
        None if stakes is None else stakes.take(at).losses,
        None if scorer is None else partial(_score_held_out, problem, rows.take(at), scorer),
    )
    archive.search(problem.settings.max_tries, lambda share: progress(0.4 * share))
    return archive


def _score_held_out(problem: Problem, rows: Rows, scorer: Scorer, scores: F8) -> float:
    """Return the score of some rows, given their out-of-fold scores (n, K); NaN where they lack a class, say."""
    try:
        return scorer(problem.held_out(rows, scores))
    except CostframeError:
        return np.nan
