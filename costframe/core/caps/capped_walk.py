"""Walk of one row through a stage tree under limits: the model side of an inquiry, and the capped kernel's slow twin.

The order is fixed, so that an inquiry, a prediction and a cost report buy the same: stages in turn, the learners of a
stage in ascending order. A learner goes on as long as its next feature is available, and the row can pay for it and for
the learner; else the row gives the learner up and begins the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field

from costframe.core.learners.bits import as_set, members
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from costframe.core.caps.capped import CappedRows
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.limits import Limits
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["CappedWalker"]


@define
class _State:
    """State of a row; sets of features and resources are integers, one bit each."""

    values: dict[int, float]
    known: int  # features with values
    bought: int
    resources: int
    spent: float = 0.0
    stage: int = 0
    position: int = 0  # among the terms of the stage
    node: int = -1  # of the learner under way, if it is a tree that has begun
    read: int = 0  # by the learner under way
    used: int = 0  # by any learner
    uses: int = 0  # pairs of a learner and a feature that it read
    weight: float = 0.0  # sum of e_t of the learners evaluated
    comparisons: float = 0.0
    outputs: dict[int, list[float]] = field(factory=dict)  # of learners evaluated
    given_up: dict[int, int] = field(factory=dict)  # learners, and the nodes at which they were left
    unavailable: bool = False  # whether a learner was given up because a feature is unavailable
    route_score: float = 0.0  # of the last route passed
    scores: list[float] | None = None  # at the end

    def copy(self) -> _State:
        """Return an independent copy."""
        return evolve(self, values=dict(self.values), outputs=dict(self.outputs), given_up=dict(self.given_up))


class CappedWalker:
    """One row on its way through a stage tree under limits; columns and resources `paid` cost nothing."""

    def __init__(
        self,
        tree: StageTree,
        prices: PriceArrays,
        limits: Limits,
        *,
        by_path: bool,
        known_values: Mapping[int, float],
        paid: tuple[Iterable[int], Iterable[int]] = ((), ()),
    ) -> None:
        self._tree, self._plan, self._limits, self._by_path = tree, tree.plan, limits, by_path
        self._prices, self._cost, self._split = prices, prices.cost.tolist(), prices.split.tolist()
        self._resource_cost = prices.resource_cost.tolist()
        self._needed = [np.flatnonzero(row).tolist() for row in prices.needs]
        self._barred = as_set(limits.unavailable)
        self._state = _State(dict(known_values), as_set(known_values), as_set(paid[0]), as_set(paid[1]))
        self._missing = 0
        self.advance({})

    @property
    def needs(self) -> frozenset[int]:
        """Features that the row will certainly buy."""
        return frozenset(members(self._missing))

    @property
    def reason(self) -> str:
        """Why learners were given up; "complete" if not one was."""
        if not self._state.given_up:
            return "complete"
        return "unavailable" if self._state.unavailable else "max_cost"

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit."""
        at, scores = np.array([self._state.stage]), self.final_scores()
        value = self._tree.linked(scores, at)[0]
        return (float(value[0]) if len(value) == 1 else value), self._state.stage

    def final_scores(self) -> NDArray[np.float64]:
        """Return the scores of the answer, or expected ones if the row was cut: float64 (1, K)."""
        state, fallbacks = self._state, self._tree.fallbacks
        scores = np.array([state.scores])
        if fallbacks is None or not state.given_up:
            return scores
        share, route_score = np.array([self._share()]), np.array([state.route_score])
        return fallbacks.scores(np.array([state.stage]), share, scores, route_score)

    def note(self, row: int, found: CappedRows) -> None:
        """Write the end of the row to `found`."""
        state = self._state
        found.exits[row], found.cut[row] = state.stage, bool(state.given_up)
        found.scores[row, : len(state.scores or ())] = state.scores
        found.share[row], found.route_scores[row] = self._share(), state.route_score
        found.spent[row] = state.weight, state.comparisons, state.uses

    def _share(self) -> float:
        """Return the share of the stage's learners that are finished."""
        terms, outputs = self._plan.terms[self._state.stage], self._state.outputs
        return sum(t in outputs for t, _ in terms) / len(terms) if terms else 1.0

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """Sum of e_t of evaluated learners, price of comparisons made, and further uses of features."""
        state = self._state
        return state.weight, state.comparisons, state.uses - state.used.bit_count()

    def advance(self, values: Mapping[int, float]) -> None:
        """Add values and go on until another feature is needed; if an opaque learner raises, nothing changes."""
        before = self._state
        self._state = before.copy()
        self._state.values.update(values)
        self._state.known |= as_set(values)
        try:
            blocked = self._run()
        except BaseException:
            self._state = before
            raise
        self._missing = self._certain() if blocked else 0

    def _run(self) -> bool:
        """Go on until a feature is needed, or the row ends; return True if a feature is needed."""
        plan, state = self._plan, self._state
        while state.scores is None:
            terms = plan.terms[state.stage]
            while state.position < len(terms):
                t = terms[state.position][0]
                if t not in state.outputs and t not in state.given_up and not self._evaluate(t):
                    return True
                state.position, state.node, state.read = state.position + 1, -1, 0
            scores = plan.score(state.stage, state.outputs | self._expected())
            stage = plan.stages[state.stage]
            if isinstance(stage, Route) and not (state.given_up and self._tree.fallbacks):
                state.route_score = scores[0]
                state.stage = stage.above if scores[0] > stage.threshold else stage.below
                state.position = 0
            else:
                state.scores = scores
        return False

    def _expected(self) -> dict[int, list[float]]:
        """Return the expected outputs of learners given up."""
        known = self._tree.expected_outputs
        return {} if known is None else {t: known.of(t, node) for t, node in self._state.given_up.items()}

    def _evaluate(self, t: int) -> bool:
        """Evaluate a learner or give it up; return False if it waits for a feature."""
        plan, index = self._plan, int(self._plan.bank.index[t])
        by_node = plan.bank.kind[t] == TREE and self._by_path
        begun = self._state.node >= 0
        if not (by_node or begun):
            reads = plan.learner_reads[t]
            if not self._can_pay(t, self._price_of(reads), reads):
                return True
            if reads & ~self._state.known:
                return False
            self._pay(reads)
        if plan.bank.kind[t] == TREE:
            return self._walk_tree(t, index)
        if plan.bank.kind[t] == COLUMN:
            value = self._state.values[int(plan.bank.column_feature[index])]
            outputs = [plan.filled(index, value)]
        else:
            learner = plan.bank.opaques[index]
            outputs = learner(np.array([[self._state.values[f] for f in learner.features]]))[0].tolist()
        self._finish(t, outputs)
        return True

    def _walk_tree(self, t: int, index: int) -> bool:
        plan, state = self._plan, self._state
        if state.node < 0:
            if not self._can_pay(t, 0.0, 0):
                return True
            state.node = plan.root[index]
        while (feature := plan.feature[state.node]) >= 0:
            bit = 1 << feature
            fresh = 0 if state.read & bit else bit
            due = self._price_of(fresh) + self._split[feature]
            if not self._can_pay(t, due, fresh):
                return True
            if feature not in state.values:
                return False
            self._pay(fresh)
            state.spent += self._split[feature]
            state.comparisons += self._split[feature]
            state.node = plan.child(state.node, state.values[feature])
        self._finish(t, plan.leaf_outputs(index, state.node))
        return True

    def _finish(self, t: int, outputs: list[float]) -> None:
        state, own = self._state, float(self._plan.bank.evaluation[t])
        state.outputs[t] = outputs
        state.weight += own
        state.spent += self._prices.learner * own

    def _can_pay(self, t: int, due: float, features: int) -> bool:
        """Return whether the row can pay the price `due` of `features` and of the learner; else give the learner up."""
        state = self._state
        barred = bool(features & self._barred)
        own = self._prices.learner * float(self._plan.bank.evaluation[t])
        if not barred and state.spent + due + own <= self._limits.threshold:
            return True
        state.given_up[t] = state.node
        state.unavailable |= barred
        return False

    def _price_of(self, features: int) -> float:
        """Return the price of features that the current learner has not read yet, with resources and reuse."""
        state, resources, total = self._state, self._state.resources, 0.0
        for f in members(features):  # the kernel's order of summation
            due = 0.0
            if not state.bought >> f & 1:
                due = self._cost[f]
                for r in self._needed[f]:
                    if not resources >> r & 1:
                        resources |= 1 << r
                        due += self._resource_cost[r]
            if state.used >> f & 1:
                due += self._prices.reuse
            total += due
        return total

    def _pay(self, features: int) -> None:
        """Buy features that the row does not have, and record the use of all."""
        state = self._state
        state.spent += self._price_of(features)
        for f in members(features & ~state.bought):
            state.resources |= as_set(self._needed[f])
        state.bought |= features
        state.read |= features
        state.used |= features
        state.uses += features.bit_count()

    def _certain(self) -> int:
        """Return the features that the row will certainly buy: those of learners that it can pay in full.

        If it may have to give the current learner up, only that learner's next features are certain.
        """
        plan, state = self._plan, self._state
        bank, prices, split = plan.bank, self._prices, max(self._split, default=0.0)
        found, most = 0, state.spent  # features, and an upper bound on the cost after each learner
        bought, resources = state.bought, state.resources  # by then
        for position in range(state.position, len(plan.terms[state.stage])):
            t = plan.terms[state.stage][position][0]
            if t in state.outputs or t in state.given_up:
                continue
            by_node = bank.kind[t] == TREE and self._by_path
            reads = plan.learner_reads[t]
            if reads & self._barred and not by_node:
                continue
            for f in members(reads & ~bought):
                most += self._cost[f]
                most += sum(self._resource_cost[r] for r in self._needed[f] if not resources >> r & 1)
                resources |= as_set(self._needed[f])
            bought |= reads
            most += prices.reuse * reads.bit_count() + prices.learner * float(bank.evaluation[t])
            most += split * plan.depth[int(bank.index[t])] if bank.kind[t] == TREE else 0.0
            if most > self._limits.max_cost:
                return found or self._next(t)
            if by_node:
                begun = position == state.position and state.node >= 0
                node = state.node if begun else plan.root[int(bank.index[t])]
                found |= plan.certain_below(node, state.values, state.known, self._barred)
            else:
                found |= reads & ~state.known
        return found

    def _next(self, t: int) -> int:
        """Return the features that the current learner waits for."""
        if self._plan.bank.kind[t] == TREE and self._by_path:
            return 1 << self._plan.feature[self._state.node]
        return self._plan.learner_reads[t] & ~self._state.known
