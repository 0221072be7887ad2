"""One prediction under way: a state machine without I/O that asks for features until it can answer.

A *walker* steps through a model: it names the features needed next, and takes their values. The *ledger* keeps the
charges. The inquiry joins the two; every driver, and every replay of a cost, is a loop over it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError, InquiryError, brief, format_count, quote_names, shown
from costframe.core.prices.exact_prices import rounded_up
from costframe.core.tables.categories import encode_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.tables.categories import Categories, Labels


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

    value: float | NDArray[np.float64]
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
    """A model that steps through one row; features are column numbers.

    An inquiry advances a shallow copy and keeps it if there was no error: `advance` gives attributes new values, and
    changes no value in place.
    """

    @property
    def needs(self) -> Collection[int]:
        """Distinct features that are certainly needed; empty when the model can answer."""

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on as far as possible."""

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, when `needs` is empty."""

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
        self._walker, self._further, self.values, self._names = walker, frozenset(further), dict(values), names
        self._reason = reason
        self._check(values)

    def _check(self, values: Mapping[int, float]) -> None:
        for f in self._further & values.keys():
            if not 0.0 <= values[f] < math.inf:
                raise InquiryError(
                    f"value of {self._names[f]!r}: expected a finite number >= 0, as it is the price of an error, "
                    f"got {values[f]:g}"
                )

    @property
    def needs(self) -> Collection[int]:
        """Features of the model's needs that are not known, and the further ones."""
        return {*self._walker.needs, *self._further} - self.values.keys()

    def advance(self, values: Mapping[int, float]) -> None:
        """Go on with the values of all features in `needs`, and with those known."""
        self._check(values)
        known, walker = {**self.values, **values}, copy(self._walker)
        while (needs := walker.needs) and known.keys() >= set(needs):
            walker.advance({f: known[f] for f in needs})
        self._walker, self.values = walker, known

    @property
    def reason(self) -> str:
        """Why the walk ended."""
        return self._reason or self._walker.reason

    def __getattr__(self, name: str) -> Any:
        if name not in {"answer", "evaluated"}:  # nor does it advance together with others
            raise AttributeError(name)
        return getattr(self._walker, name)


_NOTHING: AbstractSet[int] = frozenset()


class Ledger:
    """The purchases of one row so far."""

    __slots__ = ("_exact", "_features", "_prices", "_resources", "acquired")

    def __init__(self, prices: PriceArrays, known: Iterable[str] = ()) -> None:
        self._prices, self._exact = prices, prices.exact()
        self.acquired: tuple[int, ...] = ()
        self._features, self._resources = _NOTHING, _NOTHING  # paid before the inquiry
        if known:
            self._features, resources = prices.locate(known, "known")
            self._resources = prices.direct_needs.of_features(self._features)
            for r in resources:
                self._resources |= prices.direct_needs.of_resource(r, self._resources)

    @property
    def paid_before(self) -> tuple[frozenset[int], frozenset[int]]:
        """Columns and resources paid for before the inquiry."""
        return frozenset(self._features), frozenset(self._resources)

    @property
    def resources_paid(self) -> frozenset[int]:
        """Resources paid for, before the inquiry or in it."""
        return frozenset(self._resources | self._bought_resources())

    def buy(self, features: Iterable[int]) -> Ledger:
        """Return the ledger after the purchase of features, with the resources that they need first."""
        after = Ledger.__new__(Ledger)  # `copy` takes several times as long
        after._prices, after._exact = self._prices, self._exact  # noqa: SLF001 - of its own class, like the next
        after._features, after._resources = self._features, self._resources  # noqa: SLF001 - as before
        fresh = [f for f in features if f not in self._features] if self._features else features
        after.acquired = (*self.acquired, *fresh)
        return after

    @property
    def spent(self) -> float:
        """Price of all purchases so far, rounded up."""
        return self._exact.money(self._price(self.acquired, self._bought_resources()))

    def quote(self, features: Iterable[int]) -> float:
        """Return the price of buying features; those already paid for cost nothing."""
        fresh = sorted(set(features) - self._features - set(self.acquired))
        resources = self._prices.direct_needs.of_features(fresh, self._resources | self._bought_resources())
        return self._exact.money(self._price(fresh, resources))

    def _price(self, features: Iterable[int], resources: Iterable[int]) -> int:
        cost, resource_cost = self._exact.cost, self._exact.resource_cost
        return sum(map(cost.__getitem__, features)) + sum(map(resource_cost.__getitem__, resources))

    def _bought_resources(self) -> set[int]:
        return self._prices.direct_needs.of_features(self.acquired, self._resources)

    def total(self, evaluated: Fraction) -> float:
        """Return the cost so far, of purchases and of what was evaluated, rounded up."""
        bought = self._price(self.acquired, self._bought_resources())
        if not evaluated:
            return self._exact.money(bought)
        return rounded_up(*(evaluated + Fraction(bought, self._exact.per_unit)).as_integer_ratio())


