"""A sweep over algorithms: one after another, or side by side in processes, until all are fitted or time is up."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostframeError
from costframe.core.plugins.registry import registry
from costframe.core.threads import thread_count
from costframe.frontier.checks import joint_error, keep_successes
from costframe.frontier.clusters import fit_over_cluster
from costframe.frontier.constant import fit_constant
from costframe.frontier.finished import FinishedFits, MeasuredFits, join_fits
from costframe.frontier.processes import fit_side_by_side
from costframe.frontier.tasks import LATE, Total, UnfinishedError, fit_task, make_trials
from costframe.frontier.trial import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from costframe.frontier.finished import Fitted
    from costframe.frontier.tasks import Sweep
    from costframe.frontier.trial import Progress

    Outcome = tuple[str, list[Fitted] | CostframeError]

__all__ = ["collect_fits", "fit_each", "process_count"]

_CELLS = 2_000_000  # with more cells, threads of one fit keep all cores busy, and copies of the table cost memory


class _TimeIsUp(BaseException):
    """The end of a fit in this process."""


def process_count(sweep: Sweep, names: Sequence[str]) -> int:
    """Return the number of processes that fit algorithms quickest; 0 is this one alone, for large tables.

    Only the fits of another process can be ended at any moment, so sweeps with a time limit have at least one. Plugins
    of others may have models that cannot go to another process, so they need fits that are kept as files; those that
    are not installed are known to this process only.
    """
    points, kept = [registry().owners.get(name) for name in names], sweep.directory is not None
    owners = {None if point is None or point.dist is None else point.dist.name for point in points}
    if None in owners or not (kept or owners == {"costframe"}):
        return 0
    cells = len(sweep.data.part("train").X) * len(sweep.data.feature_names)
    count = 1 if cells > _CELLS else min(thread_count(), len(names))
    return count if count > 1 or sweep.time_limit is not None else 0


def collect_fits(
    sweep: Sweep,
    names: Sequence[str],
    progress: Progress | None,
    failed: Callable[[str, CostframeError], None] | None,
    n_processes: int,
    cluster: Any,
    show: Callable[[Callable[[], list[Fitted]]], None],
) -> list[Fitted]:
    """Return all fits of a sweep, in the order of names; arguments as for `Frontier.sweep`.

    It calls `show` when further fits have ended, on disk if there is a directory, with a function that returns those so
    far. If time is up before the first fit ends, the constant is all there is.
    """
    found: dict[str, list[Fitted]] = {}
    errors: dict[str, CostframeError] = {}

    finished = None if sweep.directory is None else FinishedFits(sweep.directory)

    def so_far(*, ended: bool = False) -> list[Fitted]:
        """Return all fits; without a directory, of algorithms that have `ended` those that they chose to keep."""
        kept = ({} if ended else MeasuredFits(sweep.measured).all()) | found
        kept = kept if finished is None else join_fits(finished.all(), found)
        return [fitted for name in names for fitted in kept.get(name, ())]

    with closing(fit_each(sweep, names, progress, n_processes, lambda: show(so_far), cluster)) as outcomes:
        for name, fitted in keep_successes(outcomes, failed, errors):
            found[name] = [*found.get(name, ()), *fitted]
    kept = so_far(ended=True)
    errors = {name: errors[name] for name in names if name in errors}  # processes end in any order
    if kept or not errors:
        return kept
    if any(isinstance(error, UnfinishedError) for error in errors.values()):
        return [fit_constant(sweep.data, sweep.score)]
    raise joint_error(errors)


def fit_each(
    sweep: Sweep,
    names: Sequence[str],
    progress: Progress | None = None,
    n_processes: int = 0,
    kept: Callable[[], None] = lambda: None,
    cluster: Any = None,
) -> Generator[Outcome, None, None]:
    """Fit algorithms; yield the name of each with its models, or with the error that ended it, in any order.

    With 0 processes it fits here, with a client of dask or an address on that cluster. It calls `kept` when further
    fits of a sweep with a directory are on disk.

    Raises
    ------
    MemoryError
    """
    tasks = sweep.tasks(names)
    total = Total(progress or silent, len(tasks))
    if cluster is not None:
        yield from fit_over_cluster(sweep, tasks, total, cluster, kept)
        return
    if n_processes:
        yield from fit_side_by_side(sweep, tasks, total, n_processes, kept)
        return
    make = make_trials(sweep, kept)
    for task in tasks:
        try:
            yield task.name, fit_task(sweep, make(task), _until(sweep.ends, total.of(task)))
        except CostframeError as error:
            if not task.first_look:
                yield task.name, error
        except _TimeIsUp:
            yield task.name, UnfinishedError(LATE)
        total.end(task)


def _until(ends: float, progress: Progress) -> Progress:
    """Return a progress that ends the fit in this process when time is up."""

    def report(done: int, total: int, text: str) -> None:
        progress(done, total, text)
        if time.monotonic() > ends:
            raise _TimeIsUp

    return report
