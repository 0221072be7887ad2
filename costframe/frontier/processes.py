"""The tasks of a sweep side by side, in processes that end with this one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostframeError
from costframe.frontier.checks import FitError
from costframe.frontier.tasks import LATE, UnfinishedError, fit_task, make_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.queues import SimpleQueue

    from costframe.frontier.finished import Fitted
    from costframe.frontier.tasks import Sweep, Task, Total

    Outcome = tuple[str, list[Fitted] | CostframeError]

__all__ = ["end_with_parent", "fit_side_by_side"]

_PATIENCE = 0.1  # seconds between looks at the progress of processes


def fit_side_by_side(
    sweep: Sweep, tasks: Sequence[Task], total: Total, n_processes: int, kept: Callable[[], None]
) -> Iterator[Outcome]:
    """Fit tasks in processes; yield as `fit_each` does."""
    context = _OwnProcesses()
    events = context.SimpleQueue()
    with ProcessPoolExecutor(min(n_processes, len(tasks)), context, _begin, (sweep, events)) as pool:
        try:
            with _without_interrupts():
                fits = {pool.submit(_fit, task): task for task in tasks}
            waiting = set(fits)
            while waiting and time.monotonic() < sweep.ends:
                ended, waiting = wait(waiting, _PATIENCE, FIRST_COMPLETED)
                while not events.empty():
                    task, event = events.get()
                    if event is None:
                        kept()
                    else:
                        total.of(task)(*event)
                for fit in ended:
                    total.end(fits[fit])
                    yield from _outcome(fits[fit], fit)
            if waiting:
                yield from ((fits[fit].name, UnfinishedError(LATE)) for fit in waiting)
                context.end()
        except BaseException:  # also an interrupt, and a caller that wants no more
            context.end()
            raise


class _OwnProcesses(SpawnContext):
    """Begins new processes rather than forks, in which threads and locks of this one would be missing or held."""

    def __init__(self) -> None:
        super().__init__()
        self._begun: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        self._begun.append(SpawnProcess(*arguments, **named))
        return self._begun[-1]

    def end(self) -> None:
        """End the processes that it began, and no others of this one."""
        for process in self._begun:
            if process.pid is not None:  # else the system refused it
                process.terminate()


def _outcome(task: Task, fit: Any) -> Iterator[Outcome]:
    try:
        yield task.name, fit.result()
    except CostframeError as error:
        if not task.first_look:
            yield task.name, error
    except BrokenProcessPool:
        raise FitError(f"algorithm {task.name!r}: its process was ended, perhaps for its memory") from None


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that ignore interrupts, which are for this one: it ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_here: dict[str, Any] = {}  # of a process that fits for another one


def _begin(sweep: Sweep, events: SimpleQueue[Any]) -> None:
    end_with_parent()
    make = make_trials(sweep, lambda: events.put((None, None)))
    _here.update(sweep=sweep, events=events, make_trial=make)


def end_with_parent() -> None:
    """End this process when the one that it works for is gone, also if that was killed; it would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this is no main process

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _fit(task: Task) -> list[Fitted]:
    sweep: Sweep = _here["sweep"]

    def report(*event: Any) -> None:
        _here["events"].put((task, event))

    return fit_task(sweep, _here["make_trial"](task), report)
