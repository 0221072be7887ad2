"""Moves of routes that lower the exact cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from costframe.plugin import B1, F8, loss_for
from costframe.stagewise import Evaluation, Flow, NormalEquations, SoftTree, best_threshold, fit_at_price, refine
from costframe_cstc.node_fits import Fitter

_INFLATIONS = (1.0, 4.0)  # of prices: all rows of a node pay for its route
_LEAST = 1e-12  # of the largest difference between two sides: a route ignores rows with less
_ENOUGH = 1e-9  # of the objective


@frozen(eq=False)
class _Choice:
    """The choice of a route: the rows of its node, and their payments below minus those above."""

    node: int
    inside: B1
    more: F8
    flow: Flow

    @classmethod
    def at(cls, train: Evaluation, tree: SoftTree, node: int, losses: F8) -> _Choice:
        """Compare the sides of a node, with the losses of answers, (n, K)."""
        flow = train.flow(tree)
        return cls(node, flow.passes[:, node] > 0, flow.payment_difference(node, losses, train.arrival(tree)), flow)


def move_routes(fitter: Fitter, tree: SoftTree, guard: Evaluation | None = None) -> SoftTree:
    """Give each route, the last first, other learners and weights.

    A move must lower loss + lambda * cost on the training rows, and not raise it on the guard's rows.
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
    """Fit a route to the better side of each row, weighted by the difference, at some prices."""
    rows, pricing = fitter.train.rows, fitter.train.pricing
    size = np.abs(choice.more) * choice.inside
    at = np.flatnonzero(size > _LEAST * size.max())
    side = np.sign(choice.more[at])[:, np.newaxis]
    if not ((side > 0).any() and (side < 0).any()):
        return
    share, outputs = float(rows.share[choice.inside].sum()), rows.outputs.rows(at)
    prices, draw = pricing.drawn(np.where(choice.inside, rows.share, 0.0))
    prices = prices.after(tree.bought(choice.node))
    for later in np.flatnonzero(tree.topology.paths[:, choice.node]):
        if later != choice.node:  # later purchases of a row cost nothing more here
            prices = prices.after(tree.used[later], among=draw.of(choice.flow.passes[:, later] > 0))
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
        refined, _ = refine(loss_for(2), H, side, size[at], nothing, start, ridge * normal.unit / 4)
        weights[used] = refined
        yield _routed(fitter.train, tree, choice, weights[:, 0])


def _routed(train: Evaluation, tree: SoftTree, choice: _Choice, route: F8) -> SoftTree:
    """Replace the weights, (C,), of the chosen route, and place its threshold."""
    inside, used = np.flatnonzero(choice.inside), np.flatnonzero(route)
    scores = train.rows.outputs.rows(inside).columns(used).times(route[used])
    return tree.with_route(choice.node, route, best_threshold(scores, choice.more[inside], np.inf))
