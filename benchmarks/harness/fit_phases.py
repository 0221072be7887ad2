"""The phases of a fit: their time, bytes and updates, beside what the machine can do in the same run.

The grower's kernel is one compiled call, so its parts are called from Python here, each by a clock. What Python adds,
some 20 us a call for the memory that it hands over, is measured by an empty kernel and subtracted.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.jit import kernel
from costframe.trees.boosting import grower, losses
from costframe.trees.growing import finish, grow, grow_kernels, histogram_kernels, row_kernels, search_kernels
from costframe_cegb import cegb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["seconds_of_this_thread", "stream_speed", "time_phases"]

REPEATS = 3
_PYTHON = (  # kernels that call the parts: users, owners, names
    *((grow_kernels, grow_kernels, name) for name in ("grow", "_plant", "_split", "_split_at_prices")),
    *((grow_kernels, search_kernels, name) for name in ("search_leaves", "divide_leaf")),
    *((search_kernels, search_kernels, name) for name in ("_do_part", "_search_columns")),
)


class Part(NamedTuple):
    """A kernel as a phase: the units of a call, the bytes of a unit at the least, and their name."""

    owner: Any
    name: str
    units: Callable[..., int]
    bytes_per_unit: float
    unit: str


@kernel
def _do_nothing(prices: Any, room: Any) -> None:
    """Return."""


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
    stream, histogram = stream_speed(), _histogram(n_words)
    print(f"{title}: {whole:.2f} s on one thread; a stream has {stream / 1e9:.1f} GB/s,")
    print(f"an update of {8 * n_words} bytes of a histogram in the first-level cache takes {histogram * 1e9:.2f} ns")
    parts = _parts(n_words)
    with _clocked(parts) as (spent, units, calls):
        best: dict[str, float] = {}
        for _ in range(REPEATS):
            spent.clear(), units.clear(), calls.clear()
            fit()
            best = {name: min(best.get(name, np.inf), seconds) for name, seconds in spent.items()}
    for part in parts:
        seconds, count = best[part.name], units[part.name]
        needed = count * histogram if part.name == "fill_histogram" else count * part.bytes_per_unit / stream
        share, each = seconds / whole, seconds / max(count, 1)
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
        Part(grower, "bin_rows", lambda *given: given[0].X.size, 10, "cells"),
        Part(histogram_kernels, "fill_histogram", lambda *given: len(given[2]) * len(given[3]), 1, "updates"),
        Part(histogram_kernels, "subtract", lambda *given: int(given[2].sum()), 3 * word, "bins"),
        Part(search_kernels, "find_splits", lambda *given: int(given[1].sum()), word, "bins"),
        Part(search_kernels, "divide_rows", length(2), 13, "rows"),
        Part(search_kernels, "join_rows", length(0), 4, "rows"),
        Part(search_kernels, "mark_rows", length(1), 20, "rows"),
        Part(search_kernels, "split_account", length(4), 12, "rows"),
        Part(row_kernels, "pack_rows", length(0), 16 + word, "rows"),
        Part(loss, "gradients", length(1), 24, "rows"),
        Part(finish, "finish_tree", lambda *given: given[0].n_rows, 20 + word, "rows"),
        Part(finish.GrownTree, "add_to", length(1), 20, "rows"),
    ]


@contextmanager
def _clocked(parts: list[Part]) -> Iterator[tuple[Any, Any, Any]]:
    """Replace the compiled grower by its Python, and each part by itself with a clock."""
    spent: dict[str, float] = defaultdict(float)
    units: dict[str, int] = defaultdict(int)
    calls: dict[str, int] = defaultdict(int)
    before: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def clock(part: Part, function: Any) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            lost = 0.0
            if part.name in {"mark_rows", "split_account"}:  # they are handed many arrays
                start = time.thread_time()
                _do_nothing(*given[:2])
                lost = time.thread_time() - start
            start = time.thread_time()
            found = function(*given, **named)
            spent[part.name] += max(time.thread_time() - start - lost, 0.0)
            units[part.name] += part.units(*given)
            calls[part.name] += 1
            return found

        return timed

    try:
        for user, owner, name in _PYTHON:
            replace(user, name, getattr(owner, name).py_func)
        for part in parts:
            function = getattr(part.owner, part.name)
            replace(part.owner, part.name, clock(part, function))
            for user in (grow_kernels, search_kernels, grow, cegb):  # that have imported it
                if getattr(user, part.name, None) is function:
                    replace(user, part.name, getattr(part.owner, part.name))
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


def _histogram(n_words: int, n: int = 10_000) -> float:
    """Return seconds an update of histograms that the first-level cache holds, of rows already laid out."""
    random, together = np.random.default_rng(0), 8 // n_words
    eights, words = random.integers(0, 2**64, n, np.uint64), random.integers(0, 99, n * n_words)
    sums = np.zeros(together * 256 * n_words, np.int64)
    if n_words == 1:
        add = lambda: histogram_kernels.add_words(eights, words, n, together, sums, np.uint64(255))  # noqa: E731
    else:
        add = lambda: histogram_kernels.add_pairs(eights, words, n, 0, together, sums, np.uint64(255))  # noqa: E731
    add()
    return min(seconds_of_this_thread(add) for _ in range(99)) / (n * together)


def seconds_of_this_thread(function: Callable[[], object]) -> float:
    """Time one call by this thread's clock."""
    start = time.thread_time()
    function()
    return time.thread_time() - start
