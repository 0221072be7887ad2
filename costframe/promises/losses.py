"""Losses of rows behind promises: what a model's answers lose, in draws that are independent and between 0 and 1."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError, ParameterError, shown
from costframe.promises.bounds import bets_on, betting_p, binomial_p, paired_p, upper_bound
from costframe.promises.promise import OF_CLASS, OF_MONEY, OF_OTHER, Promise
from costframe.promises.sample import Answers, Sample, check_task

COUNTS, PAIRS, ANY = "counts", "pairs", "any"
_SEED = 0  # of the order of bets, which must not depend on the losses
_FINE, _MOST_STEPS = 4, 64  # steps from the limit to a lower bound: a part of a standard error, and how many


@frozen(eq=False)
class Losses:
    """Independent losses of one model for one promise, scaled to [0, 1]."""

    values: F8  # (units,): one a row, or the mean over the rows of a group
    limit: float  # greatest mean that keeps the promise, in the same scale
    # a loss in its own scale is low + width * value
    low: float
    width: float
    law: str  # "counts": each value is 0 or 1; "pairs": 0, 1/2 or 1; "any"
    rows: int  # number of rows that it is about
    draws: I8  # (units,): number of the row, or of the group, that each value is of

    @property
    def mean(self) -> float:
        """Mean loss, in its own scale; NaN without any."""
        return self.low + self.width * float(self.values.mean()) if len(self.values) else float("nan")

    @property
    def margin(self) -> float:
        """By how many standard errors the mean is below the limit, as if half an error more had been seen."""
        n = len(self.values)
        if not n:
            return -np.inf
        mean = (float(self.values.sum()) + 0.5) / (n + 1)
        spread = max(float(self.values.var()), mean * (1 - mean) / 4 if self.law == COUNTS else 1e-12)
        return float((self.limit - mean) / np.sqrt(spread / n))

    @property
    def variance(self) -> float:
        """Variance of the values, as if one draw more had been as far off as counts at the limit are."""
        n, bernoulli = len(self.values), max(self.limit * (1 - self.limit), 0.0)
        return (n * float(self.values.var()) + bernoulli) / (n + 1) if n else bernoulli

    def p_value(self, delta: float, limit: float | None = None, *, variance: float | None = None) -> float:
        """Return the p-value of a mean above the limit; `variance`, as other draws tell it, makes better bets."""
        limit = self.limit if limit is None else limit
        n = len(self.values)
        if self.law == COUNTS:
            return binomial_p(round(float(self.values.sum())), n, limit)
        if self.law == PAIRS:
            worse, better = (int((self.values == value).sum()) for value in (1.0, 0.0))
            return paired_p(worse, better, n, 2 * limit - 1)
        return betting_p(self._in_order, limit, bets_on(self._in_order, limit, delta, variance))

    def bound(self, delta: float, *, variance: float | None = None) -> float:
        """Return the upper bound of the mean loss with confidence 1 - delta, in the loss's own scale."""
        if not len(self.values):
            return self.low + self.width
        if self.law == ANY:
            return self.low + self.width * self._bound_by_bets(delta, variance)
        start = float(self.values.mean())
        return self.low + self.width * upper_bound(lambda limit: self.p_value(delta, limit), delta, start)

    def _bound_by_bets(self, delta: float, variance: float | None) -> float:
        """Return a bound that is at most the limit where that is certified, and above it where not.

        Below the limit, lower ones are tested one after the other; above it, the bets that aimed at the limit decide,
        whose wealth grows with what they are held against.
        """
        limit = min(self.limit, 1.0)
        if self.p_value(delta, limit, variance=variance) > delta:
            bets = bets_on(self._in_order, limit, delta, variance)
            return upper_bound(lambda above: betting_p(self._in_order, above, bets), delta, limit)
        spread = limit * (1 - limit) if variance is None else variance
        step = max(math.sqrt(spread / len(self.values)) / _FINE, limit / _MOST_STEPS)
        while self.p_value(delta, limit - step, variance=variance) <= delta:
            limit -= step
        return limit

    @cached_property
    def _in_order(self) -> F8:
        """Values in an order that does not depend on them."""
        return np.random.default_rng(_SEED).permutation(self.values)


