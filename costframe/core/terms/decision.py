"""The class of a row, and what its answer costs if it is wrong: one decision for tables and single rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.errors import CostModelError, ParameterError
from costframe.core.prices.decision_prices import DecisionPrices
from costframe.core.prices.error_prices import ErrorPrices
from costframe.core.prices.limits import names_of
from costframe.core.stages.ends import Ends, likeliest_place
from costframe.core.tables.as_given import as_doubles
from costframe.core.tables.categories import coded_features
from costframe.core.tables.kinds import has_kinds
from costframe.core.tables.row_labels import check_target
from costframe.core.terms.card import Card
from costframe.core.terms.classes import both_classes, places


@frozen(eq=False)
class Decision:
    """The rule by which rows of a predictor get their classes.

    Where prices have errors, a row's class is that of least expected error cost, of equal ones the first; else, or if a
    column that is a price of errors is barred, the one that its end tells.
    """

    card: Card
    prices: DecisionPrices | None = None  # of errors, by position
    columns: tuple[int, ...] = ()  # that are prices of errors
    barred: frozenset[int] = frozenset()  # those of them that rows cannot have

    @classmethod
    def of(cls, card: Card, errors: ErrorPrices | None, barred: Iterable[str] = ()) -> Decision:
        """Make the rule of a predictor with a card, at some prices of errors.

        Raises
        ------
        ParameterError
            If the predictor knows no classes, or its rows end where only their likeliest class is certain.
        CostModelError
            If the prices do not fit its classes and features.
        """
        classes = card.known_classes
        if errors is None:
            return cls(card)
        if card.ends_at_class:
            raise ParameterError(
                "certain: rows end when their likeliest class is certain ('class'), not that of least "
                "expected error cost; use the model itself, or prices without errors"
            )
        prices = errors.of_classes(classes, card.feature_names, coded_features(card.categories))
        columns = tuple(card.column[name] for name in errors.columns)
        return cls(card, prices, columns, frozenset(columns).intersection(map(card.column.get, names_of(barred))))

    def labels(self, ends: Ends, rows: F8) -> NDArray[Any]:
        """Return the class of each row, (n,), given their ends and values, float64 (n, d)."""
        classes = self.card.known_classes
        if self.prices is None or self.barred:
            return np.asarray(classes[ends.classes(self.card.half)])
        return np.asarray(classes[self.prices.decide(both_classes(ends.predictions), self._with_doubles(rows))])

    def label(self, value: float | F8, place: int | None, values: Mapping[int, float]) -> Any:
        """Return the class of one row, given its prediction, the place that its end tells, and values by column."""
        if self.prices is None or self.barred:
            return self.card.known_classes.item(likeliest_place(value, self.card.half) if place is None else place)
        row = np.full((1, len(self.card.feature_names)), np.nan)
        row[0, list(values)] = list(values.values())
        return self.labels(Ends(np.array([value])), row).item()

    def error_costs(self, y: ArrayLike, ends: Ends, rows: F8) -> F8:
        """Return what the answers for rows, float64 (n, d), cost where the truth is y: float64 (n,)."""
        assert self.prices is not None  # noqa: S101 - callers look
        classes = self.card.known_classes
        answers = places(self.labels(ends, rows), classes)
        return self.prices.of_answers(places(y, classes), answers, self._with_doubles(rows))

    def _with_doubles(self, rows: F8) -> F8:
        """Return rows with doubles in the columns that are prices of errors, whatever kinds of numbers came there."""
        coded = [f for f in self.columns if self.card.feature_names[f] in self.card.categories]
        if not coded or not has_kinds(rows[:, coded]):
            return rows
        rows = rows.copy()
        rows[:, coded] = as_doubles(rows[:, coded])
        return rows


def error_costs(card: Card, errors: ErrorPrices | None, barred: Iterable[str], X: F8, y: ArrayLike, ends: Ends) -> F8:
    """Return what the answers of a predictor for rows, float64 (n, d), cost where the truth is y: float64 (n,).

    Raises
    ------
    CostframeError
        If there are no prices of errors, or those of another kind, or y has other labels.
    """
    if errors is None:
        raise CostModelError(
            "y: expected prices with errors, to tell what wrong answers cost; got prices without any; if y holds "
            "prices by position, give them as costs"
        )
    if card.classes is None:
        errors.check_kind("regressor", None)
        return errors.of_answers(check_target(y, len(X), "y"), ends.predictions)
    return Decision.of(card, errors, barred).error_costs(y, ends, X)


def error_columns(card: Card, errors: ErrorPrices | None, barred: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of available columns that are prices of errors, which decide a label."""
    if errors is None or card.classes is None:
        return ()
    names = names_of(barred)
    return tuple(name for name in errors.columns if name not in names)
