"""One prediction under way: a state machine without I/O that asks for features until it can answer.

A *walker* steps through a model: it names the features needed next, and takes their values. The *ledger* keeps the
charges. The inquiry joins the two; every driver, and every replay of a cost, is a loop over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8
from costframe.core.errors import DataError, InquiryError, brief, format_count, quote_names, shown
from costframe.core.prices.exact_prices import rounded_up
from costframe.core.prices.price_arrays import ZERO, PriceArrays
from costframe.core.tables.as_given import as_doubles
from costframe.core.tables.categories import Categories, Labels, encode_value, is_missing


@frozen(eq=False, repr=False)
class Prediction:
    """The end of an inquiry: its prediction and its cost.

    Attributes
    ----------
    value : float, or float64 (K,)
        Prediction for the row, as from `predict`.
    cost : float
        Cost of the row in the cost model's unit, without once-per-batch prices.
    acquired : tuple of str
        Features paid for, in the order of acquisition, without known ones.
    rounds : int
        Trips to the sources.
    exit : int
        Index of the answering stage, or of a route at which the row was cut; 0 for a model without stages.
    reason : str
        "complete", "certain" (the rest could not change what was asked for), or why the row was cut: "max_cost" (its
        cap), "unavailable" (a feature or resource was unavailable) or "deadline" (its time was over). If both of the
        first two, "unavailable".
    failed_cost : float
        Price of what sources were asked for in vain; not part of `cost`.
    failures : tuple of str
        Features that a source was asked for and that did not come, or came late, at some time.
    label : class label, or None
        Class of the row, as from an estimator's `predict`; None if the model knows no classes.
    """

    value: float | F8
    cost: float
    acquired: tuple[str, ...]
    rounds: int
    exit: int
    reason: str = "complete"
    failed_cost: float = 0.0
    failures: tuple[str, ...] = ()
    label: Any = None

    def __repr__(self) -> str:
        """Name value, cost, and why and when it ended, in one line."""
        bought = f"{format_count(len(self.acquired), 'feature')} in {format_count(self.rounds, 'round')}"
        label = () if self.label is None else (shown(self.label),)
        return brief(
            self, *label, f"{np.round(self.value, 6)}", f"cost {self.cost:g}", bought, f"exit {self.exit}", self.reason
        )


class Walker(Protocol):
    """A model on its way through one row; features are column numbers.

    It does not change: a step makes another walker, and an error leaves things as they were.
    """

    @property
    def needs(self) -> tuple[int, ...]:
        """Distinct features that are certainly needed, ascending; empty when the model can answer."""

    def after(self, values: Sequence[float]) -> Walker:
        """Return the walker that has the values of all features in `needs` too, and went on as far as possible."""

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit, when `needs` is empty."""

    @property
    def place(self) -> int | None:
        """Number of the class, when `needs` is empty, where the prediction does not tell it; else None."""

    @property
    def reason(self) -> str:
        """Why the walk ended; see `Prediction`."""

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far: of learners, comparisons, and uses of features beyond the first."""


class AskingToo:
    """A walker that asks for further features, prices of errors, with its first needs, and keeps all values."""

    def __init__(
        self,
        walker: Walker,
        further: Iterable[int],
        values: Mapping[int, float],
        names: Sequence[str],
        reason: str | None = None,
    ) -> None:
        self._further, self.values, self._names, self._reason = frozenset(further), dict(values), names, reason
        for f in self._further & values.keys():
            price = float(as_doubles(np.array([values[f]]))[0])
            if not 0.0 <= price < math.inf:
                raise InquiryError(
                    f"value of {names[f]!r}: expected a finite number >= 0, as it is the price of an error, "
                    f"got {price:g}"
                )
        while (needs := walker.needs) and values.keys() >= set(needs):
            walker = walker.after([values[f] for f in needs])
        self._walker, self.needs = walker, tuple(sorted({*walker.needs, *self._further} - values.keys()))

    def after(self, values: Sequence[float]) -> AskingToo:
        """Return the walker after the values of all features in `needs`, and those known."""
        known = self.values | dict(zip(self.needs, values, strict=True))
        return AskingToo(self._walker, self._further, known, self._names, self._reason)

    @property
    def reason(self) -> str:
        """Why the walk ended."""
        return self._reason or self._walker.reason

    def __getattr__(self, name: str) -> Any:
        if name not in {"answer", "evaluated", "place"}:  # nor does it go on together with others
            raise AttributeError(name)
        return getattr(self._walker, name)


_NOTHING: frozenset[int] = frozenset()


class Ledger:
    """Prices for a row, and what it had paid for before: columns and resources."""

    __slots__ = ("_exact", "_needs", "features", "resources")

    def __init__(self, prices: PriceArrays, known: Iterable[str] = ()) -> None:
        self._exact, self._needs = prices.exact(), prices.direct_needs
        self.features, self.resources = _NOTHING, _NOTHING
        if known:
            features, resources = prices.locate(known, "known")
            paid = self._needs.of_features(features)
            for r in resources:
                paid |= self._needs.of_resource(r, paid)
            self.features, self.resources = frozenset(features), frozenset(paid)

    @property
    def paid_before(self) -> tuple[frozenset[int], frozenset[int]]:
        """Columns and resources paid for before."""
        return self.features, self.resources

    def resources_paid(self, bought: Iterable[int]) -> frozenset[int]:
        """Return the resources paid for before, or for features bought since."""
        return self.resources | self._needs.of_features(bought, self.resources)

    def quote(self, features: Iterable[int], bought: Iterable[int] = ()) -> float:
        """Return the price of buying features after others; those already paid for cost nothing."""
        fresh = sorted(set(features) - self.features - set(bought))
        return self._exact.money(self._price(fresh, self.resources_paid(bought)))

    def _price(self, features: Iterable[int], paid: frozenset[int]) -> int:
        """Return the price of features, with the resources that they need beyond those paid."""
        exact, resources = self._exact, self._needs.of_features(features, paid)
        return sum(map(exact.cost.__getitem__, features)) + sum(map(exact.resource_cost.__getitem__, resources))

    def total(self, bought: Iterable[int], evaluated: Fraction = ZERO) -> float:
        """Return the cost of features bought, none paid for before, and of what was evaluated, rounded up."""
        units = self._price(bought, self.resources)
        if not evaluated:
            return self._exact.money(units)
        return rounded_up(*(evaluated + Fraction(units, self._exact.per_unit)).as_integer_ratio())


class Inquiry:
    """One prediction under way: it asks for features until it can answer.

    `walker` is the model's side of it. While `needs` is not empty, supply exactly the features it names; then read
    `answer`. A value may be NaN: the feature is acquired, but missing. A refused call raises `InquiryError` and changes
    nothing.
    """

    __slots__ = (
        "_acquired", "_categories", "_columns", "_label", "_ledger", "_names", "_needs", "_rounds", "walker",
    )  # fmt: skip

    def __init__(
        self,
        walker: Walker,
        names: tuple[str, ...],
        ledger: Ledger,
        categories: Categories | None = None,
        label: Callable[[Any, Walker], Any] | None = None,
    ) -> None:
        self._names, self._categories, self._label, self._ledger = names, categories or {}, label, ledger
        self._columns: tuple[int, ...] = ()
        self._acquired: tuple[int, ...] = ()
        self._rounds = -1
        self.go_on(walker)

    def go_on(self, walker: Walker) -> None:
        """Charge what was needed, and go on with the walker that took it."""
        columns, bought, paid = walker.needs, self._columns, self._ledger.features
        if paid and bought:
            bought = tuple([f for f in bought if f not in paid])
        needs, acquired = tuple(map(self._names.__getitem__, columns)), self._acquired + bought
        # all at once: an error before changes nothing
        self.walker, self._acquired, self._columns, self._needs = walker, acquired, columns, needs
        self._rounds += 1

    def __repr__(self) -> str:
        """Name what it needs next, and what the row paid so far."""
        needs = f"needs {quote_names(self.needs)}" if self.needs else "answered"
        return brief(self, needs, f"cost {self.cost:g}", f"{format_count(self._rounds, 'round')} so far")

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the features that are certainly needed, in column order; empty when there is an answer."""
        return self._needs

    @property
    def acquired(self) -> tuple[str, ...]:
        """Names of the features paid for so far, in order."""
        return tuple(map(self._names.__getitem__, self._acquired))

    @property
    def cost(self) -> float:
        """Cost of the row so far."""
        return self._ledger.total(self._acquired, self.walker.evaluated)

    @property
    def evaluated(self) -> Fraction:
        """Price of what the model has evaluated so far; see `Walker`."""
        return self.walker.evaluated

    @property
    def place(self) -> int | None:
        """Number of the class of the row, where its prediction does not tell it; see `Walker`."""
        return self.walker.place

    def supply(self, values: Mapping[str, Any]) -> None:
        """Supply the values of exactly the features in `needs`: numbers, or labels where categories are texts.

        An unknown label goes the missing way.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is missing or not in `needs`, or a value is not a number.
        """
        self.go_on(self.walker.after(self.read(values)))

    def read(self, values: Mapping[str, Any]) -> list[float]:
        """Return the values of exactly the features in `needs`, in their order."""
        needs = self._needs
        if not needs:
            raise InquiryError("supply: the inquiry has ended, it needs nothing more")
        if type(values) is not dict:
            if not isinstance(values, Mapping):
                raise InquiryError(f"supply: expected a mapping of names to values, got {type(values).__name__}")
            values = dict(values)
        if len(values) == len(needs):
            try:
                return as_numbers(values, needs, self._categories)
            except KeyError:
                pass
        missing = [name for name in needs if name not in values]
        surplus = [name for name in values if name not in needs]
        raise InquiryError(f"supply: expected exactly {needs}; missing {missing}, not asked for {surplus}")

    @property
    def answer(self) -> Prediction:
        """The prediction.

        Raises
        ------
        InquiryError
            If features are still needed.
        """
        if self._needs:
            raise InquiryError(f"answer: the inquiry still needs {self._needs}")
        value, leaf = self.walker.answer
        label = None if self._label is None else self._label(value, self.walker)
        return Prediction(value, self.cost, self.acquired, self._rounds, leaf, self.walker.reason, label=label)


