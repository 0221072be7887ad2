"""Statistics of stages: the features that each acquires first, its rows, and its scores or predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.bits import bits_of
from costframe.core.stages.run_stages import StageRunner, marks_for
from costframe.core.stages.stages import Answer, Route
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["Acquired", "StageSeen", "by_price", "see_stages", "summarize_stages"]


@frozen
class Acquired:
    """A feature or resource that a stage acquires first on its path.

    Attributes
    ----------
    name : str
    price : float
        Per row.
    share : float
        Share of the stage's rows that acquire it there; one without rows.
    is_resource : bool
    """

    name: str
    price: float
    share: float
    is_resource: bool


@frozen(eq=False)
class StageSeen:
    """Statistics of one stage.

    Attributes
    ----------
    acquired : tuple of Acquired
        Most expensive first.
    n_learners, n_new : int
        Number of learners that it evaluates, and of those that no earlier stage evaluates.
    rows : int64 (m,) or None
        Rows that reach the stage.
    values : float64 (m, K) or None
        Scores of those rows at a route (K = 1), predictions at an answer.
    """

    acquired: tuple[Acquired, ...]
    n_learners: int
    n_new: int
    rows: NDArray[np.int64] | None = None
    values: NDArray[np.float64] | None = None


def summarize_stages(tree: StageTree, prices: PriceArrays) -> list[StageSeen]:
    """Return the statistics of each stage without rows: features that its learners, and no earlier ones, may read.

    Parameters
    ----------
    tree : StageTree
    prices : PriceArrays
        In the order of the tree's features.
    """
    layout, seen = tree.layout, []
    needs = prices.needs[layout.used]
    before = np.zeros((len(tree.stages), len(layout.used)), np.bool_)
    read = tree.bank.F[layout.used]
    for number, stage in enumerate(tree.stages):
        learners = layout.learner[layout.stage_first[number] : layout.stage_first[number + 1]]
        mine, bought = np.diff(read[:, learners].indptr) > 0, before[number]
        shares = (mine & ~bought).astype(np.float64)
        resources = ((mine @ needs) & ~(bought @ needs)).astype(np.float64)
        seen.append(StageSeen(_sort_by_price(tree, prices, shares, resources), *_counts(tree, number)))
        if isinstance(stage, Route):
            before[stage.below] = before[stage.above] = bought | mine
    return seen


@frozen(eq=False)
class _Chunk:
    """Some rows at all stages, by stage."""

    rows: list[NDArray[np.int64]]
    scores: list[NDArray[np.float64]]
    features: NDArray[np.int64]  # (stages, U): number of rows that acquire each first at a stage
    resources: NDArray[np.int64]  # (stages, R)


def see_stages(
    tree: StageTree, prices: PriceArrays, X: NDArray[np.float64], acquisition: str = "path", n_jobs: int | None = None
) -> list[StageSeen]:
    """Send rows through the stages, and return the statistics of each stage.

    Parameters
    ----------
    tree : StageTree
    prices : PriceArrays
        In the order of the tree's features.
    X : float64 (n, d)
        At least one row.
    acquisition : {"path", "learner"}
    n_jobs : int, optional
    """
    marks, layout = marks_for(tree.bank, tree.layout, prices, acquisition), tree.layout
    needs, n_used, n_stages = prices.needs[layout.used], len(layout.used), len(tree.stages)

    def chunk(part: slice) -> _Chunk:
        runner = StageRunner(tree.bank, layout, X[part], marks)
        mine = _Chunk([], [], np.zeros((n_stages, n_used), np.int64), np.zeros((n_stages, needs.shape[1]), np.int64))
        before = runner.masks.copy()
        for stage, rows, scores in runner.routed():
            then, now = bits_of(before[rows], n_used), bits_of(runner.masks[rows], n_used)
            mine.features[stage] = (now & ~then).sum(axis=0)
            mine.resources[stage] = ((now @ needs) & ~(then @ needs)).sum(axis=0)
            before[rows] = runner.masks[rows]
            mine.rows.append(part.start + rows)
            mine.scores.append(scores)
        return mine

    return _join_chunks(tree, prices, over_chunks(chunk, len(X), n_jobs))


def _join_chunks(tree: StageTree, prices: PriceArrays, chunks: list[_Chunk]) -> list[StageSeen]:
    seen = []
    for number, stage in enumerate(tree.stages):
        rows = np.concatenate([chunk.rows[number] for chunk in chunks])
        scores = np.concatenate([chunk.scores[number] for chunk in chunks])
        count = max(len(rows), 1)
        shares = np.sum([chunk.features[number] for chunk in chunks], axis=0) / count
        resources = np.sum([chunk.resources[number] for chunk in chunks], axis=0) / count
        values = stage.predictions(scores) if isinstance(stage, Answer) else scores
        seen.append(
            StageSeen(_sort_by_price(tree, prices, shares, resources), *_counts(tree, number), rows=rows, values=values)
        )
    return seen


def _counts(tree: StageTree, number: int) -> tuple[int, int]:
    part = slice(int(tree.layout.stage_first[number]), int(tree.layout.stage_first[number + 1]))
    return part.stop - part.start, int(tree.layout.fresh[part].sum())


def _sort_by_price(
    tree: StageTree, prices: PriceArrays, shares: NDArray[np.float64], resources: NDArray[np.float64]
) -> tuple[Acquired, ...]:
    every = np.zeros(len(prices.names))
    every[tree.layout.used] = shares
    return by_price(prices, every, resources)


def by_price(prices: PriceArrays, shares: NDArray[np.float64], resources: NDArray[np.float64]) -> tuple[Acquired, ...]:
    """List features, float64 (d,), and resources, float64 (R,), whose shares are not zero, most expensive first."""
    every = [
        Acquired(prices.names[f], float(prices.cost[f]), float(shares[f]), is_resource=False)
        for f in np.flatnonzero(shares)
    ]
    every += [
        Acquired(prices.resource_names[r], float(prices.resource_cost[r]), float(resources[r]), is_resource=True)
        for r in np.flatnonzero(resources)
    ]
    return tuple(sorted(every, key=lambda one: (-one.price, -one.share)))
