"""From a bank and rows to a tree of classifiers as a stage tree, by either recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.losses import Logistic, Softmax
from costframe.stagewise.picking import MOST_LEARNERS
from costframe.stagewise.printed import as_log_odds
from costframe.stagewise.stages import as_stage_tree
from costframe.training.data import halves
from costframe_cstc.by_exact_cost import pick_settings, train_by_exact_cost
from costframe_cstc.cstc import train_as_printed

if TYPE_CHECKING:
    from collections.abc import Collection

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.stagewise.cycle import Step
    from costframe.training.data import Rows, TrainingData
    from costframe_cstc.settings import TreeSettings

__all__ = ["train_cstc"]

_MOST_PICKING = 8_000  # rows that settings are picked by
_MOST_MOVING = 10_000  # rows that routes are moved by
_MOST_READ = 200_000  # rows whose readings are kept


def train_cstc(
    data: TrainingData,
    held_out: Rows,
    bank: WeakLearnerBank,
    settings: TreeSettings,
    free: Collection[str],
    *,
    as_printed: bool,
    optimize: bool,
    acquisition: str,
    n_jobs: int | None,
    verbose: int,
    steps: list[Step],
) -> StageTree:
    """Train a tree.

    Parameters
    ----------
    data : TrainingData
    held_out : Rows
        To choose and prune by.
    bank : WeakLearnerBank
    settings : TreeSettings
    free : collection of str
        Which of them are to be picked.
    as_printed : bool
        Whether to train as the paper prints it.
    optimize : bool
        Whether anything follows the start of the tree.
    steps : list of Step
        Accepted steps of the paper's cycles are appended.
    """

    def on(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        found = Evaluation.of(data, rows, learners, settings.tradeoff, acquisition, n_jobs)
        reads = found.pricing.on_all_rows() if len(rows) <= _MOST_READ else None
        if data.n_classes and settings.loss == "logistic":
            return evolve(found, reads=reads, loss=Logistic() if data.n_classes == 2 else Softmax())
        return evolve(found, reads=reads)

    link = {0: "identity", 2: "sigmoid"}.get(data.n_classes, "softmax")
    if as_printed:
        tree = train_as_printed(on(data.train), on(held_out), settings, optimize=optimize, steps=steps)
        return as_stage_tree(bank, as_log_odds(tree) if data.n_classes else tree, link, settings.steepness)
    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    sample = on(data.train.subsample(_MOST_PICKING), few), on(held_out.subsample(_MOST_PICKING), few)
    settings = pick_settings(settings, free, *sample, optimize=optimize, verbose=verbose)
    train, some = on(data.train), on(data.train.subsample(_MOST_MOVING))
    chosen_by = evolve(on(held_out), half=halves(held_out, data))
    tree = train_by_exact_cost(train, some, chosen_by, settings, optimize=optimize, tune="ridge" in free)
    tree = calibrate_tree(tree, chosen_by) if data.n_classes else tree
    return as_stage_tree(bank, tree, link, settings.steepness)
