"""The default training: a tree grown, moved and cut by loss + lambda * exact cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.picking import climb, pick
from costframe.stagewise.rows import Squared
from costframe_cstc.answers import Fitter, prune, refit
from costframe_cstc.grow import divide, grow
from costframe_cstc.routes import move_routes

if TYPE_CHECKING:
    from collections.abc import Collection

    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.soft_tree import SoftTree
    from costframe_cstc.train import CSTCSettings

__all__ = ["CHOICES", "pick_settings", "train_by_exact_cost"]

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
STARTS: dict[str, tuple[float, ...]] = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}

_SWEEPS = 2
_FEW = 50  # outputs


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
    gained = held_out.across(lambda _: tree) - held_out.across(lambda half: half.place_thresholds(tree))
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
