"""A sweep over algorithms: one after another, or side by side in processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from costframe.core.errors import CostframeError
from costframe.core.threads import thread_count
from costframe.frontier.checks import FitError, plugin_of
from costframe.frontier.tradeoffs import fit_all
from costframe.frontier.trial import silent, trial_maker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.queues import SimpleQueue

    from costframe.datasets import Dataset
    from costframe.frontier.trial import Fitted, Progress

__all__ = ["Sweep", "end_with_parent", "fit_each", "process_count"]

_CELLS = 2_000_000  # with more cells, threads of one fit keep all cores busy, and copies of the table cost memory
_PATIENCE = 0.1  # seconds between looks at the progress of processes


@frozen(eq=False)
class Sweep:
    """What is the same for all algorithms of a sweep; the arguments are those of `Frontier.sweep`."""

    data: Dataset
    score: str
    tradeoffs: Sequence[float] | None = None
    points: int | None = None
    budget: float | None = None
    folds: int | None = None
    parameters: Mapping[str, Any] = field(factory=dict)


@frozen(eq=False)
class _Total:
    """The progress of all algorithms in one: those that have not begun count like the mean of the others."""

    progress: Progress
    n_algorithms: int
    _each: dict[str, tuple[int, int]] = field(factory=dict, init=False)

    def of(self, name: str) -> Progress:
        """Return the progress of one algorithm."""

        def report(done: int, total: int, text: str) -> None:
            self._each[name] = done, total
            done, total = (sum(one[k] for one in self._each.values()) for k in (0, 1))
            self.progress(done, round(total * self.n_algorithms / len(self._each)), text)

        return report


def process_count(data: Dataset, names: Sequence[str]) -> int:
    """Return the number of processes that fit algorithms quickest: 1 for large tables, and with plugins of others.

    These may be known to this process only.
    """
    cells = len(data.part("train").X) * len(data.feature_names)
    if cells > _CELLS or not all("(costframe " in plugin_of(name) for name in names):
        return 1
    return min(thread_count(), len(names))


def fit_each(
    sweep: Sweep, names: Sequence[str], progress: Progress | None = None, n_processes: int = 1
) -> Iterator[tuple[str, list[Fitted] | CostframeError]]:
    """Fit algorithms; yield the name of each with its models, or with the error that ended it, in any order.

    Raises
    ------
    MemoryError
    """
    total = _Total(progress or silent, len(names))
    if min(n_processes, len(names)) > 1:
        yield from _side_by_side(sweep, names, total, n_processes)
        return
    make_trial = trial_maker(sweep.data, sweep.score, sweep.folds, sweep.parameters)
    for name in names:
        try:
            yield name, fit_all(make_trial(name), sweep.tradeoffs, sweep.points, sweep.budget, total.of(name))
        except CostframeError as error:
            yield name, error


def _side_by_side(
    sweep: Sweep, names: Sequence[str], total: _Total, n_processes: int
) -> Iterator[tuple[str, list[Fitted] | CostframeError]]:
    # New processes rather than forks: threads and locks of this one would be missing or held there.
    context = multiprocessing.get_context("spawn")
    events, before = context.SimpleQueue(), set(multiprocessing.active_children())
    with ProcessPoolExecutor(n_processes, context, _begin, (sweep, events)) as pool:
        try:
            with _without_interrupts():
                fits = {pool.submit(_fit, name): name for name in names}
            waiting = set(fits)
            while waiting:
                ended, waiting = wait(waiting, _PATIENCE, FIRST_COMPLETED)
                while not events.empty():
                    name, event = events.get()
                    total.of(name)(*event)
                for fit in ended:
                    try:
                        yield fits[fit], fit.result()
                    except CostframeError as error:
                        yield fits[fit], error
                    except BrokenProcessPool:
                        raise FitError(
                            f"algorithm {fits[fit]!r}: its process was ended, perhaps for its memory"
                        ) from None
        except BaseException:  # also an interrupt, and a caller that wants no more
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise


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
    _here.update(
        sweep=sweep, events=events, make_trial=trial_maker(sweep.data, sweep.score, sweep.folds, sweep.parameters)
    )


def end_with_parent() -> None:
    """End this process when the one that it works for is gone, also if that was killed; it would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this is no main process

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _fit(name: str) -> list[Fitted]:
    sweep: Sweep = _here["sweep"]

    def report(*event: Any) -> None:
        _here["events"].put((name, event))

    return fit_all(_here["make_trial"](name), sweep.tradeoffs, sweep.points, sweep.budget, report)
