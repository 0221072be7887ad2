"""Loss and cost of a growing ensemble on validation rows, and early stopping."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.cost.accounts import PrefixCost
from costframe.core.errors import ParameterError, shown
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.links import apply_link, squeeze
from costframe.training.data import Rows
from costframe.training.influences import influence, standard_error
from costframe.training.library_scores import LibraryScore
from costframe.training.losses import Loss
from costframe.training.scoring import refuse_unfit_score, resolve_score, score_named, with_labels

Scoring = str | Callable[..., Any] | LibraryScore | None


class Predicted(Protocol):
    """Rows, and a model's predictions of them."""

    @property
    def rows(self) -> Rows:
        """The rows, with labels."""

    @property
    def predictions(self) -> F8:
        """The predictions: float64 (rows,) or (rows, K)."""


@frozen(eq=False)
class HeldOutPredictions:
    """Held-out rows, and a model's predictions of them."""

    rows: Rows
    predictions: F8


class Running:
    """Loss and exact cost of a growing ensemble on validation rows."""

    def __init__(self, rows: Rows, loss: Loss, prices: PriceArrays) -> None:
        rows.check_sizes("_val")
        self.rows: Rows = rows
        self._loss, self._link = loss.for_rows(rows), loss.link
        self._cost = PrefixCost(rows.X, rows.weight, prices, rows.workers)
        self.scores = np.empty((len(rows), 0))
        self._loss_now: float | None = None  # the loss

    def fork(self) -> Running:
        """Return an independent copy."""
        other = copy(self)
        other.scores, other._cost = self.scores.copy(), self._cost.fork()  # noqa: SLF001 - the copy's own
        return other

    def begin(self, baseline: F8) -> None:
        """Start from the constant model, float64 (K,)."""
        self.scores = np.tile(baseline, (len(self.rows), 1))
        self._loss_now = None

    def add(self, trees: list[tuple[int, TreeTable]], step: float) -> None:
        """Add a round's trees, each with the output it adds to."""
        for k, table in trees:
            self.scores[:, k] += step * self._cost.add(table)
        self._loss_now = None

    @property
    def loss(self) -> float:
        """The mean loss."""
        if self._loss_now is None:
            self._loss_now = self._loss.mean(self.rows.y, self.scores, self.rows.uneven_weight)
        return self._loss_now

    @property
    def cost(self) -> float:
        """Mean cost per row."""
        return self._cost.mean

    @property
    def paid(self) -> PrefixCost:
        """The acquisitions and computations of each row."""
        return self._cost

    @property
    def predictions(self) -> F8:
        """The predictions: float64 (rows,) or (rows, K)."""
        return squeeze(apply_link(self._link, self.scores))


