"""A study under way: what it makes of events, and whom it tells."""

import numpy as np
import pytest
from frontier_cases import COSTS, point, some_rows

import costframe as cf
from costframe.errors import PluginError, UnfinishedError
from costframe.plugin import DataError
from costframe.study.division import Division
from costframe.study.entrants import Entrant
from costframe.study.events import FirstLookTaken, FitAdvanced, FitsStored, FitTask, TaskEnded, TaskFailed
from costframe.study.failures import LATE
from costframe.study.fitted import Fitted
from costframe.study.progress import TotalProgress
from costframe.study.study import Study
from costframe.study.study_run import StudyRun

DATA = cf.datasets.Dataset.from_arrays(*some_rows(), COSTS, feature_names=["a", "b", "c", "d"], task="classification")


def a_run(*, failed=None, show=None, told=None):
    entrants = [Entrant.of(name, DATA, {}) for name in ("cegb", "miser")]
    entrants.append(Entrant.of("boosting", DATA, {}, reference="boosting-all"))
    study = Study(entrants, Division.of_data(DATA, 0), "roc_auc")
    progress = TotalProgress(lambda *event: None if told is None else told.append(event), 3, "the plan")
    return StudyRun(study, progress, failed, show)


def fits(algorithm, *scores):
    return [Fitted(point(score, 1.0, algorithm=algorithm), None) for score in scores]


def test_fits_come_in_the_order_of_candidates_whichever_task_ends_first():
    told = []
    run = a_run(told=told)
    run.hear(FitAdvanced(FitTask("miser"), 1, 2, "a fit"))
    run.hear(TaskEnded(FitTask("miser"), fits("miser", 0.7, 0.8)))
    run.hear(TaskEnded(FitTask("cegb"), fits("cegb", 0.6)))
    assert [fitted.point.algorithm for fitted in run.result()] == ["cegb", "miser", "miser"]
    assert [done for done, _, _ in told] == [50, 100, 200]  # of 300


def test_a_first_look_is_shown_until_a_fit_ends_and_references_alone_never_are():
    shown = []
    run = a_run(show=lambda run: shown.append([fitted.point.algorithm for fitted in run.fits()]))
    run.hear(TaskEnded(FitTask("boosting-all"), fits("boosting-all", 0.9)))
    run.hear(FitsStored())
    assert shown == []
    run.hear(FirstLookTaken(fits("cegb", 0.5)))
    run.hear(TaskEnded(FitTask("miser"), fits("miser", 0.7)))
    run.hear(FitsStored())
    assert shown == [["cegb", "boosting-all"], ["miser", "boosting-all"]]


def test_an_error_is_told_or_raised_but_not_that_of_a_reference():
    failures, error = [], DataError("rows lack a class")
    with pytest.raises(DataError, match="lack a class"):
        a_run().hear(TaskFailed(FitTask("cegb"), error))
    run = a_run()
    run.hear(TaskFailed(FitTask("boosting-all"), error))
    run.hear(TaskFailed(FitTask("cegb", first_look=True), error))
    run.hear(TaskEnded(FitTask("cegb"), fits("cegb", 0.6)))
    assert len(run.result()) == 1
    run = a_run(failed=lambda *failure: failures.append(failure))
    for label in ("miser", "cegb"):
        run.hear(TaskFailed(FitTask(label), DataError(f"{label} failed")))
    assert [label for label, _ in failures] == ["miser", "cegb"]
    with pytest.raises(PluginError, match=r"nothing could be fitted: algorithm 'cegb': .*; algorithm 'miser': "):
        run.result()


def test_where_time_was_up_there_is_the_first_look():
    run = a_run()
    run.hear(FirstLookTaken(fits("cegb", 0.5)))
    for label in ("cegb", "miser", "boosting-all"):
        run.hear(TaskFailed(FitTask(label), UnfinishedError(LATE)))
    assert [fitted.point.score for fitted in run.result()] == [0.5]
    assert np.isinf(run.study.ends)
