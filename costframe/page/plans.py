"""A plan as a page holds it: its stops, their models, and the terms on which rows go from stop to stop."""

from __future__ import annotations

from struct import pack
from typing import Any

import numpy as np

from costframe import engine
from costframe.core.learners.bits import word_count
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.planned_terms import Place
from costframe.core.terms.terms import Terms
from costframe.page.memory import Memory, Words
from costframe.page.stages import describe_stage


def describe_plan(plan: PlannedPredictor, terms: Terms, memory: Memory) -> dict[str, Any]:
    """Return what sends rows of a plan from stop to stop, at its own tradeoff; arrays go into memory."""
    layout, own = plan.layout, plan.plan_terms(terms)
    d, n_outputs = layout.shape
    return {
        "stages": [describe_stage(stop.answer) for stop in plan.stops],
        "way": memory.put_records(_lay_out(plan, memory), _room_for_paid(len(plan.stops), memory)),
        "sets": [str(each) for each in layout.sets],
        "bundles": [str(bundle) for bundle in own.prices.bundles],  # features, and resources behind all d features
        "weighed": own.prices.weighed,
        "tradeoff": own.tradeoff,
        "planned": own.planned,
        "d": d,
        "outputs": n_outputs,
        "known_words": word_count(d),
        "place": {name: int(getattr(Place, name.upper())) for name in ("stop", "why", "status", "known")},
        "waits": int(Place.WAITS),
        "pays": int(Place.PAYS),
        "add_sets": int(engine.ADD_SETS),
    }


def _lay_out(plan: PlannedPredictor, memory: Memory) -> Words:
    """Return the struct of a plan, whose models are structs one behind the other."""
    sets, width, stops, table, structs = plan.layout.packed.arrays
    models, words = Words(), Words()
    for struct in structs:
        models.join(memory.words(struct))
    _add_matrix(words, memory.put_array(sets), sets.shape)
    words.bytes += pack("<q", width)
    _add_matrix(words, memory.put_array(stops), stops.shape)
    _add_matrix(words, memory.put(models), table.shape)
    return words


def _add_matrix(words: Words, address: int | None, shape: tuple[int, int]) -> None:
    words.add_address(address)
    words.bytes += pack("<2q", *shape)


def _room_for_paid(n_stops: int, memory: Memory) -> Words:
    """Return the struct of what a row has paid for, a set of items at a time, which the page fills in."""
    prices, flags = np.zeros((1, n_stops)), np.ones((1, n_stops), np.bool_)
    return memory.words(engine.PaidSets(prices.astype(np.int64), prices, flags, flags[0], 0), apart=True)