def supply_inquiries(inquiries: Sequence[Inquiry], values: Sequence[Mapping[str, Any]]) -> list[Exception | None]:
    """Supply inquiries of one model as `Inquiry.supply` does, together where the model can; return their errors."""
    together = getattr(inquiries[0].walker, "after_together", None)
    if together is not None and len(inquiries) > 16:  # fewer are quicker one by one
        try:
            numbers = [inquiry.read(given) for inquiry, given in zip(inquiries, values, strict=True)]
            walkers = together([inquiry.walker for inquiry in inquiries], numbers)
        except Exception:  # noqa: BLE001, S110 - nothing has changed; one by one tells which rows fail
            pass
        else:
            for inquiry, walker in zip(inquiries, walkers, strict=True):
                inquiry.go_on(walker)
            return [None] * len(inquiries)
    return [_supply(inquiry, given) for inquiry, given in zip(inquiries, values, strict=True)]


def _supply(inquiry: Inquiry, values: Mapping[str, Any]) -> Exception | None:
    try:
        inquiry.supply(values)
    except Exception as error:  # noqa: BLE001 - the caller's to tell
        return error
    return None


_DOUBLES = {float, np.float64}


def as_numbers(values: Mapping[str, Any], names: Iterable[str], categories: Categories) -> list[float]:
    """Return the values of some features as floats, in order, or refuse one by name; see `as_number`."""
    given = list(map(values.__getitem__, names))
    if categories or not _DOUBLES.issuperset(map(type, given)):
        return [as_number(name, value, categories.get(name)) for name, value in zip(names, given, strict=True)]
    return given


def as_number(name: str, value: object, labels: Labels | None = None) -> float:
    """Return a feature's value as a float, or refuse it by name; `labels` are the feature's labels, if it has any."""
    try:
        if labels is not None:
            value = encode_value(value, labels)
        elif is_missing(value):
            return math.nan
        if isinstance(value, str | bytes) or value is None:
            raise TypeError  # noqa: TRY301 - float("3") would accept it
        return float(value)  # type: ignore[arg-type]
    except DataError as error:  # an unknown label, where the model refuses these
        raise InquiryError(f"value of {name!r}: {error}") from None
    except Exception:  # noqa: BLE001 - an object of any class may come, and raise anything
        raise InquiryError(
            f"value of {name!r}: expected a number (NaN if missing), got {shown(value)} of type {type(value).__name__}"
        ) from None
