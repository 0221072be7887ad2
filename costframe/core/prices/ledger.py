"""What a row pays: prices of the features that it buys, with the resources that they need, each once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction

from costframe.core.prices.basket import price_exactly, price_round
from costframe.core.prices.exact_prices import rounded_up
from costframe.core.prices.price_arrays import ZERO, PriceArrays

_NOTHING: frozenset[int] = frozenset()
_MOST_TOTALS = 256  # that are kept


class Ledger:
    """Prices for a row, and what it had paid for before: columns and resources."""

    __slots__ = ("_exact", "_needs", "_prices", "_totals", "features", "resources")

    def __init__(self, prices: PriceArrays, known: Iterable[str] = ()) -> None:
        self._prices, self._exact, self._needs = prices, prices.exact(), prices.direct_needs
        self.features, self.resources = _NOTHING, _NOTHING
        self._totals: dict[tuple[int, ...], tuple[int, float]] = {}  # as rows buy the same again: in units, in money
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
            if len(self._totals) == _MOST_TOTALS:
                self._totals.clear()
            self._totals[key] = total
        units, money = total
        if not evaluated:
            return money
        return rounded_up(*(evaluated + Fraction(units, self._exact.per_unit)).as_integer_ratio())
