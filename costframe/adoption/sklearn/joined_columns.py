"""Common columns of an ensemble's members: the raw ones, and those that the steps of members make of them.

Members may number the labels of a raw column otherwise. Here it has the labels of all, and each reads its own numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray

from costframe.adoption.foreign import refused
from costframe.adoption.names import free_name
from costframe.core.arrays import F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categories import ONLY, OTHER
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.core.tables.restored_rows import ReadsNumbers, call_as_given

_UNKNOWN = -1.0  # number of a label that a member's steps do not know


class JoinedColumns:
    """Columns that members of a model read, gathered member by member."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        self.model, self.names = model, names
        self.made, self._outputs = list(names), list(range(len(names)))
        self._operations: list[Operation | OpaqueOperation] = []
        self._size, self._members, self._has_steps = len(names), 0, False
        self._labels: dict[int, dict[str, int]] = {}  # of raw columns with labels: those of all members
        self._open = set[int]()  # raw columns whose other texts a member takes
        self._labelled: dict[int, tuple[int, Any]] = {}  # made columns: the raw one and its labels to a member
        self._others: dict[int, list[Any]] = {}  # what stands for labels in other raw columns; None for numbers

    def place(self, tree: StageTree, places: Sequence[int]) -> StageTree:
        """Return a tree over some raw columns, given their places, as one over the common columns."""
        bank, moved = tree.bank, np.array(places, np.int32)
        self._members += 1
        for f in bank.read.tolist():
            labels, raw = bank.categories.get(bank.feature_names[f]), int(places[f])
            if isinstance(labels, tuple):
                moved[f] = self._add_made([bank.feature_names[f]], [raw])[0]
                self._labelled[int(moved[f])] = raw, labels
            else:
                self._others.setdefault(raw, []).append(labels)
        others = {self.names[raw]: read[0] for raw, read in self._others.items() if read[0] is not None}
        return StageTree(_remap(bank, moved, self.made, others), tree.stages)

    def place_behind(self, tree: StageTree, preparation: Preparation, places: Sequence[int]) -> StageTree:
        """Return a tree over columns that steps make of some raw columns, as one over the common columns."""
        self._members, self._has_steps = self._members + 1, True
        place = list(places)
        for f in sorted({f for reads in preparation.reads for f in reads}):
            labels = preparation.categories.get(preparation.feature_names[f])
            if isinstance(labels, tuple):
                place[f] = self._numbered(place[f], labels, _UNKNOWN)
                if labels[-1] != ONLY:
                    self._open.add(places[f])
            else:
                self._others.setdefault(places[f], []).append(labels)
        titles = {operation.name for operation in self._operations if isinstance(operation, OpaqueOperation)}
        for operation in preparation.operations:
            moved = evolve(operation, reads=[place[column] for column in operation.reads])
            if isinstance(moved, OpaqueOperation):
                moved = evolve(moved, name=free_name(moved.name, titles))
                titles.add(moved.name)
            place += self._add(moved)
        columns = self._add_made(preparation.names, [place[output] for output in preparation.outputs])
        return StageTree(_remap(tree.bank, np.array(columns, np.int32), self.made, {}), tree.stages)

    def predictor(self, tree: StageTree, costs: CostModel | None) -> Predictor:
        """Return the model of the raw columns, given one over the common columns."""
        for raw, read in self._others.items():  # a member may compare numbers, and another take values as they came
            if any(other != read[0] for other in read):
                raise refused(self.model, f"its members read {self.names[raw]!r} in different ways")
        if not self._has_steps and not self._clashes():
            back = np.arange(len(self.made), dtype=np.int32)
            for made, (raw, _) in self._labelled.items():
                back[made] = raw
            labels = {**tree.bank.categories, **{self.names[raw]: known for raw, known in self._labelled.values()}}
            return StageTree(_remap(tree.bank, back, self.names, labels), tree.stages, costs)
        if both := self._others.keys() & self._all_labelled():
            raise refused(self.model, f"its members read {self.names[min(both)]!r} with different labels")
        for made, (raw, labels) in self._labelled.items():
            self._outputs[made] = self._numbered(raw, labels, np.nan)
            self._open.add(raw)
        known = {raw: (*labels, OTHER if raw in self._open else ONLY) for raw, labels in self._labels.items()}
        known |= {raw: read[0] for raw, read in self._others.items() if read[0] is not None}
        categories = {self.names[raw]: labels for raw, labels in known.items()}
        preparation = Preparation(self.names, self._operations, self._outputs, self.made, categories)
        return PreparedPredictor(evolve(tree, bank=evolve(tree.bank, categories={})), preparation, costs)

    def _clashes(self) -> bool:
        """Return whether a raw column has different labels to some members."""
        labels: dict[int, Any] = {}
        return any(labels.setdefault(raw, known) != known for raw, known in self._labelled.values()) or any(
            raw in labels for raw in self._others
        )

    def _all_labelled(self) -> set[int]:
        return {*self._labels, *(raw for raw, _ in self._labelled.values())}

    def _numbered(self, raw: int, labels: tuple[str, ...], unknown: float) -> int:
        """Return the column with a member's own numbers of labels, given the raw one, which has those of all."""
        known = [label for label in labels if label not in {ONLY, OTHER}]
        codes = self._labels.setdefault(raw, {})
        table = np.array([[codes.setdefault(label, len(codes)) for label in known], range(len(known))], np.float64)
        if np.array_equal(*table) and unknown == _UNKNOWN:  # steps take further numbers for unknown ones
            return raw
        keys, values = np.append(table[:, np.argsort(table[0])], [[np.nan], [np.nan]], axis=1)
        return self._add(Operation("lookup", [raw], [unknown, *keys, *values]))[0]

    def _add(self, operation: Operation | OpaqueOperation) -> list[int]:
        self._operations.append(operation)
        self._size += operation.width
        return list(range(self._size - operation.width, self._size))

    def _add_made(self, names: Sequence[str], outputs: Sequence[int]) -> list[int]:
        """Add columns of the member that was begun last; return their places among the common ones."""
        first = len(self.made)
        self.made += [f"{self._members}: {name}" for name in names]
        self._outputs += outputs
        return list(range(first, len(self.made)))


def _remap(bank: WeakLearnerBank, columns: NDArray[np.int32], names: Sequence[str], categories: Any) -> WeakLearnerBank:
    """Return a bank that reads other columns, given their places among those with names; perhaps one of them twice."""
    return evolve(
        bank,
        feature_names=tuple(names),
        trees=bank.trees.remap_features(columns),
        column_feature=columns[bank.column_feature],
        opaques=[_move(learner, columns[list(learner.features)]) for learner in bank.opaques],
        categories=categories,
    )


def _move(learner: OpaqueLearner, columns: NDArray[np.int32]) -> OpaqueLearner:
    """Let an opaque learner read other columns, perhaps one of them twice."""
    read, places = np.unique(columns, return_inverse=True)
    if np.array_equal(read, columns):
        return evolve(learner, features=columns)
    return evolve(learner, features=read, function=_SpreadFunction(learner.function, places))


@frozen(eq=False)
class _SpreadFunction(ReadsNumbers):
    """A function of rows, some of whose columns are the same or in another order, as one of the different ones."""

    function: Callable[[F8], ArrayLike]
    places: I8  # of the function's columns

    def __call__(self, rows: F8) -> ArrayLike:
        return call_as_given(self.function, rows[:, self.places])
