"""The stops of a plan where features are unavailable: stand-ins from what is left follow those that need some."""

from __future__ import annotations

from functools import cached_property, reduce
from operator import or_

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import members
from costframe.core.stages.spares import Spare
from costframe.core.stages.stages import Answer
from costframe.core.stages.stops import PlanLayout, Stop

_SURE, _HARDLY = 0.02, 0.001  # shares of the range of the own stops' expected losses
_HALF = 0.5  # least share of gains that is left where a plan goes on
_NEARLY = 0.9  # least share of own stops where a plan goes on with these alone
_LEAST = 1e-9  # least gain, as a share of the largest loss, by which another one is scaled


@frozen(eq=False, slots=False)
class RestOfPlan:
    """Stops of a plan, each with its stand-in behind it if it has one."""

    layout: PlanLayout
    own: I8  # (stops,): number of the plan's own stop that each is or stands in for
    stands_in: B1  # (stops,)
    losses: F8 | None = None  # (stops,): expected losses of the answers; None without stand-ins
    keeps_plan: bool = True  # whether a plan by values goes on: it counts on what is left

    @classmethod
    def whole(cls, layout: PlanLayout, *, keeps_plan: bool = True) -> RestOfPlan:
        """Return the plan's own stops, where all that it buys is available, or nothing stands in."""
        m = len(layout.stops)
        return cls(layout, np.arange(m), np.zeros(m, np.bool_), keeps_plan=keeps_plan)

    @cached_property
    def best_first(self) -> list[int]:
        """Stops in the order in which a row looks for one to begin at, whose features it knows."""
        if self.losses is None:
            return [*reversed(range(len(self.own)))]
        order: list[int] = np.argsort(self.losses, kind="stable").tolist()
        return order


@frozen
class _Part:
    """A stop of the rest: the plan's own stop `own`, or its stand-in; features are one bit a column."""

    own: int
    features: int
    loss: float
    stands_in: bool = False


def rest_of_plan(layout: PlanLayout, spare: Spare, barred: int) -> RestOfPlan:
    """Return the stops for rows that cannot have the barred columns, given as one bit each.

    A stop that needs some has a stand-in with the rest of its set, where the spare ensemble answers as it does without
    the other features; that of the last stop has all other features of the plan. Gains of stand-ins are those of the
    stops before the outage, row by row, times the share that expected losses leave of them, under plans by values too:
    a plan tells what own stops gain, if they are available. Where these alone gain nearly as much as all, stand-ins
    gain nothing to it: gains that do not look ahead would make it buy more than it needs. None stands in where an own
    stop within the rest has a surely smaller expected loss, and else it has a hardly smaller one than any of these, as
    it knows more.
    """
    stand_ins = _stand_ins(layout, spare, barred)
    keeps_plan = _leaves(_HALF, layout, spare, barred, stand_ins)
    if not stand_ins:
        return RestOfPlan.whole(layout, keeps_plan=keeps_plan)
    alone = _leaves(_NEARLY, layout, spare, barred, {})
    parts = list[_Part]()
    for k, features in enumerate(layout.sets):
        parts += [_Part(k, features, float(spare.losses[k])), *([stand_ins[k]] if k in stand_ins else [])]
    bank, answers = _answers(layout, spare, parts)
    stops = list[Stop]()
    for place, (part, answer) in enumerate(zip(parts, answers, strict=True)):
        gains = _gains(layout, spare, barred, parts[place:])
        planned = _planned(layout, parts[place:], gains, barred, alone=alone)
        stops.append(Stop(np.array([*members(part.features)], np.int64), answer, gains, planned))
    return RestOfPlan(
        PlanLayout(tuple(stops), bank, layout.gains_bank),
        np.array([part.own for part in parts]),
        np.array([part.stands_in for part in parts]),
        np.array([part.loss for part in parts]),
        keeps_plan,
    )


def _leaves(share: float, layout: PlanLayout, spare: Spare, barred: int, stand_ins: dict[int, _Part]) -> bool:
    """Return whether what is left gains at least a share of what all stops do beside the first, in expected loss."""
    losses: list[float] = spare.losses.tolist()
    left = [loss for loss, wanted in zip(losses, layout.sets, strict=True) if not wanted & barred]
    least = min([*left, *(part.loss for part in stand_ins.values())], default=np.inf)
    return losses[0] - least >= share * (losses[0] - min(losses))


