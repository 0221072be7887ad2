"""The prices of wrong answers: what each answer costs where the truth is another, or a unit of error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import CostModelError, DataError, quote_names, shown, suggestion
from costframe.core.prices.entries import as_name, as_price, as_table, as_text, check_different, entry_error, entry_path

__all__ = ["ColumnPrice", "DecisionPrices", "ErrorPrices"]

_PER_UNIT = ("absolute", "squared")
_LARGEST = 1e150  # squares of bills, for their standard errors, are finite


@attrs.frozen
class ColumnPrice:
    """A price that differs by row: the value of a free feature, such as the amount of a loan, times a factor."""

    column: str
    times: float = 1.0


_Price = float | ColumnPrice


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

    by_truth: tuple[tuple[str, tuple[tuple[str, _Price], ...]], ...] = ()
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
            return cls._of_array(*_labelled(errors))
        table = as_table(errors, "errors")
        if table and all(key in _PER_UNIT and not isinstance(price, Mapping) for key, price in table.items()):
            return cls((), (), *(_as_number(table.get(key, 0.0), key) for key in _PER_UNIT))
        if [*table] == ["matrix"] and not isinstance(table["matrix"], Mapping):
            return cls._of_array(table["matrix"], [], [])
        by_truth = []
        for truth, answers in zip(_as_labels(table), table.values(), strict=True):
            given = as_table(answers, "errors", truth)
            prices = zip(_as_labels(given, truth), given.values(), strict=True)
            by_truth.append((truth, tuple((answer, _as_price(price, truth, answer)) for answer, price in prices)))
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
            named = zip(_as_labels(truths), table.tolist(), strict=True)
            return cls.of({truth: dict(zip(_as_labels(answers), row, strict=True)) for truth, row in named})
        return cls(
            matrix=tuple(
                tuple(_as_number(price, f"row {truth}") for price in row) for truth, row in enumerate(table.tolist())
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
        return ErrorPrices(self._each(scaled), matrix, factor * self.absolute, factor * self.squared)

    def renamed(self, names: Mapping[str, str]) -> ErrorPrices:
        """Return the same prices, with other names of the columns that are prices."""

        def moved(price: Any) -> Any:
            return attrs.evolve(price, column=names[price.column]) if isinstance(price, ColumnPrice) else price

        return attrs.evolve(self, by_truth=self._each(moved))

    def _each(self, change: Callable[[Any], Any]) -> Any:
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
                _of_column(X, list(names).index(price.column), price, where, first=first)

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
        place = {text: k for k, label in enumerate(classes.tolist()) for text in _texts_of(label)}
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


@attrs.frozen(eq=False)
class DecisionPrices:
    """Prices of answers for classes by position.

    Attributes
    ----------
    constant : float64 (K, K)
        By true class and answer.
    differing : tuple of (int, int, int, ColumnPrice)
        True class, answer and column of those that differ by row.
    """

    constant: F8
    differing: tuple[tuple[int, int, int, ColumnPrice], ...]

    def expected(self, p: F8, rows: F8) -> F8:
        """Return the expected price of each answer, float64 (rows, K), for probabilities (rows, K).

        Sums run over true classes in their order, whatever the number of rows, so that tables and single rows agree.
        """
        if len(p) and not ((p >= 0.0) & (p <= 1.0)).all():
            raise DataError(
                "errors: expected probabilities, to choose the answer of least expected price; the model's "
                f"predictions are others, such as {p[~((p >= 0.0) & (p <= 1.0))][0]:g}"
            )
        found = np.zeros_like(p)
        for truth, prices in enumerate(self.constant):
            found += p[:, truth, None] * prices
        for truth, answer, column, price in self.differing:
            found[:, answer] += p[:, truth] * _of_column(rows, column, price)
        return found

    def decide(self, p: F8, rows: F8) -> I8:
        """Return the answer of least expected price of each row, of equal ones the first: int64 (rows,)."""
        return np.asarray(self.expected(p, rows).argmin(axis=1), np.int64)

    def of_answers(self, truth: I8, answer: I8, rows: F8) -> F8:
        """Return what answers cost where the truth is another: float64 (rows,)."""
        found = self.constant[truth, answer]
        for t, a, column, price in self.differing:
            at = (truth == t) & (answer == a)
            found += np.where(at, _of_column(rows, column, price, at=at), 0.0)
        return found


def _of_column(rows: F8, column: int, price: ColumnPrice, where: str = "errors", at: Any = True, first: int = 0) -> F8:
    values = rows[:, column]
    with np.errstate(over="ignore", invalid="ignore"):
        prices = price.times * values
    wrong = ~((values >= 0.0) & (prices <= _LARGEST)) & at
    if wrong.any():
        value = values[wrong][0]
        expected = f"numbers <= {_LARGEST / price.times:g}" if 0.0 <= value < np.inf else "finite numbers >= 0"
        raise DataError(
            f"{where}: expected {expected} in {price.column!r}, the price of an error; "
            f"got {value:g} in row {first + int(wrong.argmax())}"
        )
    return prices


def _labelled(errors: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return an array of prices, and the labels of answers and true classes; no labels stand for sorted classes."""
    if hasattr(errors, "columns") and hasattr(errors, "to_numpy"):
        return errors.to_numpy(), list(errors.columns), list(getattr(errors, "index", errors.columns))
    if isinstance(errors, tuple) and len(errors) == 2 and np.ndim(errors[0]) == 2:
        return errors[0], list(errors[1]), list(errors[1])
    return errors, [], []


def _as_labels(labels: Iterable[Any], *where: str) -> list[str]:
    """Return class labels as texts, as a file has them; refuse two that are the same text."""
    found = [_texts_of(label)[0] for label in labels]
    check_different(found, "errors", *where)
    return [as_text(text, "errors", *where) for text in found]


def _texts_of(label: Any) -> list[str]:
    """Return the texts that name a class in a file, the plainest first."""
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, bool):
        return [str(label).lower(), str(label)]
    if isinstance(label, float) and label.is_integer():
        return [str(int(label)), str(label)]
    return [str(label)]


def _as_price(price: object, *where: str) -> _Price:
    if not isinstance(price, Mapping):
        return _as_number(price, *where)
    table = as_table(price, "errors", *where, keys=["column", "times"])
    if "column" not in table:
        raise CostModelError(
            f"{entry_path('errors', *where, 'column')}: expected the name of a free feature, got no entry"
        )
    column = as_name(table["column"], "errors", *where, "column")
    return ColumnPrice(column, _as_number(table.get("times", 1.0), *where, "times"))


def _as_number(price: object, *where: str) -> float:
    if (number := as_price(price, "errors", *where)) > _LARGEST:
        raise entry_error(["errors", *where], f"a number <= {_LARGEST:g}", price)
    return number


def _place(place: Mapping[str, int], label: str, classes: NDArray[Any], *where: str) -> int:
    if label not in place:
        raise CostModelError(
            f"{entry_path('errors', *where)}: expected one of the classes {quote_names(classes.tolist())}, "
            f"got {shown(label)}{suggestion(label, place)}"
        )
    return place[label]
