"""Rows predicted one by one, by inquiries: their ends, charges, trips to the sources, and times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.expected import stack_values
from costframe.core.cost.totals import Charges
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.walker import Walked
from costframe.core.stages.ends import Ends, likeliest_places
from costframe.core.terms.terms import Terms


def inquiry_of(predictor: Walked, terms: Terms) -> Inquiry:
    """Begin the inquiry of one row on some terms; its answer has no label."""
    return Inquiry(predictor, terms, predictor.begin(terms))


def replay(inquiry: Inquiry, row: F8, column: dict[str, int]) -> Inquiry:
    """Supply an inquiry with the values of a row, float64 (d,), to its end."""
    while needs := inquiry.needs:
        inquiry.supply({name: float(row[column[name]]) for name in needs})
    return inquiry


def replay_rounds(predictor: Walked, X: F8, terms: Terms) -> AskedRounds:
    """Return the rounds in which rows, float64 (rows, d), ask for features, from an inquiry of each."""
    column = predictor.card.column
    rounds = np.zeros(X.shape, np.int32)
    for row, asked in zip(X, rounds, strict=True):
        inquiry, number = inquiry_of(predictor, terms), 1
        while needs := inquiry.needs:
            asked[[column[name] for name in needs]] = number
            inquiry.supply({name: float(row[column[name]]) for name in needs})
            number += 1
    used = np.flatnonzero(rounds.any(axis=0))
    return AskedRounds(used, rounds[:, used])


def ends_by_steps(predictor: Walked, X: F8, terms: Terms) -> Ends:
    """Return the ends of rows, float64 (rows, d), with an inquiry for each."""
    predictor.begin(terms)  # refuses what no row takes, also where there are none
    column = predictor.card.column
    return _ends_of([replay(inquiry_of(predictor, terms), row, column) for row in X], predictor.card.half)


def ends_of_known(predictor: Walked, X: F8, columns: Sequence[int], terms: Terms) -> Ends:
    """Return the ends of rows that know the values of some columns, with an inquiry for each."""
    card, ends = predictor.card, []
    names = [card.feature_names[f] for f in columns]
    for row in X:
        values = row[list(columns)].tolist()
        known = dict(zip(names, values, strict=True))
        own = evolve(terms, known=known, values=dict(zip(columns, values, strict=True)))
        ends.append(replay(inquiry_of(predictor, own), row, card.column))
    return _ends_of(ends, card.half)


def _ends_of(inquiries: Sequence[Inquiry], half: float) -> Ends:
    values = stack_values([inquiry.answer.value for inquiry in inquiries])
    places = [inquiry.place for inquiry in inquiries]
    if all(place is None for place in places):
        return Ends(values)
    likeliest = likeliest_places(values, half)
    told = [other if place is None else place for place, other in zip(places, likeliest, strict=True)]
    return Ends(values, np.array(told, np.int64))


def replay_charges(predictor: Walked, X: F8, weight: F8, terms: Terms) -> Charges:
    """Charge rows of a predictor that can only be stepped, as one stage, for acquisition only."""
    prices, column = terms.prices, predictor.card.column
    acquired, cut = np.zeros((len(X), len(column)), np.bool_), np.zeros(len(X), np.bool_)
    cost, values = np.zeros(len(X)), []
    for i, row in enumerate(X):
        inquiry = replay(inquiry_of(predictor, terms), row, column)
        end = inquiry.answer
        bought = [column[name] for name in end.acquired]
        cut[i] = end.reason != "complete"
        acquired[i, bought] = True
        cost[i] = terms.ledger.total(bought, inquiry.evaluated)  # evaluators add what further rounds cost
        values.append(end.value)
    resources = prices.direct_needs.of_rows(acquired)
    return Charges(
        acquired,
        cost,
        None,
        None,
        None,
        weight @ acquired,
        weight @ resources,
        np.array([float(weight.sum())]),
        stack_values(values).reshape(len(X), -1) if values else np.empty((0, 1)),
        cut if terms.limits is not None else None,
    )
