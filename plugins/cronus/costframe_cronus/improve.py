"""The choice among cascades by exact cost, in the place of Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve

from costframe.plugin import F8, SampledPrices, loss_for, sum_over_rows
from costframe.stagewise import (
    BankRows,
    Evaluation,
    Flow,
    SoftTree,
    SupportObjective,
    calibrate_at_exits,
    descend,
    place_thresholds,
)
from costframe_cronus.settings import CascadeSettings
from costframe_cronus.start import emphasize, start_cascade

_VARIES = 1e-12  # of a sum's mean: a smaller deviation is rounding
_CAUTION = 0.5  # standard errors of a difference that simpler cascades are allowed
_ROUNDS = 40  # few, so that rounding has no effect


def improve(
    start: SoftTree, bank_weights: F8 | None, train: Evaluation, held_out: Evaluation, settings: CascadeSettings
) -> SoftTree:
    """Choose the cascade of fewest stages within half a standard error of the best, by halves of held-out rows.

    It stands in the place of Algorithm 1: thresholds move, then all weights at fixed supports, by exact cost.
    """
    measured = []
    for tree, place in [(start, False), *_candidates(start, bank_weights, train, held_out, settings)]:
        parts = held_out.cross_fit_rows(lambda rows: calibrate_cascade(rows, tree, settings, place=place))  # noqa: B023
        placed = place_thresholds(held_out, tree, settings.steepness) if place else tree
        measured.append((len(placed), float(parts.sum()), parts, placed))
    least = min(measured, key=lambda entry: entry[1])
    near = [entry for entry in measured if entry[1] - least[1] <= _CAUTION * held_out.error(entry[2] - least[2])]
    return min(near, key=lambda entry: entry[:2])[3]


def calibrate_cascade(rows: Evaluation, tree: SoftTree, settings: CascadeSettings, *, place: bool) -> SoftTree:
    """Calibrate answers on some rows, perhaps after placing thresholds there."""
    placed = place_thresholds(rows, tree, settings.steepness) if place else tree
    return calibrate_at_exits(rows, placed, settings.steepness)


def _candidates(
    start: SoftTree, bank_weights: F8 | None, train: Evaluation, held_out: Evaluation, settings: CascadeSettings
) -> Iterator[tuple[SoftTree, bool]]:
    """Yield trees to choose from, and whether to place their thresholds."""
    yield start_cascade(train, evolve(settings, n_stages=1)), False
    starts = [start]
    if bank_weights is not None:
        starts.append(as_cascade(train.rows, bank_weights, train.pricing.at(train.rows.share), settings.n_stages))
        yield starts[-1].without_idle_routes(), False
    for tree in starts:
        yield tree, True
        placed = place_thresholds(held_out, tree, settings.steepness)
        for begin in (tree, placed) if np.isfinite(tree.threshold).all() else (placed,):
            yield _at_supports(begin, train, held_out, settings), True


def as_cascade(rows: BankRows, bank_weights: F8, prices: SampledPrices, n_stages: int) -> SoftTree:
    """Turn `bank_weights`, float64 (C,), of a model into a cascade: at most `n_stages` sums of its first outputs.

    It fits each sum to the target by a slope and a constant. Each stage ends when its purchases pass an equal part of
    the cost, which leaves the largest purchases to the last. No stage rejects rows yet.
    """
    spent = prices.one_by_one()
    spent = np.cumsum(spent / (spent.sum() or 1.0) + 1e-3 / len(bank_weights))
    ends = np.unique(np.searchsorted(spent, spent[-1] * np.arange(1, n_stages + 1) / n_stages * (1 - 1e-12)))
    weights = np.where(np.arange(len(bank_weights)) <= ends[:, np.newaxis], bank_weights, 0.0)
    scores = rows.outputs.times(weights.T)
    w, target = rows.loss_weight, rows.target[:, 0]
    mean = w @ scores
    variance = w @ np.square(scores - mean)
    varies = np.sqrt(variance) > _VARIES * np.abs(mean)
    slope = np.divide((w * target) @ (scores - mean), variance, out=np.zeros(len(ends)), where=varies)
    keep = slope > 0
    keep[-1] = True
    slope, mean, weights = np.maximum(slope, 0.0)[keep], mean[keep], weights[keep]
    return SoftTree.chain(slope[:, np.newaxis] * weights, w @ target - slope * mean, np.full(len(weights) - 1, -np.inf))


def _at_supports(tree: SoftTree, train: Evaluation, held_out: Evaluation, settings: CascadeSettings) -> SoftTree:
    """Move all weights and thresholds together; each stage may use all learners of the stages before it."""
    used = np.flatnonzero(tree.used.any(axis=0))
    if not len(used):
        return tree
    start = tree.columns(used).coarse()

    def objective(at: Evaluation) -> SupportObjective:
        rows = emphasize(at.rows, settings.positive_weight).columns(used)
        return SupportObjective(rows, loss_for(0), at.costs(tree), settings.tradeoff, settings.steepness)

    on_train = objective(train)
    passes = Flow.of(
        start.topology, start.routing(start.scores(on_train.rows)), start.threshold, settings.steepness
    ).passes
    reach = sum_over_rows(passes, on_train.rows.loss_weight)
    penalty = settings.ridge * float(np.median(on_train.rows.variance)) * reach
    free = np.logical_or.accumulate(start.used, axis=0)
    descended = descend(on_train, start, free, penalty, objective(held_out), _ROUNDS)
    return descended.spread(used, tree.weights.shape[1])