def _stand_ins(layout: PlanLayout, spare: Spare, barred: int) -> dict[int, _Part]:
    """Return the stand-in of each stop that has one; of equal ones the last, but the first stop always has its own."""
    last, sets = len(layout.sets) - 1, layout.sets
    every = reduce(or_, sets)
    rest = {k: (every if k == last else wanted) & ~barred for k, wanted in enumerate(sets) if wanted & barred}
    kept = {features: k for k, features in rest.items() if features}
    if 0 in rest:
        kept[rest[0]] = 0
    if not kept:
        return {}
    losses = spare.expected.of(np.array([_flags(features, layout.shape[0]) for features in kept]))
    found, spread = {}, float(np.ptp(spare.losses))
    for (features, k), loss in zip(kept.items(), losses.tolist(), strict=True):
        within = [spare.losses[j] for j, wanted in enumerate(sets) if not wanted & (~features | barred)]
        best = float(min(within, default=np.inf))
        if k == 0 or loss < best + _SURE * spread:
            found[k] = _Part(k, features, min(loss, best - _HARDLY * spread), stands_in=True)
    return found


def _flags(features: int, d: int) -> B1:
    there = np.zeros(d, np.bool_)
    there[[*members(features)]] = True
    return there


def _answers(layout: PlanLayout, spare: Spare, parts: list[_Part]) -> tuple[WeakLearnerBank, list[Answer]]:
    """Return a bank with the learners of all answers, and the answers."""
    banks, answers, count = [layout.bank], list[Answer](), len(layout.bank)
    for part in parts:
        if not part.stands_in:
            answers.append(layout.stops[part.own].answer)
            continue
        bank, answer = spare.given(_flags(part.features, layout.shape[0]))
        answers.append(evolve(answer, learners=answer.learners + count))
        banks.append(evolve(bank, categories=layout.bank.categories))
        count += len(bank)
    return WeakLearnerBank.concatenate(banks), answers


def _gains(layout: PlanLayout, spare: Spare, barred: int, parts: list[_Part]) -> Answer | None:
    """Return the gains of the later parts at the first one; None if there are none."""
    here, *later = parts
    if not later:
        return None
    is_broken = bool(here.features & barred)
    if here.stands_in or (is_broken and later[0].own != here.own):
        return _constant([part.loss - here.loss for part in later])
    if is_broken:  # a row that lacks some of the first stop's features goes on to its stand-in
        return _constant([-1.0, *[0.0] * (len(later) - 1)])
    gains = layout.stops[here.own].gains
    assert gains is not None  # noqa: S101 - there are later stops
    own, scaled = [part.own - here.own - 1 for part in later], [_scale(part, here, spare) for part in later]
    scale, constant = np.array([each[0] for each in scaled]), np.array([each[1] for each in scaled])
    return evolve(gains, weights=gains.weights[:, own] * scale, intercept=gains.intercept[own] * scale + constant)


def _planned(
    layout: PlanLayout, parts: list[_Part], gains: Answer | None, barred: int, *, alone: bool
) -> Answer | None:
    """Return the gains of a plan at the first part, beside its other `gains`; None where it does not go on.

    Where own stops go on `alone`, those of stand-ins are 0.
    """
    here, *later = parts
    planned = layout.stops[here.own].planned
    if planned is None or gains is None or here.stands_in or here.features & barred:
        return None
    own, stands_in = [part.own - here.own - 1 for part in later], np.array([part.stands_in for part in later])
    beside, learners = stands_in & (not alone), np.union1d(gains.learners, planned.learners)
    widths = layout.gains_bank.widths[learners]
    weights = np.zeros((int(widths.sum()), len(later)))
    for answer, some in ((gains, gains.weights * beside), (planned, planned.weights[:, own] * ~stands_in)):
        weights[np.repeat(np.isin(learners, answer.learners), widths)] += some
    return Answer(learners, weights, np.where(stands_in, gains.intercept * beside, planned.intercept[own]))


def _scale(part: _Part, here: _Part, spare: Spare) -> tuple[float, float]:
    """Return factor and summand that turn the gains of an own stop at another one into those of a part."""
    if not part.stands_in:
        return 1.0, 0.0
    gain, whole = part.loss - here.loss, float(spare.losses[part.own]) - here.loss
    if gain < 0 and whole < -_LEAST * np.abs(spare.losses).max():
        return gain / whole, 0.0
    return 0.0, gain


def _constant(values: list[float]) -> Answer:
    return Answer(np.empty(0, np.int64), np.empty((0, len(values))), np.array(values))
