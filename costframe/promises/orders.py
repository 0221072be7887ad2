"""The order in which models are tested, from labelled rows that plan, apart from those that certify.

Every order is valid, and a test that fails ends it. So a good one is short where models are near the limit: what the
tests will say is drawn many times from the rows that plan, and models are added to the order, or left out, while the
cost that is expected of the chosen one falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from costframe.core.arrays import B1, F8
from costframe.promises.losses import COUNTS, Losses

_DRAWS, _SEED = 400, 0
_GAIN = 0.005  # least share of the expected cost that a change of the order saves
_AS_SAFE = 1.0  # standard errors
_APART = 0.01  # models of nearly the same cost are not tested after each other


def foresee(losses: Sequence[Losses], planned: int, ahead: int, delta: float) -> B1:
    """Return draws of whether each model will be certified, bool (draws, models), for one promise.

    `losses` are those of the models on `planned` rows or groups; `ahead` are to certify. Each draw takes the planning
    ones with replacement, as the truth that they leave open, and the certifying ones from these; models share rows.
    """
    from scipy.stats import binom, norm

    values = np.zeros((len(losses), planned))
    about = np.zeros((len(losses), planned))
    for place, losses_of_promise in enumerate(losses):
        values[place, losses_of_promise.draws], about[place, losses_of_promise.draws] = losses_of_promise.values, 1.0
    counts, limits = about.sum(axis=1), np.array([losses_of_promise.limit for losses_of_promise in losses])
    mean = (values.sum(axis=1) + 0.5) / (counts + 1)  # as if half an error more had been seen
    influence = (values - mean[:, None]) * about / np.maximum(counts, 1)[:, None]
    r = np.random.default_rng(_SEED)
    true, drawn = _with_replacement(planned, r), _with_replacement(planned, r)
    seen = mean + (true - 1) @ influence.T + (drawn - 1) @ influence.T * math.sqrt(planned / ahead)
    n = true @ about.T * (ahead / planned)
    if losses[0].law == COUNTS:
        n = np.round(n)
        sizes = np.arange(int(n.max()) + 1)
        few = np.asarray(binom.ppf(delta, sizes, min(max(float(limits[0]), 0.0), 1.0)))
        return np.asarray(np.round(seen * n) < few[n.astype(np.int64)])
    spread = np.array([losses_of_promise.variance for losses_of_promise in losses])
    return np.asarray((seen + norm.isf(delta) * np.sqrt(spread / np.maximum(n, 1)) <= limits) & (n > 0))


def _with_replacement(n: int, r: Generator) -> F8:
    """Return how often each of n is drawn in n draws, float64 (draws, n)."""
    drawn = r.integers(n, size=(_DRAWS, n)) + n * np.arange(_DRAWS)[:, None]
    return np.bincount(drawn.ravel(), minlength=_DRAWS * n).reshape(_DRAWS, n).astype(np.float64)


def improve_order(order: Sequence[int], certified: B1, cost: F8) -> list[int]:
    """Return an order of falling cost, after models were added to one and left out while the expected cost fell.

    `certified` are draws as of `foresee`; the cost is that of the last model before the first that is not certified.
    Where not even the first one is, it is the largest, and there is no model: so the first one stays, unless a dearer
    one before it is certified as often.
    """
    best, sure = list(order), certified.mean(axis=0)
    least = _expected_cost(best, certified, cost)
    while True:
        shorter = [[*best[:place], *best[place + 1 :]] for place in range(1, len(best))]
        longer = _with_one_more(best, certified, cost)
        changes = [*shorter, longer] if sure[longer[0]] >= sure[best[0]] else [best, *shorter]
        expected = [_expected_cost(change, certified, cost) for change in changes]
        if min(expected) >= least * (1 - _GAIN):
            return best
        least = min(expected)
        best = changes[expected.index(least)]


def _with_one_more(order: list[int], certified: B1, cost: F8) -> list[int]:
    """Return the order with that model inserted, where its cost puts it, which lowers the expected cost most.

    In a draw in which all before it are certified, a certified one changes what is paid from the cost of that before
    it to its own, unless the next one is certified; one that is not certified ends the order.
    """
    paid = _paid(order, certified, cost)
    passed = np.logical_and.accumulate(certified[:, order], axis=1)
    saved = np.zeros(len(cost))
    places = np.searchsorted(-cost[order], -cost)
    for place in np.unique(places):
        ending = np.flatnonzero(places == place)
        before = passed[:, place - 1] if place else np.ones(len(paid), np.bool_)
        otherwise = cost[order[place - 1]] if place else cost.max()
        onward = passed[:, place] if place < len(order) else np.zeros(len(paid), np.bool_)
        seen = certified[:, ending].astype(np.float64)
        with_it = np.where(onward, paid - otherwise, 0.0) @ seen
        with_it += (cost[ending] - otherwise) * ((before & ~onward).astype(np.float64) @ seen)
        saved[ending] = np.where(before, paid - otherwise, 0.0).sum() - with_it
    saved[order] = -np.inf
    number = int(saved.argmax())
    place = int(places[number])
    return [*order[:place], number, *order[place:]]


def _expected_cost(order: list[int], certified: B1, cost: F8) -> float:
    return float(_paid(order, certified, cost).mean())


def _paid(order: list[int], certified: B1, cost: F8) -> F8:
    """Return what is paid in each draw, float64 (draws,)."""
    n_passed = np.logical_and.accumulate(certified[:, order], axis=1).sum(axis=1)
    return np.asarray(np.concatenate([[cost.max()], cost[order]])[n_passed])


def staircase(safety: Sequence[float], cost: F8) -> list[int]:
    """Return numbers of models, each one cheaper than that before, and the safest of those up to its cost.

    The first one is the dearest that is nearly as safe as the safest: that one may be so by luck.
    """
    order: list[int] = []
    for number in sorted(range(len(cost)), key=lambda number: (cost[number], -safety[number])):
        if not order or safety[number] > safety[order[-1]]:
            if order and cost[number] <= cost[order[-1]] * (1 + _APART) and len(order) > 1:
                order.pop()
            order.append(number)
    order.reverse()
    as_safe = [
        k for k, chance in enumerate(safety) if cost[k] > cost[order[0]] and chance >= safety[order[0]] - _AS_SAFE
    ]
    return [max(as_safe, key=lambda number: float(cost[number])), *order] if as_safe else order
