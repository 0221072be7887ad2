"""Moves routes by the exact objective: what follows a node below and above tells which way each row should go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.cuts import best_cut, just_below
from costframe.stagewise.normal import NormalEquations
from costframe_cstc.fits import fit_at_price, refine
from costframe_cstc.flow import Flow
from costframe_cstc.losses import Logistic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe_cstc.answers import Fitter
    from costframe_cstc.judge import Judge
    from costframe_cstc.tree import Tree

__all__ = ["move_routes", "place_thresholds", "placed_at"]

_TURNS = 3
_INFLATIONS = (1.0, 4.0)  # a dearer route must be worth it for all rows that come to it
_LEAST = 1e-12  # of the largest difference between two sides: rows to which it makes less matter to no route
_ENOUGH = 1e-9  # of the objective


def place_thresholds(judge: Judge, tree: Tree) -> Tree:
    """Place thresholds where loss + lambda * cost is least, the last nodes first; idle routes go."""
    losses, arrival, scores = judge.losses(tree), judge.arrival(tree), tree.routing(judge.rows)
    threshold = tree.threshold.copy()
    for _ in range(_TURNS):
        before = threshold.copy()
        for node in np.flatnonzero(tree.topology.routes)[::-1]:
            flow = Flow.hard(tree.topology, scores, threshold)
            inside = np.flatnonzero(flow.passes[:, node] > 0)
            more = _difference(flow.ahead(losses, arrival), tree, node)[inside]
            threshold[node] = _placed(scores[inside, node], more, threshold[node])
        if (threshold == before).all():
            break
    return evolve(tree, threshold=threshold).without_idle_routes()


def placed_at(judge: Judge, tree: Tree, node: int) -> Tree:
    """Place the threshold of one route; one that sends all rows the same way stays."""
    return _routed(judge, tree, _Choice.at(judge, tree, node, judge.losses(tree)), tree.route[node])


def _difference(ahead: NDArray[np.float64], tree: Tree, node: int) -> NDArray[np.float64]:
    """Return by how much more a row has ahead of it below a node than above: float64 (n,)."""
    below, above = tree.topology.children[node]
    return np.asarray(ahead[:, below] - ahead[:, above])


def _placed(scores: NDArray[np.float64], more: NDArray[np.float64], now: float) -> float:
    """Return the threshold, above which rows go up, where those below have the least sum of `more`."""
    order = np.argsort(scores, kind="stable")
    now = float(np.nextafter(now, np.inf)) if np.isfinite(now) and (scores == now).any() else now
    return just_below(best_cut(scores[order], more[order], now), scores)


@frozen(eq=False)
class _Choice:
    """What a route decides: rows that come to it, and by how much more they have ahead of them below than above."""

    node: int
    inside: NDArray[np.bool_]
    more: NDArray[np.float64]
    flow: Flow

    @classmethod
    def at(cls, judge: Judge, tree: Tree, node: int, losses: NDArray[np.float64]) -> _Choice:
        """Tell it of the judge's rows, with what answers lose, (n, K)."""
        flow = judge.flow(tree)
        more = _difference(flow.ahead(losses, judge.arrival(tree)), tree, node)
        return cls(node, flow.passes[:, node] > 0, more, flow)


def move_routes(fitter: Fitter, tree: Tree, guard: Judge | None = None) -> Tree:
    """Move one route after another, the last first, to other learners and weights.

    A move is accepted where loss + lambda * cost falls on the training rows, and on those of the guard does not rise.
    """
    judge = fitter.judge
    losses = judge.losses(tree)
    best = judge.measure(tree).total
    limit = np.inf if guard is None else guard.measure(tree).total
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        for moved in _candidates(fitter, tree, _Choice.at(judge, tree, node, losses)):
            total = judge.measure(moved).total
            if total < best * (1 - _ENOUGH):
                seen = -np.inf if guard is None else guard.measure(moved).total
                if seen <= limit:
                    tree, best, limit = moved, total, seen
    return tree


def _candidates(fitter: Fitter, tree: Tree, choice: _Choice) -> Iterator[Tree]:
    """Fit a route to which side is better for each row, weighed by how much better, at some prices."""
    rows, pricing = fitter.judge.rows, fitter.judge.pricing
    size = np.abs(choice.more) * choice.inside
    at = np.flatnonzero(size > _LEAST * size.max())
    side = np.sign(choice.more[at])[:, np.newaxis]
    if not len(at) or (side == side[0]).all():
        return
    share, outputs = float(rows.share[choice.inside].sum()), rows.outputs.rows(at)
    prices, drawn = pricing.drawn(np.where(choice.inside, rows.share, 0.0))
    prices = prices.after(tree.bought(choice.node))
    for later in np.flatnonzero(tree.topology.paths[:, choice.node]):
        if later != choice.node:  # what a row buys later anyway costs nothing more here
            prices = prices.after(tree.used[later], among=choice.flow.passes[drawn, later] > 0)
    seen: set[bytes] = set()
    normal, ridge = NormalEquations.of(outputs, side, size[at]), fitter.ridge_for(share)
    for inflation in _INFLATIONS:
        price = inflation * fitter.judge.tradeoff * share / float(size[at].sum())
        weights, constant = fit_at_price(normal, prices, price, ridge)
        used = np.flatnonzero(weights.any(axis=1))
        if not len(used) or weights.tobytes() in seen:
            continue
        seen.add(weights.tobytes())
        H = outputs.columns(used).block(slice(0, len(at)))
        yield _routed(fitter.judge, tree, choice, weights[:, 0])
        start, nothing = (2.0 * weights[used], 2.0 * constant), np.zeros(side.shape)
        refined, _ = refine(Logistic(), H, side, size[at], nothing, start, ridge * normal.unit / 4)
        weights[used] = refined
        yield _routed(fitter.judge, tree, choice, weights[:, 0])


def _routed(judge: Judge, tree: Tree, choice: _Choice, route: NDArray[np.float64]) -> Tree:
    """Replace the route that is chosen, its threshold placed; weights (C,)."""
    inside, used = np.flatnonzero(choice.inside), np.flatnonzero(route)
    scores = judge.rows.outputs.rows(inside).columns(used).times(route[used])
    return tree.with_route(choice.node, route, _placed(scores, choice.more[inside], np.inf))
