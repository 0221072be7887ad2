"""What a row pays: prices of the features that it buys, with the resources that they need, each once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

from costframe.core.prices.basket import price_exactly, price_round
from costframe.core.prices.exact_prices import rounded_up
from costframe.core.prices.price_arrays import ZERO, PriceArrays

_NOTHING: frozenset[int] = frozenset()
_MOST_KEPT = 1024  # totals, and quotes


class Ledger:
    """Prices for a row, and what it had paid for before: columns and resources."""

    __slots__ = ("_exact", "_needs", "_prices", "_quotes", "_totals", "features", "resources")

    def __init__(self, prices: PriceArrays, known: Iterable[str] = ()) -> None:
        self._prices, self._exact, self._needs = prices, prices.exact(), prices.direct_needs
        self.features, self.resources = _NOTHING, _NOTHING
        # rows buy the same again
        self._totals: dict[tuple[int, ...], tuple[int, float]] = {}  # in units, in money
        self._quotes: dict[tuple[tuple[int, ...], ...], float] = {}
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

    def quote(self, features: Iterable[int], bought: Collection[int] = (), came: Collection[int] = ()) -> float:
        """Return the price of buying features after others, in one round; those already paid for cost nothing.

        Features that `came` are bought too, in the same round.
        """
        key = tuple(features), tuple(bought), tuple(came)
        if (price := self._quotes.get(key)) is None:
            price = self._quote(*key)
            _keep(self._quotes, key, price)
        return price

    def _quote(self, features: tuple[int, ...], bought: tuple[int, ...], came: tuple[int, ...]) -> float:
        fresh, paid = sorted(set(features) - self.features - {*bought, *came}), self.resources_paid(bought)
        bought_now = sorted(set(came) - self.features)
        again = price_round(self._exact, self._prices, [*bought_now, *fresh], paid)
        if bought_now:
            again -= price_round(self._exact, self._prices, bought_now, paid)
            paid = self.resources_paid([*bought, *bought_now])
        return self._exact.money(price_exactly(self._exact, self._needs, fresh, paid) + again)

    def rounds(self, rounds: Iterable[Iterable[int]]) -> Fraction:
        """Return the price of going again to resources, given the features asked for in each round."""
        if not self._prices.has_rounds:
            return ZERO
        units, bought = 0, list[int]()
        for asked in rounds:
            fresh = sorted(set(asked) - self.features - set(bought))
            units += price_round(self._exact, self._prices, fresh, self.resources_paid(bought))
            bought += fresh
        return Fraction(units, self._exact.per_unit)

    def total(self, bought: Collection[int], evaluated: Fraction = ZERO) -> float:
        """Return the cost of features bought, none paid for before, and of what was evaluated, rounded up.

        What is paid for further rounds is a part of `evaluated`; see `rounds`.
        """
        key = tuple(bought)
        if (total := self._totals.get(key)) is None:
            units = price_exactly(self._exact, self._needs, bought, self.resources)
            total = units, self._exact.money(units)
            _keep(self._totals, key, total)
        units, money = total
        if not evaluated:
            return money
        return rounded_up(*(evaluated + Fraction(units, self._exact.per_unit)).as_integer_ratio())


def _keep(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value
