"""Threads and processes: results do not depend on them, errors arrive, nothing hangs."""

import multiprocessing
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.threads import run_parallel, thread_count


def predictor():
    tree = TreeTable.single([0, -1, 1, -1, -1], [0.1, 0, 0.2, 0, 0], [1, 0, 0, 0, 0], [1, -1, 3, -1, -1],
                            [2, -1, 4, -1, -1], np.array([0, 1.5, 0, 2.25, -1]))  # fmt: skip
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([tree] * 20), ["a", "b"])
    return cf.StageTree(bank, (cf.Answer(np.arange(20), np.full(20, 0.1), [0.0]),))


def test_parts_come_back_in_order_and_errors_are_raised():
    assert run_parallel(lambda x: x * x, range(50), 4) == [x * x for x in range(50)]

    def fail(part):
        if part == 7:
            raise ValueError("seven")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="seven"):
        run_parallel(fail, range(20), 3)


def test_parallel_work_may_start_parallel_work():
    def inner(part):
        return sum(run_parallel(lambda x: x, range(part), 2))

    assert run_parallel(inner, range(12), 2) == [sum(range(part)) for part in range(12)]


def test_thread_counts():
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    assert thread_count(-1) == thread_count(None)
    assert thread_count(-100) == 1


@pytest.mark.parametrize(
    "model",
    [
        cf.MiserClassifier(n_estimators=3), cf.CEGBRegressor(n_estimators=3), cf.CEGBRanker(n_estimators=3),
        cf.BudgetRFClassifier(n_estimators=3), cf.PlannerClassifier(n_estimators=3), cf.AdaptClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_predictions_use_the_threads_of_the_estimator(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y, rows, helpers = (X[:, 0] > 0).astype(int), rng.normal(size=(20_000, 2)), []
    ranks = {"qid": np.arange(200) // 10} if model.kind == "ranker" else {}
    model.fit(X, y, **ranks)
    monkeypatch.setattr("costframe.core.threads._submit", lambda _work, size, _count: helpers.append(size) or [])
    methods = [name for name in ("predict", "predict_proba", "decision_function", "cost") if hasattr(model, name)]
    for n_jobs, expected in ((1, []), (3, [2])):
        model.set_params(n_jobs=n_jobs)
        for name in methods:
            helpers.clear()
            getattr(model, name)(rows)
            assert sorted(set(helpers)) == expected, name
    if ranks:
        helpers.clear()
        model.score(rows, np.ones(len(rows)))
        assert set(helpers) == {2}
    with pytest.raises(ParameterError, match="n_jobs: expected a whole number other than 0"):
        model.set_params(n_jobs=0).predict(rows)


def test_results_do_not_depend_on_threads():
    model, X = predictor(), np.random.default_rng(0).standard_normal((30_000, 2))
    costs = cf.CostModel.uniform(["a", "b"])
    one = cf.ExpectedCost(costs).evaluate(model, X, n_jobs=1)
    three = cf.ExpectedCost(costs).evaluate(model, X, n_jobs=3)
    assert np.array_equal(model.predict(X, n_jobs=1), model.predict(X, n_jobs=3))
    assert np.array_equal(one.per_row, three.per_row)
    assert (one.mean, one.by_feature) == (three.mean, three.by_feature)


def test_two_threads_predict_at_once():
    model, X = predictor(), np.random.default_rng(0).standard_normal((20_000, 2))
    expected, found = model.predict(X), [None] * 4

    def work(number):
        found[number] = model.predict(X)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert all(np.array_equal(values, expected) for values in found)


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


def test_kernels_work_where_nothing_can_be_cached():
    """For a function without a file numba finds no place to cache, and raises."""
    code = "from costframe.core.jit import kernel\ndef add_one(x): return x + 1\nprint(kernel(add_one)(1))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "2"


def test_work_inside_parallel_work_is_not_kept_until_the_outer_one_ends():
    class Part:
        pass

    def outer(_):
        kept = []
        for _ in range(5):
            parts = [Part(), Part()]
            kept += [weakref.ref(part) for part in parts]
            run_parallel(id, parts, 2)
        del parts
        return sum(part() is not None for part in kept)

    both_run = threading.Barrier(2)
    assert run_parallel(lambda part: (both_run.wait(10), outer(part), both_run.wait(10))[1], range(2), 2) == [0, 0]
