"""Regressions of what later stops gain."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.plugin import F8, I8, Rows
from costframe.trees import BinMapper, BinnedData, ManyFolds, TreeSettings
from costframe_planner.problem import COARSE, Problem
from costframe_planner.set_models import SetModel

_GAIN_TREES = TreeSettings(max_leaves=8, l2_regularization=5.0, n_iter_no_change=6)  # of regressions of gains
_STEPS = (5_000, 0.08, 60), (np.inf, 0.15, 30)  # largest number of rows, step, rounds
_PARTS = 3  # of the rows, to cross-fit regressions
_ERRORS = 1.0  # standard errors of a slope by which it is lower: it is chosen on the rows that it is for
_SHARE, _FEWEST = 300, 20  # a leaf has at least n / _SHARE and at least _FEWEST rows


def regress_gains(problem: Problem, models: list[SetModel], k: int, seen: BinnedData) -> ManyFolds:
    """Regress the gains of each later set at stop k."""
    own, later = models[k], models[k + 1 :]
    targets = np.stack([model.losses - own.losses for model in later], axis=1)
    truths = targets
    if problem.stakes is not None:
        truths = np.stack([model.realised - own.realised for model in later], axis=1)
    return regress(problem, seen, targets, truths)


def parts_of(problem: Problem) -> I8:
    """Return the part of each row, int64 (n,), without which the regressions predict its gains."""
    return problem.fold % _PARTS


def known_at(problem: Problem, model: SetModel) -> BinnedData:
    """Return the data known at a set: the features that its model reads, and its scores."""
    features = problem.coarse.take_columns(np.array(model.features, np.int64))
    mapper = BinMapper.fit(model.scores, max_bins=COARSE, sample_weight=problem.rows.weight)
    return features.append_columns(mapper.transform(model.scores))


def regress(problem: Problem, seen: BinnedData, targets: F8, truths: F8, *, n_threads: int = 1) -> ManyFolds:
    """Regress targets, float64 (n, T), on the data known at a set, cross-fitted, and shrunk as far as it generalizes.

    The slope of each truth, (n, T), on the predictions of its target out of fold, less its standard error and from 0 to
    1, multiplies these: rows that follow an overconfident regression buy what is not worth its price, and are told of
    gains that they miss. Truths are targets with realised costs of errors, if these are partly expected ones.
    """
    fewest = max(_FEWEST, problem.n_rows // _SHARE)
    step, n_rounds = next((step, count) for most, step, count in _STEPS if problem.n_rows <= most)
    settings = evolve(_GAIN_TREES, min_samples_leaf=fewest, learning_rate=step, n_estimators=n_rounds)
    parts, rows = parts_of(problem), problem.rows
    found = ManyFolds.fit(seen, rows, targets, parts, settings, n_threads=n_threads)
    moved = found.predictions - found.means[found.place]
    each = zip(*map(np.ascontiguousarray, (moved.T, truths.T)), strict=True)
    return found.shrunk(np.array([_slope(rows, *one) for one in each]))


def _slope(rows: Rows, moved: F8, truth: F8) -> float:
    """Return the slope of a regression of the truth on predictions, less its standard error, clipped to [0, 1]."""
    moved, truth = moved - rows.mean(moved), truth - rows.mean(truth)
    unit = np.abs(moved).max(initial=0.0)  # squares of huge losses overflow
    if unit == 0:
        return 1.0
    moved, truth = moved / unit, truth / unit
    square = rows.mean(moved * moved)
    slope = rows.mean(moved * truth) / square
    left = moved * (truth - slope * moved)
    unit = np.abs(left).max(initial=0.0) or 1.0
    error = unit * np.sqrt(rows.mean((left / unit) ** 2) / rows.total_repeats) / square
    return float(np.clip(slope - _ERRORS * error, 0.0, 1.0))
