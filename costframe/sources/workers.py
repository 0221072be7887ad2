"""Results of tasks, from the workers of a cluster or this process, as they end."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from costframe.core.errors import WorkersError

_LOOK = 1.0  # seconds between looks at the workers


def results_of(tasks: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
    """Yield the numbers and results of delayed tasks as they end, on the cluster of the current client if there is one.

    Each is computed once, and so is what they share: what it pays would be paid again.

    Raises
    ------
    WorkersError
        If workers are lost again and again, or there are none for the time of `cluster_timeout`.
    """
    import dask

    client = _current_client()
    if client is None:
        yield from enumerate(dask.compute(*tasks))
        return
    from distributed import KilledWorker

    from costframe.training.cluster.asking import ask, wait_for_first
    from costframe.training.cluster.fitting import cluster_timeout

    seconds = cluster_timeout()
    futures = client.compute(list(tasks))
    numbers, waiting, worked = {future: number for number, future in enumerate(futures)}, futures, time.monotonic()
    del futures
    try:
        while waiting:
            wait_for_first(client, waiting, _LOOK)
            for future in [future for future in waiting if future.done()]:
                result = ask(client, future.result)
                future.release()  # the cluster need not keep it
                yield numbers.pop(future), result
            waiting = [future for future in waiting if future in numbers]
            worked = time.monotonic() if ask(client, client.nthreads) else worked
            _check_waiting(time.monotonic() - worked, seconds)
    except KilledWorker as error:
        raise WorkersError("workers: one after another was lost when it predicted the same partition") from error
    except Exception as error:
        if client.status == "running":
            raise
        raise WorkersError(f"client: was closed, or lost its scheduler, before all rows had ended: {error}") from error
    finally:
        if client.status == "running":
            with suppress(ConnectionError):  # closed meanwhile
                ask(client, lambda: client.cancel(list(numbers)))


def _current_client() -> Any:
    """Return the current client of a cluster; None if there is none, or it is closed."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        return None
    return client if client.status == "running" else None


def _check_waiting(waited: float, seconds: float) -> None:
    if waited > seconds:
        raise WorkersError(f"workers: the cluster has had none for {seconds:g} s")
