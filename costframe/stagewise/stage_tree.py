"""The predictor of a soft tree: a route for each node that has a child, an answer for each exit."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.topology import Topology


def stage_numbers(topology: Topology) -> tuple[I8, I8]:
    """Return the stage of each node, int64 (K,), and those below and above it, int64 (K, 2), level by level.

    Each exit of a node that routes is a separate stage.
    """
    node_stage, followers = np.zeros(len(topology), np.int64), np.full((len(topology), 2), -1)
    waiting, count = [0], 1
    for node in waiting:  # grows
        for side, child in enumerate(topology.children[node].tolist() if topology.routes[node] else ()):
            followers[node, side] = count
            if child >= 0:
                node_stage[child] = count
                waiting.append(child)
            count += 1
    return node_stage, followers


def as_stage_tree(
    bank: WeakLearnerBank,
    tree: SoftTree,
    link: str = "identity",
    steepness: float = 1.0,
) -> StageTree:
    """Return the predictor: routes and answers over the learners that have a weight.

    With the link "ranked", rows of later nodes rank above those of earlier ones.
    """
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[tree.used.any(axis=0)])
    node_stage, followers = stage_numbers(tree.topology)
    stages: dict[int, Stage] = {}

    def weighed(weights: F8) -> tuple[I8, F8]:
        learners = np.unique(owner[weights.any(axis=1)])
        return np.searchsorted(used, learners), weights[np.isin(owner, learners)]

    def answer(node: int, level: int) -> Answer:
        slope, constants = tree.calibration[node, 0], tree.calibration[node, 1:]
        learners, weights = weighed(tree.weights[node])
        level = level if link == "ranked" else 0
        return Answer(learners, slope * weights, slope * tree.intercept[node] + constants, link, level)

    for node, (below, above) in enumerate(followers.tolist()):
        level = int((~tree.topology.routes[:node] | tree.topology.has_exit[:node]).sum())
        if not tree.topology.routes[node]:
            stages[int(node_stage[node])] = answer(node, level)
            continue
        learners, weights = weighed((tree.weights[node] @ tree.direction[node])[:, np.newaxis])
        intercept = float(tree.intercept[node] @ tree.direction[node])
        threshold = float(tree.threshold[node])
        stages[int(node_stage[node])] = Route(
            learners, weights[:, 0], [intercept], threshold, steepness, below=below, above=above
        )
        for stage, child in zip((below, above), tree.topology.children[node], strict=True):
            if child < 0:
                stages[stage] = answer(node, level)
    return StageTree(bank.restrict(used), [stages[number] for number in range(len(stages))])