class Inquiry:
    """One prediction under way: it asks for features until it can answer.

    `walker` is the model's side of it. While `needs` is not empty, supply exactly the features it names; then read
    `answer`. A value may be NaN: the feature is acquired, but missing. A refused call raises `InquiryError` and changes
    nothing.
    """

    __slots__ = ("_categories", "_columns", "_label", "_ledger", "_names", "_needs", "_rounds", "walker")

    def __init__(
        self,
        walker: Walker,
        names: tuple[str, ...],
        ledger: Ledger,
        categories: Categories | None = None,
        label: Callable[[Any, Walker], Any] | None = None,
    ) -> None:
        self._names, self._categories, self._label = names, categories or {}, label
        self._keep(walker, ledger, 0)

    def _keep(self, walker: Walker, ledger: Ledger, rounds: int) -> None:
        """Keep a state, all at once: an error before changes nothing."""
        names, columns = self._names, tuple(sorted(walker.needs))  # of numbers: no work for the garbage collector
        needs = tuple(map(names.__getitem__, columns))
        self.walker, self._ledger, self._rounds, self._columns, self._needs = walker, ledger, rounds, columns, needs

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
        return tuple(map(self._names.__getitem__, self._ledger.acquired))

    @property
    def cost(self) -> float:
        """Cost of the row so far."""
        return self._ledger.total(self.walker.evaluated)

    @property
    def evaluated(self) -> Fraction:
        """Price of what the model has evaluated so far; see `Walker`."""
        return self.walker.evaluated

    def supply(self, values: Mapping[str, Any]) -> None:
        """Supply the values of exactly the features in `needs`: numbers, or labels where categories are texts.

        An unknown label goes the missing way.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is missing or not in `needs`, or a value is not a number.
        """
        numbers, walker = self.read(values), copy(self.walker)
        walker.advance(numbers)
        self.buy(walker, numbers)

    def read(self, values: Mapping[str, Any]) -> dict[int, float]:
        """Return the values of exactly the features in `needs` by column."""
        needs = self._needs
        if not needs:
            raise InquiryError("supply: the inquiry has ended, it needs nothing more")
        if type(values) is not dict:
            if not isinstance(values, Mapping):
                raise InquiryError(f"supply: expected a mapping of names to values, got {type(values).__name__}")
            values = dict(values)
        if len(values) == len(needs):
            try:
                return dict(zip(self._columns, as_numbers(values, needs, self._categories), strict=True))
            except KeyError:
                pass
        missing = [name for name in needs if name not in values]
        surplus = [name for name in values if name not in needs]
        raise InquiryError(f"supply: expected exactly {needs}; missing {missing}, not asked for {surplus}")

    def buy(self, walker: Walker, numbers: Mapping[int, float]) -> None:
        """Charge what a walker has taken, and go on with it."""
        self._keep(walker, self._ledger.buy(numbers), self._rounds + 1)

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
    together = getattr(inquiries[0].walker, "advance_together", None)
    if together is not None and len(inquiries) > 16:  # fewer are quicker one by one
        try:
            numbers = [inquiry.read(given) for inquiry, given in zip(inquiries, values, strict=True)]
            walkers = [copy(inquiry.walker) for inquiry in inquiries]
            together(walkers, numbers)
        except Exception:  # noqa: BLE001, S110 - nothing has changed; one by one tells which rows fail
            pass
        else:
            for inquiry, walker, given in zip(inquiries, walkers, numbers, strict=True):
                inquiry.buy(walker, given)
            return [None] * len(inquiries)
    return [_supply(inquiry, given) for inquiry, given in zip(inquiries, values, strict=True)]


def _supply(inquiry: Inquiry, values: Mapping[str, Any]) -> Exception | None:
    try:
        inquiry.supply(values)
    except Exception as error:  # noqa: BLE001 - the caller's to tell
        return error
    return None


def as_numbers(values: Mapping[str, Any], names: Iterable[str], categories: Categories) -> list[float]:
    """Return the values of some features as floats, in order, or refuse one by name; see `as_number`."""
    given = list(map(values.__getitem__, names))
    if categories or {*map(type, given)} != {float}:
        return [as_number(name, value, categories.get(name)) for name, value in zip(names, given, strict=True)]
    return given


def as_number(name: str, value: object, labels: Labels | None = None) -> float:
    """Return a feature's value as a float, or refuse it by name; `labels` are the feature's labels, if it has any."""
    try:
        if labels is not None:
            value = encode_value(value, labels)
        if isinstance(value, str | bytes) or value is None:
            raise TypeError  # noqa: TRY301 - float("3") would accept it
        return float(value)  # type: ignore[arg-type]
    except DataError as error:  # an unknown label, where the model refuses these
        raise InquiryError(f"value of {name!r}: {error}") from None
    except Exception:  # noqa: BLE001 - an object of any class may come, and raise anything
        raise InquiryError(
            f"value of {name!r}: expected a number (NaN if missing), got {shown(value)} of type {type(value).__name__}"
        ) from None
