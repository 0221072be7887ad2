"""Rows leave when they are sure of their class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import define

from costframe import Answer, CostModel, Predictor, Route, StageTree
from costframe.plugin import B1, F8, I8, FallbackRows, PriceArrays, Terms, apply_link, gains_of_answers, squeeze
from costframe_baselines.exits import EVERY_ROW, ExitPredictor


@define(eq=False, frozen=True, slots=False, repr=False)
class ConfidenceExits(ExitPredictor):
    """Rows leave when the log odds of their likeliest class exceed the threshold; it has no limits."""

    _no_limits = "a model with early exits for more than two classes has no limits"

    def leave(self, number: int, scores: F8, rows: I8) -> B1:
        """Return which rows leave."""
        del number, rows
        return self.confidence(scores) > self.threshold

    @staticmethod
    def confidence(scores: F8) -> F8:
        """Return the log odds of the likeliest class: float64 (..., n) for scores (..., n, K), K = 1 for two."""
        if scores.shape[-1] == 1:
            return np.abs(scores[..., 0])
        best = np.sort(scores, axis=-1)
        return np.asarray(best[..., -1] - np.logaddexp.reduce(best[..., :-1], axis=-1))

    def thresholds(self, scores: F8) -> F8:
        """Return the confidences of all rows at exits, and 0."""
        confidences = self.confidence(scores[1:-1])
        return np.unique(np.append(confidences[np.isfinite(confidences)], 0.0))

    def answers(self, scores: F8, exits: I8) -> F8:
        """Return probabilities: float64 (n,) of the second of two classes, or (n, K)."""
        del exits
        return squeeze(apply_link(self.answer.link, scores))

    def margins(self, scores: F8, exits: I8) -> F8:
        """Return the scores of each row at its exit: float64 (rows, K)."""
        del exits
        return scores

    def begin(self, terms: Terms) -> _ExitWalker:
        """Return a walker for one row; see `Predictor.begin`."""
        terms.check_unlimited(self._no_limits)
        return _ExitWalker(self, terms.prices, terms.values, by_path=terms.by_path)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Mapping[tuple[int, ...], float]:
        """Return the gains of columns, at the exits of rows; see `Predictor.gains`."""
        del costs
        answers = {number: self.prefix_answer(number, "identity") for number in range(len(self.prefixes))}
        exits = self.walk_rows(rows.X)[1]
        return gains_of_answers(self.bank, answers, exits, rows)

    def simplest(self) -> Predictor:
        """Return a stage tree for two classes, or if all rows take one exit: a chain with two sides.

        The second route of an exit has the learners of the first one, which are free by then.
        """
        link, last = self.answer.link, len(self.ends) - 1
        if self.threshold == EVERY_ROW:
            return self.prefix(0, link)
        if len(self.answer.intercept) > 1 and self.threshold < np.inf:
            return self
        stages: list[Answer | Route] = []
        for number in range(1, last) if self.threshold < np.inf else ():
            answer = self.prefix_answer(number, link)
            for sign in (1.0, -1.0):
                place, weights, constant = len(stages), sign * answer.weights, sign * answer.intercept
                route = Route(answer.learners, weights, constant, self.threshold, 1.0, place + 2, place + 1)
                stages += [route, answer]
        return StageTree(self.bank, (*stages, self.prefix_answer(last, link)), costs=self.costs)


class _ExitWalker:
    """One row on its way from exit to exit; later learners know the values of features acquired before."""

    reason = "complete"

    def __init__(
        self,
        model: ConfidenceExits,
        prices: PriceArrays,
        values: Mapping[int, float],
        *,
        by_path: bool,
        number: int = 1,
        stepper: Any = None,
    ) -> None:
        self._model, self._prices, self._values, self._by_path = model, prices, values, by_path
        nobody = np.zeros(0, np.int64)
        self._stepper = self._begin(number) if stepper is None else stepper
        while not self._stepper.needs and number < len(model.prefixes) - 1:
            if model.leave(number, self._scores(), nobody)[0]:
                break
            number += 1
            self._stepper = self._begin(number)
        self._number = number

    @property
    def needs(self) -> tuple[int, ...]:
        """Features needed for the learners before the next exit."""
        needs: tuple[int, ...] = self._stepper.needs
        return needs

    @property
    def answer(self) -> tuple[F8, int]:
        """Probabilities, and the number of the exit."""
        return apply_link(self._model.answer.link, self._scores())[0], self._number - 1

    place = None  # predictions tell the class

    @property
    def evaluated(self) -> Fraction:
        """As of the stepper of the last exit, which evaluated all learners before it."""
        share: Fraction = self._stepper.evaluated
        return share

    def after(self, values: Sequence[float]) -> _ExitWalker:
        """Return the row with the values of all features in `needs` too, at the next exit that needs others."""
        known, stepper = {**self._values, **dict(zip(self.needs, values, strict=True))}, self._stepper.after(values)
        return _ExitWalker(
            self._model, self._prices, known, by_path=self._by_path, number=self._number, stepper=stepper
        )

    def _begin(self, number: int) -> Any:
        tree = self._model.prefixes[number]
        return tree.stepper(self._prices, self._values, by_path=self._by_path)

    def _scores(self) -> F8:
        return np.reshape(self._stepper.answer[0], (1, -1))
