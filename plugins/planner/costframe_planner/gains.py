"""Regressions of what later stops gain."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.plugin import F8, Rows
from costframe.trees import BinMapper, BinnedData, ManyFolds, TreeSettings
from costframe_planner.problem import COARSE, Problem
from costframe_planner.set_models import SetModel

_GAIN_TREES = TreeSettings(max_leaves=8, l2_regularization=5.0)  # of regressions of gains
_STEPS = (5_000, 0.08, 60), (np.inf, 0.15, 30)  # largest number of rows, step, rounds
_PARTS = 3  # of the rows, to cross-fit regressions
_SHARE, _FEWEST = 300, 20  # a leaf has at least n / _SHARE and at least _FEWEST rows


def regress_gains(problem: Problem, models: list[SetModel], k: int, seen: BinnedData) -> ManyFolds:
    """Regress the gains of each later set at stop k."""
    losses = models[k].losses
    targets = np.stack([model.losses - losses for model in models[k + 1 :]], axis=1)
    return regress(problem, seen, targets)


def known_at(problem: Problem, model: SetModel) -> BinnedData:
    """Return the data known at a set: the features that its model reads, and its scores."""
    features = problem.coarse.take_columns(np.array(model.features, np.int64))
    mapper = BinMapper.fit(model.scores, max_bins=COARSE, sample_weight=problem.rows.weight)
    return features.append_columns(mapper.transform(model.scores))


def regress(problem: Problem, seen: BinnedData, targets: F8, *, n_threads: int = 1) -> ManyFolds:
    """Regress targets, float64 (n, T), on the data known at a set, cross-fitted, and shrunk as far as it generalizes.

    The slope of each target on its predictions out of fold, from 0 to 1, multiplies these: rows that follow an
    overconfident regression buy what is not worth its price.
    """
    fewest = max(_FEWEST, problem.n_rows // _SHARE)
    step, n_rounds = next((step, count) for most, step, count in _STEPS if problem.n_rows <= most)
    settings = evolve(_GAIN_TREES, min_samples_leaf=fewest, learning_rate=step, n_estimators=n_rounds)
    parts, rows = problem.fold % _PARTS, problem.rows
    found = ManyFolds.fit(seen, rows, targets, parts, settings, n_threads=n_threads)
    each = zip(*map(np.ascontiguousarray, (found.predictions.T, targets.T)), found.intercept, strict=True)
    return found.shrunk(np.array([_slope(rows, *one) for one in each]))


def _slope(rows: Rows, predicted: F8, target: F8, mean: float) -> float:
    """Return the slope of a regression of targets, with their mean, on predictions, clipped to [0, 1]."""
    moved = predicted - rows.mean(predicted)
    unit = np.abs(moved).max(initial=0.0)  # squares of huge losses overflow
    if unit == 0:
        return 1.0
    moved = moved / unit
    truth = (target - mean) / unit
    return float(np.clip(rows.mean(moved * truth) / rows.mean(moved * moved), 0.0, 1.0))