class Monitor:
    """Early stopping after `patience` rounds without a better validation value; it keeps the best prefix.

    Attributes
    ----------
    history : dict of str to list of float
        After each round: the "loss", or the score by its name ("score" for a callable), and the "cost".

    Parameters
    ----------
    rows : Rows
        Validation rows.
    loss : Loss
    prices : PriceArrays
    tradeoff : float
    patience : int
        Rounds without an improvement.
    scoring : None, "loss", name of a score, or callable
        The validation value: None for loss + tradeoff * cost; "loss" for the loss; else a score, higher is better, by a
        name from `costframe.training.scoring`, or as `read_scorer` takes it.

    Raises
    ------
    ParameterError
        If `scoring` is none of these, or returns NaN or no number.
    DataError
        If labels or weights are too large or too small.
    """

    def __init__(
        self, rows: Rows, loss: Loss, prices: PriceArrays, tradeoff: float, patience: int, scoring: Scoring
    ) -> None:
        self._tradeoff, self._patience = tradeoff, patience
        self._with_cost = scoring is None and tradeoff > 0  # zero times an infinite cost would be NaN
        self._score = Scorer.of(scoring)
        self._running = Running(rows, loss, prices)
        self._best, self.best_round, self._round = np.inf, 0, 0
        named = "loss" if self._score is None else scoring if isinstance(scoring, str) else "score"
        self.history: dict[str, list[float]] = {named: [], "cost": []}

    def begin(self, baseline: F8) -> None:
        """Start from the constant model, float64 (K,)."""
        self._running.begin(baseline)
        self._best = self._value()

    def add(self, trees: list[tuple[int, TreeTable]], step: float) -> bool:
        """Add a round's trees, each with its output; return whether to stop."""
        self._round += 1
        self._running.add(trees, step)
        value = self._value()
        self._record(value)
        if value < self._best:
            self._best, self.best_round = value, self._round
        return self._round - self.best_round >= self._patience

    def _record(self, value: float) -> None:
        """Append to the history, given the value of `_value`."""
        named, costs = self.history.values()
        named.append(self._running.loss if self._score is None else -value)
        with np.errstate(over="ignore", invalid="ignore"):
            costs.append(self._running.cost)

    def _value(self) -> float:
        """Return the value to minimize."""
        now = self._running
        if self._score is None:
            return now.loss + (self._tradeoff * now.cost if self._with_cost else 0.0)
        return -self._score(now)


@frozen
class Scorer:
    """A score of validation rows, higher is better: a name, or a caller's own."""

    scoring: str | LibraryScore

    @classmethod
    def of(cls, scoring: Scoring) -> Scorer | None:
        """Return the score of validation rows, higher is better; None for the loss.

        Raises
        ------
        ParameterError
            If `scoring` is neither None, "loss", the name of a score nor a scorer or metric function; a call raises it
            if the score is NaN, or not for such labels.
        """
        if scoring is None or scoring == "loss":
            return None
        return cls(resolve_score(scoring))

    def __call__(self, now: Predicted) -> float:
        """Return the score of the rows of all workers."""
        y, predictions, weight, qid = _of_all_workers(now)
        refuse_unfit_score(self.scoring, y, predictions)
        return _checked(score_named(self._for(now.rows))(y, predictions, weight, qid))

    def influence(self, now: Predicted) -> F8:
        """Return the influence of each row on the score, float64 (n,); see `costframe.training.scoring`."""
        rows = now.rows
        return influence(self._for(rows), rows.y, now.predictions, rows.uneven_weight, rows.qid)

    @staticmethod
    def standard_error(moved: NDArray[np.floating[Any]]) -> float:
        """Return the standard error of a score, or of a mean, from the influence of each row on it, (n,)."""
        return standard_error(moved)

    def _for(self, rows: Rows) -> str | LibraryScore:
        return with_labels(self.scoring, rows.labels, rows.X)


def _of_all_workers(now: Predicted) -> tuple[NDArray[Any], F8, F8 | None, I8 | None]:
    """Return labels, predictions, uneven weights and queries of the rows of all workers."""
    rows = now.rows
    columns = rows.y, now.predictions, rows.uneven_weight, rows.qid
    if rows.workers.count == 1:
        return columns
    y, predictions, weight, qid = zip(*rows.workers.gather(columns), strict=True)
    queries = None
    if rows.qid is not None:  # each worker numbers its own
        first = np.cumsum([0, *(numbers.max(initial=-1) + 1 for numbers in qid[:-1])])
        queries = np.concatenate([numbers + begin for numbers, begin in zip(qid, first, strict=True)])
    weights = None if rows.uneven_weight is None else np.concatenate(weight)
    return np.concatenate(y), np.concatenate(predictions), weights, queries


def _checked(score: object) -> float:
    """Return a score as a float; refuse NaN, which is never better and would end training silently."""
    number = np.asarray(score)
    if number.ndim == 0 and number.dtype.kind in "biuf" and not np.isnan(number):
        return float(number)
    raise ParameterError(f"scoring: expected a score that is a number for the validation data, got {shown(score)}")
