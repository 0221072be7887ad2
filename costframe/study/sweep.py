"""A study of algorithms on a data set, perhaps in a folder that a later one resumes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import field, frozen

from costframe.core.errors import CostframeError
from costframe.core.machine import thread_count
from costframe.datasets import Dataset
from costframe.datasets.record_gaps import gaps_of
from costframe.records.guard import Gaps
from costframe.study.algorithms import choose_algorithms
from costframe.study.constant import fit_constant
from costframe.study.division import Division
from costframe.study.entrants import Entrant, references_of
from costframe.study.fitted import Fitted, StudyResult
from costframe.study.learning_candidates import notes_on, with_gaps, with_learning
from costframe.study.objective import objective_of
from costframe.study.processes import by_cluster, by_processes, process_count
from costframe.study.progress import Progress
from costframe.study.run_folder import describe_run, hold_alone, open_run
from costframe.study.score_choice import choose_score_of_study
from costframe.study.settings import StudyPlan
from costframe.study.store import Store
from costframe.study.study import Study
from costframe.study.study_run import StudyRun, fit_study
from costframe.training.cluster.fitting import open_client


@frozen(eq=False)
class Sweep:
    """Algorithms to fit on a data set; `Frontier.sweep` describes the arguments of `of`."""

    data: Dataset
    study: Study
    cv: Any
    parameters: Mapping[str, Any]
    has_references: bool
    unfit: Mapping[str, CostframeError]  # algorithms of the task that the data do not fit
    gaps: Gaps = field(factory=Gaps)  # of the records in train
    has_constant: bool = False  # whether it has one without further references, too

    @classmethod
    def of(
        cls,
        data: Dataset,
        algorithms: Iterable[str] | None,
        plan: StudyPlan,
        *,
        score: Any,
        cv: Any,
        parameters: Mapping[str, Any],
        directory: Path | None,
        time_limit: float | None,
        has_references: bool,
        has_constant: bool = False,
    ) -> Sweep:
        """Choose score, algorithms and folds; refuse what the data do not fit."""
        chosen = choose_score_of_study(data, score)
        names, unfit = choose_algorithms(data.task, algorithms, len(data.classes))
        entrants, division = [Entrant.of(name, data, parameters) for name in names], Division.of_data(data, cv)
        entrants = with_learning(entrants, division.train)
        entrants += references_of(data, names, parameters) if has_references else []
        gaps = gaps_of(data, "train") if division.train.lacks_tests else Gaps()
        entrants = with_gaps(entrants, gaps, division.train)
        study = Study(entrants, division, chosen, plan, Store(directory, data.decimal), time_limit)
        return cls(data, study, cv, parameters, has_references, unfit, gaps, has_constant)

    def fit(
        self,
        *,
        progress: Progress | None,
        failed: Callable[[str, CostframeError], None] | None,
        show: Callable[[StudyRun], None] | None,
        n_jobs: int | None,
        cluster: Any,
        resume: bool,
    ) -> StudyResult:
        """Fit all, and keep others out of the folder until the end; `show` is that of `fit_study`."""
        if failed is not None:
            for name, error in self.unfit.items():
                failed(name, error)
        with contextlib.ExitStack() as stack:
            if (directory := self.study.store.directory) is not None:
                described = describe_run(self.data, self.study.score, self.cv, self.parameters)
                stack.enter_context(hold_alone(directory))
                open_run(directory, described, resume=resume)
            client = None if cluster is None else stack.enter_context(open_client(cluster))
            count = self._count_processes(n_jobs)
            fits = fit_study(
                self.study,
                by_cluster(client) if client is not None else by_processes(count) if count else None,
                progress=progress,
                failed=failed,
                show=show,
                remote=client is not None,
            )
        return self.result(fits)

    def _count_processes(self, n_jobs: int | None) -> int:
        """Return the number of processes beside this one."""
        count = process_count(self.study) if n_jobs is None else 0 if n_jobs == 1 else thread_count(n_jobs)
        return min(count, len(self.study.tasks()))

    def result(self, fits: list[Fitted]) -> StudyResult:
        """Return fits, with the constant where all are first looks, or it is asked for and no fit reads nothing."""
        has_first_looks_only = all(fitted.point.is_first_look for fitted in fits)
        # to buy nothing may be the least bill
        is_asked = self.has_references or self.has_constant or objective_of(self.study.score).is_in_money
        if has_first_looks_only or (is_asked and all(fitted.point.n_features for fitted in fits)):
            fits = [*fits, self._constant]
        return StudyResult(fits, str(self.study.score), self.data.costs.unit, self.data.full_cost, notes_on(self.gaps))

    @cached_property
    def _constant(self) -> Fitted:
        return fit_constant(self.data, self.study.score, self.study.rows.folds)
