"""The price of one call of a paid function: before it, the most that it can be; after it, what it was."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from attrs import define

from costframe.core.errors import ParameterError, shown
from costframe.sources.calls import check_takes
from costframe.sources.source import KeyRefusedError
from costframe.sources.total_cost import as_money

FAILURES = ("paid", "free")
NOTHING = Fraction(0)


@define(eq=False)
class CallPrices:
    """Prices of calls; see `PaidCall`."""

    price: Any
    max_price: Any
    failures: Any

    def __attrs_post_init__(self) -> None:
        if callable(self.price):
            check_takes(self.price, ("key", "output"), "price")
            if self.max_price is None:
                raise ParameterError("max_price: expected the most that a call can cost, since price is a function")
        else:
            self.price = as_money("price", self.price)
            if self.max_price is not None:
                raise ParameterError("max_price: has no effect, since all calls have one price")
        if callable(self.max_price):
            check_takes(self.max_price, ("key",), "max_price")
        elif self.max_price is not None:
            self.max_price = as_money("max_price", self.max_price)
        if callable(self.failures):
            check_takes(self.failures, ("error",), "failures")
        elif self.failures not in FAILURES:
            raise ParameterError(f"failures: expected 'paid', 'free' or a function, got {shown(self.failures)}")

    def most(self, key: Hashable) -> Fraction:
        """Return the most that the call for a key can cost."""
        if self.max_price is None:
            return self.price  # type: ignore[no-any-return]
        return as_money("max_price", self.max_price(key)) if callable(self.max_price) else self.max_price

    def of_output(self, key: Hashable, output: Any, most: Fraction) -> Fraction:
        """Return what a call with an output cost; a `ParameterError` if the price cannot be told."""
        if not callable(self.price):
            return most
        try:
            price = self.price(key, output)
        except Exception as error:  # noqa: BLE001 - of the caller's function
            raise ParameterError(f"price: failed by {type(error).__name__} for key {shown(key)}") from None
        return as_money(f"price for key {shown(key)}", price)

    def of_failure(self, error: BaseException | None, most: Fraction) -> Fraction:
        """Return what a call without an output cost; None stands for one whose end is not known.

        Raises
        ------
        ParameterError
            If the caller's function fails.
        """
        if self.failures == "free" or isinstance(error, KeyRefusedError):
            return NOTHING
        if not callable(self.failures) or error is None or isinstance(error, asyncio.CancelledError):
            return most
        try:
            return most if self.failures(error) else NOTHING
        except Exception as raised:  # noqa: BLE001 - of the caller's function
            raise ParameterError(f"failures: failed by {type(raised).__name__}") from None
