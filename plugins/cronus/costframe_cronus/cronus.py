"""Cronus: a cascade over weak learners, in the paper's order.

`train_cronus` is the algorithm. Two of its steps have a printed form beside the default one, for `recipe="paper"`: the
fit of a stage in Algorithm 2 (`relaxed_stages` beside `exact_stages`), and what improves the start (`minimize_eq_8`,
Algorithm 1, beside `improve`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from attrs import evolve

from costframe import StageTree, WeakLearnerBank
from costframe.plugin import F8, PointwiseLoss, PricedGroups, Rows, Sampling, coarse, loss_for
from costframe.stagewise import (
    BankRows,
    BankTask,
    Evaluation,
    NormalEquations,
    RelaxedObjective,
    SoftTree,
    Step,
    WeightedSum,
    calibrate_at_exits,
    cycle,
    pick,
)
from costframe_cronus.improve import calibrate_cascade, improve
from costframe_cronus.settings import CHOICES, PAPER_CHOICES, CascadeSettings
from costframe_cronus.start import emphasize, l1_of_stages, start_cascade

REJECTED = -1.0  # the printed answer to rejected rows
_MOST_ROWS = 20_000  # for the choice of settings
_STEEPNESS = 50.0
_CYCLES = 100  # of Algorithm 1


def train_cronus(
    task: BankTask,
    held_out: Rows,
    bank_weights: F8 | None,
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
    data, bank, verbose, printed = task.data, task.bank, task.verbose, task.as_printed

    def fitting(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        evaluation = task.on(rows, learners)
        return evolve(evaluation, rows=emphasize(evaluation.rows, settings.positive_weight))

    def choosing(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        if data.n_classes and not printed:
            return evolve(task.on(rows, learners), loss=loss_for(2), half=Sampling(data).halves(rows))
        return evolve(fitting(rows, learners), half=Sampling(data).halves(rows))

    few = task.first_learners
    fewer, few_held_out = (Sampling(data).sample(rows, _MOST_ROWS) for rows in (data.train, held_out))
    settings = pick_cascade(
        settings, free, fitting(fewer, few), choosing(few_held_out, few), printed=printed, verbose=verbose
    )
    train = fitting(data.train)
    tree = start_cascade(train, settings, printed=printed, verbose=verbose)
    if printed:
        if optimize:
            tree = minimize_eq_8(train.rows, train.loss, train.pricing.groups, tree.coarse(), settings, steps)
        return task.finish_printed(reject(tree, train.rows), settings.steepness)
    chosen_by = choosing(held_out)
    if optimize:
        tree = improve(tree, bank_weights, train, chosen_by, settings)
    tree = calibrate_at_exits(chosen_by, tree, settings.steepness)
    return task.finish(tree, "sigmoid" if data.n_classes else "ranked", settings.steepness)


def pick_cascade(
    settings: CascadeSettings,
    free: Collection[str],
    train: Evaluation,
    held_out: Evaluation,
    *,
    printed: bool,
    verbose: int,
) -> CascadeSettings:
    """Choose free settings by the start alone, as in section 3.4: by default after placing its thresholds.

    The steepness is 50 for scores with a deviation of one, as labels have. So it is 50 over the deviation of the scores
    of a single stage without prices; in the paper it is 50.
    """
    if "steepness" in free and not printed:
        settings = evolve(settings, steepness=_STEEPNESS / _spread(train.rows, settings.ridge))

    def total(at: CascadeSettings) -> float:
        start = start_cascade(train, at, printed=printed)
        if printed:
            return held_out.total(reject(start, train.rows))
        return held_out.cross_fit(lambda rows: calibrate_cascade(rows, start, at, place=True))

    grid = {name: values for name, values in (PAPER_CHOICES if printed else CHOICES).items() if name in free}
    starts = {name: values if name == "rejected" else values[:1] for name, values in grid.items()}
    return pick(settings, grid, starts, total, 1, "Cronus: settings", verbose)


def _spread(rows: BankRows, ridge: float) -> float:
    """Return the deviation of the scores of a single stage, in (0, 1]."""
    normal = NormalEquations.of(rows.outputs, rows.target, rows.loss_weight)
    weights = normal.fit_ridge(normal.varies, ridge * normal.unit)
    variance = float((weights * (normal.gram @ weights)).sum())
    return float(coarse(np.sqrt(variance))) if 0 < variance <= 1 else 1.0


def minimize_eq_8(
    rows: BankRows,
    loss: PointwiseLoss,
    prices: PricedGroups,
    start: SoftTree,
    settings: CascadeSettings,
    steps: list[Step],
) -> SoftTree:
    """Run Algorithm 1: alternate between one stage's weights and the auxiliaries of eq. 11, until eq. 8 stops falling.

    Prices are in units of cost; `steps` gets the accepted steps.
    """
    rho = l1_of_stages(settings)[-len(start) :]  # a start may have fewer stages
    eq_8 = RelaxedObjective.of_chain(rows, loss, prices.in_loss(settings.tradeoff), rho, settings.steepness)
    return cycle(eq_8, start, _CYCLES, steps)


def reject(tree: SoftTree, rows: BankRows) -> SoftTree:
    """Set negligible weights to zero, leave out stages without weights, and answer rejected rows with -1."""
    tree = tree.without_zeros(rows)
    empty = ~tree.used.any(axis=1) & tree.topology.routes
    passing: F8 = np.where(tree.intercept[:, 0] > tree.threshold, -np.inf, np.inf)
    tree = tree.with_threshold(np.where(empty, passing, tree.threshold)).without_idle_routes()
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        tree = tree.with_leaf(node, WeightedSum(np.zeros(tree.weights.shape[1:]), np.array([REJECTED])))
    return tree
