"""The law of inquiries that are put away: they go on, at every step, as if they had never been."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from costframe.core.errors import CostframeError, InquiryError
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.prediction import Prediction
from costframe.testing.case import COSTS, Case, expect, law, same_bits

SOME = 6  # rows to step through one by one
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"max_cost": 7.5},
    {"unavailable": ("scan", "cheap")},
    {"max_cost": 6.0, "unavailable": ("visit",)},
    {"known": {"free": 0.25, "blood": None, "iron": None}},
    {"known": ("scanner", "cheap"), "acquisition": "learner"},
)
"""What is asked of rows: caps, what is unavailable, and what is known."""


@law
def an_inquiry_can_be_put_away(case: Case) -> None:
    """Put away at any step and resumed, an inquiry asks, says why, answers and bills the same, to the last bit."""
    predictor, rows = case.fitted(0.0).predictor_, case.table.fresh[:SOME]
    for asked in ASKED:
        try:
            predictor.inquire(COSTS, **asked)
        except CostframeError:  # it refuses the limits, or has no other acquisition
            continue
        for row in rows:
            values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
            expect_as_if_never_put_away(predictor, values, COSTS, **asked)


def expect_as_if_never_put_away(
    predictor: Any,
    values: Mapping[str, Any],
    costs: object = None,
    hops: Mapping[str, Callable[[Inquiry], Inquiry]] | None = None,
    **asked: Any,
) -> Prediction:
    """Expect that a row's inquiry, put away and resumed at every step, is as one that never was; return its answer.

    `values` are those of its features by name; `hops` put an inquiry away and resume it, by default as text
    where the model has a digest, by a copy, and by pickle where the model can be pickled.
    """
    ways = hops or {"by a copy": copy.deepcopy, "by pickle": _by_pickle}
    if hops is None and _has_digest(predictor):
        ways = {"as text": lambda inquiry: predictor.resume(inquiry.to_json(), costs)} | {**ways}
    wanted = _steps(predictor.inquire(costs, **asked), values, lambda inquiry: inquiry)
    for title, hop in ways.items():
        found = _steps(hop(predictor.inquire(costs, **asked)), values, hop)
        where = f"put away {title}, with {asked}"
        expect(found[:-1] == wanted[:-1], f"{where}: it asks, pays and says {found[:-1]}, not {wanted[:-1]}")
        expect_same_end(found[-1], wanted[-1], where)
    end: Prediction = wanted[-1]
    return end


def expect_same_end(end: Prediction, wanted: Prediction, where: str) -> None:
    """Expect two answers to be equal to the last bit."""
    expect(same_bits(end.value, wanted.value), f"{where}: it ends in {end.value!r}, not {wanted.value!r}")
    for name in ("cost", "acquired", "rounds", "exit", "reason", "label"):
        got, due = getattr(end, name), getattr(wanted, name)
        expect(got == due, f"{where}: its {name} is {got!r}, not {due!r}")


def _has_digest(predictor: Any) -> bool:
    try:
        return bool(predictor.digest)
    except InquiryError:  # a function that has no version
        return False


def _by_pickle(inquiry: Inquiry) -> Inquiry:
    try:
        content = pickle.dumps(inquiry)
    except (pickle.PicklingError, AttributeError, TypeError):  # a function within the model that has no name
        return inquiry
    resumed: Inquiry = pickle.loads(content)  # noqa: S301 - its own
    return resumed


def _steps(inquiry: Inquiry, values: Mapping[str, Any], hop: Callable[[Inquiry], Inquiry]) -> list[Any]:
    """Supply an inquiry to its end, and put it away after each step; return what it says at each, and its end.

    One that asks more often than there are features has begun again, and has no end.
    """
    steps: list[Any] = [_said(inquiry)]
    while needs := inquiry.needs:
        if len(steps) > len(values) + 1:
            return [*steps, None]
        inquiry.supply({name: values[name] for name in needs})
        inquiry = hop(inquiry)
        steps.append(_said(inquiry))
    return [*steps, inquiry.answer]


def _said(inquiry: Inquiry) -> tuple[Any, ...]:
    """Return what an inquiry needs and has bought, and how it explains that."""
    return inquiry.needs, inquiry.cost, inquiry.acquired, inquiry.why(), inquiry.changes()
