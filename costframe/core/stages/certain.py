"""Rows of an additive model that end as soon as their answer is certain: their goals, tables of them, steps of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.learners.bits import word_count
from costframe.core.learners.tree_table import OPAQUE
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stages import Answer
from costframe.core.stages.step_layout import CALLED, COMPARISONS, KNOWN, N_ACCOUNT, N_USED, USES, WEIGHT
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.predictors.certain import CertainPredictor
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.needs import Needs
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.certain_kernels import CertainRow
    from costframe.core.stages.step_layout import StepLayout

CLOSE, CUT, LARGEST = 0, 1, 2  # kinds of goals
UNPAID, PAID, LOOKED_AT = 0, 1, 2  # states of a resource
_MARGIN = 1e-15  # between scores, or probabilities, that a link certainly tells apart in spite of its rounding
_ROWS = 256  # that one thread takes at a time: they take longer than whole evaluations
_NONE = np.empty(0)
Until = float | str
"""When a row may end: a number epsilon, or "class"; see `costframe.certain`."""


class Goal(NamedTuple):
    """What must be certain of the K scores of a row, divided by a divisor, before it ends.

    CLOSE: each is within `margin` of the score given. CUT: each is above `above`, or at most `below`.
    LARGEST: which is the first largest, by more than `margin`; `by_sigmoid`, after that link.
    """

    kind: int
    margin: float
    divisor: float
    above: float = 0.0
    below: float = 0.0
    by_sigmoid: bool = False

    @classmethod
    def of(cls, until: Until, tree: StageTree) -> Goal:
        """Make the goal of `until`, or refuse it where it does not fit the model."""
        if len(tree.stages) > 1:
            raise ParameterError(
                f"model: expected one sum of learners, got {len(tree.stages)} stages, which end rows by thresholds"
            )
        answer = tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - a route would have further stages
        if (divisor := answer.divisor) is None:
            raise ParameterError(
                "model: expected one sum of learners, got one that mixes links of several sums, such as calibrated or "
                "averaged probabilities"
            )
        if not isinstance(until, str):
            return cls(CLOSE, check_number("until", until), divisor if answer.blends else 1.0)
        if until != "class":
            raise ParameterError(f"until: expected 'class' or a number >= 0, got {shown(until)}")
        return cls._of_class(answer, divisor, knows_classes=tree.classes is not None)

    @classmethod
    def _of_class(cls, answer: Answer, divisor: float, *, knows_classes: bool) -> Goal:
        """Make the goal that the class is certain: scores tell it, or p > 1/2, or the first largest of predictions.

        Several outputs with the link sigmoid and without classes are as many yes or no.
        """
        several = len(answer.intercept) > 1
        if answer.by_scores and answer.n_predictions == len(answer.intercept):
            return cls(LARGEST, 0.0, 1.0) if several else cls(CUT, 0.0, 1.0, above=answer.cut, below=answer.cut)
        if answer.link == "sigmoid" and several and knows_classes:
            return cls(LARGEST, _MARGIN, divisor, by_sigmoid=True)
        if answer.link == "sigmoid":  # 1 / (1 + exp(-s)) rounds to 1/2 for the least s > 0
            return cls(CUT, 0.0, divisor, above=_MARGIN)
        if answer.link == "step":
            return cls(CUT, 0.0, divisor)
        if several and (answer.link == "softmax" or (answer.link == "identity" and knows_classes)):
            return cls(LARGEST, _MARGIN if answer.link == "softmax" else 0.0, divisor)
        if answer.link == "identity" and knows_classes:
            return cls(CUT, 0.0, divisor, above=0.5, below=0.5)
        hint = "give the predictor its labels (with_classes), or " if answer.link == "identity" else ""
        raise ParameterError(
            f"until='class': a model with the link {answer.link!r} and no labels has no classes; {hint}give a number, "
            "how far the score may be from the whole one"
        )


class Certain(NamedTuple):
    """An additive model, with bounds of what trees add below each node."""

    steps: StepLayout
    lowest: NDArray[np.float64]  # like `steps.payload`
    highest: NDArray[np.float64]


class RowPrices(NamedTuple):
    """Prices of features and resources that a row has yet to pay; features are those that the model uses, U of them."""

    cost: NDArray[np.float64]  # (U,)
    needs: Needs
    resource_cost: NDArray[np.float64]
    split: NDArray[np.float64]  # (U,): in units of comparisons
    spends: bool

    @classmethod
    def of(cls, prices: PriceArrays, used: NDArray[np.int64]) -> RowPrices:
        """Take the prices of the columns `used`."""
        return cls(
            np.array(prices.cost[used]),
            prices.direct_needs.restrict(used),
            np.array(prices.resource_cost),
            np.array(prices.comparisons[1][used]),
            prices.spends,
        )


def lay_out_certain(steps: StepLayout) -> Certain:
    """Find the bounds below each node, once a model."""
    from costframe.core.stages.certain_kernels import raise_bounds

    unknown = np.isnan(steps.payload)  # infinities of both signs met in one leaf
    lowest, highest = np.where(unknown, -np.inf, steps.payload), np.where(unknown, np.inf, steps.payload)
    raise_bounds(steps.word, steps.use, lowest, highest)
    return Certain(steps, lowest, highest)


class CertainRows(NamedTuple):
    """Ends of rows, and their purchases."""

    scores: NDArray[np.float64]  # (rows, K)
    masks: NDArray[np.uint64]  # (rows, W): features acquired, of those that the model uses
    account: NDArray[np.float64]  # (rows, 4); see `step_layout`
    rounds: NDArray[np.int64]  # (rows,)
    early: NDArray[np.bool_]  # (rows,): whether some learner was left unfinished

    def rows(self, part: slice) -> CertainRows:
        """Return a view of some rows."""
        views: list[Any] = [each[part] for each in self]
        return CertainRows(*views)


def certain_rows(
    predictor: CertainPredictor, prices: PriceArrays, X: NDArray[np.float64], n_jobs: int | None
) -> CertainRows:
    """Step through rows, float64 (rows, d), each to its goal."""
    tree, goal, n = predictor.inner, predictor.goal, len(X)
    layout = tree.layout
    found = CertainRows(
        np.zeros((n, layout.n_outputs)),
        np.zeros((n, word_count(len(layout.used))), np.uint64),
        np.zeros((n, N_ACCOUNT)),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
    )
    X, model, own = np.ascontiguousarray(X, np.float64), predictor.bounds, RowPrices.of(prices, layout.used)

    def chunk(part: slice) -> None:
        from costframe.core.stages.certain_kernels import run_rows

        opaque = np.zeros((part.stop - part.start, 0))
        if layout.n_opaque:
            opaque = StageRunner(tree.bank, layout, X[part]).opaque_outputs()
        room = _begin_row(model, own, layout.n_opaque)
        run_rows(X[part], layout.used, opaque, model, own, goal, room, found.rows(part))

    over_chunks(chunk, n, n_jobs, _ROWS)
    return found


def _begin_row(model: Certain, prices: RowPrices, n_opaque: int) -> CertainRow:
    """Return a row without values."""
    from costframe.core.stages.certain_kernels import CertainRow, begin_row

    steps, n_used = model.steps, len(prices.cost)
    n_resources, n_outputs = len(prices.resource_cost), steps.stage_value.shape[1] - 1
    row = CertainRow(
        x=np.zeros(n_used),
        marks=np.zeros(n_used, np.uint8),
        at=np.zeros(steps.n_learners, np.int64),
        bounded=np.zeros(steps.n_learners, np.int64),
        account=np.zeros(N_ACCOUNT),
        opaque=np.zeros(n_opaque),
        low=np.zeros(len(steps.target)),
        high=np.zeros(len(steps.target)),
        scores=np.zeros(n_outputs),
        least=np.zeros(n_outputs),
        most=np.zeros(n_outputs),
        open=np.zeros(n_outputs, np.bool_),
        paid=np.zeros(n_resources, np.uint8),
        found=np.zeros(n_resources, np.int64),
        needed=np.zeros(n_used, np.int64),
        pull=np.zeros(n_used),
    )
    begin_row(model, row)
    return row


class CertainWalker:
    """One row on its way through an additive model, until its answer is certain."""

    def __init__(
        self,
        predictor: CertainPredictor,
        prices: PriceArrays,
        known_values: Mapping[int, float],
        paid: tuple[Collection[int], Collection[int]],
    ) -> None:
        self._predictor, self._tree, self._own = predictor, (tree := predictor.inner), prices
        self._used = tree.layout.used
        self._prices = RowPrices.of(prices, self._used)
        features, resources = paid
        self._prices.cost[np.isin(self._used, list(features))] = 0.0
        row = _begin_row(predictor.bounds, self._prices, tree.layout.n_opaque)
        row.paid[list(resources)] = PAID
        steps = tree.step_layout
        row.at[steps.use[tree.layout.kind == OPAQUE, 0]] = 0  # not called
        for u in np.flatnonzero(np.isin(self._used, list(known_values))) if known_values else ():
            row.x[u], row.marks[u] = known_values[int(self._used[u])], KNOWN
        self._row, self.needs = self._go_on(_NONE, row)

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on."""
        supplied = np.array([values[f] for f in self.needs], np.float64)
        copies: list[Any] = [each.copy() for each in self._row]
        self._row, self.needs = self._go_on(supplied, type(self._row)(*copies))

    def _go_on(self, supplied: NDArray[np.float64], row: CertainRow) -> tuple[CertainRow, list[int]]:
        """Change a row by the values needed, until it needs others; return it with its needs."""
        from costframe.core.stages.certain_kernels import advance_row

        model, goal = self._predictor.bounds, self._predictor.goal
        while (count := advance_row(supplied, model, self._prices, goal, row)) < 0:
            self._call_opaque(-1 - count, row)
            supplied = _NONE
        return row, self._used[row.needed[:count]].tolist()

    def _call_opaque(self, use: int, row: CertainRow) -> None:
        """Call the learner of a use, whose features have values."""
        layout, bank = self._tree.layout, self._tree.bank
        learner, first = bank.opaques[bank.index[layout.learner[use]]], int(layout.place[use])
        values = row.x[np.searchsorted(self._used, np.array(learner.features, np.int64))]
        row.opaque[first : first + learner.width] = learner(values[None])[0]
        row.at[self._tree.step_layout.use[use, 0]] = CALLED

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, always 0."""
        value = self._tree.linked(self._row.scores[None].copy(), np.zeros(1, np.int64))[0]
        return (float(value[0]) if len(value) == 1 else value), 0

    @property
    def reason(self) -> str:
        """Whether some learner was left unfinished."""
        return "certain" if (self._row.at >= 0).any() else "complete"

    @property
    def evaluated(self) -> Fraction:
        """Price of the learners finished, of comparisons made, and of further uses of features."""
        weight, comparisons, uses, n_used = self._row.account[[WEIGHT, COMPARISONS, USES, N_USED]].tolist()
        return self._tree.price_evaluated(self._own, weight, comparisons, uses - n_used)
