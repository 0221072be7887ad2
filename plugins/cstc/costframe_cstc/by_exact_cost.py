"""The default training: growth, moves and pruning of a tree by loss + lambda * exact cost.

A route learns the better side for each row, by the exact losses and costs below and above its node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.fitting import fit_at_price
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.picking import climb, pick
from costframe.stagewise.rows import Logistic, Squared
from costframe.stagewise.thresholds import best_threshold
from costframe_cstc.answers import Fitter, prune, refine, refit
from costframe_cstc.grow import divide, grow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.soft_tree import SoftTree
    from costframe.stagewise.topology import Flow
    from costframe_cstc.train import CSTCSettings

__all__ = ["CHOICES", "move_routes", "pick_settings", "train_by_exact_cost"]

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
STARTS: dict[str, tuple[float, ...]] = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}

_SWEEPS = 2
_FEW = 50  # outputs
_INFLATIONS = (1.0, 4.0)  # of prices: all rows of a node pay for its route
_LEAST = 1e-12  # of the largest difference between two sides: a route ignores rows with less
_ENOUGH = 1e-9  # of the objective


def train_by_exact_cost(
    train: Evaluation, some: Evaluation, held_out: Evaluation, settings: CSTCSettings, *, tune: bool
) -> SoftTree:
    """Grow a tree, move its routes and split its leaves, and keep the best tree on held-out rows.

    Parameters
    ----------
    train, some : Evaluation
        Rows for fits of answers, and fewer of them for moves of routes.
    held_out : Evaluation
    settings : CSTCSettings
    tune : bool
        Whether to choose the answers' ridge again in the end.
    """

    def total(tree: SoftTree) -> float:
        return held_out.total(tree if isinstance(held_out.loss, Squared) else calibrate_tree(tree, held_out))

    fitter, fewer = Fitter(train, settings.ridge), Fitter(some, settings.ridge)
    tree, answers = grow(fitter, settings.depth, settings.inflation)
    best = prune(held_out, tree, answers)
    if not settings.optimize:
        return best
    for _ in range(_SWEEPS):
        tree = move_routes(fewer, some.place_thresholds(tree), held_out)
        tree, answers = refit(fitter, divide(fewer, tree, settings.depth, held_out))
        best = min([best, prune(held_out, tree, answers)], key=total)
    if tune:
        best = min([best, _tuned(fitter, fewer, best, held_out)], key=total)
    return min([best, _placed(held_out, best)], key=total)


def _tuned(fitter: Fitter, fewer: Fitter, tree: SoftTree, held_out: Evaluation) -> SoftTree:
    """Fit answers again with the best ridge on held-out rows, chosen by fits to fewer training rows."""

    def total(ridge: float) -> float:
        return held_out.total(refit(evolve(fewer, ridge=ridge), tree)[0])

    ridge = climb(CHOICES["ridge"], fitter.ridge, total)
    tuned = tree if ridge == fitter.ridge else refit(evolve(fitter, ridge=ridge), tree)[0]
    return min((tree, tuned), key=held_out.total)


def _placed(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Place thresholds on held-out rows, if thresholds placed on one half are better on the other."""
    if held_out.half is None or len(tree) == 1:
        return tree
    gained = held_out.cross_fit(lambda _: tree) - held_out.cross_fit(lambda half: half.place_thresholds(tree))
    return held_out.place_thresholds(tree) if gained > 0 else tree


def pick_settings(
    settings: CSTCSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CSTCSettings:
    """Choose free settings by loss + lambda * cost of the grown and pruned tree on held-out rows.

    Over few outputs it also splits leaves, which is quick.
    """
    dividing = settings.optimize and train.rows.outputs.shape[1] <= _FEW

    def total(at: CSTCSettings) -> float:
        fitter = Fitter(train, at.ridge)
        tree, answers = grow(fitter, at.depth, at.inflation)
        if dividing:
            tree, answers = refit(fitter, divide(fitter, tree, at.depth, held_out))
        return held_out.total(prune(held_out, tree, answers))

    grid = {name: CHOICES[name] for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)}
    return pick(settings, grid, STARTS, total, 2, "CSTC: settings", verbose)


@frozen(eq=False)
class _Choice:
    """The choice of a route: the rows of its node, and their payments below minus those above."""

    node: int
    inside: NDArray[np.bool_]
    more: NDArray[np.float64]
    flow: Flow

    @classmethod
    def at(cls, train: Evaluation, tree: SoftTree, node: int, losses: NDArray[np.float64]) -> _Choice:
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
        refined, _ = refine(Logistic(), H, side, size[at], nothing, start, ridge * normal.unit / 4)
        weights[used] = refined
        yield _routed(fitter.train, tree, choice, weights[:, 0])


def _routed(train: Evaluation, tree: SoftTree, choice: _Choice, route: NDArray[np.float64]) -> SoftTree:
    """Replace the weights, (C,), of the chosen route, and place its threshold."""
    inside, used = np.flatnonzero(choice.inside), np.flatnonzero(route)
    scores = train.rows.outputs.rows(inside).columns(used).times(route[used])
    return tree.with_route(choice.node, route, best_threshold(scores, choice.more[inside], np.inf))
