"""The cheapest of many models that is certified to keep promises, on rows that nothing chose by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.display import format_cost, round_up
from costframe.core.errors import CostframeError, printable
from costframe.promises.bounds import draws_alike
from costframe.promises.certified import Certified, Check, Enough
from costframe.promises.losses import COUNTS, Losses, losses_of
from costframe.promises.orders import foresee, improve_order, staircase
from costframe.promises.promise import Promise
from costframe.promises.sample import Answers, Sample
from costframe.promises.sequences import certified
from costframe.training.influences import error_of_mean

_POWER = 0.842  # standard errors: "enough" rows certify a model with a probability of 0.8
_MOST_ROWS = 30  # "enough" rows, as a multiple of those there are


class BrokenPromiseError(CostframeError):
    """No model is certified to keep a promise on the given rows; the text says the best that can be promised."""


@frozen(eq=False)
class PromiseCandidate:
    """A model that may keep promises; `make` returns its fitted estimator, `cost` is the study's estimate."""

    name: str
    cost: float
    make: Callable[[], Any]
    point: Any = None


def ask_model(candidate: PromiseCandidate, sample: Sample, bill: bool) -> Answers:
    """Return what a candidate's model answers for a sample."""
    return Answers.of(candidate.make(), sample, bill=bill)


@frozen(eq=False)
class Certifier:
    """Promises, and the losses of candidates on one sample; `ask` returns the answers of a candidate."""

    promises: tuple[Promise, ...]
    sample: Sample
    ask: Callable[[Any, Sample, bool], Answers] = ask_model
    known: dict[str, tuple[Answers, tuple[Losses, ...]]] = field(factory=dict)

    def answers(self, candidate: PromiseCandidate) -> Answers:
        """Return what a candidate answers for the sample."""
        return self._judged(candidate)[0]

    def losses(self, candidate: PromiseCandidate) -> tuple[Losses, ...]:
        """Return the losses of a candidate, for each promise."""
        return self._judged(candidate)[1]

    def _judged(self, candidate: PromiseCandidate) -> tuple[Answers, tuple[Losses, ...]]:
        if candidate.name not in self.known:
            bill = any(promise.kind == "bill" for promise in self.promises)
            answers = self.ask(candidate, self.sample, bill)
            losses = tuple(losses_of(promise, answers, self.sample) for promise in self.promises)
            self.known[candidate.name] = answers, losses
        return self.known[candidate.name]


def certify_cheapest(
    candidates: Sequence[PromiseCandidate],
    judge: Certifier,
    plan: Certifier | None,
    unit: str,
) -> Certified:
    """Return the cheapest candidate that is certified by a judge, in an order that `plan`, on other rows, fixes.

    Without a plan, candidates are tested by descending cost, as the study estimated it.

    Raises
    ------
    BrokenPromiseError
        If none is certified.
    """
    promises, rows = judge.promises, judge.sample
    delta = 1 - promises[0].confidence
    order = _order(candidates, plan, rows.n_units, delta)

    def p_value(number: int) -> float:
        losses, varied = judge.losses(candidates[number]), _variances(candidates[number], plan, len(promises))
        return max(loss.p_value(delta, variance=known) for loss, known in zip(losses, varied, strict=True))

    passed = certified([order], p_value, delta)
    if not passed:
        raise BrokenPromiseError(_best(candidates, order, judge, plan, delta, unit))
    chosen = candidates[passed[-1]]
    spent = judge.answers(chosen).cost
    checks = _checks(chosen, judge, plan, delta)
    return Certified(
        model=chosen.make(),
        name=chosen.name,
        point=chosen.point,
        cost=float(spent.mean()),
        cost_error=error_of_mean(spent, rows.units),
        unit=unit,
        confidence=promises[0].confidence,
        checks=checks,
        rows=len(rows),
        groups=None if rows.units is None else rows.n_units,
        planned_on=0 if plan is None else len(plan.sample),
        tested=min(len(passed) + 1, len(order)),
        enough=_enough([candidates[number] for number in order[len(passed) :]], judge, delta, unit),
    )


def safety_of(losses: Sequence[Losses]) -> float:
    """Return the least distance of the losses of promises below their limits, in standard errors."""
    return min(loss.margin for loss in losses)


def _variances(candidate: PromiseCandidate, plan: Certifier | None, count: int) -> list[float | None]:
    """Return the variances of a candidate's losses on the plan, for each of several promises; None without a plan."""
    return [None] * count if plan is None else [losses.variance for losses in plan.losses(candidate)]


