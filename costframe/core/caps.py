"""Rows under caps: their walks, and the fallbacks that training fits for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.machine import over_chunks
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
from costframe.core.stages.layout import KNOWN
from costframe.core.stages.links import apply_link, log_odds
from costframe.core.stages.run_stages import mean_outputs, predict_rows
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer, Route

COPIES = 2  # caps to try on each row
KNOTS = (0.0, 0.2, 0.5, 1.0)
PRIOR = 1.0  # weight, in rows, of the map that changes nothing
MOST_STEPS = 60
_ROUNDING = 1e-12  # of the largest value: smaller spreads are rounding
_UNTOLD = np.empty((0, 0), np.int32)
_LARGEST = 1e100  # larger scores, whose squares overflow, are left out


def walk_under_limits(
    tree: StageModel,
    prices: PriceArrays,
    limits: Limits,
    X: F8,
    *,
    by_path: bool,
    n_jobs: int | None = None,
    caps: F8 | None = None,
    asked: NDArray[np.int32] | None = None,
) -> CappedRows:
    """Walk rows, float64 (rows, d), through a stage tree under limits; `caps`, (rows,), gives each row its own cap.

    `asked`, zeros (rows, U), gets the round in which each row asks for each feature that the tree uses. Else features
    come at once, unless further rounds cost something.
    """
    X, caps = np.ascontiguousarray(X, np.float64), np.full(len(X), limits.cap) if caps is None else caps
    layout, bill = tree.layout, tree.bill(prices)
    distinct, place = np.unique(caps, return_inverse=True)
    limit = np.array([bill.limit(cap) for cap in distinct.tolist()], np.uint64).reshape(-1, bill.n_words)[place]
    walk = tree.walk(prices, limited=True)
    state = walk.begin(by_path, {}, limits.barred)
    if asked is None and not prices.has_rounds:
        walk.arrays(state)[2][: len(layout.used)] |= KNOWN
    begin = np.frombuffer(state, np.uint64)
    capped = CappedRows.empty(layout, len(X))

    def chunk(part: slice) -> None:
        values, rows, waits = X[part], np.arange(part.stop - part.start), np.zeros(part.stop - part.start, np.int64)
        opaque, called = np.zeros((len(values), layout.n_opaque)), np.zeros((len(values), layout.n_opaque), np.bool_)
        while len(rows):
            told = _UNTOLD if asked is None else asked[part]
            engine.walk_capped(
                values, rows, opaque, called, limit[part], begin, *walk.structs, waits, *capped.rows(part), told
            )
            rows = np.flatnonzero(waits)
            for use in np.unique(-1 - waits[rows]).tolist():
                waiting = np.flatnonzero(waits == -1 - use)
                learner = layout.opaque(use)
                outputs = slice(int(layout.place[use]), int(layout.place[use]) + learner.width)
                opaque[waiting, outputs] = learner(values[np.ix_(waiting, np.array(learner.features, np.int64))])
                called[waiting, outputs] = True

    over_chunks(chunk, len(X), n_jobs)
    return capped


def fit_fallbacks(tree: StageModel, rows: FallbackRows, cost: Callable[[F8, CostModel], F8]) -> Fallbacks:
    """Fit maps from partial scores to final predictions, on rows cut at caps of many sizes.

    Rows pay the tree's prices; if all are zero, every feature costs one. `cost` gives the cost of each row at prices.
    """
    rows = rows.few
    X, weight = rows.X, rows.weight
    final, exits = predict_rows(tree.layout, X, 1)
    expecting = evolve(tree, fallbacks=_without_maps(tree, X, weight, final, exits))
    cut, which = _cut_rows(expecting, X, cost)
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


def _cut_rows(tree: StageModel, X: F8, cost: Callable[[F8, CostModel], F8]) -> tuple[CappedRows, I8]:
    """Walk rows at caps between zero and the largest cost of a row; return their ends and their numbers."""
    model = CostModel.of(tree.costs, tree.feature_names)
    if not (paid := cost(X, model)).any():
        model = CostModel.uniform(tree.feature_names)
        paid = cost(X, model)
    rows = np.tile(np.arange(len(X)), COPIES)
    spread = (np.arange(len(rows)) * 0.6180339887498949) % 1.0
    caps = paid.max(initial=0.0) * spread**2  # more of the small ones
    prices = model.select(tree.feature_names)
    walked = walk_under_limits(tree, prices, Limits(), X[rows], by_path=True, n_jobs=1, caps=caps)
    cut = np.flatnonzero(walked.cut)
    return walked.rows(cut), rows[cut]


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
    return evolve(tree.fallbacks, **maps)


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
