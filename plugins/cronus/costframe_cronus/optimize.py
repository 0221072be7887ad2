"""From a cascade to a better one: cyclic optimization, and the second phase at fixed supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.single_stage import in_loss
from costframe_cronus.chain import Chain
from costframe_cronus.cyclic import RelaxedObjective, cycle
from costframe_cronus.flow import Flow
from costframe_cronus.refit import dropped, refit
from costframe_cronus.supports import SupportObjective, descend

if TYPE_CHECKING:
    from costframe_cronus.cascade import CascadeSettings
    from costframe_cronus.judge import Judge

__all__ = ["Step", "at_supports", "cyclic"]

_ROUNDS = 40  # and what rounding does to the weights stays far below what matters
_CYCLES = 3
_FLOOR = 1e-6


@frozen
class Step:
    """One accepted step of training, on training rows with softened routing.

    Attributes
    ----------
    phase : {"cyclic", "supports"}
    objective : float
        What falls: eq. 8, or at fixed supports mean loss + lambda * exact expected cost + ridge.
    loss, cost : float
        Mean loss, and exact expected cost; of weights that matter, where the relaxation knows no zeros.
    """

    phase: str
    objective: float
    loss: float
    cost: float


def cyclic(chain: Chain, train: Judge, settings: CascadeSettings, scale: float, steps: list[Step]) -> Chain:
    """Minimize eq. 8 (Algorithm 1) over the learners that the cascade has, drop what does not matter, and refit."""
    used = np.flatnonzero(chain.weights.any(axis=0))
    if not len(used):
        return chain
    rows, start = train.rows.columns(used), chain.columns(used)
    prices = in_loss(train.pricing.at(rows.share), settings.tradeoff).restrict(used)
    groups = prices.priced(np.ones(len(used), np.bool_))
    relaxed = RelaxedCost.chain(groups.times(scale), len(start.weights), _FLOOR)
    l1 = np.full(len(start.weights), settings.l1)
    l1[-1] = settings.l1_last
    for _, value, moved in cycle(RelaxedObjective(rows, relaxed, l1, settings.steepness), start, _CYCLES):
        rest = Chain(dropped(moved, rows), moved.intercept, moved.threshold)
        costs = train.costs(rest.spread(used, chain.weights.shape[1]))
        exact = SupportObjective(rows, costs, settings.tradeoff, settings.steepness)
        steps.append(Step("cyclic", value, *exact.value(moved)))
        start = moved
    return refit(start, rows, settings.ridge, settings.steepness).spread(used, chain.weights.shape[1])


def at_supports(chain: Chain, train: Judge, judge: Judge, ridge: float, steps: list[Step]) -> Chain:
    """Move all weights and thresholds together, each stage weighing what is evaluated up to it (second phase)."""
    used = np.flatnonzero(chain.weights.any(axis=0))
    if not len(used):
        return chain
    start = chain.columns(used)
    objective, other = (
        SupportObjective(one.rows.columns(used), one.costs(chain), one.tradeoff, one.steepness)
        for one in (train, judge)
    )
    free = np.logical_or.accumulate(start.weights != 0, axis=0)
    passes = Flow.of(start.scores(objective.rows), start.threshold, train.steepness).passes
    penalty = ridge * float(np.median(objective.rows.variance)) * (objective.rows.in_mean @ passes)
    found, path = descend(objective, start, free, penalty, other, _ROUNDS)
    steps += [Step("supports", *one) for one in path]
    return found.spread(used, chain.weights.shape[1])
