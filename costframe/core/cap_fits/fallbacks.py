"""Fallbacks of a stage tree, learned from rows: what caps choose by, and maps from partial scores to final ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import B1, F8, I8
from costframe.core.cap_fits.choices import Trial, fit_factors, fit_set_losses
from costframe.core.cap_fits.near_rows import cross_with_near_rows
from costframe.core.caps import walk_under_limits
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
from costframe.core.stages.links import apply_link, log_odds
from costframe.core.stages.run_stages import mean_outputs, predict_rows
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer, Route

COPIES, CAPS = 2, 16  # caps to try on each row beside none, and in all
KNOTS = (0.0, 0.2, 0.5, 1.0)
PRIOR = 1.0  # weight, in rows, of the map that changes nothing
MOST_STEPS = 60
_ROUNDING = 1e-12  # of the largest value: smaller spreads are rounding
_LARGEST = 1e100  # larger scores, whose squares overflow, are left out


def fit_fallbacks(tree: StageModel, rows: FallbackRows, cost: Callable[[F8, CostModel], F8]) -> Fallbacks:
    """Fit what caps choose by, and maps from partial scores to final predictions, on rows cut at caps of many sizes.

    Rows pay the tree's prices; if all are zero, every feature costs one. `cost` gives the cost of each row at prices.
    """
    rows = FallbackRows(cross_with_near_rows(rows.X, tree.layout.used), rows.weight)
    X, weight = rows.few.X, rows.few.weight
    final, exits = predict_rows(tree.layout, X, 1)
    model = CostModel.of(tree.costs, tree.feature_names)
    if not (paid := cost(X, model)).any():
        model = CostModel.uniform(tree.feature_names)
        paid = cost(X, model)
    prices = model.select(tree.feature_names)
    caps = paid.max(initial=0.0) * (np.arange(CAPS) / CAPS) ** 2  # more of the small ones
    known = _without_maps(tree, X, weight, final, exits)
    trial = Trial(evolve(tree, fallbacks=known), rows)
    known = evolve(known, set_losses=fit_set_losses(trial, prices))
    shares, factors = fit_factors(trial.of(evolve(tree, fallbacks=known)), prices, caps)
    expecting = evolve(tree, fallbacks=evolve(known, cap_shares=shares, cap_factors=factors))
    cut, which = _cut_rows(expecting, X, prices, caps)
    return _fit_maps(expecting, cut, final[which], exits[which], weight[which])


def _without_maps(tree: StageModel, X: F8, weight: F8, final: F8, exits: I8) -> Fallbacks:
    """Make fallbacks with expected outputs and ranges of final scores, and with maps that change nothing."""
    bank, n_stages, width = tree.bank, len(tree.stages), tree.n_outputs
    slope = np.zeros((n_stages, len(KNOTS), width))
    mean, low, high = np.zeros((n_stages, width)), *np.full((2, n_stages, width), np.inf)
    low *= -1
    ends = _on_path(tree)
    for number, stage in enumerate(tree.stages):
        slope[number] = isinstance(stage, Answer)
        ending = ends[number][exits]
        target = final_scores_at(tree, number, final, exits)[ending]
        target, mass = target[ok := (np.abs(target) < _LARGEST).all(axis=1)], weight[ending][ok]
        if mass.sum() > 0:
            low[number], high[number] = target.min(axis=0), target.max(axis=0)
            link = link_of(tree, number)
            middle = mass @ apply_link(link, target) / mass.sum()
            middle = middle if link == "identity" else log_odds(middle[None])[0]
            mean[number] = np.clip(middle, low[number], high[number])
    zeros = np.zeros((n_stages * len(KNOTS), width))
    expected = mean_outputs(bank, X, weight, tree.layout)
    return Fallbacks(
        expected.node_values,
        expected.column_values,
        expected.opaque_values,
        KNOTS,
        zeros,
        slope.reshape(zeros.shape),
        zeros,
        mean,
        low,
        high,
        SetLosses.untried(AbsenceLosses.none(len(tree.layout.used))),
        [0.0],
        [1.0],
    )


def _on_path(tree: StageModel) -> B1:
    """Return whether stage i lies on the path to stage j, the stage itself included: bool (stages, stages)."""
    ends = np.eye(len(tree.stages), dtype=np.bool_)
    for number in range(len(tree.stages) - 1, -1, -1):
        stage = tree.stages[number]
        if isinstance(stage, Route):
            ends[number] |= ends[stage.below] | ends[stage.above]
    return ends


def link_of(tree: StageModel, number: int) -> str:
    """Return the link that turns final scores at a stage into predictions; scores of ranked answers stay scores."""
    stage = tree.stages[number]
    if (answer := stage if isinstance(stage, Answer) else tree.only_answer) is not None:
        return "identity" if answer.link == "ranked" or answer.blends else answer.link
    if tree.links == ("ranked",):
        return "identity"
    return "sigmoid" if tree.n_outputs == 1 else "softmax"


def final_scores_at(tree: StageModel, number: int, final: F8, exits: I8) -> F8:
    """Return final scores at a stage, as `Fallbacks` defines them: float64 (rows, K)."""
    if tree.only_answer is not None or isinstance(tree.stages[number], Answer):
        return final
    values = tree.linked(final, exits)
    return values if tree.links == ("ranked",) else log_odds(values)


def _cut_rows(tree: StageModel, X: F8, prices: PriceArrays, caps: F8) -> tuple[CappedRows, I8]:
    """Walk all rows at the first cap, some at each other; return the ends of those that are cut, and their numbers."""
    walked, cut, step = list[CappedRows](), list[I8](), len(caps) // COPIES
    for number, cap in enumerate(caps.tolist()):
        some = np.arange(number % step, len(X), step if number else 1)
        found = walk_under_limits(tree, prices, Limits(cap), X[some], by_path=True, n_jobs=1)
        walked.append(found.rows(np.flatnonzero(found.cut)))
        cut.append(some[found.cut])
    return CappedRows.join(walked), np.concatenate(cut)


def _fit_map(link: str, hats: F8, base: F8, gap: F8, route: F8, target: F8, weight: F8) -> tuple[F8, F8, F8]:
    """Fit base + a + b gap + c route to `target` under the link: a (J, K), b (J, 1) or (J, K), c (J, K).

    The loss is the cross entropy, or the squared error for the identity link. If there are several outputs with a gap
    each, all have the same slope, so that probabilities still add up to one.
    """
    from scipy.optimize import minimize

    n_knots, n_outputs = hats.shape[1], target.shape[1]
    n_slopes = 1 if gap.shape[1] == n_outputs else n_outputs
    wanted, cuts = apply_link(link, target), n_knots * np.cumsum([n_outputs, n_slopes])

    def parts(flat: F8) -> list[F8]:
        return [part.reshape(n_knots, -1) for part in np.split(flat, cuts)]

    def loss(flat: F8) -> tuple[float, F8]:
        offset, slope, carry = parts(flat)
        scores = base + hats @ offset + (hats @ slope) * gap + (hats @ carry) * route
        off = weight * (apply_link(link, scores) - wanted)
        by_gap = off * gap
        if n_slopes < n_outputs:
            by_gap = by_gap.sum(axis=1, keepdims=True)
        gradient = np.concatenate([(hats.T @ basis).ravel() for basis in (off, by_gap, off * route)])
        total = float((weight * _potential(link, scores) - weight * (scores * wanted)).sum())
        return total + 0.5 * PRIOR * float(flat @ flat), gradient + PRIOR * flat

    size = int(cuts[-1]) + n_knots * n_outputs
    fitted = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    offset, slope, carry = parts(fitted.x)
    if n_slopes < n_outputs and np.allclose(base.sum(axis=1), wanted.sum(axis=1), rtol=1e-9, atol=0.0):
        # The steps of the minimizer let the sums of rows drift.
        offset, carry = (part - part.mean(axis=1, keepdims=True) for part in (offset, carry))
    return offset, slope, carry


def _potential(link: str, scores: F8) -> F8:
    """Return a function whose gradient is the link, as a sum over outputs: float64 (rows, K)."""
    if link == "identity":
        return 0.5 * scores * scores
    if link == "sigmoid":
        return np.logaddexp(0.0, scores)
    from scipy.special import logsumexp

    return np.asarray(logsumexp(scores, axis=1, keepdims=True) / scores.shape[1] + 0.0 * scores)


def _hats(share: F8) -> F8:
    """Return the weight of each knot for each row, as in `Fallbacks.scores`: float64 (rows, J)."""
    return np.stack([np.interp(share, KNOTS, indicator) for indicator in np.eye(len(KNOTS))], axis=1)


def _fit_maps(tree: StageModel, cut: CappedRows, final: F8, exits: I8, weight: F8) -> Fallbacks:
    """Fit the maps of a tree's fallbacks stage by stage, on rows that were cut, with their final scores and exits."""
    assert tree.fallbacks is not None  # noqa: S101 - the caller made them
    knots, maps = len(KNOTS), {name: np.array(getattr(tree.fallbacks, name)) for name in ("offset", "slope", "carry")}
    finite = (np.abs(np.hstack([final, cut.scores, cut.route_scores[:, None]])) < _LARGEST).all(axis=1)  # False for NaN
    for number in np.unique(cut.exits[finite]).tolist():
        rows = np.flatnonzero(finite & (cut.exits == number))
        target = final_scores_at(tree, number, final[rows], exits[rows])
        fitted = _fit_stage(tree, number, cut.rows(rows), target, weight[rows][:, None])
        for into, values in zip(maps.values(), fitted, strict=True):
            into[number * knots : (number + 1) * knots] = values
    changes: dict[str, Any] = maps
    return evolve(tree.fallbacks, **changes)


