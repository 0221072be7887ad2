"""From a bank and rows to a cascade as a stage tree, by either recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.losses import Logistic
from costframe.stagewise.picking import MOST_LEARNERS, pick
from costframe.stagewise.printed import as_log_odds
from costframe.stagewise.stages import as_stage_tree
from costframe.training.data import halves
from costframe_cronus import cronus
from costframe_cronus.by_exact_cost import calibrated, emphasized, initialize, pick_settings, train_by_exact_cost

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.stagewise.cycle import Step
    from costframe.training.data import Rows, TrainingData
    from costframe_cronus.settings import CascadeSettings

__all__ = ["train_cronus"]

_MOST_ROWS = 20_000  # that settings are picked by


def train_cronus(
    data: TrainingData,
    held_out: Rows,
    bank: WeakLearnerBank,
    own: NDArray[np.float64] | None,
    settings: CascadeSettings,
    free: Collection[str],
    *,
    as_printed: bool,
    optimize: bool,
    acquisition: str,
    n_jobs: int | None,
    verbose: int,
    steps: list[Step],
) -> StageTree:
    """Train a cascade for two classes, or for targets from -1 to 1, whose answers rank.

    Parameters
    ----------
    data : TrainingData
    held_out : Rows
        To calibrate and choose by.
    bank : WeakLearnerBank
    own : float64 (C,), optional
        Weights of a model whose bank this is.
    settings : CascadeSettings
    free : collection of str
        Which of them are to be picked.
    as_printed : bool
        Whether to train as the paper prints it.
    optimize : bool
        Whether anything follows the start of the cascade.
    steps : list of Step
        Accepted steps of Algorithm 1 are appended.
    """

    def on(rows: Rows, learners: WeakLearnerBank = bank, *, fitting: bool) -> Evaluation:
        found = Evaluation.of(data, rows, learners, settings.tradeoff, acquisition, n_jobs)
        if data.n_classes and not fitting and not as_printed:
            return evolve(found, loss=Logistic(), half=halves(rows, data))
        found = evolve(found, rows=emphasized(found.rows, settings.positive_weight))
        return found if fitting else evolve(found, half=halves(rows, data))

    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    sample = on(data.train.subsample(_MOST_ROWS), few, fitting=True)
    chosen_by = on(held_out.subsample(_MOST_ROWS), few, fitting=False)
    train = on(data.train, fitting=True)
    if as_printed:
        settings = _pick_rho(settings, free, sample, chosen_by, verbose)
        tree = cronus.initialize(train.rows, train.pricing.groups, settings)
        if optimize:
            tree = cronus.optimize(train.rows, train.loss, train.pricing.groups, tree, settings, steps)
        tree = cronus.finish(tree, train.rows)
        link = "sigmoid" if data.n_classes else "identity"
        return as_stage_tree(bank, as_log_odds(tree) if data.n_classes else tree, link, settings.steepness)
    settings = pick_settings(settings, free, sample, chosen_by, verbose)
    chosen_by = on(held_out, fitting=False)
    if optimize:
        tree = train_by_exact_cost(train, chosen_by, own, settings, verbose)
    else:
        tree = initialize(train.rows, train.pricing.at, settings, verbose)
    tree = calibrated(chosen_by, tree, settings.steepness)
    return as_stage_tree(bank, tree, "sigmoid" if data.n_classes else "ranked", settings.steepness)


def _pick_rho(
    settings: CascadeSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CascadeSettings:
    """Pick rho as section 3.4 does, by Algorithm 2 alone."""

    def total(at: CascadeSettings) -> float:
        start = cronus.initialize(train.rows, train.pricing.groups, at)
        return held_out.total(cronus.finish(start, train.rows))

    grid = {name: values for name, values in cronus.PAPER_CHOICES.items() if name in free}
    return pick(settings, grid, {name: values[:1] for name, values in grid.items()}, total, 1, "Cronus: rho", verbose)
