"""Rows that lack tests: an exact cost is that of completed copies of them, in which all tests are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from costframe.core.arrays import F8
from costframe.core.prices.costs import CostModel
from costframe.core.terms.card import Card
from costframe.hooks import load

# An arrow upward that import contracts do not see: `records` imports the tables and prices of the core, and a predictor
# of the core says what rows cost. Completion moved into the core would take all of `records` with it, and an argument
# would go through each caller of `cost`, so that this one name is loaded, and only where rows may lack tests.
_COMPLETE = "costframe.records.copies:complete_rows"


def complete_copies(
    rows: F8, X: Any, y: Any, made: Any, *, card: Card, costs: CostModel, read: Collection[str], weight: F8 | None
) -> Sequence[F8]:
    """Return completed copies of rows, float64 (n, d) each; the rows alone, if they lack no test that a model reads.

    Parameters
    ----------
    rows, X : float64 (n, d), and the table of any library that they are of
    y : (n,) or None
        Labels, without which nothing can be completed.
    made : bool (n, d) or data frame of bool, optional
        Which cells of X were asked for, in place of what prices say.
    card, costs, read
        Of the model: its description, its prices, and the columns that it reads.
    weight : float64 (n,), optional
        By which rows give their values to others.
    """
    complete: Callable[..., Sequence[F8]] = load(_COMPLETE)
    by_class = card.classes is not None
    names, panels = card.feature_names, costs.panels
    return complete(
        rows,
        X,
        y,
        made,
        names=names,
        panels=panels,
        read=read,
        by_class=by_class,
        weight=weight,
        categories=card.categories,
    )
