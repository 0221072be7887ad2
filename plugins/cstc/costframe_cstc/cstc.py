"""From a bank and rows to a tree of classifiers as a stage tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.banks import outputs_on
from costframe.stagewise.pricing import Pricing
from costframe.stagewise.seen import SeenRows
from costframe.training.held_out import halves
from costframe_cstc.answers import Fitter
from costframe_cstc.calibrated import calibrated
from costframe_cstc.choose import CHOICES, MOST_LEARNERS, MOST_ROWS, choose, ways
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

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
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
        """Measure a tree as it will be: log odds are calibrated."""
        seen = tree if isinstance(valid.loss, Squared) else calibrated(tree, valid)
        return valid.measure(seen).total

    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    sample = judge(data.train.subsample(MOST_ROWS), few), judge(seen.subsample(MOST_ROWS), few)
    settings = choose(settings, free, *sample, dividing=optimization == "full")
    fitter, valid = Fitter(judge(data.train), settings.ridge), judge(seen)
    steps: list[Step] = []
    grown = grow(fitter, settings.depth, settings.inflation)
    if optimization == "cyclic":
        trees = relaxed_trees(fitter, grown, settings, steps)
        best = min((prune(valid, tree, refit(fitter, tree)[1]) for tree in trees), key=total)
    else:
        best = prune(valid, grown.tree, grown.answers)
    if optimization != "none":
        some = evolve(fitter, judge=judge(data.train.subsample(_MOST_MOVED)))
        if optimization == "full":
            best = min([best, *_moved(fitter, some, valid, grown.tree, settings.depth)], key=total)
        if "ridge" in free:
            best = min([best, _tuned(fitter, some, best, valid)], key=total)
        best = min([best, _placed(valid, halves(seen, data), best)], key=total)
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


def _tuned(fitter: Fitter, some: Fitter, tree: Tree, valid: Judge) -> Tree:
    """Fit answers anew with the ridge that is best on the validation rows, as fewer training rows tell it."""

    def total(ridge: float) -> float:
        return valid.measure(refit(evolve(some, ridge=ridge), tree)[0]).total

    best, least = fitter.ridge, total(fitter.ridge)
    for ridges in ways(CHOICES["ridge"], fitter.ridge):
        for ridge in ridges:
            if (now := total(ridge)) >= least:
                break
            best, least = ridge, now
    tuned = tree if best == fitter.ridge else refit(evolve(fitter, ridge=best), tree)[0]
    return min((tree, tuned), key=lambda one: valid.measure(one).total)


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
