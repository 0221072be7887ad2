"""Which share of the gains that a plan expects its rows realise, out of fold.

Rows go where the expected gain is largest, models have the rounds and trees that do best on the same rows, and backward
induction sends these on by regressions that other parts' labels made: all flatter gains. Here nothing of a row's own
part chose what the row does, and its own fold did not choose the models. No decision depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.plugin import F8, Rows, tree_leaves
from costframe.trees import ManyFolds
from costframe_planner.gains import parts_of
from costframe_planner.problem import Problem
from costframe_planner.routes import Routes, steps_on
from costframe_planner.set_models import SetModel
from costframe_planner.trained import Trained, induce_backwards


def share_realised(
    rows: Rows, models: Sequence[SetModel], gains: Sequence[F8], routes: Routes, tradeoff: float, *, net: bool
) -> float:
    """Return the realised share of what rows expect of all their steps by gains out of fold, from 0 to 1.

    With `net`, gains are those of all further steps less the price of these. See `follow` for the arguments.
    """
    losses = np.stack([model.nested for model in models], axis=1)
    end, expected, real = np.zeros(len(losses), np.int64), np.zeros(len(losses)), np.zeros(len(losses))
    steps = [*steps_on(routes, gains, tradeoff)]
    for step in steps:
        end[step.rows] = step.to
    rest = losses[np.arange(len(end)), end]  # loss and prices from a row's last step on, backwards
    for step in reversed(steps):
        expected[step.rows] += step.gain
        after = rest[step.rows] if net else losses[step.rows, step.to]
        real[step.rows] += losses[step.rows, step.stop] - after
        rest[step.rows] += step.price
    return _quotient(rows, real, expected)


def share_of_set(rows: Rows, models: Sequence[SetModel], gains: Sequence[F8], stop: int) -> float:
    """Return the same where all rows go from the first stop to one."""
    return _quotient(rows, models[0].nested - models[stop].nested, -gains[0][:, stop - 1]) if stop else 1.0


def _quotient(rows: Rows, real: F8, expected: F8) -> float:
    """Return the quotient of two means, from 0 to 1, which is 1 where nothing is expected."""
    of_real, of_expected = rows.mean(real), rows.mean(expected)
    return float(np.clip(of_real / of_expected, 0.0, 1.0)) if of_expected > 0 else 1.0


def induce_apart(problem: Problem, trained: Trained, tradeoff: float) -> list[F8]:
    """Return each row's gains under plans that were induced without its part: float64 (n, later stops) for each stop.

    The parts of `induce` decide for one another, so that its rows' ways depend on their own labels.
    """
    models, parts = trained.models, parts_of(problem)
    gains = [np.empty((len(parts), len(models) - 1 - k)) for k in range(len(models) - 1)]
    for part in np.unique(parts).tolist():
        inside, outside = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        rest, taught = problem.of_rows(inside), trained.of_rows(inside)
        found = induce_backwards(rest, taught, tradeoff)  # one by one: its own predictions are large
        for gain, model, folds in zip(gains[::-1], models[-2::-1], found, strict=True):
            known = np.hstack([problem.rows.X[outside][:, list(model.features)], model.scores[outside]])
            gain[outside] = _predict(folds, known, problem.n_threads)
    return gains


def _predict(regression: ManyFolds, table: F8, n_threads: int) -> F8:
    """Return what the regression on all its rows predicts from features and scores, float64 (n, any): (n, T)."""
    trees, outputs = regression.trees, np.arange(len(regression.intercept))
    predicted = np.tile(regression.intercept, (len(table), 1))
    if len(trees):
        leaves = trees.first[:-1] + tree_leaves(trees, table, n_threads)
        predicted += trees.values[trees.value[leaves][:, :, np.newaxis] + outputs].sum(axis=1)
    return predicted
