"""An interrupt, or an error, ends a call at its next part, in all of its threads, and nothing goes on behind it."""

import signal
import threading
import time

import joblib
import numpy as np
import pytest

import costframe as cf
from costframe.core.calls import Call, CallEnded
from costframe.plugin import check_call, run_parallel

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(600) > 0).astype(int)
PARTS = 200


@pytest.fixture(autouse=True)
def heard():
    """Hear interrupts, which a run in the background of a shell ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    """Interrupt the main thread, as Ctrl-C does."""
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGINT)
    elif hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        pytest.skip("needs pthread_kill")


class Counter:
    """Counts parts, and interrupts, or raises, at one of them."""

    def __init__(self, error=None, at=5):
        self.error, self.at, self.count = error, at, 0
        self.ended = threading.Event()

    def __call__(self, *_):
        self.count += 1
        if self.count == self.at:
            if self.error is not None:
                raise self.error
            interrupt()
        elif self.count > self.at:
            self.ended.wait(0.02)  # long enough for the other thread to end the call

    def check(self, most):
        """Assert that few parts began later, and none does now."""
        begun = self.count
        assert self.at <= begun <= self.at + most
        time.sleep(0.05)
        assert self.count == begun


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("error", [None, ValueError("five")])
@pytest.mark.parametrize("nested", [False, True])
def test_no_further_part_begins(n_threads, error, nested):
    counter = Counter(error)

    def part(_):
        if nested:
            run_parallel(counter, range(PARTS), 2)
        else:
            counter()

    with pytest.raises(KeyboardInterrupt if error is None else ValueError):
        run_parallel(part, range(8 if nested else PARTS), n_threads)
    counter.check(3 * n_threads)


def test_the_error_of_the_first_part_that_failed_is_raised_and_an_interrupt_before_it():
    both = threading.Barrier(2)

    def fail(part):
        both.wait(60)
        raise (ValueError, KeyError)[part](part)

    with pytest.raises(ValueError, match="0"):
        run_parallel(fail, range(2), 2)

    def fail_and_interrupt(part):
        both.wait(60)
        raise (ValueError, KeyboardInterrupt)[part]

    with pytest.raises(KeyboardInterrupt):
        run_parallel(fail_and_interrupt, range(2), 2)


def test_parts_that_wait_for_others_are_stopped():
    stopped, waiting = threading.Event(), threading.Event()

    def part(number):
        if number:
            waiting.set()
            assert stopped.wait(60)
        else:
            assert waiting.wait(60)
            raise ValueError("zero")

    with pytest.raises(ValueError, match="zero"):
        run_parallel(part, range(2), 2, stopped.set)


def test_a_call_ends_with_the_one_that_it_is_part_of():
    outer = Call()
    with outer.parts():
        inner = Call()
    outer.end()
    assert inner.is_ended
    with inner.parts(), pytest.raises(CallEnded):
        check_call()
    check_call()  # this thread works for none


CALLS = {
    "predict": lambda model, rows: model.predict(rows),
    "cost": lambda model, rows: model.cost(rows, {"a": 1.0, "b": 1.0}),
    "predict_many": cf.predict_many,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [None, ValueError("five")])
def test_predictions_and_costs_end(call, error):
    if error is not None and call == "predict_many":
        pytest.skip("looks for the row that failed; the next test tries that")
    counter, counting = Counter(error), []

    def score(rows):
        if counting:
            counter()
        return rows[:, 0] - rows[:, 1]

    model = cf.adopt(score, ["a", "b"], features=["a", "b"])
    counting.append(True)
    with pytest.raises(KeyboardInterrupt if error is None else ValueError):
        CALLS[call](model, np.zeros((4096 * 32, 2)))
    counter.check(6)


def test_a_row_that_fails_is_found_without_predicting_all_one_by_one():
    single = []

    def score(rows):
        if len(rows) == 1:
            single.append(1)
        if (rows[:, 0] == 7).any():
            raise ValueError("seven")
        return rows[:, 0] - rows[:, 1]

    model, rows = cf.adopt(score, ["a", "b"], features=["a", "b"]), np.zeros((20_000, 2))
    rows[9000, 0] = 7
    single.clear()
    with pytest.raises(ValueError, match="seven") as raised:
        cf.predict_many(model, rows)
    assert "row 9000" in "".join(raised.value.__notes__)
    assert len(single) <= 4096


@pytest.mark.parametrize("kind", ["Miser", "CEGB", "Cronus", "Planner", "BudgetRF"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_end(kind, n_jobs, monkeypatch):
    counter = Counter(at=3)

    def counted(function):
        def call(*arguments):
            counter()
            return function(*arguments)

        return call

    from costframe import engine
    from costframe_budgetforest import forest

    for name in ("grow", "add_rounds", "boost_many"):
        monkeypatch.setattr(engine, name, counted(getattr(engine, name)))
    monkeypatch.setattr(forest, "grow_budget_tree", counted(forest.grow_budget_tree))
    with pytest.raises(KeyboardInterrupt):
        getattr(cf, f"{kind}Classifier")(n_jobs=n_jobs).fit(X, Y)
    counter.check(4)


@pytest.mark.parametrize("backend", [None, "threading"])
def test_studies_end_and_none_of_their_threads_goes_on(backend):
    counter = Counter(at=4)

    def score(_y, _p):
        counter()
        return 0.5

    models = {name: cf.MiserClassifier(n_estimators=50, scoring=score) for name in "abcd"}
    with pytest.raises(KeyboardInterrupt), joblib.parallel_config(backend or "sequential"):
        cf.Frontier.fit(models, X, Y, n_jobs=2 if backend else 1, tradeoffs=[0.0, 0.1])
    counter.check(4)
