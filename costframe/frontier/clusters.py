"""The tasks of a sweep over the workers of a dask cluster, each on one of them; a lost one's task begins again."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from costframe.core.errors import CostframeError, ParameterError, WorkersError, shown
from costframe.core.files import write_folder
from costframe.frontier.finished import FITS, MODELS, SavedModel
from costframe.frontier.tasks import LATE, UnfinishedError, fit_task, make_trials
from costframe.frontier.trial import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from costframe.frontier.finished import Fitted
    from costframe.frontier.tasks import Sweep, Task, Total

    Outcome = tuple[str, list[Fitted] | CostframeError]
    Files = dict[str, dict[str, bytes]]  # by folder and name

__all__ = ["fit_over_cluster", "open_client"]

_PATIENCE = 0.5  # seconds between looks at the clock


def open_client(cluster: Any) -> Any:
    """Return a dask client for one, or for the address of a scheduler.

    Raises
    ------
    ParameterError
        If dask is not installed, or there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("cluster: needs dask; install costframe[dask]") from None
    if isinstance(cluster, Client):
        return cluster
    if not isinstance(cluster, str):
        raise ParameterError(
            f"cluster: expected a dask client, or an address such as tcp://host:8786, got {shown(cluster)}"
        )
    try:
        return Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f"cluster: no scheduler of dask at {cluster!r}: {error}") from None


def fit_over_cluster(
    sweep: Sweep, tasks: Sequence[Task], total: Total, cluster: Any, kept: Callable[[], None]
) -> Iterator[Outcome]:
    """Fit tasks on the workers of a cluster; yield as `fit_each` does.

    Finished fits come back as files when their task ends, so the workers need no common disk.
    """
    from distributed import wait

    client = open_client(cluster)
    given = client.scatter(evolve(sweep, directory=None), broadcast=True, hash=False)  # not that of an equal sweep
    fits = {client.submit(_fit, given, task, _files(sweep, task), pure=False): task for task in tasks}
    try:
        waiting = set(fits)
        while waiting and time.monotonic() < sweep.ends:
            try:
                ended, waiting = wait(waiting, timeout=_PATIENCE, return_when="FIRST_COMPLETED")
            except TimeoutError:
                continue
            for fit in ended:
                total.end(fits[fit])
                yield from _outcome(sweep, fits[fit], fit, kept)
        yield from ((fits[fit].name, UnfinishedError(LATE)) for fit in waiting)
    finally:  # also after an interrupt, and where the caller wants no more
        client.cancel(list(fits), force=True)
        if client is not cluster:
            client.close()


def _files(sweep: Sweep, task: Task) -> Files | None:
    """Return the files of earlier fits of an algorithm, so that its task goes on; None if fits are not kept."""
    if sweep.directory is None:
        return None
    return {
        folder: {file.name: file.read_bytes() for file in sorted((sweep.directory / folder).glob(f"{task.name}-*"))}
        for folder in (MODELS, FITS)
    }


def _fit(sweep: Sweep, task: Task, files: Files | None) -> tuple[list[Fitted] | CostframeError, Files | None]:
    """Fit a task on a worker; return its models, or its error, and the files of all finished fits."""
    if files is None:
        return _try(sweep, task), None
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for folder, contents in files.items():
            write_folder(directory / folder, contents)
        found = _try(evolve(sweep, directory=directory), task)
        made = {folder: {file.name: file.read_bytes() for file in (directory / folder).iterdir()} for folder in files}
    return found, made


def _try(sweep: Sweep, task: Task) -> list[Fitted] | CostframeError:
    try:
        return fit_task(sweep, make_trials(sweep, lambda: None)(task), silent)
    except CostframeError as error:
        return error


def _outcome(sweep: Sweep, task: Task, fit: Any, kept: Callable[[], None]) -> Iterator[Outcome]:
    """Keep the files of a task that has ended; yield its models or its error."""
    try:
        found, files = fit.result()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - of dask: its workers were lost again and again
        found, files = WorkersError(f"algorithm {task.name!r}: its worker was lost, and others too: {error}"), None
    if sweep.directory is not None and files is not None:
        for folder, contents in files.items():
            write_folder(sweep.directory / folder, contents)
        kept()
    if isinstance(found, CostframeError):
        if not task.first_look:
            yield task.name, found
        return
    yield task.name, [_at_home(sweep, fitted) for fitted in found]


def _at_home(sweep: Sweep, fitted: Fitted) -> Fitted:
    """Return a model with the place of its file on this machine."""
    if sweep.directory is None or not isinstance(fitted.model, SavedModel):
        return fitted
    return evolve(fitted, model=SavedModel(sweep.directory / MODELS / fitted.model.path.name))
