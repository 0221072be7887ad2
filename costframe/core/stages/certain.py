"""Rows of an additive model that end as soon as their answer is certain: their goals, and walks of tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.learners.tree_table import TREE
from costframe.core.machine import over_chunks
from costframe.core.prices.exact_prices import ExactPrices
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.layout import N_ACCOUNT, StageLayout
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stage_model import RowWalk
from costframe.core.stages.stages import Answer, Stage

CLOSE, CUT, LARGEST = engine.constants("close_to_score", "beyond_cut", "largest_of_all")  # kinds of goals
_MARGIN = 1e-15  # between scores, or probabilities, that a link certainly tells apart in spite of its rounding
_NEAR = 1e-9  # of the score of a prediction that tells classes apart
_ROWS = 256  # that one thread takes at a time: they take longer than whole evaluations
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
    def of(cls, until: Until, stages: tuple[Stage, ...], *, knows_classes: bool, slack: float = 0.0) -> Goal:
        """Make the goal of `until`, or refuse it where it does not fit the model.

        Scores no further than `slack` from a tie may be told otherwise by the model's own rule.
        """
        if len(stages) > 1:
            raise ParameterError(
                f"model: expected one sum of learners, got {len(stages)} stages, which end rows by thresholds"
            )
        answer = stages[0]
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
        if answer.class_above is not None:
            level = _score_of(answer.link, answer.class_above)
            return cls(CUT, 0.0, divisor, above=level + _NEAR, below=level - _NEAR)
        if answer.float32 is not None:
            several = len(answer.intercept) > 1
            return cls(LARGEST, slack, 1.0) if several else cls(CUT, 0.0, 1.0, above=slack, below=-slack)
        return cls._of_class(answer, divisor, knows_classes=knows_classes)

    @classmethod
    def _of_class(cls, answer: Answer, divisor: float, *, knows_classes: bool) -> Goal:
        """Make the goal that the class is certain: scores tell it, or p > 1/2, or the first largest of predictions.

        Without classes, several outputs with the link sigmoid are separate answers, each of them yes or no.
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


def _score_of(link: str, prediction: float) -> float:
    """Return the score of one output that has a prediction; infinite for one that no score has."""
    if link == "identity":
        return prediction
    if link != "sigmoid":
        raise ParameterError(
            f"until='class': classes told by predictions of the link {link!r} have no scores to be certain"
        )
    with np.errstate(divide="ignore"):
        return float(np.log(max(prediction, 0.0)) - np.log1p(-min(prediction, 1.0)))


class CertainRows(NamedTuple):
    """Ends of rows, and their purchases."""

    scores: F8  # (rows, K)
    masks: NDArray[np.uint64]  # (rows, W): features acquired, of those that the model uses
    account: F8  # (rows, 4); see engine/step.h
    rounds: I8  # (rows,)
    early: B1  # (rows,): whether some learner was left unfinished

    def rows(self, part: slice) -> CertainRows:
        """Return a view of some rows."""
        views: list[Any] = [array[part] for array in self]
        return CertainRows(*views)


def lay_out_bounds(layout: StageLayout) -> engine.Record:
    """Lay out what each leaf may add, and each feature's tests with the leaves that they part, once a model."""
    n_leaves, n_targets = np.zeros(len(layout.kind), np.int64), np.diff(layout.target_first)
    uses = np.flatnonzero(layout.kind == TREE)
    n_leaves[uses] = (layout.nodes.sizes[layout.tree[uses]] + 1) // 2
    word_first, n_values = np.cumsum([0, *-(-n_leaves // 64)]), n_leaves * n_targets
    test_first, ascends = np.zeros(len(layout.used) + 1, np.int64), np.zeros(len(layout.kind), np.bool_)
    lowest, highest = np.zeros((2, n_values.sum()))
    places = word_first, np.cumsum(n_values) - n_values, lowest, highest, ascends
    test, every = np.zeros((0, 5), np.int64), np.zeros(word_first[-1], np.uint64)
    test = np.zeros((engine.lay_out_bounds(layout.packed, test_first, test, every, *places), 5), np.int64)
    engine.lay_out_bounds(layout.packed, test_first, test, every, *places)
    return engine.Bounds(test_first, test, every, *places)


def certain_walk(
    layout: StageLayout, bounds: engine.Record, goal: Goal, prices: PriceArrays, exact: ExactPrices
) -> RowWalk:
    """Return what rows to a goal have in common at some prices."""
    used, n_pairs, n_resources = layout.used, len(layout.target), len(prices.resource_cost)
    dues = engine.Dues.of(
        prices,
        needs=prices.direct_needs.restrict(used).packed,
        cost=np.array(prices.cost[used]),
        split=np.array(prices.comparisons[1][used]),
    )
    n_words = bounds.sizes["leaf_words"]
    sizes = (
        2 * (layout.n_outputs + n_pairs) + len(used),
        layout.slots[0] + n_resources + n_words,
        layout.n_outputs,
    )
    structs = bounds, dues, engine.Goal.of(goal)
    return RowWalk(layout, exact, engine.step_certain_row, *structs, own=sizes, n_resources=n_resources)


def certain_rows(walk: RowWalk, X: F8, n_jobs: int | None) -> CertainRows:
    """Step through rows, float64 (rows, d), each to its goal."""
    layout, n, begin = walk.layout, len(X), np.frombuffer(walk.begin(True, {}), np.uint64)
    certain = CertainRows(
        np.zeros((n, layout.n_outputs)),
        np.zeros((n, layout.n_words), np.uint64),
        np.zeros((n, N_ACCOUNT)),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
    )
    X = np.ascontiguousarray(X, np.float64)

    def chunk(part: slice) -> None:
        opaque = np.zeros((part.stop - part.start, 0))
        if layout.n_opaque:
            opaque = StageRunner(layout, X[part]).opaque_outputs()
        engine.run_certain_rows(X[part], opaque, begin, *walk.structs, *certain.rows(part))

    over_chunks(chunk, n, n_jobs, _ROWS)
    return certain
