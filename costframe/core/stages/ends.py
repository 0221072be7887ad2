"""Ends of rows: their predictions, and the classes that predictions, or a rule of the model's own, tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.stages.float32_margins import Float32Margins, Sums
from costframe.core.stages.links import squeeze
from costframe.core.stages.stages import Answer

Made = F8 | Callable[[], F8]

_ROUNDING = 1e-6  # probabilities that differ by no more than that may be ties of the original


def likeliest_places(predictions: F8, half: float = 0.5) -> I8:
    """Return the number of the likeliest class of each row, int64 (rows,); of equal ones, the first.

    Of predictions (rows, K) the largest; of (rows,) class 1 has predictions above `half`.
    """
    return predictions.argmax(axis=1) if predictions.ndim == 2 else (predictions > half).astype(np.int64)


def likeliest_place(prediction: float | F8, half: float = 0.5) -> int:
    """Return the number of the likeliest class of one row, as `likeliest_places` does."""
    return int(prediction > half) if isinstance(prediction, float) else int(prediction.argmax())


def contradicts(predictions: F8, places: I8) -> B1:
    """Return which rows have another class than the likeliest, by more than the rounding of ties: bool (rows,)."""
    if predictions.ndim == 1:
        return np.asarray(np.where(places == 1, 0.5 - predictions, predictions - 0.5) > _ROUNDING)
    stated = predictions[np.arange(len(predictions)), places]
    return np.asarray(predictions.max(axis=1) - stated > _ROUNDING)


class Ends:
    """Predictions of rows, the numbers of their classes where predictions do not tell these, and their scores.

    `places` are int64 (rows,), or None where the class is the likeliest. Scores, before the link, are the predictions
    by default. Any of them may be a function that makes it where it is asked for.
    """

    __slots__ = ("_places", "_predictions", "_scores")  # a plain class: one is made for many a row predicted alone

    def __init__(
        self,
        predictions: Made,
        places: I8 | Callable[[], I8 | None] | None = None,
        scores: Made | None = None,
    ) -> None:
        self._predictions, self._places, self._scores = predictions, places, scores

    @property
    def predictions(self) -> F8:
        """The predictions: float64 (rows,) or (rows, K)."""
        predictions = self._predictions
        if callable(predictions):
            predictions = self._predictions = predictions()
        return predictions

    @property
    def places(self) -> I8 | None:
        """The numbers of classes, int64 (rows,); None where predictions tell them."""
        if callable(self._places):
            self._places = self._places()
        return self._places

    @property
    def scores(self) -> F8:
        """The scores before the link: float64 (rows,) or (rows, K)."""
        if self._scores is None:
            return self.predictions
        if callable(self._scores):
            self._scores = self._scores()
        return self._scores

    def classes(self, half: float) -> I8:
        """Return the number of the class of each row: int64 (rows,)."""
        places = self.places
        return likeliest_places(self.predictions, half) if places is None else places


def join_ends(parts: Sequence[Ends], half: float, join: Callable[[list[Any]], Any]) -> Ends:
    """Return the ends of all rows, given those of some parts and what puts arrays of the parts in order."""

    def places() -> Any:
        told = any(part.places is not None for part in parts)
        return join([part.classes(half) for part in parts]) if told else None

    return Ends(
        lambda: join([part.predictions for part in parts]), places, lambda: join([part.scores for part in parts])
    )


@frozen(eq=False)
class OwnClasses:
    """The rule by which an answer tells classes that its predictions do not.

    By scores that predictions know nothing of; by all scores, where rounding makes predictions equal; or, where scores
    are no further than `slack` from a tie, by float32 margins.
    """

    sums: Sums
    float32: Float32Margins | None
    slack: float
    n_scores: int  # number of scores, the first ones, that tell the class

    @classmethod
    def of(cls, bank: WeakLearnerBank, answer: Answer | None) -> OwnClasses | None:
        """Return the rule of a model's only answer, None if its predictions tell the classes."""
        if answer is None or not (answer.class_scores or answer.float32 or answer.softens):
            return None
        sums = Sums(bank, answer.learners, answer.weights, answer.intercept)
        slack = 0.0 if answer.float32 is None else answer.float32.slack(sums)
        return cls(sums, answer.float32, slack, answer.class_scores or len(answer.intercept))

    def places(self, scores: F8, X: F8, whole: B1 | None = None) -> I8:
        """Return the number of the class of each row, int64 (rows,), with scores, float64 (rows, K).

        Rows have values, float64 (rows, d); those that are not `whole` gave up learners.
        """
        if len(scores) == 1:  # in half of the time
            return np.array([self.place(scores[0].tolist(), lambda: X, whole=whole is None or bool(whole[0]))])
        told = scores[:, : self.n_scores]
        decided = likeliest_places(squeeze(told), 0.0)
        if self.float32 is None:
            return decided
        near = self._near(scores, decided)
        if len(near := near if whole is None else near[whole[near]]):
            decided[near] = self.float32.places(self.sums, X[near])
        return decided

    def place(self, scores: Sequence[float], take: Callable[[], F8], *, whole: bool) -> int:
        """Return the number of the class of one row with K scores; `take` gives its values, float64 (1, d)."""
        told = scores[: self.n_scores]
        best = max(told)
        if len(told) == 1:
            place, near = int(best > 0.0), abs(best) <= self.slack
        elif math.isnan(sum(told)):
            return int(np.argmax(told))
        else:
            least = best - self.slack
            place, near = told.index(best), sum([score >= least for score in told]) > 1
        if self.float32 is None or not near or not whole:
            return place
        return int(self.float32.places(self.sums, take())[0])

    def _near(self, scores: F8, places: I8) -> I8:
        """Return the rows that are so near a tie that float32 may tell another class: int64 (any,)."""
        if scores.shape[1] == 1:
            return np.flatnonzero(np.abs(scores[:, 0]) <= self.slack)
        least = scores[np.arange(len(scores)), places] - self.slack
        return np.flatnonzero(np.count_nonzero(scores >= least[:, None], axis=1) > 1)