def _order(candidates: Sequence[PromiseCandidate], plan: Certifier | None, ahead: int, delta: float) -> list[int]:
    """Return the numbers of candidates in the order of tests, from the safe end; `ahead` rows or groups certify.

    With a plan it is a staircase of safety, in standard errors between the losses there and the limits, with those
    changes that save cost in draws of what the tests will say.
    """
    if plan is None:
        return sorted(range(len(candidates)), key=lambda number: -candidates[number].cost)
    judged = [plan.losses(candidate) for candidate in candidates]
    cost = np.array([float(plan.answers(candidate).cost.mean()) for candidate in candidates])
    certified = [foresee(losses, plan.sample.n_units, ahead, delta) for losses in zip(*judged, strict=True)]
    stairs = staircase([safety_of(losses) for losses in judged], cost)
    return improve_order(stairs, np.logical_and.reduce(certified), cost)


def _checks(candidate: PromiseCandidate, judge: Certifier, plan: Certifier | None, delta: float) -> tuple[Check, ...]:
    checks, promises = [], judge.promises
    varied = _variances(candidate, plan, len(promises))
    for promise, losses, known in zip(promises, judge.losses(candidate), varied, strict=True):
        bound = losses.bound(delta, variance=known)
        checks.append(Check(promise, promise.of_loss(losses.mean), promise.of_loss(bound), losses.rows))
    return tuple(checks)


def _enough(candidates: Sequence[PromiseCandidate], judge: Certifier, delta: float, unit: str) -> tuple[Enough, ...]:
    """Return further candidates that keep the promises on these rows, and the number of rows that would certify them.

    The first one is that at which tests ended, so that further ones take no fewer rows. It names at most two: the one
    that takes the fewest rows, and the cheapest.
    """
    further, least = [], 1.0
    for candidate in candidates:
        need = max(_rows_needed(losses, delta) for losses in judge.losses(candidate))
        if candidate is candidates[0] and need <= _MOST_ROWS:
            least = max(need, least)
        need = max(need, least)
        if need <= _MOST_ROWS:
            count = round_up(need * len(judge.sample))
            further.append(Enough(candidate.name, float(judge.answers(candidate).cost.mean()), count, unit))
    if not further:
        return ()
    first = min(further, key=lambda enough: (enough.rows, enough.cost))
    last = min(further, key=lambda enough: (enough.cost, enough.rows))
    return (first,) if last.cost >= first.cost else (first, last)


def _rows_needed(losses: Losses, delta: float) -> float:
    """Return the multiple of the rows that would certify a mean loss like this one; infinite if it is no less.

    It is that of a normal test, but at least that of losses which are all the mean, as few that happen to be alike are.
    """
    from scipy.stats import norm

    n = len(losses.values)
    mean = float(losses.values.mean()) if n else 1.0
    if losses.limit >= 1 or mean >= losses.limit:
        return 0.0 if losses.limit >= 1 else math.inf
    spread = float(losses.values.var())
    at_limit = losses.limit * (1 - losses.limit) if losses.law == COUNTS else spread
    tail, below = float(norm.isf(delta)), losses.limit - mean
    by_errors = (max(tail, 0.0) * math.sqrt(at_limit) + _POWER * math.sqrt(spread)) ** 2 / below**2
    return max(float(by_errors), draws_alike(mean, losses.limit, delta)) / n


def _best(
    candidates: Sequence[PromiseCandidate],
    order: Sequence[int],
    judge: Certifier,
    plan: Certifier | None,
    delta: float,
    unit: str,
) -> str:
    """Return a text that says what can be promised of the safest candidate, the first one of the sequence."""
    safest = candidates[order[0]]
    checks = _checks(safest, judge, plan, delta)
    asked = " and ".join(str(check.promise) for check in checks)
    best = " and ".join(check.promise.says(check.bound) for check in checks)
    alone = "" if len(checks) == 1 else ", each alone"
    about = " and ".join(dict.fromkeys(f"{check.rows:,}" for check in checks))
    text = (
        f"promise: no model is certified to keep {asked} with a probability of {1 - delta:g} on {about} rows; the best "
        f"that can be promised on them is {best}{alone}, by {safest.name} at "
        f"{format_cost(float(judge.answers(safest).cost.mean()))} {unit} a row"
    )
    enough = _enough([candidates[number] for number in order], judge, delta, unit)
    return printable(text + (f"; {enough[0]}" if enough else ""))
