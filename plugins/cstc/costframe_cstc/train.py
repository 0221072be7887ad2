"""Training of a tree of classifiers by either recipe, and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.picking import MOST_LEARNERS
from costframe.stagewise.rows import Logistic, Softmax
from costframe.stagewise.soft_tree import as_stage_tree
from costframe.training.sampling import halves, sample_by_hash
from costframe_cstc.by_exact_cost import pick_settings, train_by_exact_cost
from costframe_cstc.cstc import train_as_printed

if TYPE_CHECKING:
    from collections.abc import Collection

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.stagewise.descent import Step
    from costframe.stagewise.estimator import BankTask
    from costframe.stagewise.evaluation import Evaluation
    from costframe.training.data import Rows

__all__ = ["CSTCSettings", "train_cstc"]

_MOST_PICKING = 8_000  # rows for the choice of settings
_MOST_MOVING = 10_000  # rows for the moves of routes
_MOST_READ = 200_000  # largest number of rows with stored reads


@frozen
class CSTCSettings:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff : float
        lambda.
    depth : int
        Levels of nodes.
    steepness : float
        gamma.
    loss : {"squared", "logistic"}
        Of classes; for numbers it is squared.
    l1 : float
        rho, as printed.
    inflation : float
        In growth by exact cost, a node of level l pays prices times inflation^(depth - l).
    ridge : float
        Of fits by exact cost, in units of the outputs' median variance.
    optimize : bool
        Whether to improve the start of the tree.
    """

    tradeoff: float
    depth: int
    steepness: float
    loss: str = "squared"
    l1: float = 0.0
    inflation: float = 1.0
    ridge: float = 1.0
    optimize: bool = True


def train_cstc(
    task: BankTask, held_out: Rows, settings: CSTCSettings, free: Collection[str], steps: list[Step]
) -> StageTree:
    """Train a tree of classifiers.

    Parameters
    ----------
    task : BankTask
    held_out : Rows
        For choices and pruning.
    settings : CSTCSettings
    free : collection of str
        Settings to choose.
    steps : list of Step
        Gets the accepted steps of the paper's cycles.
    """
    data, bank = task.data, task.bank

    def on(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        found = task.on(rows, learners)
        reads = found.pricing.on_all_rows if len(rows) <= _MOST_READ else None
        if data.n_classes and settings.loss == "logistic":
            return evolve(found, reads=reads, loss=Logistic() if data.n_classes == 2 else Softmax())
        return evolve(found, reads=reads)

    if task.as_printed:
        tree = train_as_printed(on(data.train), on(held_out), settings, steps)
        return task.finish_printed(tree, settings.steepness)
    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    fewer, few_held_out = (sample_by_hash(rows, data, _MOST_PICKING) for rows in (data.train, held_out))
    settings = pick_settings(settings, free, on(fewer, few), on(few_held_out, few), task.verbose)
    train = on(data.train)
    some = on(sample_by_hash(data.train, data, _MOST_MOVING)) if len(data.train) > _MOST_MOVING else train
    chosen_by = evolve(on(held_out), half=halves(held_out, data))
    tree = train_by_exact_cost(train, some, chosen_by, settings, tune="ridge" in free)
    tree = calibrate_tree(tree, chosen_by) if data.n_classes else tree
    return as_stage_tree(bank, tree, task.link, settings.steepness)
