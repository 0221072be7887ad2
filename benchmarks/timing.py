"""How times are taken here: both sides in one run, turn by turn, medians of several, ratios rather than seconds."""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads of a peer would slow the other side's turn

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 2
FULL = "--full" in sys.argv


def ratio(title: str, ours: Callable[[], object], peer: Callable[[], object], *, goal: str, repeats: int = 9) -> float:
    """Print and return the median time of ours over the peer's; the first call of each, which may compile, is apart.

    On a busy machine the time of all processors together is steadier, and is printed as well.
    """
    first = seconds(ours)
    seconds(peer)
    times, work = [], []
    for _ in range(repeats):
        before = time.process_time()
        mine = seconds(ours)
        between = time.process_time()
        times.append((mine, seconds(peer)))
        work.append((between - before, time.process_time() - between))
    mine, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    busy = min(column[0] for column in work) / min(column[1] for column in work)
    title = f"{title:58s} {mine * 1e3:10.3f} ms / {theirs * 1e3:10.3f} ms"
    print(f"{title} = {mine / theirs:5.2f}, of processor time {busy:5.2f}   (goal: {goal})")
    if first > 10 * mine:
        print(f"{'':58s} first call, with compilation or its cache: {first:.2f} s")
    return mine / theirs


def seconds(function: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
