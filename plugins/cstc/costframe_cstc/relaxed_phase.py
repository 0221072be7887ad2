"""The paper's training: the relaxed objective by cycles, then exact zeros, fine-tuning, and removal by exact price."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.relaxing import STRENGTHS, scale_of
from costframe.stagewise.single_stage import USUAL_RIDGE, fit_ridge, in_loss
from costframe_cstc.classifiers import Classifiers
from costframe_cstc.cyclic import cycle
from costframe_cstc.objective import RelaxedObjective
from costframe_cstc.routes import place_thresholds
from costframe_cstc.tree import Tree
from costframe_cstc.trim import trim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.answers import Fitter
    from costframe_cstc.grow import Grown
    from costframe_cstc.settings import TreeSettings

__all__ = ["Step", "relaxed_trees"]

_CYCLES = 10
_DROP = 1e-3  # of the targets' deviation: an output whose part of the scores deviates by less does not matter


@frozen
class Step:
    """One accepted step of the cyclic phase, on training rows.

    Attributes
    ----------
    node : int
    strength : float
        Share of the relaxed cost that is charged, at which the phase was begun anew.
    objective : float
        The relaxed one, which falls while the strength is the same.
    cost : float
        Exact expected cost, by the learner, of weights that matter.
    """

    node: int
    strength: float
    objective: float
    cost: float


def relaxed_trees(fitter: Fitter, grown: Grown, settings: TreeSettings, steps: list[Step]) -> Iterator[Tree]:
    """Minimize the relaxed objective from a grown tree's classifiers, over the learners that these have.

    Since norms also shrink weights, it is done at several strengths of the relaxed cost; each gives a tree.
    """
    judge, start = fitter.judge, _classifiers(grown)
    used = np.flatnonzero(start.weights.any(axis=(0, 2)))
    if not len(used):
        yield grown.tree
        return
    rows, prices = judge.rows.columns(used), judge.pricing.at(judge.rows.share).restrict(used)
    everything = np.ones(len(used), np.bool_)
    groups, priced = prices.priced(everything), in_loss(prices, judge.tradeoff).priced(everything)
    scale = 1.0 if settings.paper_scale else _scale(rows, groups)
    for strength in (1.0,) if settings.paper_scale else STRENGTHS:
        objective = RelaxedObjective.of(
            rows,
            priced.times(scale * strength),
            start.topology,
            judge.loss,
            l1=settings.l1,
            steepness=settings.steepness,
            routing_loss=settings.routing_loss,
        )
        at = start.columns(used)
        for node, value, moved in cycle(objective, at, _CYCLES):
            at = moved
            steps.append(Step(node, strength, value, _exact(objective, groups, _dropped(at, rows))))
        found = _dropped(at, rows).spread(used, judge.rows.outputs.shape[1])
        yield trim(fitter, _fine_tuned(fitter, found))


def _classifiers(grown: Grown) -> Classifiers:
    weights = np.array([one.weights for one in grown.classifiers])
    intercept = np.array([one.constant for one in grown.classifiers])
    threshold = grown.tree.threshold + (intercept * grown.direction).sum(axis=1)
    return Classifiers(grown.tree.topology, weights, intercept, grown.direction, threshold)


def _scale(rows: SeenRows, groups: PricedGroups) -> float:
    """Return what makes the relaxed cost exact for a single stage without prices."""
    normal = NormalEquations.of(rows.outputs, rows.target, rows.in_mean)
    return scale_of(groups, fit_ridge(normal, normal.varies, USUAL_RIDGE * normal.unit))


def _dropped(at: Classifiers, rows: SeenRows) -> Classifiers:
    variance = rows.in_mean @ np.square(rows.target - rows.in_mean @ rows.target)
    size = np.sqrt(np.square(at.weights).sum(axis=2) * rows.variance)
    matters = size >= _DROP * np.sqrt(variance.max())
    return evolve(at, weights=np.where(matters[:, :, np.newaxis], at.weights, 0.0))


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
            fit = fitter.at(fitter.constant, inside)
            tree = tree.with_answer(node, fit.free_answer(tree.bought(node) | tree.used[node]))
    return place_thresholds(fitter.judge, tree)


def _as_tree(at: Classifiers) -> Tree:
    """Make routes of nodes with children, and answers of the others."""
    routes = at.topology.routes
    route = np.einsum("kcm,km->kc", at.weights, at.direction)
    threshold = at.threshold - (at.intercept * at.direction).sum(axis=1)
    answer: NDArray[np.float64] = np.where(routes[:, np.newaxis, np.newaxis], 0.0, at.weights)
    constant = np.where(routes[:, np.newaxis], 0.0, at.intercept)
    return Tree(at.topology, route * routes[:, np.newaxis], np.where(routes, threshold, 0.0), answer, constant)
