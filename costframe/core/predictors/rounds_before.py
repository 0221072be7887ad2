"""Rounds of a row before it began again, at other prices or without something: what it bought, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from costframe.core.predictors.inquiry_state import Round
from costframe.core.terms.terms import Terms


def bought_in(terms: Terms, rounds: Sequence[Round]) -> tuple[int, ...]:
    """Return the columns that a row bought in some rounds, in order, without those paid for before."""
    columns = (terms.card.column[name] for names, _ in rounds for name in names)
    return tuple(f for f in columns if f not in terms.ledger.features)


def bought_rounds(terms: Terms, rounds: Sequence[Round]) -> Fraction:
    """Return what a row paid for going again to resources in some rounds."""
    return terms.ledger.rounds([terms.card.column[name] for name in names] for names, _ in rounds)


def rest_of(terms: Terms, rounds: Sequence[Round]) -> Terms:
    """Return what is asked of a row after rounds whose values it knows and has paid for, at the prices of terms."""
    values = {name: value for names, numbers in rounds for name, value in zip(names, numbers, strict=True)}
    known = terms.known if isinstance(terms.known, Mapping) else dict.fromkeys(terms.known)
    bought = bought_in(terms, rounds)
    if terms.prices.has_rounds:  # going there again has a price of its own
        names = terms.prices.resource_names
        known = {**known, **dict.fromkeys(names[r] for r in sorted(terms.ledger.resources_paid(bought)))}
    spent = terms.ledger.total(bought, bought_rounds(terms, rounds))
    return terms.left({**known, **values}, spent, ())
