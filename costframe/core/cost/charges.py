"""Charges of a stage tree's rows: each takes one path (hard routing), perhaps cut by limits, or all paths (soft)."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.caps import walk_under_limits
from costframe.core.cost.totals import Charges
from costframe.core.learners.bits import bits_of
from costframe.core.machine import CHUNK, over_chunks
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.ends import Ends
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Route
from costframe.core.stages.stand_ins import StandIn
from costframe.core.terms.terms import Terms

_CELLS = 1 << 24  # of a table of rows and resources


def hard_charges(
    tree: StageModel,
    prices: PriceArrays,
    marks: engine.Record,
    X: F8,
    weight: F8,
    weights_at: F8,
    acquired: B1,
) -> Charges:
    """Charge some rows; `weights_at[s]` is the sum of e_t, in its unit, of the learners that stage s evaluates first.

    `acquired` is as for `charge_masks`.
    """
    layout = tree.layout
    runner = StageRunner(layout, X, marks)
    weights, scores = np.zeros(len(X)), np.empty((len(X), layout.n_outputs))
    exits, reached = np.zeros(len(X), np.int64), np.zeros(len(tree.stages))
    for stage, rows, values in runner.routed():
        at = slice(None) if len(rows) == len(X) else rows  # a slice makes no copies
        reached[stage] = weight[at].sum()
        weights[at] += weights_at[stage]
        if layout.below[stage] < 0:
            scores[at], exits[at] = values, stage
    comparisons = runner.spent[:, 0]
    again = runner.spent[:, 1] - np.bitwise_count(runner.masks).sum(axis=1) if prices.reuse else None
    ends = tree.ends_of(scores, exits, X)
    return charge_masks(tree, prices, runner.masks, weight, weights, comparisons, again, reached, ends, acquired)


def charge_masks(
    tree: StageModel,
    prices: PriceArrays,
    masks: NDArray[np.uint64],
    weight: F8,
    weights: F8,
    comparisons: F8,
    again: F8 | None,
    stage_weight: F8,
    ends: Ends,
    acquired: B1,
) -> Charges:
    """Charge rows that acquired the features `masks`, of those that the tree uses; see `Charges`.

    `weights` are the sums of e_t of the learners that rows evaluated, and `comparisons` theirs, in their units. `again`
    counts the uses of features beyond the first, if there is a price of reuse. `acquired`, False before, becomes a part
    of the charges.
    """
    used, exact, feature_weight, digits = tree.layout.used, tree.exact(prices), np.zeros(len(prices.cost)), []
    packed = tree.needs(prices).packed
    for _, cost, resource_cost in exact.parts:
        bought, resource_weight = np.zeros(len(used)), np.zeros(len(resource_cost))
        digits.append(np.zeros(len(masks)))
        engine.price_rows(
            masks, used, cost[used], packed, resource_cost, weight, acquired, digits[-1], bought, resource_weight
        )
    feature_weight[used] = bought
    counts = ((exact.learner, weights), (exact.split, comparisons), (exact.reuse, again))
    return Charges(
        acquired,
        exact.per_row(digits),
        learners=exact.money(exact.learner) * weights if prices.learner else None,
        comparisons=exact.money(exact.split) * comparisons if prices.spends else None,
        reuse=prices.reuse * again if prices.reuse and again is not None else None,
        per_row=exact.per_row(digits, *counts),
        feature_weight=feature_weight,
        resource_weight=resource_weight,
        stage_weight=stage_weight,
        predictions=ends.predictions,
        places=ends.places,
    )


def soft_charges(
    tree: StageModel,
    prices: PriceArrays,
    marks: engine.Record,
    steepness: float | None,
    X: F8,
    weight: F8,
    learners_at: F8,
) -> Charges:
    """Charge some rows; `learners_at[s]` is the price of the learners that stage s evaluates first."""
    n, used, visits = len(X), tree.layout.used, StageVisits(tree, prices, marks, X)
    acquired, resources = np.zeros((n, len(tree.feature_names))), np.zeros((n, len(prices.resource_cost)))
    learners, comparisons, reuse = np.zeros((3, n))
    reached = np.zeros((n, len(tree.stages)))
    waiting = [(0, np.ones(n), visits.no_features())]
    while waiting:  # not recursive: a chain may have thousands of stages
        stage, chance, bought = waiting.pop()
        seen = visits.visit(stage, bought, np.flatnonzero(chance > 0))
        acquired[:, used] += chance[:, None] * seen.new
        resources += chance[:, None] * seen.resources
        comparisons += chance * seen.comparisons
        reuse += prices.reuse * chance * seen.reused
        learners += chance * learners_at[stage]
        reached[:, stage] = chance
        part = tree.stages[stage]
        if isinstance(part, Route):
            up = _chance_above(part, seen.scores, steepness)
            waiting += [(part.above, chance * up, seen.bought), (part.below, chance * (1.0 - up), seen.bought)]
    paid = _sum_rows(acquired, prices.cost) + _sum_rows(resources, prices.resource_cost)
    sums = weight @ acquired, weight @ resources, weight @ reached
    return Charges(acquired, paid, learners, comparisons, reuse, *sums)


def _sum_rows(amounts: F8 | B1, price: F8) -> F8:
    """Return what amounts, (n, k), cost in each row: products of matrices round a row by the others beside it."""
    return np.asarray((amounts * price).sum(axis=1))


def _chance_above(route: Route, scores: F8, steepness: float | None) -> F8:
    """Return the probability that each row goes above: float64 (rows,)."""
    from scipy.special import expit

    with np.errstate(invalid="ignore"):  # infinity minus infinity: not above, as in hard routing
        slope = (route.steepness if steepness is None else steepness) * (scores - route.threshold)
    return np.where(np.isnan(slope), 0.0, expit(slope))


@frozen(eq=False)
class StageVisit:
    """All rows at one stage, as if each came there; U features that the tree uses."""

    scores: F8  # (n,): of the first output; zero for rows left out
    bought: B1  # (n, U): features acquired so far
    new: B1  # (n, U): features that this stage acquires
    resources: B1  # (n, R): resources that this stage needs first
    comparisons: F8  # (n,): price of the comparisons
    reused: F8  # (n,): number of uses of features beyond the first


class StageVisits:
    """Evaluation of stages on some rows, parents before their children."""

    def __init__(self, tree: StageModel, prices: PriceArrays, marks: engine.Record, X: F8) -> None:
        self._runner, self._tree = StageRunner(tree.layout, X, marks), tree
        self._n_used = len(tree.layout.used)
        self._needs = tree.needs(prices)
        self._comparison = float(prices.comparisons[0])

    def no_features(self) -> B1:
        """Return the features bought before the first stage, all False: bool (n, U)."""
        return np.zeros((len(self._runner.masks), self._n_used), np.bool_)

    def visit(self, stage: int, bought: B1, rows: I8) -> StageVisit:
        """Evaluate a stage for some rows; the other rows read nothing."""
        runner, n = self._runner, len(bought)
        runner.masks[:] = 0
        runner.spent[:] = 0
        scores = np.zeros(n)
        scores[rows] = runner.run(stage, rows)[:, 0]
        now = bought | bits_of(runner.masks, self._n_used)
        new = now & ~bought
        resources = self._needs.of_rows(now) & ~self._needs.of_rows(bought)
        comparisons = self._comparison * runner.spent[:, 0]
        return StageVisit(scores, now, new, resources, comparisons, runner.spent[:, 1] - new.sum(axis=1))


def learners_at(tree: StageModel, prices: PriceArrays) -> F8:
    """Return the price of the learners that each stage evaluates first on its path: float64 (stages,)."""
    return _sum_first(tree, prices.learner * tree.bank.evaluation)


def _sum_first(tree: StageModel, values: F8) -> F8:
    """Add up values, (T,), of the learners that each stage evaluates first on its path: float64 (stages,)."""
    layout = tree.layout
    stage = np.repeat(np.arange(len(tree.stages)), np.diff(layout.stage_first))
    first = np.where(layout.fresh, values[layout.learner], 0.0)
    return np.bincount(stage, weights=first, minlength=len(tree.stages)).astype(np.float64)


def stage_costs(
    tree: StageModel, prices: PriceArrays, X: F8, acquisition: str = "path", n_jobs: int | None = None
) -> F8:
    """Return the cost that each stage adds for each row that reaches it: float64 (n, stages).

    With probabilities p_i^s of reaching stage s, the expected cost of row i is sum_s p_i^s a_is, without `prices.once`.

    Parameters
    ----------
    tree : StageTree
    prices : PriceArrays
        In the order of the tree's features.
    X : float64 (n, d)
    acquisition : {"path", "learner"}
    """
    marks, learners = tree.marks(prices, acquisition), learners_at(tree, prices)
    used = tree.layout.used
    costs = np.empty((len(X), len(tree.stages)))

    def chunk(part: slice) -> None:
        visits = StageVisits(tree, prices, marks, X[part])
        everyone = np.arange(part.stop - part.start)
        waiting = [(0, visits.no_features())]
        while waiting:
            stage, bought = waiting.pop()
            seen = visits.visit(stage, bought, everyone)
            money = _sum_rows(seen.new, prices.cost[used]) + _sum_rows(seen.resources, prices.resource_cost)
            costs[part, stage] = money + seen.comparisons + prices.reuse * seen.reused + learners[stage]
            following = tree.stages[stage]
            if isinstance(following, Route):
                waiting += [(following.above, seen.bought), (following.below, seen.bought)]

    over_chunks(chunk, len(X), n_jobs, _rows_at_once(prices))
    return costs


def _rows_at_once(prices: PriceArrays) -> int:
    """Return the number of rows of which a table of all resources is still small."""
    return max(1, min(CHUNK, _CELLS // max(1, len(prices.resource_cost))))


def charge_tree(tree: StageModel, X: F8, weight: F8, terms: Terms) -> Charges:
    """Charge rows, float64 (rows, d), chunk by chunk; see `Predictor.charges`."""
    prices, n_jobs = terms.prices, terms.n_jobs
    limits = tree.binding(terms.limits, prices)
    if limits is not None:
        rows = walk_under_limits(tree, prices, limits, X, by_path=terms.by_path, n_jobs=n_jobs)
        if rows.cut.any() and (other := StandIn.of(tree, prices, limits)) is not None:
            rows = other.answer(X, rows, prices, terms.acquisition, n_jobs)
        return _charge_capped(tree, prices, X, rows, weight)
    marks, soft = tree.marks(prices, terms.acquisition), terms.is_soft
    learners = learners_at(tree, prices) if soft else _sum_first(tree, tree.weights[1])
    acquired = None if soft else np.zeros(X.shape, np.bool_)

    def chunk(part: slice) -> Charges:
        if acquired is None:
            return soft_charges(tree, prices, marks, terms.steepness, X[part], weight[part], learners)
        return hard_charges(tree, prices, marks, X[part], weight[part], learners, acquired[part])

    most = _rows_at_once(prices) if soft else CHUNK
    # An empty table is one empty chunk, so that the report has its shapes.
    found = Charges.join(over_chunks(chunk, len(X), n_jobs, most) or [chunk(slice(0, 0))], acquired)
    return found if terms.limits is None else evolve(found, cut=np.zeros(len(X), np.bool_))


def _charge_capped(tree: StageModel, prices: PriceArrays, X: F8, rows: CappedRows, weight: F8) -> Charges:
    """Charge rows, float64 (rows, d), after their walk under limits."""
    weights, comparisons, again = rows.spent.T
    reached = np.bincount(rows.exits, weights=weight, minlength=len(tree.stages)).astype(np.float64)
    for number in range(len(tree.stages) - 1, -1, -1):  # children come after their parent
        stage = tree.stages[number]
        if isinstance(stage, Route):
            reached[number] += reached[stage.below] + reached[stage.above]
    charges = charge_masks(
        tree,
        prices,
        rows.masks,
        weight,
        weights,
        comparisons,
        again,
        reached,
        tree.ends_of(rows.final, rows.exits, X, rows.cut),
        np.zeros((len(weight), len(prices.cost)), np.bool_),
    )
    return evolve(charges, cut=rows.cut)
