"""A plan as a page holds it: its stops, their models, the terms on which rows go on, and stand-ins for stops."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.stages.layout import StageLayout, lay_out
from costframe.core.stages.part_of_plan import PartOfPlan
from costframe.core.stages.stages import Answer
from costframe.core.terms.terms import Terms
from costframe.page.memory import Memory
from costframe.page.stages import describe_losses, describe_stage


def describe_plan(plan: PlannedPredictor, terms: Terms, memory: Memory) -> dict[str, Any]:
    """Return what sends rows of a plan from stop to stop, at its own tradeoff; arrays go into memory."""
    layout, own = plan.layout, plan.plan_terms(terms)
    d, n_outputs = layout.shape
    return {
        "stops": [_describe_stop(plan, number, memory) for number in range(len(plan.stops))],
        "weighed": own.prices.weighed,
        "tradeoff": own.tradeoff,
        "tradeoffLeft": own.tradeoff_left,
        "planned": own.planned,
        "byValues": plan.decides_by_values,
        "relied": str(plan.relied(terms)),
        "unit": plan.gain_unit,
        "realised": [*plan.realised],
        "d": d,
        "outputs": n_outputs,
        "spare": None,
        "narrow": None,  # or why the page cannot answer where a cap pays for no stop's features
    }


def _describe_stop(plan: PlannedPredictor, number: int, memory: Memory) -> dict[str, Any]:
    stop, layout = plan.stops[number], plan.layout
    models = {kind: layout.model(number, kind) for kind in ("answer", "gains", "planned")}
    constant = [gains is not None and not len(gains.learners) for gains in (stop.planned, stop.gains)]
    fixed = constant[0] and stop.gains is not None
    return {
        "set": str(layout.sets[number]),
        "stage": describe_stage(stop.answer),
        "fixed": fixed,  # whether its plan sends all rows to one stop, whatever they are
        "fixedBeside": all(constant),  # the same beside stand-ins
    } | {kind: None if model is None else _put_model(model, memory) for kind, model in models.items()}


def _put_model(model: StageLayout, memory: Memory) -> int:
    return memory.put(memory.words(model.packed))


def describe_spare(plan: PlannedPredictor, terms: Terms, memory: Memory) -> dict[str, Any] | None:
    """Return what makes stand-ins of stops that need what is not available or too dear; None of a plan without."""
    if (spare := plan.spare) is None:
        return None
    words = memory.words(lay_out(spare.bank, (spare.answer,)).packed)
    return {
        "model": memory.put(words),
        "size": len(words.bytes),
        "places": {name: words.fields[name] for name in ("used", "use", "target", "payload", "stage_value")},
        "stage": describe_stage(spare.answer),
        "losses": spare.losses.tolist(),
        "part": _describe_part(plan.part(terms.prices)),
        **describe_losses(spare.expected),
    }


def _describe_part(part: PartOfPlan) -> dict[str, Any]:
    """Return caps, and from each on the columns in the order in which rows buy them."""
    ranks = part.ranks.ranks
    orders = [part.columns[np.argsort(row, kind="stable")].tolist() for row in ranks]
    return {"caps": part.ranks.caps.tolist(), "orders": orders}


def has_plain_gains(plan: PlannedPredictor) -> bool:
    """Return whether each output of gains' learners is one gain: a page then scales gains with the bits of Python."""
    return all(stop.gains is None or _is_plain(plan, stop.gains) for stop in plan.stops)


def _is_plain(plan: PlannedPredictor, gains: Answer) -> bool:
    widths = plan.gains_bank.widths[gains.learners]
    if not np.isin(gains.weights, (0.0, 1.0)).all():
        return False
    firsts = np.cumsum(widths) - widths
    return not len(firsts) or bool((np.add.reduceat(gains.weights, firsts, axis=0) <= 1.0).all())
