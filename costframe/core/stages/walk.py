"""Walk of one row through a stage tree under limits: the model side of an inquiry, and the engine's slow, obvious twin.

Stages follow one another, and the learners of a stage in ascending order. A learner goes on as long as its next feature
is available, and the row can pay for it and for the learner; else the row gives the learner up and begins the next one.
The order is fixed, so that an inquiry, a prediction and a cost report buy the same. Without limits see `step`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.core.learners.bits import as_set, members
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.plan import StagePlan
    from costframe.core.stages.stage_model import StageModel


@define
class RowState:
    """State of a row; sets of features are integers, one bit each."""

    values: dict[int, float]
    known: int  # features with values
    bought: int  # features
    resources: set[int]
    spent: int = 0  # in units of the prices
    stage: int = 0
    node: dict[int, int] = field(factory=dict)  # of trees that have begun
    read: dict[int, int] = field(factory=dict)  # features that each learner has read
    used: int = 0  # by any learner
    uses: int = 0  # pairs of a learner and a feature that it read
    weight: int = 0  # sum of e_t of the learners evaluated, in its unit
    comparisons: int = 0  # in their unit
    outputs: dict[int, list[float]] = field(factory=dict)  # of learners evaluated
    given_up: dict[int, int] = field(factory=dict)  # learners, and the nodes at which they were left, -1 for the root
    unavailable: bool = False  # whether a learner was given up because a feature is unavailable
    route_score: float = 0.0  # of the last route passed
    scores: list[float] | None = None  # at the end

    def copy(self) -> RowState:
        """Return an independent copy."""
        return evolve(
            self,
            values=dict(self.values),
            resources=set(self.resources),
            node=dict(self.node),
            read=dict(self.read),
            outputs=dict(self.outputs),
            given_up=dict(self.given_up),
        )


@frozen(eq=False)
class Lookahead:
    """The look ahead of a row; sets of features are integers, one bit a column.

    With `by_path`, trees acquire features split by split; else all of them before they are evaluated. A path ends at a
    test of one of the features `barred`.
    """

    tree: StageModel
    prices: PriceArrays
    by_path: bool
    barred: int

    @property
    def plan(self) -> StagePlan:
        """The tree as lists."""
        return self.tree.plan

    def acquires_by_node(self, t: int) -> bool:
        """Return whether a learner acquires features split by split."""
        return self.by_path and bool(self.plan.bank.kind[t] == TREE)

    def _needs_of(self, state: RowState, t: int) -> int:
        """Return the unknown features that a learner certainly reads, if it goes on."""
        plan = self.plan
        if not self.acquires_by_node(t):
            return plan.learner_reads[t] & ~state.known
        tree = int(plan.bank.index[t])
        plan.look_below(tree)
        node = state.node.get(t, plan.root[tree])
        return self._tested_below(state, node)

    def needs_within(self, state: RowState, limit: float) -> int:
        """Return the features of learners of this stage that the row can certainly pay in full.

        If it may have to give the current learner up, only that learner's next features are certain.
        """
        plan, needs, bank, weights = self.plan, self.prices.direct_needs, self.plan.bank, self.tree.weights[1]
        exact, most_compared = self.tree.exact(self.prices), int(self.prices.comparisons[1].max(initial=0.0))
        found, most = 0, state.spent  # features, and an upper bound on the cost after each learner
        bought, resources = state.bought, set(state.resources)  # by then
        for t, _ in plan.terms[state.stage]:
            reads, by_node = plan.learner_reads[t], self.acquires_by_node(t)
            if t in state.outputs or t in state.given_up or (reads & self.barred and not by_node):
                continue
            for f in members(reads & ~bought):
                fresh = needs.unpaid(f, resources)
                most += exact.cost[f] + sum([exact.resource_cost[r] for r in fresh])
                resources |= fresh
            bought |= reads
            compared = most_compared * plan.depth[int(bank.index[t])] if bank.kind[t] == TREE else 0
            most += exact.evaluated(weights[t], compared, reads.bit_count())
            if most > limit:
                return found or (1 << plan.feature[state.node[t]] if by_node else reads & ~state.known)
            found |= self._needs_of(state, t)
        return found

    def _tested_below(self, state: RowState, node: int) -> int:
        """Return the unknown features tested on every path from a node on."""
        plan, values, found, touched = self.plan, state.values, dict[int, int](), state.known | self.barred
        waiting = [node]
        while waiting:  # not recursive: trees may be thousands deep
            current = waiting[-1]
            feature = plan.feature[current]
            if not plan.reads[current] & touched:
                found[current] = plan.certain[current]  # nothing below is known, so the prepared set holds
            elif feature in values:
                child = plan.child(current, values[feature])
                if child not in found:
                    waiting.append(child)
                    continue
                found[current] = found[child]
            elif self.barred >> feature & 1:
                found[current] = 0
            else:
                left, right = plan.left[current], plan.right[current]
                if left not in found:
                    waiting.append(left)
                    continue
                if found[left] and right not in found:
                    waiting.append(right)
                    continue
                found[current] = 1 << feature | (found[left] and found[left] & found[right])
            waiting.pop()
        return found[node]


class StageWalker:
    """One row on its way through a stage tree; columns and resources `paid` cost nothing.

    With `by_path`, trees acquire features split by split; else all of them before they are evaluated.
    """

    def __init__(
        self,
        tree: StageModel,
        prices: PriceArrays,
        limits: Limits,
        *,
        by_path: bool,
        known_values: Mapping[int, float],
        paid: tuple[Iterable[int], Iterable[int]] = ((), ()),
    ) -> None:
        self._tree, self._plan, self._limits = tree, tree.plan, limits
        self._prices, self._exact = prices, tree.exact(prices)
        self._comparisons: list[int] = prices.comparisons[1].astype(np.int64).tolist()
        self._limit = self._exact.limit(limits.max_cost)
        self._ahead = Lookahead(tree, prices, by_path, as_set(limits.unavailable))
        self._state = RowState(dict(known_values), as_set(known_values), as_set(paid[0]), set(paid[1]))
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
        state, fallbacks = self._state, self._tree.fallbacks if self._state.given_up else None
        at, scores = np.array([state.stage]), np.array([state.scores])
        if fallbacks is not None:
            scores = fallbacks.scores(at, np.array([self.share]), scores, np.array([state.route_score]))
        value = self._tree.linked(scores, at)[0]
        return (float(value[0]) if len(value) == 1 else value), state.stage

    @property
    def end(self) -> RowState:
        """The state at the end of the row."""
        return self._state

    @property
    def share(self) -> float:
        """Share of the stage's learners that are finished."""
        terms, outputs = self._plan.terms[self._state.stage], self._state.outputs
        return sum(t in outputs for t, _ in terms) / len(terms) if terms else 1.0

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far."""
        state, again = self._state, self._state.uses - self._state.used.bit_count()
        return self._tree.price_evaluated(self._prices, state.weight, state.comparisons, again)

    def advance(self, values: Mapping[int, float]) -> None:
        """Add values and go on until another feature is needed."""
        self._state = self._state.copy()
        self._state.values.update(values)
        self._state.known |= as_set(values)
        waits = self._run()
        self._missing = self._ahead.needs_within(self._state, self._limit) if waits else 0

    def _run(self) -> bool:
        """Go on until a feature is needed, or the row ends; return True if a feature is needed."""
        plan, state = self._plan, self._state
        while state.scores is None:
            for t, _ in plan.terms[state.stage]:
                if t not in state.outputs and t not in state.given_up and not self._evaluate(t):
                    return True  # the next learner may have to do without
            scores = plan.score(state.stage, state.outputs | self._expected())
            stage = plan.stages[state.stage]
            if isinstance(stage, Route) and not (state.given_up and self._tree.fallbacks):
                state.route_score = scores[0]
                state.stage = stage.above if scores[0] > stage.threshold else stage.below
            else:
                state.scores = scores
        return False

    def _expected(self) -> dict[int, list[float]]:
        """Return the expected outputs of learners given up."""
        known = self._tree.expected_outputs if self._state.given_up else None
        return {} if known is None else {t: known.of(t, node) for t, node in self._state.given_up.items()}

    def _evaluate(self, t: int) -> bool:
        """Evaluate a learner or give it up; return False if it waits for a feature."""
        plan, state, index = self._plan, self._state, int(self._plan.bank.index[t])
        kind = plan.bank.kind[t]
        if not self._ahead.acquires_by_node(t):
            reads = plan.learner_reads[t]
            if not self._can_pay(t, reads):
                return True
            if reads & ~state.known:
                return False
            self._pay(t, reads)
        if kind == TREE:
            return self._walk_tree(t, index)
        if kind == COLUMN:
            outputs = [plan.filled(index, state.values[int(plan.bank.column_feature[index])])]
        else:
            learner = plan.bank.opaques[index]
            outputs = learner(np.array([[state.values[f] for f in learner.features]]))[0].tolist()
        self._finish(t, outputs)
        return True

    def _walk_tree(self, t: int, index: int) -> bool:
        plan, state = self._plan, self._state
        if t not in state.node:
            if not self._can_pay(t, 0):
                return True
            state.node[t] = plan.root[index]
        node = state.node[t]
        while (feature := plan.feature[node]) >= 0:
            fresh = 1 << feature & ~state.read.get(t, 0)
            split = self._comparisons[feature]
            if not self._can_pay(t, fresh, split):
                return True
            if feature not in state.values:
                return False
            if fresh:
                self._pay(t, fresh)
            state.spent += self._exact.split * split
            state.comparisons += split
            state.node[t] = node = plan.child(node, state.values[feature])
        self._finish(t, plan.leaf_outputs(index, node))
        return True

    def _finish(self, t: int, outputs: list[float]) -> None:
        state, own = self._state, int(self._tree.weights[1][t])
        state.outputs[t] = outputs
        state.weight += own
        state.spent += self._exact.learner * own

    def _can_pay(self, t: int, features: int, comparisons: int = 0) -> bool:
        """Return whether the row can buy features, comparisons and the learner; else give the learner up."""
        state, barred, own = self._state, bool(features & self._ahead.barred), int(self._tree.weights[1][t])
        if not barred:
            due = self._price_of(features) + self._exact.evaluated(own, comparisons, 0)
            if state.spent + due <= self._limit:
                return True
        state.given_up[t] = state.node.get(t, -1)
        state.unavailable |= barred
        return False

    def _price_of(self, features: int) -> int:
        """Return the price of features that the current learner has not read yet, with resources and reuse."""
        state, exact = self._state, self._exact
        fresh = list(members(features & ~state.bought))
        resources = self._prices.direct_needs.of_features(fresh, state.resources)
        total = sum([exact.cost[f] for f in fresh]) + sum([exact.resource_cost[r] for r in resources])
        return total + exact.reuse * (features & state.used).bit_count()

    def _pay(self, t: int, features: int) -> None:
        """Buy features that the row does not have, and record the use of all."""
        state = self._state
        state.spent += self._price_of(features)
        for f in members(features & ~state.bought):
            state.resources |= self._prices.direct_needs.unpaid(f, state.resources)
        state.bought |= features
        state.read[t] = state.read.get(t, 0) | features
        state.used |= features
        state.uses += features.bit_count()
