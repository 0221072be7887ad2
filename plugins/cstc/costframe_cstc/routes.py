"""Moves routes by the exact objective: the losses and costs below and above a node show the better way for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.stagewise.fitting import fit_at_price
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.rows import Logistic
from costframe.stagewise.thresholds import best_threshold
from costframe_cstc.answers import refine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.soft_tree import SoftTree
    from costframe.stagewise.topology import Flow
    from costframe_cstc.answers import Fitter

__all__ = ["move_routes"]

_INFLATIONS = (1.0, 4.0)  # a dearer route must be worth it for all rows that come to it
_LEAST = 1e-12  # of the largest difference between two sides: rows to which it makes less matter to no route
_ENOUGH = 1e-9  # of the objective


@frozen(eq=False)
class _Choice:
    """What a route decides: rows that come to it, and by how much more they have ahead of them below than above."""

    node: int
    inside: NDArray[np.bool_]
    more: NDArray[np.float64]
    flow: Flow

    @classmethod
    def at(cls, train: Evaluation, tree: SoftTree, node: int, losses: NDArray[np.float64]) -> _Choice:
        """Look at rows, with the losses of answers, (n, K)."""
        flow = train.flow(tree)
        return cls(node, flow.passes[:, node] > 0, flow.more_below(node, losses, train.arrival(tree)), flow)


def move_routes(fitter: Fitter, tree: SoftTree, guard: Evaluation | None = None) -> SoftTree:
    """Move one route after another, the last first, to other learners and weights.

    A move is accepted where loss + lambda * cost falls on the training rows, and on those of the guard does not rise.
    """
    train = fitter.train
    losses = train.losses(tree)
    best = train.total(tree)
    limit = np.inf if guard is None else guard.total(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        for moved in _candidates(fitter, tree, _Choice.at(train, tree, node, losses)):
            total = train.total(moved)
            if total < best * (1 - _ENOUGH):
                seen = -np.inf if guard is None else guard.total(moved)
                if seen <= limit:
                    tree, best, limit = moved, total, seen
    return tree


def _candidates(fitter: Fitter, tree: SoftTree, choice: _Choice) -> Iterator[SoftTree]:
    """Fit a route to which side is better for each row, weighed by how much better, at some prices."""
    rows, pricing = fitter.train.rows, fitter.train.pricing
    size = np.abs(choice.more) * choice.inside
    at = np.flatnonzero(size > _LEAST * size.max())
    side = np.sign(choice.more[at])[:, np.newaxis]
    if not len(at) or (side == side[0]).all():
        return
    share, outputs = float(rows.share[choice.inside].sum()), rows.outputs.rows(at)
    prices, drawn = pricing.drawn(np.where(choice.inside, rows.share, 0.0))
    prices = prices.after(tree.bought(choice.node))
    for later in np.flatnonzero(tree.topology.paths[:, choice.node]):
        if later != choice.node:  # a purchase that a row makes later anyway costs nothing more here
            prices = prices.after(tree.used[later], among=choice.flow.passes[drawn, later] > 0)
    seen: set[bytes] = set()
    normal, ridge = NormalEquations.of(outputs, side, size[at]), fitter.ridge_for(share)
    for inflation in _INFLATIONS:
        price = inflation * fitter.train.tradeoff * share / float(size[at].sum())
        weights = fit_at_price(normal, prices, price, ridge)
        used = np.flatnonzero(weights.any(axis=1))
        if not len(used) or weights.tobytes() in seen:
            continue
        seen.add(weights.tobytes())
        H = outputs.columns(used).block(slice(0, len(at)))
        yield _routed(fitter.train, tree, choice, weights[:, 0])
        start, nothing = (2.0 * weights[used], 2.0 * normal.intercept(weights)), np.zeros(side.shape)
        refined, _ = refine(Logistic(), H, side, size[at], nothing, start, ridge * normal.unit / 4)
        weights[used] = refined
        yield _routed(fitter.train, tree, choice, weights[:, 0])


def _routed(train: Evaluation, tree: SoftTree, choice: _Choice, route: NDArray[np.float64]) -> SoftTree:
    """Replace the route that is chosen, its threshold placed; weights (C,)."""
    inside, used = np.flatnonzero(choice.inside), np.flatnonzero(route)
    scores = train.rows.outputs.rows(inside).columns(used).times(route[used])
    return tree.with_route(choice.node, route, best_threshold(scores, choice.more[inside], np.inf))
