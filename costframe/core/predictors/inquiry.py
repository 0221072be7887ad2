"""One prediction under way: a state machine without I/O that asks for features until it can answer.

A *walker* knows a model: what it needs next and how far given values take it. The *ledger* knows prices. The inquiry
joins the two; every driver, and every replay of a cost, is a loop over it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from costframe.core.errors import InquiryError
from costframe.core.tables.categories import encode_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.tables.categories import Categories

__all__ = ["Inquiry", "Ledger", "Prediction", "Walker"]


@frozen(eq=False)
class Prediction:
    """How an inquiry ended.

    Attributes
    ----------
    value : float, or float64 (K,)
        What `predict` gives for the row.
    cost : float
        What the row was charged, in the cost model's unit; once-per-batch prices are not in it.
    acquired : tuple of str
        Features paid for, in the order of acquisition; known ones are not among them.
    rounds : int
        Trips to the sources.
    exit : int
        Index of the answering stage, or of a route at which the row was cut; 0 for a model without stages.
    reason : str
        "complete"; or why the model was not gone through to its end: "max_cost" (the cap of the row), "unavailable"
        (something could not be had). If both, "unavailable".
    """

    value: float | NDArray[np.float64]
    cost: float
    acquired: tuple[str, ...]
    rounds: int
    exit: int
    reason: str = "complete"


class Walker(Protocol):
    """A model stepping through one row; features are column numbers."""

    @property
    def needs(self) -> frozenset[int]:
        """Features that are certainly needed; empty when the model can answer."""

    def advance(self, values: Mapping[int, float]) -> None:
        """Go as far as `values`, all that was asked for, take it. If it raises, nothing has changed."""

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, once nothing is needed."""

    @property
    def reason(self) -> str:
        """Why there is nothing more to be had; see `Prediction`."""

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """So far: sum of e_t of evaluated learners, price of comparisons made, uses of features beyond their first."""


class Ledger:
    """What one row has been charged so far."""

    def __init__(self, prices: PriceArrays, known: Iterable[str] = ()) -> None:
        self._prices = prices
        self._features: set[int] = set()  # paid before the inquiry
        self._resources: set[int] = set()
        self.acquired: list[int] = []
        self._charged: list[float] = []
        names = list(known)
        features = {name: f for f, name in enumerate(prices.names)} if names else {}
        resources = {name: r for r, name in enumerate(prices.resource_names)} if names else {}
        for name in names:
            if name in features:
                self._features.add(features[name])
                self._resources.update(prices.needed[features[name]])
            elif name in resources:
                self._resources.update(prices.resource_needs[resources[name]].nonzero()[0].tolist())
            else:
                raise InquiryError(f"known: {name!r} is neither a feature of the model nor a priced resource")

    @property
    def paid_before(self) -> tuple[frozenset[int], frozenset[int]]:
        """Columns and resources that were paid for before the inquiry, as long as nothing is bought."""
        return frozenset(self._features), frozenset(self._resources)

    def buy(self, feature: int) -> None:
        """Charge a feature and the resources it is the first to need, unless they were paid for before."""
        resources = self._prices.needed[feature] - self._resources
        self._resources |= resources
        self._charged += [float(self._prices.resource_cost[r]) for r in resources]
        if feature not in self._features:
            self.acquired.append(feature)
            self._charged.append(float(self._prices.cost[feature]))

    @property
    def spent(self) -> float:
        """What was bought so far cost, rounded once, so that it depends on what it was and not on the order."""
        return math.fsum(self._charged)

    def quote(self, features: Iterable[int]) -> float:
        """Return what buying features would add; those bought or paid for before cost nothing."""
        fresh = sorted(set(features) - self._features - set(self.acquired))
        resources = set[int]().union(*(self._prices.needed[f] for f in fresh)) - self._resources
        return float(self._prices.cost[fresh].sum() + self._prices.resource_cost[sorted(resources)].sum())

    def total(self, evaluated: tuple[float, float, int]) -> float:
        """Cost so far: acquisitions, learners, comparisons, and every use of a feature but its first."""
        weight, comparisons, again = evaluated
        return self.spent + self._prices.learner * weight + comparisons + self._prices.reuse * again


class Inquiry:
    """Asks for features until it can answer.

    While `needs` is not empty, supply exactly the features it names; then read `answer`. A value may be NaN: acquired,
    but missing. A refused call raises `InquiryError` and changes nothing.
    """

    def __init__(
        self,
        walker: Walker,
        names: Sequence[str],
        ledger: Ledger,
        categories: Categories | None = None,
        max_cost: float = math.inf,
    ) -> None:
        self._walker, self._max_cost = walker, max_cost
        self._names = tuple(names)
        self._column = {name: f for f, name in enumerate(self._names)}
        self._ledger = ledger
        self._categories = categories or {}
        self._rounds = 0

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of features that are certainly needed, in column order; empty when there is an answer."""
        return tuple(self._names[f] for f in sorted(self._walker.needs))

    @property
    def acquired(self) -> tuple[str, ...]:
        """Names of the features paid for so far, in order."""
        return tuple(self._names[f] for f in self._ledger.acquired)

    @property
    def cost(self) -> float:
        """What the row has been charged so far."""
        return min(self._ledger.total(self._walker.evaluated), self._max_cost)  # which rounding alone can exceed

    def supply(self, values: Mapping[str, Any]) -> None:
        """Give the values of exactly the features in `needs`: numbers, or labels where categories are texts.

        A label that is none of the feature's is a category never seen, and goes the missing way.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is missing or was not asked for, or a value is no number.
        """
        needs = self.needs
        if not needs:
            raise InquiryError("supply: the inquiry has ended, it needs nothing more")
        if not isinstance(values, Mapping):
            raise InquiryError(f"supply: expected a mapping of names to values, got {type(values).__name__}")
        missing = [name for name in needs if name not in values]
        surplus = [name for name in values if name not in needs]
        if missing or surplus:
            raise InquiryError(f"supply: expected exactly {needs}; missing {missing}, not asked for {surplus}")
        numbers = {self._column[name]: number(name, values[name], self._categories.get(name)) for name in needs}
        self._walker.advance(numbers)
        for feature in numbers:
            self._ledger.buy(feature)
        self._rounds += 1

    @property
    def answer(self) -> Prediction:
        """The prediction.

        Raises
        ------
        InquiryError
            While features are still needed.
        """
        if self._walker.needs:
            raise InquiryError(f"answer: the inquiry still needs {self.needs}")
        value, leaf = self._walker.answer
        return Prediction(value, self.cost, self.acquired, self._rounds, leaf, self._walker.reason)


def number(name: str, value: object, labels: tuple[str, ...] | None = None) -> float:
    """Return a feature's value as a float, or refuse it by name; `labels` are those of a feature that has any."""
    if labels is not None:
        value = encode_value(value, labels)
    try:
        if isinstance(value, str | bytes) or value is None:
            raise TypeError  # noqa: TRY301 - float("3") would take it
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InquiryError(
            f"value of {name!r}: expected a number (NaN if missing), got {value!r} of type {type(value).__name__}"
        ) from None
