"""Rows that judge models, and what a model answers for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, ParameterError, printable, quote_names, shown, suggestion
from costframe.core.tables.frames import take_rows
from costframe.core.tables.row_labels import check_target
from costframe.core.terms.classes import places
from costframe.promises.promise import OF_CLASS, OF_MONEY, Promise


@frozen(eq=False)
class Sample:
    """Rows that judge models."""

    X: Any  # (n, d): as the models' `predict` takes it
    y: NDArray[Any]  # int64 or float64 (n,): codes of classes, or numbers
    labels: NDArray[Any]  # (n,): the true values as they came
    classes: NDArray[Any] | None  # (M,): labels by code; None of a regression
    units: I8 | None = None  # (n,): number of each row's group; None if rows are drawn alone
    # (n,) each: codes that other models say, by the `id` of what a promise is `of`, as two may have one text
    others: Mapping[int, I8] = field(factory=dict)

    @classmethod
    def of(cls, X: Any, y: Any, classes: NDArray[Any] | None, groups: Any = None) -> Sample:
        """Make a sample of checked rows; refuse labels that are no class, and missing numbers."""
        labels = np.asarray(y)
        codes = check_target(labels, len(labels), "y") if classes is None else places(labels, classes)
        if not len(labels):
            raise DataError("y: expected at least one row to certify a promise on, got none")
        units = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
        return cls(X, codes, labels, classes, units)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, chosen: I8) -> Sample:
        """Keep some rows, by number."""
        return evolve(
            self,
            X=take_rows(self.X, chosen),
            y=self.y[chosen],
            labels=self.labels[chosen],
            units=None if self.units is None else np.unique(self.units[chosen], return_inverse=True)[1],
            others={key: codes[chosen] for key, codes in self.others.items()},
        )

    @property
    def n_units(self) -> int:
        """Number of groups, or of rows without groups."""
        return len(self) if self.units is None else int(self.units.max()) + 1

    def has_classes(self, promises: Iterable[Promise]) -> bool:
        """Return whether it has rows of all classes that promises are about."""
        return all((self.y == self.code_of(promise.of)).any() for promise in promises if promise.kind in OF_CLASS)

    def split(self, share: float, seed: int) -> tuple[Sample, Sample]:
        """Return a share of the rows, or of the groups, and the others; of two or more, at least one each."""
        units, count = np.arange(len(self)) if self.units is None else self.units, self.n_units
        first = np.zeros(count, np.bool_)
        first[np.random.default_rng(seed).permutation(count)[: max(min(round(share * count), count - 1), 1)]] = True
        return self.take(np.flatnonzero(first[units])), self.take(np.flatnonzero(~first[units]))

    def code_of(self, label: Any) -> int:
        """Return the code of a class, given the label or its text; refuse one that there is not."""
        assert self.classes is not None  # noqa: S101 - promises about classes are refused for regressions before
        return check_class(label, self.classes.tolist())

    def name_of(self, code: int) -> str:
        """Return the label of a code as text."""
        assert self.classes is not None  # noqa: S101
        return printable(str(self.classes.tolist()[code]))


def check_task(promise: Promise, classes: NDArray[Any] | None) -> None:
    """Refuse a promise that a task has not: about classes, where these are None, or about a class not among them."""
    if classes is None:
        if promise.kind not in {"loss", *OF_MONEY}:
            raise ParameterError(f"promise {shown(str(promise))}: is of classes, and this is a regression")
    elif promise.kind in OF_CLASS:
        check_class(promise.of, classes.tolist())


def check_class(label: Any, known: list[Any]) -> int:
    """Return the place of a class among known labels, given it or its text; refuse one that is not there."""
    if (code := _code(label, known)) is not None:
        return code
    name = str(label)
    close = suggestion(name, map(str, known))
    raise ParameterError(f"promise: there is no class {name!r}{close}; classes are {quote_names(known, 8)}")


def _code(label: Any, known: list[Any]) -> int | None:
    texts = [str(label) for label in known]
    if (text := str(label)) in texts:
        return texts.index(text)
    try:
        value = float(text)
        return next((k for k, label in enumerate(known) if float(label) == value), None)
    except (TypeError, ValueError):
        return None


@frozen(eq=False)
class Answers:
    """What a model answers for the rows of a sample, and what that costs."""

    values: NDArray[Any]  # int64 or float64 (n,): codes of classes, or numbers
    labels: NDArray[Any]  # (n,): the same as the model gives them
    cost: F8  # (n,)
    bill: F8 | None  # (n,): cost and that of errors, if it is promised
    # least and greatest value of a row; None if prices do not tell
    cost_bounds: tuple[float, float] | None
    bill_bounds: tuple[float, float] | None

    @classmethod
    def of(cls, model: Any, sample: Sample, *, bill: bool = False) -> Answers:
        """Ask a fitted estimator for its answers for a sample."""
        labels = np.asarray(model.predict(sample.X))
        values = labels.astype(np.float64) if sample.classes is None else places(labels, sample.classes)
        predictor = model.predictor_
        costs = _prices(model, predictor)
        if bill and costs.errors is None:
            raise ParameterError("bill: needs prices with errors; see `CostModel.of`")
        report = model.cost(sample.X, sample.labels if bill else None, made=True)
        cost_bounds = _cost_bounds(predictor, costs)
        bills = np.asarray(report.bill, np.float64) if bill else None
        return cls(
            values, labels, np.asarray(report.per_row, np.float64), bills, cost_bounds, _bill_bounds(cost_bounds, costs)
        )


def _prices(model: Any, predictor: Any) -> Any:
    from costframe.core.prices.costs import CostModel

    return CostModel.of(getattr(model, "costs_", predictor.costs), predictor.feature_names)


def _cost_bounds(predictor: Any, costs: Any) -> tuple[float, float] | None:
    """Return 0 and the price of all features that a model may read, unless learners or comparisons cost too."""
    prices = costs.select(predictor.feature_names)
    if prices.learner or prices.spends:
        return None
    return 0.0, float(costs.full_cost(predictor.label_features(costs)))


def _bill_bounds(cost: tuple[float, float] | None, costs: Any) -> tuple[float, float] | None:
    """Return 0 and the greatest cost with the dearest error, unless prices of errors differ by row or have no end."""
    if cost is None or costs.errors is None or costs.errors.is_regression or costs.errors.columns:
        return None
    prices = costs.errors.matrix or [[price for _, price in answers] for _, answers in costs.errors.by_truth]
    return 0.0, cost[1] + max(float(price) for row in prices for price in row)