def losses_of(promise: Promise, answers: Answers, sample: Sample) -> Losses:
    """Return the losses of a model's answers that a promise limits.

    Raises
    ------
    DataError
        If no row is of a class that the promise is about, or a row's loss is outside its bounds.
    ParameterError
        If the task has no such promise, or bounds are needed.
    """
    values, considered = _of_rows(promise, answers, sample)
    low, high = _bounds(promise, answers)
    width = high - low
    _check_values(promise, values, low, high)
    draws = np.arange(len(sample)) if sample.units is None else sample.units
    draws = draws if considered is None else draws[considered]
    law = PAIRS if promise.kind == "excess" else ANY if promise.kind in {"loss", *OF_MONEY} else COUNTS
    scaled = np.clip((values - low) / width, 0.0, 1.0)
    rows = len(scaled)
    if sample.units is not None:
        draws, places, sizes = np.unique(draws, return_inverse=True, return_counts=True)
        law = law if len(draws) == rows else ANY
        scaled = np.bincount(places, scaled, len(draws)) / sizes
    return Losses(scaled, (promise.limit - low) / width, low, width, law, rows, draws)


def _of_rows(promise: Promise, answers: Answers, sample: Sample) -> tuple[F8, B1 | None]:
    """Return the loss of each row that counts, and which rows do; None for all."""
    kind = promise.kind
    if kind in OF_MONEY:
        paid = answers.cost if kind == "cost" else answers.bill
        assert paid is not None  # noqa: S101 - bills are asked for where one is promised
        return paid, None
    if kind == "loss":
        return _given_loss(promise, answers, sample), None
    check_task(promise, sample.classes)
    wrong = (answers.values != sample.y).astype(np.float64)
    if kind in OF_CLASS:
        code = sample.code_of(promise.of)
        if not (sample.y == code).any():
            raise DataError(
                f"promise {shown(str(promise))}: none of the {len(sample):,} rows is of class {sample.name_of(code)}"
            )
        considered = (sample.y if kind == "recall" else answers.values) == code
        return wrong[considered], considered
    if kind in OF_OTHER:
        other = sample.others[id(promise.of)]
        return wrong - (other != sample.y) if kind == "excess" else (answers.values != other) * 1.0, None
    return wrong, None


def _given_loss(promise: Promise, answers: Answers, sample: Sample) -> F8:
    assert promise.loss is not None  # noqa: S101
    given = promise.loss(sample.labels, answers.labels)
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{promise.measure}: expected a number for each row, got {shown(given)}") from None
    if values.shape != (len(sample),):
        raise ParameterError(f"{promise.measure}: expected a loss for each of {len(sample)} rows, got {values.shape}")
    return values


def _bounds(promise: Promise, answers: Answers) -> tuple[float, float]:
    if promise.bounds is not None:
        return promise.bounds
    if promise.kind == "excess":
        return -1.0, 1.0
    if promise.kind not in OF_MONEY:
        return 0.0, 1.0
    known = answers.cost_bounds if promise.kind == "cost" else answers.bill_bounds
    if known is None:
        raise ParameterError(
            f"bounds: prices do not tell the greatest {promise.kind} of a row; give bounds=(0, greatest) to Promise"
        )
    return known if known[1] > 0 else (0.0, promise.level)  # it costs nothing


def _check_values(promise: Promise, values: NDArray[Any], low: float, high: float) -> None:
    slack = 1e-9 * max(abs(low), abs(high))
    outside = ~((values >= low - slack) & (values <= high + slack))  # NaN too
    if outside.any():
        row = int(outside.argmax())
        raise DataError(f"{promise.measure}: row {row} has {values[row]:g}, outside the bounds {low:g} to {high:g}")
