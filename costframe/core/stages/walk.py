"""Walk of one row through a stage tree in plain Python: the model side of an inquiry, and the kernels' slow twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.stages.plan import StagePlan

__all__ = ["StageWalker"]


class StageWalker:
    """One row on its way through a stage tree; with `by_path`, trees acquire features split by split."""

    def __init__(
        self, plan: StagePlan, split: list[float], *, by_path: bool, known_values: Mapping[int, float]
    ) -> None:
        self._plan, self._split, self._by_path = plan, split, by_path
        self._values = dict(known_values)
        self._known = sum(1 << f for f in known_values)
        self._stage = 0
        self._node: dict[int, int] = {}  # of learners under way
        self._outputs: dict[int, list[float]] = {}  # of evaluated learners
        self._read: dict[int, int] = {}  # features each learner has read so far
        self._spent = 0.0
        self._scores: list[float] | None = None
        self._needs = frozenset[int]()
        self.advance({})

    @property
    def needs(self) -> frozenset[int]:
        """Features that are certainly needed."""
        return self._needs

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit."""
        stage = self._plan.stages[self._stage]
        assert isinstance(stage, Answer)  # noqa: S101 - the walker stops at answers only
        value = stage.predictions(np.array([self._scores]))[0]
        return (float(value[0]) if len(value) == 1 else value), self._stage

    @property
    def reason(self) -> str:
        """Always "complete": there are no limits."""
        return "complete"

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """Sum of e_t of evaluated learners, price of comparisons made, and further uses of features."""
        weight = float(self._plan.bank.evaluation[list(self._outputs)].sum())
        uses, used = 0, 0
        for read in self._read.values():
            uses += read.bit_count()
            used |= read
        return weight, self._spent, uses - used.bit_count()

    def advance(self, values: Mapping[int, float]) -> None:
        """Add values and go on until another feature is needed; if an opaque learner raises, nothing changes."""
        before = self._state()
        self._values = {**self._values, **values}
        self._known |= sum(1 << f for f in values)
        self._node, self._outputs, self._read = dict(self._node), dict(self._outputs), dict(self._read)
        try:
            self._run()
            missing = 0 if self._scores is not None else self._certain(self._stage)
        except BaseException:
            (
                self._values,
                self._known,
                self._stage,
                self._node,
                self._outputs,
                self._read,
                self._spent,
                self._scores,
            ) = before
            raise
        self._needs = frozenset(f for f in range(missing.bit_length()) if missing >> f & 1)

    def _state(self) -> tuple[Any, ...]:
        return (
            self._values,
            self._known,
            self._stage,
            self._node,
            self._outputs,
            self._read,
            self._spent,
            self._scores,
        )

    def _run(self) -> None:
        plan = self._plan
        while True:
            done = [self._evaluate(t) for t, _ in plan.terms[self._stage] if t not in self._outputs]
            if not all(done):
                return
            stage = plan.stages[self._stage]
            scores = self._plan.score(self._stage, self._outputs)
            if not isinstance(stage, Route):
                self._scores = scores
                return
            self._stage = stage.above if scores[0] > stage.threshold else stage.below

    def _evaluate(self, t: int) -> bool:
        """Evaluate a learner as far as known values allow; return True when it has its outputs."""
        bank, values = self._plan.bank, self._values
        kind, index = bank.kind[t], int(bank.index[t])
        if not (kind == TREE and self._by_path) and self._unknown(self._plan.learner_reads[t]):
            return False
        if kind == TREE:
            return self._walk_tree(t, index)
        self._read[t] = self._plan.learner_reads[t]
        if kind == COLUMN:
            self._outputs[t] = [self._plan.filled(index, values[int(bank.column_feature[index])])]
        else:
            learner = bank.opaques[index]
            self._outputs[t] = learner(np.array([[values[f] for f in learner.features]]))[0].tolist()
        return True

    def _walk_tree(self, t: int, index: int) -> bool:
        plan, values = self._plan, self._values
        node = self._node.get(t, plan.root[index])
        read = self._read.get(t, 0 if self._by_path else plan.learner_reads[t])
        while (feature := plan.feature[node]) >= 0:
            if feature not in values:
                self._node[t], self._read[t] = node, read
                return False
            value = values[feature]
            read |= 1 << feature
            self._spent += self._split[feature]
            node = plan.child(node, value)
        self._read[t] = read
        self._outputs[t] = plan.leaf_outputs(index, node)
        return True

    def _unknown(self, features: int) -> int:
        return features & ~self._known

    def _certain(self, number: int) -> int:
        """Return the features that every path from this stage on reads, as far as each learner alone decides."""
        found: dict[int, int] = {}
        waiting = [number]
        while waiting:  # not recursive: a chain may have thousands of stages
            stage = self._plan.stages[current := waiting[-1]]
            ways: tuple[int, ...] = ()
            if isinstance(stage, Route):
                decided = self._decided(current, stage)
                ways = (stage.below, stage.above) if decided is None else (decided,)
            later = -1 if ways else 0
            for way in ways:
                if later and way not in found:
                    waiting.append(way)
                    break
                later = later and later & found[way]
            else:
                found[current] = self._certain_here(current) | later
                waiting.pop()
        return found[number]

    def _decided(self, number: int, stage: Route) -> int | None:
        """Return the next stage if known values decide it; opaque learners are not called before their turn."""
        outputs = dict(self._outputs)
        for t, _ in self._plan.terms[number]:
            if t not in outputs:
                ahead = self._output_ahead(t)
                if ahead is None:
                    return None
                outputs[t] = ahead
        return stage.above if self._plan.score(number, outputs)[0] > stage.threshold else stage.below

    def _output_ahead(self, t: int) -> list[float] | None:
        """Return the outputs of a tree or column if known values decide them, without evaluating it."""
        plan, index = self._plan, int(self._plan.bank.index[t])
        if plan.bank.kind[t] == OPAQUE:
            return None
        if plan.bank.kind[t] == COLUMN:
            value = self._values.get(int(plan.bank.column_feature[index]))
            return None if value is None else [self._plan.filled(index, value)]
        node = self._node.get(t, plan.root[index])
        while (feature := plan.feature[node]) >= 0:
            if feature not in self._values:
                return None
            node = plan.child(node, self._values[feature])
        return plan.leaf_outputs(index, node)

    def _certain_here(self, number: int) -> int:
        """Return the features that the learners of one stage certainly need."""
        plan, found = self._plan, 0
        for t, _ in plan.terms[number]:
            if t in self._outputs:
                continue
            if plan.bank.kind[t] == TREE and self._by_path:
                index = int(plan.bank.index[t])
                found |= plan.certain_below(self._node.get(t, plan.root[index]), self._values, self._known)
            else:
                found |= self._unknown(plan.learner_reads[t])
        return found
