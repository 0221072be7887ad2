"""Training of a cascade by either recipe, and its settings."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.calibration import calibrate_at_exits
from costframe.stagewise.fitting import USUAL_RIDGE
from costframe.stagewise.picking import MOST_LEARNERS, pick
from costframe.stagewise.rows import Logistic
from costframe.stagewise.soft_tree import as_stage_tree
from costframe.training.sampling import halves, sample_by_hash
from costframe_cronus import cronus
from costframe_cronus.by_exact_cost import emphasize, initialize, pick_settings, train_by_exact_cost

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.stagewise.descent import Step
    from costframe.stagewise.estimator import BankTask
    from costframe.stagewise.evaluation import Evaluation
    from costframe.training.data import Rows

__all__ = ["CascadeSettings", "train_cronus"]

_MOST = 1e300  # largest lambda: products with zero stay zero
_MOST_ROWS = 20_000  # for the choice of settings


@frozen
class CascadeSettings:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff : float
        lambda.
    n_stages : int
        K.
    rejected : float
        epsilon, the share of its rows that each stage rejects at first.
    inflation : float
        delta: stage k starts at lambda delta^(K-k), as it is not really the last.
    steepness : float
        gamma.
    positive_weight : float
        w+, the factor of the loss of a row of target 1; that of target -1 is 1.
    l1, l1_last : float
        rho of all stages but the last, and of the last, as printed.
    ridge : float
        Of fits by exact cost, in units of the outputs' median variance.
    """

    tradeoff: float
    n_stages: int = 10
    rejected: float = 0.15
    inflation: float = 1.3
    steepness: float = 50.0
    positive_weight: float = 3.5
    l1: float = 0.0
    l1_last: float = 0.0
    ridge: float = USUAL_RIDGE

    def tradeoff_at(self, stage: int) -> float:
        """Return lambda_k of a stage, from 0, at most 1e300."""
        later = self.n_stages - 1 - stage
        inflated = min(later * log(self.inflation), log(_MOST))
        return min(self.tradeoff * exp(inflated), _MOST)


def train_cronus(
    task: BankTask,
    held_out: Rows,
    own: NDArray[np.float64] | None,
    settings: CascadeSettings,
    free: Collection[str],
    steps: list[Step],
    *,
    optimize: bool = True,
) -> StageTree:
    """Train a cascade for two classes, or for targets from -1 to 1 with answers that rank.

    Parameters
    ----------
    task : BankTask
    held_out : Rows
        For calibration and choices.
    own : float64 (C,), optional
        Weights of the bank's outputs in its model.
    settings : CascadeSettings
    free : collection of str
        Settings to choose.
    steps : list of Step
        Gets the accepted steps of Algorithm 1.
    optimize : bool
        Whether to improve the start of the cascade.
    """
    data, bank, verbose = task.data, task.bank, task.verbose

    def fitting(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        found = task.on(rows, learners)
        return evolve(found, rows=emphasize(found.rows, settings.positive_weight))

    def choosing(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        if data.n_classes and not task.as_printed:
            return evolve(task.on(rows, learners), loss=Logistic(), half=halves(rows, data))
        return evolve(fitting(rows, learners), half=halves(rows, data))

    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    fewer, few_held_out = (sample_by_hash(rows, data, _MOST_ROWS) for rows in (data.train, held_out))
    pick_any = _pick_rho if task.as_printed else pick_settings
    settings = pick_any(settings, free, fitting(fewer, few), choosing(few_held_out, few), verbose)
    train = fitting(data.train)
    if task.as_printed:
        tree = cronus.initialize(train.rows, train.pricing.groups, settings)
        if optimize:
            tree = cronus.optimize(train.rows, train.loss, train.pricing.groups, tree.coarse(), settings, steps)
        return task.finish_printed(cronus.finish(tree, train.rows), settings.steepness)
    chosen_by = choosing(held_out)
    if optimize:
        tree = train_by_exact_cost(train, chosen_by, own, settings, verbose)
    else:
        tree = initialize(train.rows, train.pricing.at, settings, verbose)
    tree = calibrate_at_exits(chosen_by, tree, settings.steepness)
    return as_stage_tree(bank, tree, "sigmoid" if data.n_classes else "ranked", settings.steepness)


def _pick_rho(
    settings: CascadeSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CascadeSettings:
    """Choose rho as in section 3.4, by Algorithm 2 alone."""

    def total(at: CascadeSettings) -> float:
        start = cronus.initialize(train.rows, train.pricing.groups, at)
        return held_out.total(cronus.finish(start, train.rows))

    grid = {name: values for name, values in cronus.PAPER_CHOICES.items() if name in free}
    return pick(settings, grid, {name: values[:1] for name, values in grid.items()}, total, 1, "Cronus: rho", verbose)
