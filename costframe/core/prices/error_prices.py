"""The prices of wrong answers: what each answer costs where the truth is another, or a unit of error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import CostModelError, quote_names, shown, suggestion
from costframe.core.prices.decision_prices import DecisionPrices, prices_of_column
from costframe.core.prices.entry_checks import (
    as_table,
    entry_error,
    entry_path,
)
from costframe.core.prices.error_entries import (
    AnswerPrice,
    ColumnPrice,
    as_class_labels,
    as_error_number,
    as_error_price,
    split_labels,
    texts_of_class,
)

_PER_UNIT = ("absolute", "squared")


@attrs.frozen
class ErrorPrices:
    """The prices of wrong answers, per row and in the cost model's unit; immutable, compared by value.

    Parameters
    ----------
    by_truth : tuple of (str, tuple of (str, float or ColumnPrice))
        For each true class, the prices of answers. What is not named is free.
    matrix : tuple of tuple of float
        Prices of answers (columns) by true class (rows), for classes in their sorted order; in place of `by_truth`.
    absolute, squared : float
        Of regressions: per unit of absolute error, and of squared error.
    """

    by_truth: tuple[tuple[str, tuple[tuple[str, AnswerPrice], ...]], ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    absolute: float = 0.0
    squared: float = 0.0

    @classmethod
    def of(cls, errors: object) -> ErrorPrices:
        """Make error prices from any value that `CostModel.of` accepts as `errors`.

        A mapping of true classes to mappings of answers to prices, as in a file; a data frame with true classes as its
        index and answers as its columns; an array (K, K) of prices by true class and answer, for classes in their
        sorted order, or a pair of such an array and its labels; for regressions, a mapping with prices ``absolute`` and
        ``squared``. A price is a number, or a mapping with a ``column`` and a factor ``times``. Anything else is a
        `CostModelError` that names the entry.
        """
        if isinstance(errors, cls):
            return errors
        if not isinstance(errors, Mapping):
            return cls._of_array(*split_labels(errors))
        table = as_table(errors, "errors")
        if table and all(key in _PER_UNIT and not isinstance(price, Mapping) for key, price in table.items()):
            return cls((), (), *(as_error_number(table.get(key, 0.0), key) for key in _PER_UNIT))
        if [*table] == ["matrix"] and not isinstance(table["matrix"], Mapping):
            return cls._of_array(table["matrix"], [], [])
        by_truth = []
        for truth, answers in zip(as_class_labels(table), table.values(), strict=True):
            given = as_table(answers, "errors", truth)
            prices = zip(as_class_labels(given, truth), given.values(), strict=True)
            by_truth.append((truth, tuple((answer, as_error_price(price, truth, answer)) for answer, price in prices)))
        if not by_truth:
            raise CostModelError("errors: expected the price of at least one wrong answer, got none")
        return cls(tuple(by_truth))

    @classmethod
    def _of_array(cls, prices: Any, answers: Sequence[Any], truths: Sequence[Any]) -> ErrorPrices:
        try:
            table = np.asarray(prices, np.float64)
        except (TypeError, ValueError):
            raise entry_error(["errors"], "prices by true class and answer", prices) from None
        wanted = (len(truths), len(answers)) if answers else (len(table), len(table)) if table.ndim else ()
        if table.ndim != 2 or table.shape != wanted or min(table.shape) < 1:
            raise CostModelError(
                f"errors: expected a price for each true class and answer, got the shape {table.shape}"
            )
        if answers:
            named = zip(as_class_labels(truths), table.tolist(), strict=True)
            return cls.of({truth: dict(zip(as_class_labels(answers), row, strict=True)) for truth, row in named})
        return cls(
            matrix=tuple(
                tuple(as_error_number(price, f"row {truth}") for price in row)
                for truth, row in enumerate(table.tolist())
            )
        )

    @property
    def is_regression(self) -> bool:
        """Whether these are prices per unit of error."""
        return not (self.by_truth or self.matrix)

    @property
    def columns(self) -> tuple[str, ...]:
        """Features whose values are prices, each once."""
        prices = [price for _, answers in self.by_truth for _, price in answers]
        return tuple(dict.fromkeys(price.column for price in prices if isinstance(price, ColumnPrice)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, texts and floats from which `of` makes equal prices."""
        if self.is_regression:
            return {key: getattr(self, key) for key in _PER_UNIT if getattr(self, key)} or {"absolute": 0.0}
        if self.matrix:
            return {"matrix": [list(row) for row in self.matrix]}
        return {
            truth: {a: p if isinstance(p, float) else attrs.asdict(p) for a, p in answers}
            for truth, answers in self.by_truth
        }

    def times(self, factor: float) -> ErrorPrices:
        """Return all prices times a number."""

        def scaled(price: Any) -> Any:
            return attrs.evolve(price, times=factor * price.times) if isinstance(price, ColumnPrice) else factor * price

        matrix = tuple(tuple(map(scaled, row)) for row in self.matrix)
        return ErrorPrices(self._change_prices(scaled), matrix, factor * self.absolute, factor * self.squared)

    def renamed(self, names: Mapping[str, str]) -> ErrorPrices:
        """Return the same prices, with other names of the columns that are prices."""

        def moved(price: Any) -> Any:
            return attrs.evolve(price, column=names[price.column]) if isinstance(price, ColumnPrice) else price

        return attrs.evolve(self, by_truth=self._change_prices(moved))

    def _change_prices(self, change: Callable[[Any], Any]) -> Any:
        return tuple((truth, tuple((a, change(price)) for a, price in answers)) for truth, answers in self.by_truth)

    def check_kind(
        self,
        kind: str,
        classes: NDArray[Any] | None,
        feature_names: Sequence[str] | None = None,
        texts: Collection[str] = (),
    ) -> None:
        """Refuse prices for another kind of model than "classifier", "regressor" or "ranker", or for other classes.

        With names of features, also columns that are none of these; see `of_classes` for `texts`.
        """
        if kind == "classifier" and classes is not None:
            self.of_classes(classes, self.columns if feature_names is None else feature_names, texts)
        elif kind == "ranker":
            raise CostModelError("errors: expected prices without errors, for a ranking has no wrong answers")
        elif not self.is_regression:
            raise CostModelError(
                "errors: expected prices per unit of error, absolute or squared, got prices by class; a model of "
                "probabilities that does not know its classes learns them by `model.with_classes(labels)`"
            )

    def check_rows(self, X: F8, names: Sequence[str], where: str, first: int = 0) -> None:
        """Refuse rows, float64 (rows, d), in which the value of a column cannot be a price; `first` numbers them."""
        prices = [price for _, answers in self.by_truth for _, price in answers]
        for price in prices:
            if isinstance(price, ColumnPrice):
                prices_of_column(X, list(names).index(price.column), price, where, first=first)

    def of_answers(self, y: F8, predictions: F8) -> F8:
        """Return what predictions of a regression, float64 (rows,), cost where the truth is y: float64 (rows,)."""
        off = np.abs(predictions - y)
        return self.absolute * off + self.squared * off * off

    def of_classes(
        self, classes: NDArray[Any], feature_names: Sequence[str], texts: Collection[str] = ()
    ) -> DecisionPrices:
        """Return the prices by position, for classes (K,) in their order and rows of these features.

        A price for a class that is none, one whose column is no feature, or one of the `texts`, whose values are
        categories or dates, and prices of regressions, are a `CostModelError`.
        """
        if self.is_regression:
            raise CostModelError(f"errors: expected prices by class, got prices per unit of error, {self.to_dict()}")
        n = len(classes)
        if self.matrix:
            if len(self.matrix) != n:
                raise CostModelError(
                    f"errors: expected {n} x {n} prices, for classes {quote_names(classes.tolist())}; "
                    f"got {len(self.matrix)} x {len(self.matrix)}"
                )
            return DecisionPrices(np.array(self.matrix), ())
        place = {text: k for k, label in enumerate(classes.tolist()) for text in texts_of_class(label)}
        constant, differing = np.zeros((n, n)), []
        for truth, answers in self.by_truth:
            t = _place(place, truth, classes, truth)
            for answer, price in answers:
                a = _place(place, answer, classes, truth, answer)
                if isinstance(price, ColumnPrice):
                    if price.column not in feature_names or price.column in texts:
                        what = "a feature of numbers" if price.column in texts else "a feature of the model"
                        raise entry_error(["errors", truth, answer, "column"], what, price.column)
                    differing.append((t, a, list(feature_names).index(price.column), price))
                else:
                    constant[t, a] = price
        return DecisionPrices(constant, tuple(differing))


def _place(place: Mapping[str, int], label: str, classes: NDArray[Any], *where: str) -> int:
    if label not in place:
        raise CostModelError(
            f"{entry_path('errors', *where)}: expected one of the classes {quote_names(classes.tolist())}, "
            f"got {shown(label)}{suggestion(label, place)}"
        )
    return place[label]
