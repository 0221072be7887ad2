"""What rows meet in a cascade or a tree of stages, level by level: how many come there, and what they have acquired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.report.stage_statistics import see_stages
from harness.points import markdown
from harness.tables import single_prices

if TYPE_CHECKING:
    from collections.abc import Sequence


@frozen(eq=False)
class Level:
    """One level.

    Attributes
    ----------
    rows, positives : float
        Shares of all rows, and of the positive ones, that come there.
    acquired : float64 (d,)
        Share of all rows that have acquired each feature there or before.
    """

    rows: float
    positives: float
    acquired: np.ndarray


def follow_rows(tree: cf.StageTree, costs: cf.CostModel, X: np.ndarray, positive: np.ndarray) -> list[Level]:
    """Send rows through the stages; an answer that evaluates no new learner belongs to the level before it."""
    seen = see_stages(tree, costs.select(tree.feature_names), X, n_jobs=1)
    depth, own = np.zeros(len(tree.stages), int), np.ones(len(tree.stages), bool)
    for at, stage in enumerate(tree.stages):
        if isinstance(stage, cf.Route):
            for after in (stage.below, stage.above):
                own[after] = seen[after].n_new > 0 or isinstance(tree.stages[after], cf.Route)
                depth[after] = depth[at] + own[after]
    place = {name: f for f, name in enumerate(costs.names)}
    rows, positives = np.zeros(depth.max() + 1), np.zeros(depth.max() + 1)
    acquired = np.zeros((depth.max() + 1, len(place)))
    for level, counts, stage in zip(depth, own, seen, strict=True):
        there = np.empty(0, int) if stage.rows is None else stage.rows
        if counts:
            rows[level] += len(there) / len(X)
            positives[level] += positive[there].sum() / positive.sum()
        for one in stage.acquired:
            if not one.is_resource:
                acquired[level, place[one.name]] += len(there) / len(X) * one.share
    return [Level(*each) for each in zip(rows, positives, acquired.cumsum(axis=0), strict=True)]


def levels_text(levels: Sequence[Level], costs: cf.CostModel) -> str:
    """Write a table of rows that come to each level, and of features acquired till then, cheap and expensive ones.

    Expensive ones cost at least half of the highest price. Shown are the share of them that any row has acquired, and
    how many the mean row has.
    """
    prices = single_prices(costs)
    expensive = prices >= prices.max() / 2
    rows = []
    for number, level in enumerate(levels, start=1):
        cells = [
            f"{(level.acquired[chosen] > 0).mean():.2f}, {level.acquired[chosen].sum():.2f}" if chosen.any() else "-"
            for chosen in (~expensive, expensive)
        ]
        rows.append([str(number), f"{level.rows:.2f}", f"{level.positives:.2f}", *cells])
    return markdown(["level", "rows", "positive rows", "cheap features: any, mean", "expensive: any, mean"], rows)
