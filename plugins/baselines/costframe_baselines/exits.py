"""Early exit: the model of rows that leave a sum of learners before its end.

All rows pay for the learners before their exit; the rule by which they leave is a class of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from attrs import define, evolve

from costframe import Answer, Predictor, StageTree
from costframe.plugin import B1, F8, I8, Card, Charges, Ends, Terms

ScoresAt = Callable[[int, I8], F8]
EVERY_ROW = -np.inf  # a threshold: rows leave before the first learner


@define(eq=False, frozen=True, slots=False, repr=False)
class ExitPredictor(Predictor):
    """What both rules share: the exits, the walk from one to the next, and the price of the learners before."""

    tree: StageTree  # the model of all learners, of one answer, with the default prices
    # learners evaluated at each exit: 0 first, which only `EVERY_ROW` takes, and all of them last
    ends: tuple[int, ...] = (0, 0)
    threshold: float = np.inf

    _no_limits = ""  # why rows have none

    @classmethod
    def of(cls, tree: StageTree, every: int) -> Self:
        """Place exits `every` trees apart; a round of one tree for each of several outputs counts as one."""
        exits = cls(tree)
        count, width = len(exits.answer.learners), exits.answer.weights.shape[1]
        feeds = np.add.reduceat(exits.answer.weights != 0, exits._first_outputs, axis=0) if count else np.ones((1, 2))
        step = every * (width if width > 1 and (feeds.sum(axis=1) <= 1).all() else 1)
        return evolve(exits, ends=(*range(0, count, step), count) if count else (0, 0))

    @cached_property
    def card(self) -> Card:
        """What describes it: the card of the model of all learners; of its facts, its size."""
        n_learners = len(self.tree.bank)
        facts = f"{len(self.ends):,} exits", f"{n_learners:,} learner{'s' * (n_learners != 1)}"
        return evolve(self.tree.card, facts=facts)

    def with_card(self, card: Card) -> Self:
        """Return the same model with another card; see `Predictor.with_card`."""
        return evolve(self, tree=self.tree.with_card(card))

    @property
    def bank(self) -> Any:
        """The weak learners."""
        return self.tree.bank

    @property
    def answer(self) -> Answer:
        """The answer of all learners."""
        answer = self.tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - a tree of one stage
        return answer

    @property
    def _first_outputs(self) -> I8:
        """The first row of weights of each learner of the answer: int64 (L,)."""
        widths = self.tree.bank.widths[self.answer.learners].astype(np.int64)
        return np.cumsum(widths) - widths

    def prefix(self, number: int, link: str = "identity") -> StageTree:
        """Return the model of the learners before an exit; its prediction is the score by default."""
        return StageTree(self.tree.bank, (self.prefix_answer(number, link),), costs=self.costs)

    def prefix_answer(self, number: int, link: str) -> Answer:
        """Return the answer of the learners before an exit."""
        count, first = self.ends[number], np.append(self._first_outputs, len(self.answer.weights))
        learners, weights = self.answer.learners[:count], self.answer.weights[: first[count]]
        return evolve(self.answer.by_predictions(), learners=learners, weights=weights, link=link)

    @cached_property
    def prefixes(self) -> tuple[StageTree, ...]:
        """The model of each exit; predictions are scores."""
        return tuple(self.prefix(number) for number in range(len(self.ends)))

    @abstractmethod
    def simplest(self) -> Predictor:
        """Return the same model as a stage tree, if one can hold it."""

    @abstractmethod
    def thresholds(self, scores: F8) -> F8:
        """Return thresholds at which some row leaves at an exit, from scores (exits, n, K): float64, ascending."""

    @abstractmethod
    def leave(self, number: int, scores: F8, rows: I8) -> B1:
        """Return which of the remaining rows, int64 (m,), with scores (m, K), leave at an exit: bool (m,)."""

    @abstractmethod
    def answers(self, scores: F8, exits: I8) -> F8:
        """Return the predictions of rows that leave at these exits with these scores, (n, K)."""

    def walk(self, scores_at: ScoresAt, n_rows: int) -> tuple[F8, I8]:
        """Return the scores and the exit of each row, float64 (n, K), int64 (n,), by the scores of rows at exits."""
        last, rows = len(self.ends) - 1, np.arange(n_rows)
        if self.threshold == EVERY_ROW:
            return scores_at(0, rows), np.zeros(n_rows, np.int64)
        scores, exits = np.zeros((n_rows, self.tree.n_outputs)), np.full(n_rows, last)
        for number in range(1 if self.threshold < np.inf else last, last + 1):
            if not len(rows):
                break
            scores[rows] = now = scores_at(number, rows)
            if number < last:
                leaves = self.leave(number, now, rows)
                exits[rows[leaves]] = number
                rows = rows[~leaves]
        return scores, exits

    def walk_rows(self, X: F8) -> tuple[F8, I8]:
        """Return the scores and the exit of each row of a table."""
        return self.walk(lambda number, rows: self.prefixes[number].predict(X[rows]).reshape(len(rows), -1), len(X))

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        terms.check_unlimited(self._no_limits)
        scores, exits = self.walk_rows(X)
        return Ends(lambda: self.answers(scores, exits), scores=lambda: self.margins(scores, exits))

    @abstractmethod
    def margins(self, scores: F8, exits: I8) -> F8:
        """Return what `decision_function` gives rows that leave at these exits with these scores, (n, K)."""

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge the rows of each exit for the learners before it; `stage_weight` is that of rows at each exit."""
        terms.check_unlimited(self._no_limits)
        terms.check_hard("only a stage tree has thresholds to soften; use routing='hard'")
        scores, exits = self.walk_rows(X)
        order, parts = np.argsort(exits, kind="stable"), []
        for number in np.unique(exits).tolist() or [0]:
            rows = order[exits[order] == number]
            parts.append(self.prefixes[number].charges(X[rows], weight[rows], terms))
        together, back = Charges.join(parts), np.argsort(order)
        names = ("acquired", "acquisition", "learners", "comparisons", "reuse", "per_row")
        by_row = {name: value[back] for name in names if (value := getattr(together, name)) is not None}
        at = np.bincount(exits, weights=weight, minlength=len(self.prefixes))
        stage_weight = np.cumsum(at[:0:-1])[::-1].astype(np.float64)
        predictions = self.answers(scores, exits).reshape(len(X), -1)
        return evolve(together, **by_row, stage_weight=stage_weight, predictions=predictions)
