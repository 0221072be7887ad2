"""The phases of a fit: their time, bytes and updates, beside what the machine can do in the same run.

The grower is one call of the engine.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe import engine
from costframe.training import losses
from costframe.trees import bin_mapper, grow, room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["seconds_of_this_thread", "stream_speed", "time_phases"]

REPEATS = 3


class Part(NamedTuple):
    """A function as a phase: the units of a call, the bytes of a unit at the least, and their name."""

    owner: Any
    name: str
    units: Callable[..., int]
    bytes_per_unit: float
    unit: str


def time_phases(title: str, fit: Callable[[], object], n_words: int) -> None:
    """Print the time of each phase of a fit on one thread, the least of a few runs, and the machine's limits.

    Parameters
    ----------
    title : str
    fit : callable
        Fits CEGB on one thread.
    n_words : int
        Words of a row in histograms: 1 if all hessians are one, else 2.
    """
    fit()
    whole = min(seconds_of_this_thread(fit) for _ in range(REPEATS))
    stream = stream_speed()
    print(f"{title}: {whole:.2f} s on one thread; a stream has {stream / 1e9:.1f} GB/s")
    parts = _parts(n_words)
    with _clocked(parts) as (spent, units, calls):
        best: dict[str, float] = {}
        for _ in range(REPEATS):
            spent.clear(), units.clear(), calls.clear()
            fit()
            best = {name: min(best.get(name, np.inf), seconds) for name, seconds in spent.items()}
    for part in parts:
        if part.name not in best:  # the algorithm has no such phase
            continue
        seconds, count = best[part.name], units[part.name]
        needed, share, each = count * part.bytes_per_unit / stream, seconds / whole, seconds / max(count, 1)
        print(
            f"  {part.name:14s} {1e3 * seconds:5.0f} ms ({share:3.0%}), {calls[part.name]:4d} calls, "
            f"{count / 1e6:6.1f} M {part.unit:7s} of {1e9 * each:5.2f} ns; limit {1e3 * needed:4.0f} ms, "
            f"{seconds / needed:4.1f} times",
            flush=True,
        )


def _parts(n_words: int) -> list[Part]:
    word, loss = 8 * n_words, losses.LogisticLoss if n_words == 2 else losses.SquaredLoss
    length = lambda at: lambda *given: len(given[at])  # noqa: E731 - a name for a formula
    return [
        Part(bin_mapper.BinMapper, "fit", lambda *given: given[0].size, 9, "cells"),
        Part(bin_mapper.BinMapper, "transform", lambda *given: given[1].size, 9, "cells"),
        Part(engine, "grow", length(3), 1, "rows"),
        Part(loss, "gradients", length(1), 24, "rows"),
        Part(room, "finish_tree", lambda *given: given[0].n_rows, 20 + word, "rows"),
        Part(room.GrownTree, "add_to", length(1), 20, "rows"),
    ]


@contextmanager
def _clocked(parts: list[Part]) -> Iterator[tuple[Any, Any, Any]]:
    """Replace each part by itself with a clock."""
    spent: dict[str, float] = defaultdict(float)
    units: dict[str, int] = defaultdict(int)
    calls: dict[str, int] = defaultdict(int)
    before: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def clock(part: Part, function: Any) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            start = time.thread_time()
            found = function(*given, **named)
            spent[part.name] += time.thread_time() - start
            units[part.name] += part.units(*given)
            calls[part.name] += 1
            return found

        return timed

    try:
        for part in parts:
            function = getattr(part.owner, part.name)
            replace(part.owner, part.name, clock(part, function))
            if getattr(grow, part.name, None) is function:  # that has imported it
                replace(grow, part.name, getattr(part.owner, part.name))
        yield spent, units, calls
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


def stream_speed(n: int = 2**24) -> float:
    """Return bytes a second of copying an array that no cache holds, read and written."""
    source = np.ones(n)
    target = np.empty_like(source)
    np.copyto(target, source)
    return 16 * n / min(seconds_of_this_thread(lambda: np.copyto(target, source)) for _ in range(9))


def seconds_of_this_thread(function: Callable[[], object]) -> float:
    """Time one call by this thread's clock."""
    start = time.thread_time()
    function()
    return time.thread_time() - start
