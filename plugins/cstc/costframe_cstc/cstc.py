"""From a bank and rows to a tree of classifiers as a stage tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.linear.banks import outputs_on
from costframe.linear.held_out import halves
from costframe.linear.pricing import Pricing
from costframe.linear.seen import SeenRows
from costframe_cstc.answers import Fitter
from costframe_cstc.calibrated import calibrated
from costframe_cstc.choose import MOST_LEARNERS, MOST_ROWS, choose
from costframe_cstc.divide import divide
from costframe_cstc.grow import grow
from costframe_cstc.judge import Judge
from costframe_cstc.losses import Logistic, Softmax, Squared
from costframe_cstc.prune import prune
from costframe_cstc.refit import refit
from costframe_cstc.relaxed_phase import relaxed_trees
from costframe_cstc.routes import move_routes, place_thresholds
from costframe_cstc.tree import as_stage_tree

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from costframe.core.bank import WeakLearnerBank
    from costframe.core.predictor import StageTree
    from costframe.core.training import Rows, TrainingData
    from costframe_cstc.losses import Loss
    from costframe_cstc.relaxed_phase import Step
    from costframe_cstc.settings import TreeSettings
    from costframe_cstc.tree import Tree

__all__ = ["OPTIMIZATIONS", "Trained", "train_cstc"]

OPTIMIZATIONS = ("full", "cyclic", "none")

_MOST_MOVED = 10_000  # rows that routes are moved by
_MOST_READ = 200_000  # rows whose readings are kept
_SWEEPS = 2


@frozen(eq=False)
class Trained:
    """A tree as stages, and the accepted steps of the cyclic phase."""

    tree: StageTree
    steps: tuple[Step, ...]


def train_cstc(
    data: TrainingData,
    seen: Rows,
    bank: WeakLearnerBank,
    settings: TreeSettings,
    free: Collection[str],
    optimization: str,
    n_jobs: int | None,
) -> Trained:
    """Train a tree.

    Parameters
    ----------
    data : TrainingData
    seen : Rows
        To choose and prune by.
    bank : WeakLearnerBank
    settings : TreeSettings
    free : collection of str
        Which of them are to be chosen.
    optimization : {"full", "cyclic", "none"}
    n_jobs : int or None
    """

    def judge(rows: Rows, learners: WeakLearnerBank = bank) -> Judge:
        return _judge(data, rows, learners, settings, n_jobs)

    def total(tree: Tree) -> float:
        return valid.measure(tree).total

    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    some = judge(_some(data.train, MOST_ROWS), few), judge(_some(seen, MOST_ROWS), few)
    settings = choose(settings, free, *some, divides=optimization != "none")
    fitter, valid = Fitter(judge(data.train), settings.ridge), judge(seen)
    steps: list[Step] = []
    if optimization == "cyclic":
        grown = grow(fitter, settings.depth, 1.0)
        trees = relaxed_trees(fitter, grown, settings, steps)
        best = min((prune(valid, tree, refit(fitter, tree)[1]) for tree in trees), key=total)
    else:
        grown = grow(fitter, settings.depth, settings.inflation)
        best = prune(valid, grown.tree, grown.answers)
        if optimization == "full":
            fewer = evolve(fitter, judge=judge(_some(data.train, _MOST_MOVED)))
            moved = _moved(fitter, fewer, valid, grown.tree, settings.depth)
            best = _tuned(fitter, min([best, *moved], key=total), valid)
            best = _placed(valid, halves(seen, data), best)
    link = "identity"
    if data.n_classes:
        best, link = calibrated(best, valid), "sigmoid" if data.n_classes == 2 else "softmax"
    return Trained(as_stage_tree(bank, best, link, settings.steepness), tuple(steps))


def _moved(fitter: Fitter, some: Fitter, valid: Judge, tree: Tree, depth: int) -> list[Tree]:
    """Move routes, divide last nodes, and fit answers to what comes to them, by turns; fewer rows tell what to move."""
    found = []
    for _ in range(_SWEEPS):
        tree = move_routes(some, place_thresholds(some.judge, tree), valid)
        tree, answers = refit(fitter, divide(some, tree, depth, valid))
        found.append(prune(valid, tree, answers))
    return found


def _tuned(fitter: Fitter, tree: Tree, valid: Judge) -> Tree:
    """Fit answers anew with smaller and larger ridges, and take what is best on the validation rows."""
    best, least = tree, valid.measure(tree).total
    for way in (0.1, 10.0):
        ridge = fitter.ridge * way
        while (now := valid.measure(tuned := refit(evolve(fitter, ridge=ridge), tree)[0]).total) < least:
            best, least, ridge = tuned, now, ridge * way
    return best


def _placed(judge: Judge, half: NDArray[np.bool_] | None, tree: Tree) -> Tree:
    """Place thresholds on validation rows, if those placed on one half of them are better on the other."""
    if half is None or len(tree.topology) == 1:
        return tree
    one, other = judge.take(half), judge.take(~half)
    across = other.measure(place_thresholds(one, tree)), one.measure(place_thresholds(other, tree))
    before = other.measure(tree), one.measure(tree)
    weight = np.array([judge.rows.share[~half].sum(), judge.rows.share[half].sum()])
    gained = weight @ [b.total - a.total for a, b in zip(across, before, strict=True)]
    return place_thresholds(judge, tree) if gained > 0 else tree


def _some(rows: Rows, most: int) -> Rows:
    """Take rows evenly, if there are more."""
    if len(rows) <= most:
        return rows
    return rows.take(np.unique(np.linspace(0, len(rows) - 1, most).astype(np.int64)))


def _judge(data: TrainingData, rows: Rows, bank: WeakLearnerBank, settings: TreeSettings, n_jobs: int | None) -> Judge:
    outputs = outputs_on(bank, rows.X, n_jobs)
    loss: Loss = Squared()
    if data.n_classes > 2:
        target = np.eye(data.n_classes)[rows.y]
    else:
        target = np.asarray(2.0 * rows.y - 1.0 if data.n_classes else rows.y)[:, np.newaxis]
    if data.n_classes and settings.loss == "logistic":
        loss = Logistic() if data.n_classes == 2 else Softmax()
    share = rows.weight / rows.total_weight
    pricing = Pricing.of(bank, data.prices, rows, outputs, settings.acquisition)
    reads = pricing.on_all_rows() if len(rows) <= _MOST_READ else None
    return Judge(SeenRows(outputs, target, rows.weight, share), pricing, loss, settings.tradeoff, reads)
