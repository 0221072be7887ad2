"""The default training: a tree grown, moved and cut by loss + lambda * exact cost.

Routes move by the exact objective: the losses and costs below and above a node show the better way for each row.
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
_INFLATIONS = (1.0, 4.0)  # a dearer route must be worth it for all rows that come to it
_LEAST = 1e-12  # of the largest difference between two sides: rows to which it makes less matter to no route
_ENOUGH = 1e-9  # of the objective


def train_by_exact_cost(
    train: Evaluation, some: Evaluation, held_out: Evaluation, settings: CSTCSettings, *, tune: bool
) -> SoftTree:
    """Grow a tree, move its routes and divide its leaves, and keep the best tree on held-out rows.

    Parameters
    ----------
    train, some : Evaluation
        Rows to fit answers to, and fewer of them, to move routes by.
    held_out : Evaluation
    settings : CSTCSettings
    tune : bool
        Whether the answers' ridge may change in the end.
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
    """Fit answers anew with the ridge that is best on the held-out rows for fewer training rows."""

    def total(ridge: float) -> float:
        return held_out.total(refit(evolve(fewer, ridge=ridge), tree)[0])

    ridge = climb(CHOICES["ridge"], fitter.ridge, total)
    tuned = tree if ridge == fitter.ridge else refit(evolve(fitter, ridge=ridge), tree)[0]
    return min((tree, tuned), key=held_out.total)


def _placed(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Place thresholds on held-out rows, if those placed on one half of them are better on the other."""
    if held_out.half is None or len(tree) == 1:
        return tree
    gained = held_out.cross_fit(lambda _: tree) - held_out.cross_fit(lambda half: half.place_thresholds(tree))
    return held_out.place_thresholds(tree) if gained > 0 else tree


def pick_settings(
    settings: CSTCSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CSTCSettings:
    """Pick free settings by the grown and pruned tree's loss + lambda * cost on held-out rows.

    Last nodes of trees over few outputs are divided as they will be later, which takes little time there.
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
