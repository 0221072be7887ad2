"""A soft tree as the stage tree that predicts: a route for each node that has a child, an answer for each exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Stage
    from costframe.stagewise.soft_tree import SoftTree
    from costframe.stagewise.topology import Topology

__all__ = ["as_stage_tree", "stage_numbers"]


def stage_numbers(topology: Topology) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the stages of the nodes, int64 (K,), and those below and above each, int64 (K, 2), level by level.

    An exit of a node that routes is a stage of its own.
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
    """Make stages; learners without a weight are left out of the bank.

    With the link "ranked" the exits rank in the order of their nodes.
    """
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[tree.used.any(axis=0)])
    node_stage, followers = stage_numbers(tree.topology)
    stages: dict[int, Stage] = {}

    def weighed(weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        learners = np.unique(owner[weights.any(axis=1)])
        return np.searchsorted(used, learners), weights[np.isin(owner, learners)]

    def answer(node: int, level: int) -> Answer:
        slope, constants = tree.calibration[node, 0], tree.calibration[node, 1:]
        learners, weights = weighed(tree.weights[node])
        level = level if link == "ranked" else 0
        return Answer(learners, slope * weights, slope * tree.intercept[node] + constants, link, level)

    for node, (below, above) in enumerate(followers.tolist()):
        level = int((~tree.topology.routes[:node] | tree.topology.ends[:node]).sum())
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
