"""The phases of predicting and pricing rows: their time, bytes and updates, beside what the machine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.cost.expected import ExpectedCost
from costframe.core.learners.node_layout import code_values
from costframe.core.prices.costs import CostModel
from costframe.core.stages.run_stages import StageRunner
from harness.fit_phases import seconds_of_this_thread, stream_speed

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["time_predict_phases"]

REPEATS = 9
CHUNK = 4096  # rows at a time, as the library takes them


class Phase(NamedTuple):
    """A phase: its time, and the least time for what it must do."""

    name: str
    seconds: float
    least: float
    what: str


def time_predict_phases(title: str, predictor: StageTree, X: np.ndarray) -> None:
    """Print the time of each phase of predicting and pricing rows on one thread, and the machine's limits.

    Parameters
    ----------
    title : str
    predictor : StageTree
        Of one stage, trees only, all of them with gates.
    X : float64 (rows, d)
    """
    layout, costs = predictor.layout, CostModel.uniform(predictor.feature_names)
    stream, cache = stream_speed(), _cache_speed()
    marks = predictor.marks(costs.select(predictor.feature_names), "path")
    chunks = [X[begin : begin + CHUNK] for begin in range(0, len(X), CHUNK)]
    whole = _best(lambda: predictor.predict(X, n_jobs=1))
    report = _best(lambda: ExpectedCost(costs).evaluate(predictor, X, n_jobs=1))
    coded = _best(lambda: [code_values(layout.nodes, chunk, layout.used) for chunk in chunks])
    plain, marked = ([StageRunner(layout, chunk, each) for chunk in chunks] for each in (None, marks))
    rows = [np.arange(len(chunk)) for chunk in chunks]
    scored = _best(lambda: [runner.run(0, each) for runner, each in zip(plain, rows, strict=True)])
    noted = _best(lambda: [runner.run(0, each) for runner, each in zip(marked, rows, strict=True)]) - scored
    n, gates, trees = len(X), len(layout.nodes.gates.rank), len(layout.nodes.root)
    words = marks.sizes["W"]
    moved = n * (8 * X.shape[1] + 2 * len(layout.nodes.column_missing) + 16)
    phases = [
        Phase("codes", coded, moved / stream, f"{8 * X.shape[1]} bytes of each row read, its codes written"),
        Phase(
            "gates and leaves", scored, 4 * n * gates / cache, f"{gates:,} gates of 4 bytes a row, {trees} leaves added"
        ),
        Phase("rest of predict", whole - coded - scored, 16 * n / stream, "16 bytes of each row written"),
        Phase("marks of reading", noted, 24 * words * n * trees / cache, f"{words} words a leaf joined in a cache"),
        Phase(
            "rest of the report", report - whole - noted, n * (X.shape[1] + 56) / stream, "features and prices written"
        ),
    ]
    print(f"{title}: predict {1e3 * whole:.0f} ms, cost report {1e3 * report:.0f} ms, one thread;")
    print(f"a stream has {stream / 1e9:.1f} GB/s, the nearest cache {cache / 1e9:.1f} GB/s")
    for phase in phases:
        far = f"{phase.seconds / phase.least:5.1f} x" if phase.least > 0 else ""
        print(
            f"  {phase.name:20s}{1e3 * phase.seconds:7.1f} ms, limit {1e3 * phase.least:7.1f} ms {far}  ({phase.what})"
        )


def _cache_speed(n: int = 2**12) -> float:
    """Return bytes a second, read and written, of or-ing words that the first-level cache holds."""
    a, b = np.ones(n, np.uint64), np.ones(n, np.uint64)

    def passing() -> Any:
        for _ in range(200):
            np.bitwise_or(a, b, out=a)

    return 200 * 24 * n / _best(passing)


def _best(function: Callable[[], object]) -> float:
    function()
    return min(seconds_of_this_thread(function) for _ in range(REPEATS))