def _fit_stage(tree: StageModel, number: int, cut: CappedRows, target: F8, weight: F8) -> tuple[F8, ...]:
    """Fit offset, slope and carry of a stage: float64, each of a shape that broadcasts to (J, K)."""
    assert tree.fallbacks is not None  # noqa: S101 - as above
    mean, partial, route = tree.fallbacks.mean[number], cut.scores, cut.route_scores[:, None]
    is_answer, link = isinstance(tree.stages[number], Answer), link_of(tree, number)
    unit = _spread(target, mean) if link == "identity" else 1.0
    base = partial if is_answer else np.broadcast_to(mean, target.shape)
    partial = partial if is_answer else partial[:, :1]
    center = mean if is_answer else partial.mean(axis=0)
    width, start = _spread(partial, center), float(route.mean())
    reach = _spread(route, start)
    gap = (partial - center) / width, (route - start) / reach
    offset, slope, carry = _fit_map(link, _hats(cut.share), base / unit, *gap, target / unit, weight)
    slope, carry = slope * unit / width, carry * unit / reach
    offset = offset * unit - slope * center - carry * start
    return (offset, slope + 1.0, carry) if is_answer else (offset + mean, slope, carry)


def _spread(values: F8, center: F8 | float) -> float:
    """Return the root of the mean squared distance, or one if it is undefined or no more than rounding."""
    if not values.size:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.sqrt(np.mean((values - center) ** 2)))
    return size if np.isfinite(size) and size > _ROUNDING * np.abs(values).max() else 1.0
