"""A study of estimators and fitted models that the caller gives, on rows that the caller gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.study.candidates import candidates_of, task_of
from costframe.study.common_prices import common_prices
from costframe.study.division import Division, StudyData
from costframe.study.failures import UnfinishedError
from costframe.study.fitted import StudyResult
from costframe.study.learning_candidates import gaps_of_rows, notes_on, with_gaps, with_learning
from costframe.study.processes import by_joblib
from costframe.study.progress import Progress
from costframe.study.score_choice import choose_score_at_prices
from costframe.study.settings import StudySettings
from costframe.study.study import Study
from costframe.study.study_run import fit_study


def fit_estimators(
    estimators: Any,
    rows: StudyData,
    costs: object,
    settings: StudySettings,
    *,
    progress: Progress | None,
    failed: Callable[[str, CostframeError], None] | None,
) -> StudyResult:
    """Fit estimators, and estimate their scores and costs; `costs` are the prices of those that have none."""
    candidates = candidates_of(estimators)
    task = task_of(candidates, has_queries=rows.train.qid is not None)
    prices = common_prices(costs, candidates, rows.train.X)
    classes = rows.train.list_classes() if task == "classification" else np.empty(0)
    score = choose_score_at_prices("scoring", settings.scoring, task, classes, prices.costs, prices.names)
    rows = rows.with_records(prices, by_class=task != "regression")
    division = Division.of_rows(
        rows,
        cv=settings.cv,
        share=settings.validation_fraction,
        seed=settings.random_state,
        classes=task == "classification",
    )
    gaps = gaps_of_rows(division.train, prices.costs)
    priced = with_learning([candidate.priced(prices) for candidate in candidates], division.train)
    priced = with_gaps(priced, gaps, division.train)
    study = Study(priced, division, score, settings.plan, time_limit=settings.time_limit)
    failed = _skip_late if failed is None and settings.time_limit is not None else failed
    fits = fit_study(study, by_joblib(settings.n_jobs), progress=progress, failed=failed)
    if not fits:
        raise UnfinishedError(
            f"time_limit: {settings.time_limit:g} s passed before the first fit ended; give more time, fewer rows, "
            "cv=0, or smaller estimators"
        )
    return StudyResult(fits, str(score), prices.costs.unit, prices.full_cost, notes_on(gaps))


def _skip_late(_algorithm: str, error: CostframeError) -> None:
    """Raise an error of a fit, but not that it was late."""
    if not isinstance(error, UnfinishedError):
        raise error
