"""Threads and processes: results do not depend on them, errors arrive, nothing hangs."""

import multiprocessing
import sys
import threading
import time

import numpy as np
import pytest

import costframe as cf
from costframe.plugin import ParameterError, TreeTable, run_parallel, thread_count


def predictor():
    tree = TreeTable.single([0, -1, 1, -1, -1], [0.1, 0, 0.2, 0, 0], [1, 0, 0, 0, 0], [1, -1, 3, -1, -1],
                            [2, -1, 4, -1, -1], np.array([0, 1.5, 0, 2.25, -1]))  # fmt: skip
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([tree] * 20), ["a", "b"])
    return cf.StageTree(bank, (cf.Answer(np.arange(20), np.full(20, 0.1), [0.0]),))


def test_parts_come_back_in_order_errors_are_raised_and_work_may_be_nested():
    def inner(part):
        return sum(run_parallel(lambda x: x, range(part), 2))

    assert run_parallel(inner, range(50), 4) == [sum(range(part)) for part in range(50)]

    def fail(part):
        if part == 7:
            raise ValueError("seven")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="seven"):
        run_parallel(fail, range(20), 3)
    assert (thread_count(3), thread_count(-1), thread_count(-100)) == (3, thread_count(None), 1)


@pytest.mark.parametrize("kind", ["MiserClassifier", "CEGBRanker", "BudgetRFClassifier", "PlannerClassifier"])
def test_predictions_use_the_threads_of_the_estimator(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X, rows, helpers = rng.normal(size=(200, 2)), rng.normal(size=(20_000, 2)), []
    ranks = {"qid": np.arange(200) // 10} if kind == "CEGBRanker" else {}
    model = getattr(cf, kind)(n_estimators=3).fit(X, (X[:, 0] > 0).astype(int), **ranks)
    monkeypatch.setattr("costframe.core.machine._submit", lambda _work, size, *_: helpers.append(size))
    methods = [name for name in ("predict", "predict_proba", "decision_function", "cost") if hasattr(model, name)]
    for n_jobs, expected in ((1, []), (3, [2])):
        model.set_params(n_jobs=n_jobs)
        for name in methods:
            helpers.clear()
            getattr(model, name)(rows)
            assert sorted(set(helpers)) == expected, name
    with pytest.raises(ParameterError, match="n_jobs: expected a whole number other than 0"):
        model.set_params(n_jobs=0).predict(rows)


def test_results_do_not_depend_on_threads_nor_on_other_calls():
    model, X = predictor(), np.random.default_rng(0).standard_normal((30_000, 2))
    one, three = (cf.ExpectedCost().evaluate(model, X, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert np.array_equal(one.per_row, three.per_row)
    assert (one.mean, one.by_feature) == (three.mean, three.by_feature)
    expected, found = model.predict(X, n_jobs=1), []
    threads = [threading.Thread(target=lambda: found.append(model.predict(X, n_jobs=3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert [np.array_equal(values, expected) for values in found] == [True] * 4


def _in_child(queue):
    queue.put(predictor().predict(np.zeros((10_000, 2))).sum())


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_predicts():
    expected = predictor().predict(np.zeros((10_000, 2)), n_jobs=2).sum()  # the parent has its threads by now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=600) == expected
    child.join(timeout=600)
