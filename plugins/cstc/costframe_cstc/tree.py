"""A tree of routes that end in answers: what CSTC's classifiers are once they are trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.outputs import BankOutputs
    from costframe.core.stages.stages import Stage
    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.topology import Topology

__all__ = ["Tree", "WeightedSum", "as_stage_tree"]


@frozen(eq=False)
class WeightedSum:
    """A weighted sum of C outputs of a bank, M of them: weights, float64 (C, M), and constants, float64 (M,)."""

    weights: NDArray[np.float64]
    constant: NDArray[np.float64]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which outputs have a weight: bool (C,)."""
        return np.asarray(self.weights.any(axis=1))

    def scores(self, outputs: BankOutputs) -> NDArray[np.float64]:
        """Return the sums for rows: float64 (n, M)."""
        used = np.flatnonzero(self.used)
        return outputs.columns(used).times(self.weights[used]) + self.constant


@frozen(eq=False)
class Tree:
    """K nodes over C outputs of a bank: those with children divide rows, the others answer.

    Attributes
    ----------
    topology : Topology
        Every node has two children or none.
    route : float64 (K, C)
        Zero for answers.
    threshold : float64 (K,)
        A row goes up where its score is above.
    answer : float64 (K, C, M)
        Zero for routes.
    constant : float64 (K, M)
    """

    topology: Topology
    route: NDArray[np.float64]
    threshold: NDArray[np.float64]
    answer: NDArray[np.float64]
    constant: NDArray[np.float64]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which outputs a node weighs: bool (K, C)."""
        return np.asarray((self.route != 0) | self.answer.any(axis=2))

    def routing(self, rows: SeenRows) -> NDArray[np.float64]:
        """Score rows at all nodes that divide them: float64 (n, K)."""
        return rows.scores(self.route.T, np.zeros(len(self.route)))

    def answers(self, rows: SeenRows) -> NDArray[np.float64]:
        """Answer rows at all nodes: float64 (n, K, M)."""
        n_nodes, n_outputs, width = self.answer.shape
        flat = np.moveaxis(self.answer, 0, 1).reshape(n_outputs, n_nodes * width)
        return rows.scores(flat, self.constant.ravel()).reshape(-1, n_nodes, width)

    def bought(self, node: int) -> NDArray[np.bool_]:
        """Which outputs are evaluated on the way to a node: bool (C,)."""
        on = self.topology.paths[node].copy()
        on[node] = False
        return np.asarray(self.used[on].any(axis=0))

    def with_answer(self, node: int, answer: WeightedSum) -> Tree:
        """Replace the answer of a node."""
        answers, constants = self.answer.copy(), self.constant.copy()
        answers[node], constants[node] = answer.weights, answer.constant
        return evolve(self, answer=answers, constant=constants)

    def with_route(self, node: int, weights: NDArray[np.float64], threshold: float) -> Tree:
        """Replace the route of a node, and its threshold."""
        route, thresholds = self.route.copy(), self.threshold.copy()
        route[node], thresholds[node] = weights, threshold
        return evolve(self, route=route, threshold=thresholds)

    def ending_at(self, node: int, answer: WeightedSum) -> Tree:
        """Answer all rows that come to a node there."""
        topology, left = self.topology.ending_at(node)
        route, threshold = self.route.copy(), self.threshold.copy()
        route[node], threshold[node] = 0.0, 0.0
        ended = evolve(self, route=route, threshold=threshold).with_answer(node, answer)
        return _kept(ended, topology, left)

    def divided(
        self, node: int, route: NDArray[np.float64], threshold: float, below: WeightedSum, above: WeightedSum
    ) -> Tree:
        """Let a leaf, or a route to two leaves, divide its rows, and answer them below and above it."""
        tree = self.with_route(node, route, threshold)
        if not self.topology.routes[node]:
            nothing = WeightedSum(np.zeros(self.answer.shape[1:]), np.zeros(self.constant.shape[1]))
            wider = (np.concatenate([part, np.zeros((2, *part.shape[1:]))]) for part in _parts(tree))
            topology, order = self.topology.dividing(node)
            tree = _kept(Tree(self.topology, *wider), topology, order)
            node = int(np.flatnonzero(order == node)[0])
            tree = tree.with_answer(node, nothing)
        first, second = tree.topology.children[node].tolist()
        return tree.with_answer(first, below).with_answer(second, above)

    def without_idle_routes(self) -> Tree:
        """Leave out routes that send all rows the same way, their threshold being infinite."""
        idle = np.flatnonzero(self.topology.routes & np.isinf(self.threshold))
        if not len(idle):
            return self
        side = 0 if self.threshold[idle[0]] > 0 else 1
        return _kept(self, *self.topology.bypassing(int(idle[0]), side)).without_idle_routes()


def _kept(tree: Tree, topology: Topology, left: NDArray[np.int64]) -> Tree:
    return Tree(topology, *(part[left] for part in _parts(tree)))


def _parts(tree: Tree) -> tuple[NDArray[np.float64], ...]:
    return tree.route, tree.threshold, tree.answer, tree.constant


def as_stage_tree(bank: WeakLearnerBank, tree: Tree, link: str, steepness: float = 1.0) -> StageTree:
    """Make stages of nodes, one each and in the same order; learners that none uses are left out."""
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[tree.used.any(axis=0)])
    stages: list[Stage] = []
    for node, (below, above) in enumerate(tree.topology.children.tolist()):
        weights = tree.route[node][:, np.newaxis] if below >= 0 else tree.answer[node]
        learners = np.unique(owner[weights.any(axis=1)])
        of_stage = np.searchsorted(used, learners), weights[np.isin(owner, learners)]
        if below >= 0:
            threshold = float(tree.threshold[node])
            stages.append(Route(of_stage[0], of_stage[1][:, 0], [0.0], threshold, steepness, above=above, below=below))
        else:
            stages.append(Answer(*of_stage, tree.constant[node], link))
    return StageTree(bank.restrict(used), stages)
