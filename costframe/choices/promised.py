"""Promises of a frontier: its points, and cascades of two, judged on labelled rows that nothing chose by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.choices.model_pool import ModelPool, cascades_of, refuse_rankings
from costframe.core.checks import check_flag
from costframe.core.errors import ParameterError, shown
from costframe.promises.certified import Certified
from costframe.promises.choose import Certifier, certify_cheapest
from costframe.promises.promise import Promise, as_promises
from costframe.promises.sample import check_task
from costframe.study.division import StudyData
from costframe.study.rows import StudyRows, check_groups
from costframe.study.settings import check_share, is_real_number

_FEWEST_PLANNED, _MOST_PLANNED = 20, 5000  # rows or groups of a plan


def certify(
    frontier: Any,
    promise: Any,
    *,
    X: Any = None,
    y: Any = None,
    groups: Any = None,
    made: Any = None,
    sample_weight: Any = None,
    plan: tuple[Any, ...] | None = None,
    plan_share: float = 0.2,
    cascades: bool = True,
) -> Certified:
    """Return the cheapest model of a frontier that is certified to keep promises; see `Frontier.cheapest`."""
    promises = as_promises(promise)
    check_flag("cascades", cascades)
    if sample_weight is not None:
        raise ParameterError("sample_weight: a promise counts each row once; leave out weights")
    if y is None or X is None:
        raise ParameterError("promise: needs X and y, labelled rows that nothing chose by")
    if not (is_real_number(plan_share) and 0 <= plan_share < 1):
        raise ParameterError(f"plan_share: expected a number >= 0 and below 1, got {shown(plan_share)}")
    pool = ModelPool.of(frontier)
    given = StudyRows.of(X, y, None, None, groups=groups, made=made)
    rows = pool.sample(given, promises)
    pool.refuse_untested(given)
    planned = None
    if plan is not None:
        planned = pool.sample(_rows_of_plan(plan), promises)
    elif plan_share:
        planned, rest = rows.split(plan_share, 0)
        planned, rows = (planned, rest) if planned.n_units >= _FEWEST_PLANNED else (None, rows)
    if planned is not None and planned.n_units > _MOST_PLANNED:
        planned = planned.split(_MOST_PLANNED / planned.n_units, 0)[0]
    if planned is None or not planned.has_classes(promises):
        points = set(frontier.non_dominated())
        listed = [candidate for candidate in pool.candidates if candidate.point in points] or pool.candidates
        return certify_cheapest(listed, Certifier(promises, rows), None, frontier.unit)
    judge = Certifier(promises, planned)
    further = cascades_of(pool.candidates, judge) if cascades else []
    return certify_cheapest([*pool.candidates, *further], Certifier(promises, rows), judge, frontier.unit)


def hold_out_for_promise(
    given: StudyData, held: StudyRows | None, shares: tuple[float, float], seed: Any, *, classes: bool
) -> tuple[StudyData, StudyRows]:
    """Return rows to train on and to validate on, and those to certify a promise on, which are held out first.

    `shares` are those of the rows to hold out for a promise, and of the others for validation, where there are none.
    """
    rows, valid = given.train, given.valid
    if held is not None:
        check_groups(rows, held, "_promise")
        if valid is not None and held.groups is not None:
            check_groups(valid, held, "_promise")
    else:
        check_share("promise_fraction", shares[0])
        rows, held = map(rows.take, rows.hold_out(shares[0], seed, classes=classes))
    if valid is None:
        check_share("validation_fraction", shares[1])
        rows, valid = map(rows.take, rows.hold_out(shares[1], seed, classes=classes))
    return StudyData(rows, valid), held


def _rows_of_plan(plan: Any) -> StudyRows:
    if not (isinstance(plan, tuple | list) and len(plan) in {2, 3}):
        raise ParameterError(f"plan: expected (X, y) or (X, y, groups), got {shown(plan)}")
    return StudyRows.of(plan[0], plan[1], None, None, "_plan", *plan[2:])


def check_promised(promises: Sequence[Promise], rows: StudyRows, task: str, *, has_bills: bool) -> None:
    """Refuse promises, before anything is fitted, that a task, its prices or the rows to certify them on have not."""
    refuse_rankings(has_some=task == "ranking")
    classes = np.unique(rows.y) if task == "classification" else None
    for promise in promises:
        if promise.kind == "bill" and not has_bills:
            raise ParameterError(f"promise {shown(str(promise))}: needs prices with errors; see `CostModel.of`")
        check_task(promise, classes)
