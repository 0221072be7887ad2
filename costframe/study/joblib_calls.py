"""Calls of joblib that another thread waits for, while this one hears their events and looks at the clock."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn import config_context, get_config

from costframe.core.calls import Call
from costframe.core.errors import CostframeError, WorkersError
from costframe.study.events import FitAdvanced, FitTask, TaskFailed, WorkersFailed
from costframe.study.failures import FitError, TimeIsUp
from costframe.study.progress import Progress
from costframe.study.reports import Reporter

if TYPE_CHECKING:
    from sklearn.utils.parallel import Parallel

E = TypeVar("E")

_ENDING = 2.0  # seconds that the end waits for fits in threads, which end with the tree that they grow


def _do_nothing(_check_time: Callable[..., None]) -> None:
    """Begin nothing else."""


@contextlib.contextmanager
def run_calls(
    calls: Sequence[Any],
    parallel: Parallel,
    call: Call,
    events: queue.SimpleQueue[Any],
    ends: float,
    meanwhile: Callable[[Callable[..., None]], None] = _do_nothing,
) -> Iterator[None]:
    """Run calls by joblib until the end of the block, which ends what is left of them.

    Parameters
    ----------
    calls : sequence
        Delayed functions, whose outcomes are events; a `WorkersFailed` is the last one if an error ends them all.
    parallel : Parallel of joblib
    call : Call
        That parts in threads work for.
    ends : float
        When time is up, by the monotonic clock.
    meanwhile : callable
        What the other thread does while processes begin; it gets a progress that raises `TimeIsUp`.
    """
    waiting = calls, parallel, call, events, ends, meanwhile, get_config()
    waiter = threading.Thread(target=_wait_for_calls, args=waiting, daemon=True)
    waiter.start()
    try:
        yield
    finally:
        call.end()
        parallel.timeout = 0  # by which joblib ends what is left, and the processes that have it under way
        waiter.join()
        call.wait(_ENDING)


def next_event(events: queue.SimpleQueue[E], ends: float) -> E | None:
    """Return the next event; None if time is up first."""
    if (seconds := ends - time.monotonic()) <= 0:
        return None
    try:
        return events.get(timeout=min(seconds, threading.TIMEOUT_MAX))
    except queue.Empty:
        return None


def _wait_for_calls(
    calls: Sequence[Any],
    parallel: Parallel,
    call: Call,
    events: queue.SimpleQueue[Any],
    ends: float,
    meanwhile: Callable[[Callable[..., None]], None],
    settings: dict[str, Any],
) -> None:
    """Run calls, and report the events that they return, or the error that ended them all.

    Interrupts are for the caller's main thread: neither this one hears them, nor the processes that it begins.
    """

    def check_time(*_event: Any) -> None:
        if parallel.timeout == 0 or time.monotonic() > ends:
            raise TimeIsUp

    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # else joblib begins it below, which unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with config_context(**settings), call.parts():
            outcomes = parallel(iter(calls))
            meanwhile(check_time)
            for outcome in outcomes:
                events.put(outcome)
    except BaseException as error:  # noqa: BLE001 - the other thread raises it, or has ended this
        events.put(WorkersFailed(error))


def report_of(task: FitTask, reporter: Reporter) -> Progress:
    """Return a progress that reports each change of a task."""
    reported = [FitAdvanced(task, -1, 0, "")]

    def report(done: int, total: int, text: str) -> None:
        event = FitAdvanced(task, done, total, text)
        if event != reported[0]:
            reported[0] = event
            reporter.send(event)

    return report


def with_traceback(outcome: E) -> E:
    """Note the traceback of an error in a `TaskFailed`, which another process does not get otherwise."""
    if isinstance(outcome, TaskFailed):
        outcome.error.add_note("".join(traceback.format_exception(outcome.error)))
    return outcome


def error_of_lost(task: FitTask, error: BaseException, *, remote: bool) -> CostframeError:
    """Return the error of a task whose process or worker was lost; raise other errors."""
    if isinstance(error, BrokenExecutor):
        return FitError(f"algorithm {task.label!r}: its process was ended, perhaps for its memory")
    if remote and isinstance(error, Exception) and not isinstance(error, MemoryError):
        return WorkersError(f"algorithm {task.label!r}: its worker was lost, and others too: {error}")
    raise error
