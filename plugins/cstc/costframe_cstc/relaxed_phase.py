"""The paper's training: the relaxed objective by cycles, then exact zeros, fine-tuning, and what is not worth its price."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.linear.normal import NormalEquations
from costframe.linear.relaxing import scale_of
from costframe.linear.single_stage import USUAL_RIDGE, fit_ridge, in_loss
from costframe_cstc.classifiers import Classifiers
from costframe_cstc.cyclic import cycle
from costframe_cstc.objective import RelaxedObjective
from costframe_cstc.routes import place_thresholds
from costframe_cstc.topology import Topology
from costframe_cstc.tree import Tree, WeightedSum
from costframe_cstc.trim import trim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.groups import PricedGroups
    from costframe_cstc.answers import Fitter
    from costframe_cstc.grow import Grown
    from costframe_cstc.settings import TreeSettings

__all__ = ["Step", "relaxed_phase"]

_CYCLES = 10
_DROP = 1e-3  # of the targets' deviation: an output whose part of the scores deviates by less does not matter


@frozen
class Step:
    """One accepted step of the cyclic phase, on training rows.

    Attributes
    ----------
    node : int
    objective : float
        The relaxed one, which falls.
    cost : float
        Exact expected cost, by the learner, of weights that matter.
    """

    node: int
    objective: float
    cost: float


def relaxed_phase(fitter: Fitter, grown: Grown, settings: TreeSettings, steps: list[Step]) -> Tree:
    """Minimize the relaxed objective from a grown tree's classifiers, over the learners that these have."""
    judge, start = fitter.judge, _classifiers(grown)
    used = np.flatnonzero(start.weights.any(axis=(0, 2)))
    if not len(used):
        return grown.tree
    rows = judge.rows.columns(used)
    prices = judge.pricing.at(judge.rows.share)
    groups = prices.restrict(used).priced(np.ones(len(used), np.bool_))
    # in_loss bounds prices that no double could hold
    priced = in_loss(evolve(prices.restrict(used), groups=groups), judge.tradeoff).groups
    scale = 1.0 if settings.paper_scale else _scale(fitter, groups, used)
    objective = RelaxedObjective.of(
        rows,
        priced.times(scale),
        start.topology,
        judge.loss,
        l1=settings.l1,
        steepness=settings.steepness,
        routing_loss=settings.routing_loss,
    )
    unit = _DROP * float(
        np.sqrt(judge.rows.in_mean @ np.square(judge.rows.target - judge.rows.in_mean @ judge.rows.target)).max()
    )
    at = start.columns(used)
    for node, value, moved in cycle(objective, at, _CYCLES):
        at = moved
        steps.append(Step(node, value, _exact(objective, groups, _dropped(at, rows.variance, unit))))
    return trim(
        fitter, _fine_tuned(fitter, _dropped(at, rows.variance, unit).spread(used, judge.rows.outputs.shape[1]))
    )


def _classifiers(grown: Grown) -> Classifiers:
    weights = np.array([one.weights for one in grown.classifiers])
    intercept = np.array([one.constant for one in grown.classifiers])
    threshold = grown.tree.threshold + (intercept * grown.direction).sum(axis=1)
    return Classifiers(grown.tree.topology, weights, intercept, grown.direction, threshold)


def _scale(fitter: Fitter, groups: PricedGroups, used: NDArray[np.int64]) -> float:
    """Return what makes the relaxed cost exact for a single stage without prices."""
    rows = fitter.judge.rows
    normal = NormalEquations.of(rows.outputs.columns(used), rows.target, rows.in_mean)
    return scale_of(groups, fit_ridge(normal, normal.varies, USUAL_RIDGE * normal.unit))


def _dropped(at: Classifiers, variance: NDArray[np.float64], unit: float) -> Classifiers:
    size = np.sqrt(np.square(at.weights).sum(axis=2) * variance)
    return evolve(at, weights=np.where((size >= unit)[:, :, np.newaxis], at.weights, 0.0))


def _exact(objective: RelaxedObjective, groups: PricedGroups, at: Classifiers) -> float:
    flow = objective.flow(at, objective.outcome(at))
    return evolve(objective.cost, groups=groups).charged(at.weights, share=objective.rows.share @ flow.exits)


def _fine_tuned(fitter: Fitter, at: Classifiers) -> Tree:
    """Fit what answers anew, on its support, and place thresholds."""
    tree = _as_tree(at)
    passes = fitter.judge.flow(tree).passes > 0
    for node in np.flatnonzero(~tree.topology.routes).tolist():
        inside = passes[:, node]
        if inside.any():
            fit = fitter.at(fitter.constant(), inside)
            tree = tree.with_answer(node, fit.free_answer(tree.bought(node) | tree.used[node]))
    return place_thresholds(fitter.judge, tree)


def _as_tree(at: Classifiers) -> Tree:
    """Make routes of nodes with children, and answers of the others."""
    routes = at.topology.routes
    answer = WeightedSum(at.weights, at.intercept)
    route = np.einsum("kcm,km->kc", at.weights, at.direction)
    threshold = at.threshold - (at.intercept * at.direction).sum(axis=1)
    return Tree(
        Topology(at.topology.children),
        route * routes[:, np.newaxis],
        np.where(routes, threshold, 0.0),
        answer.weights * ~routes[:, np.newaxis, np.newaxis],
        answer.constant * ~routes[:, np.newaxis],
    )
