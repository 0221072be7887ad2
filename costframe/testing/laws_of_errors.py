"""The law of errors: a step of an inquiry that fails changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

from costframe.core.errors import CostframeError, ParameterError
from costframe.core.predictors.certain import certain
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.testing.case import Case, expect, law, same_bits

SOME = 2  # rows
MOST_CALLS = 1_000_000  # in a step
SPARSER = 4  # of n calls in a step, about SPARSER * log(n) fail in turn


@law
def an_error_changes_nothing(case: Case) -> None:
    """A step that fails, at any place, changes nothing: supplied again, the row ends as an undisturbed one does."""
    predictor, rows = case.fitted(0.0).predictor_, case.table.fresh[:SOME]
    for what, begin in inquiries(predictor, rows):
        for i, row in enumerate(rows):
            expect_retries(begin, dict(zip(predictor.feature_names, row.tolist(), strict=True)), f"row {i}, {what}")


def inquiries(predictor: Any, rows: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield ways to begin an inquiry at a predictor's own prices: with terms of all kinds, and from raw columns."""
    cap = 0.5 * float(predictor.cost(rows).per_row.max())
    terms: tuple[dict[str, Any], ...] = (
        {}, {"acquisition": "learner"}, {"max_cost": cap}, {"unavailable": predictor.feature_names[1:2]},
    )  # fmt: skip
    models = [("", predictor)]
    if isinstance(predictor, Predictor):
        models.append((" from raw columns", _behind_operations(predictor)))
        with suppress(ParameterError):  # no sum of learners
            ending = certain(predictor, 0.01)
            models += [(" until certain", ending), (" until certain, from raw columns", _behind_operations(ending))]
    for which, model in models:
        for more in terms:
            begin = partial(model.inquire, **more)
            try:
                begin()
            except (CostframeError, TypeError):  # refuses these terms
                continue
            yield f"{more}{which}", begin


def _behind_operations(predictor: Any) -> PreparedPredictor:
    """Return the predictor behind an operation for each column, which reads the column and its neighbour."""
    names = predictor.feature_names
    places = range(len(names))
    operations = [OpaqueOperation(f"first {f}", _first, [f, f ^ 1 if f ^ 1 < len(names) else f]) for f in places]
    preparation = Preparation(names, operations, [len(names) + f for f in places], names)
    return PreparedPredictor(predictor, preparation, predictor.costs)


def _first(table: Any) -> Any:
    return table[:, :1]


class _Interrupts:
    """A value at which the user ends the process."""

    def __float__(self) -> float:
        raise KeyboardInterrupt


def expect_retries(begin: Callable[[], Any], values: Mapping[str, float], where: str) -> None:
    """Expect that an inquiry, disturbed by an error at many places of each step, ends as an undisturbed one does."""
    plain, inquiry = begin(), begin()
    while needs := plain.needs:
        plain.supply({name: values[name] for name in needs})
    while needs := inquiry.needs:
        given, before = {name: values[name] for name in needs}, _state(inquiry)
        for bad in _bad_values(given):
            expect(_fails(inquiry, bad), f"{where}: takes {bad} where {needs} are needed")
            expect(_state(inquiry) == before, f"{where}: the refusal of {bad} changes {before} to {_state(inquiry)}")
        call = 1
        while _fails(inquiry, given, call):
            expect(_state(inquiry) == before, f"{where}: an error at call {call} of a step changes the inquiry")
            call += 1 + call // SPARSER
            expect(call < MOST_CALLS, f"{where}: a step that failed cannot be taken again")
    expect(_fails(inquiry, {}) and _fails(inquiry, dict(values)), f"{where}: takes values after its end")
    for name in ("cost", "acquired", "rounds", "exit", "reason"):
        got, wanted = getattr(inquiry.answer, name), getattr(plain.answer, name)
        expect(got == wanted, f"{where}: {name} is {got} after errors, {wanted} without")
    expect(same_bits(inquiry.answer.value, plain.answer.value), f"{where}: the answer differs after errors")


def _state(inquiry: Any) -> tuple[Any, ...]:
    return inquiry.needs, inquiry.cost, inquiry.acquired


def _bad_values(given: Mapping[str, float]) -> Iterator[Any]:
    """Yield values that no inquiry takes in place of those given."""
    last = list(given)[-1]
    yield None
    yield dict(list(given.items())[:-1])
    yield {**given, "no such feature": 0.0}
    yield {("no such feature" if name == last else name): value for name, value in given.items()}
    for bad in (10**400, -(10**400), object(), [1.0], _Interrupts()):
        yield {**given, last: bad}


def _fails(inquiry: Any, values: Any, call: int = 0) -> bool:
    """Supply an inquiry; return whether there was an error. The n-th call raises one, unless n is zero."""
    try:
        with _failing(type(inquiry.walker).__module__ if call else "", call):
            inquiry.supply(values)
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - an inquiry of any class may raise anything
        return True
    return False


@contextmanager
def _failing(module: str, call: int) -> Iterator[None]:
    """Let the n-th call of a function of costframe, or of the package of a module, raise an error."""
    roots, left, former = {"costframe", module.partition(".")[0]}, call, sys.gettrace()

    def trace(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        caller = frame.f_globals.get("__name__", "")
        if event == "call" and caller != __name__ and caller.partition(".")[0] in roots:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt if call % 2 else RuntimeError(f"call {call}")

    if call:
        sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(former)
