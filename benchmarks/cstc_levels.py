"""What a tree of stages acquires at each depth, by price: what any row does, and what rows do on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cascade_figures
import numpy as np
import paper_tables
from cascade_points import Stages

import costframe as cf
from costframe.report.stages_seen import see_stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.prices.costs import CostModel

SELDOM, CLOSE = 0.005, 0.02  # features a row; shares of them


def levels(tree: cf.StageTree, costs: CostModel, X: np.ndarray) -> tuple[Stages, Stages]:
    """Send rows through a tree, and say what they have acquired at each depth or before it.

    Rows that have got their answers earlier count with what they have acquired till then.

    Returns
    -------
    any, mean : Stages
        A level stands for a stage; `bought` is a share in the mean, `positives` has no meaning.
    """
    depth = _depths(tree)
    prices = costs.select(tree.feature_names)
    place = {name: f for f, name in enumerate(costs.names)}
    seen = see_stages(tree, prices, X, n_jobs=1)
    bought, reach = np.zeros((depth.max() + 1, len(place))), np.zeros(depth.max() + 1)
    for level, stage in zip(depth, seen, strict=True):
        share = (0 if stage.rows is None else len(stage.rows)) / len(X)
        reach[level] += share
        for one in stage.acquired:
            if not one.is_resource:
                bought[level, place[one.name]] += share * one.share
    mean = bought.cumsum(axis=0)
    nothing = np.zeros(len(reach))
    return Stages(reach, nothing, mean > 0), Stages(reach, nothing, mean)


def _depths(tree: cf.StageTree) -> np.ndarray:
    depth = np.zeros(len(tree.stages), np.int64)
    for at, stage in enumerate(tree.stages):
        if isinstance(stage, cf.Route):
            depth[[stage.below, stage.above]] = depth[at] + 1
    return depth


def price_classes(costs: CostModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the prices that there are, how many features have each, and the price of each feature: float64."""
    alone = paper_tables.prices_alone(costs)
    return (*np.unique(alone, return_counts=True), alone)


def print_levels(table: str, costs: CostModel, met: Stages, mean: Stages) -> None:
    """Print the share of each price's features that rows have acquired at each depth, in Markdown."""
    classes, count, alone = price_classes(costs)
    depths = range(1, len(met.reach) + 1)
    print(f"\n| {table}: price (features) | {' | '.join(f'depth {depth}: any, mean row' for depth in depths)} |")
    print(f"|{' --- |' * (1 + len(met.reach))}")
    print(f"| rows that come there | {' | '.join(f'{share:.0%}' for share in met.reach)} |")
    for price, size in zip(classes, count, strict=True):
        shares = [cascade_figures.shares(one, alone == price) for one in (met, mean)]
        cells = (f"{some:.0%}, {average:.1%}" for some, average in zip(*shares, strict=True))
        print(f"| {price:g} ({size}) | {' | '.join(cells)} |")


def deeper(costs: CostModel, trees: Sequence[Stages]) -> str:
    """Say whether rows acquire less of dear features than of cheap ones at the root: means over trees with routes."""
    alone = paper_tables.prices_alone(costs)
    dear, trees = alone >= alone.max() / 2, [one for one in trees if len(one.reach) > 1]
    if dear.all():
        return "all features are dear"
    if not trees:
        return "no tree has routes"
    root, whole = (np.mean([one.bought[at] for one in trees], axis=0) for at in (0, -1))
    cheap, other = ((root[chosen].sum(), whole[chosen].sum()) for chosen in (~dear, dear))
    if min(cheap[1], other[1]) < SELDOM:
        return "rows acquire features of one kind only"
    shares = [one / all_of_it for one, all_of_it in (cheap, other)]
    word = "even" if abs(shares[0] - shares[1]) < CLOSE else "yes" if shares[1] < shares[0] else "no"
    counts = [
        f"{all_of_it:.2f} {kind} features a row, {share:.0%} of them at the root"
        for kind, (_, all_of_it), share in zip(("cheap", "dear"), (cheap, other), shares, strict=True)
    ]
    return f"{word}, over {len(trees)} trees with routes: {'; '.join(counts)}"
