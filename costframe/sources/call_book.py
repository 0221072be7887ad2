"""The book of paid calls: each is in its trip's receipts, the run's total and the kept answers, exactly once."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from attrs import define, field

from costframe.core.errors import DataError, ParameterError, TotalCostError, shown
from costframe.sources.call_prices import NOTHING, CallPrices
from costframe.sources.paid_answers import PaidAnswers
from costframe.sources.source import Receipts, TripError
from costframe.sources.total_cost import Reservation, TotalCost


@define(eq=False)
class CallBook:
    """Prices, total and kept answers of a function's calls."""

    prices: CallPrices
    total: TotalCost
    answers: PaidAnswers | None
    _broken: str | None = field(default=None, init=False)  # why no further call is made

    async def open_call(self, key: Hashable, receipts: Receipts) -> Call:
        """Reserve the money for a call, or raise a `TotalCostError`."""
        self.refuse_if_broken()
        if self.answers is not None:
            self.answers.open()
        call = Call(self, key, receipts, await self.total.reserve(self.prices.most(key)))
        if self._broken is not None:
            call.abandon()
        self.refuse_if_broken()
        return call

    def refuse_if_broken(self) -> None:
        """Refuse a call after one whose price or output could not be noted: the limit could no longer be kept."""
        if self._broken is not None:
            raise TotalCostError(self._broken)

    def price_output(self, key: Hashable, output: Any, most: Fraction) -> Fraction:
        """Return what a call with an output cost, and keep the output."""
        paid = most
        try:
            paid = self.prices.of_output(key, output, most)
            if paid > most:
                self._break(f"max_price: {float(most):g}, but the call for key {shown(key)} cost {float(paid):g}")
        except ParameterError as error:
            self._break(str(error))
        try:
            if self.answers is not None:
                self.answers.keep(key, paid, output)
        except DataError as error:
            self._break(str(error))
        return paid

    def price_failure(self, key: Hashable, error: BaseException, most: Fraction) -> Fraction:
        """Return what a call without an output cost, and write it down."""
        paid = most
        try:
            paid = self.prices.of_failure(error, most)
            if self.answers is not None:
                self.answers.note_failure(key, paid)
        except (ParameterError, DataError) as raised:
            self._break(str(raised))
        return paid

    def _break(self, why: str) -> None:
        self._broken = self._broken or f"{why}; no further call is made"


@define(eq=False)
class Call:
    """One call: in doubt from its beginning, settled at its end, once, by whoever sees the end first."""

    book: CallBook
    key: Hashable
    receipts: Receipts
    held: Reservation
    _doubt: Fraction = field(default=NOTHING, init=False)
    _is_over: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Begin the call, unless nobody waits for it any more."""
        if not self.held.begin():
            raise TripError("its time was over before the call began")
        self._doubt = self.book.prices.of_failure(None, self.held.most)
        self._bill(self._doubt)

    def end(self, output: Any) -> Any:
        """Settle a call that has an output, and return it."""
        if not self._is_over:
            self._settle(self.book.price_output(self.key, output, self.held.most))
        return output

    def fail(self, error: BaseException) -> None:
        """Settle a call that has no output; one that has not begun was not paid."""
        if not self.held.has_begun:
            self.abandon()
        elif not self._is_over:
            self._settle(self.book.price_failure(self.key, error, self.held.most))

    def abandon(self) -> None:
        """Note that nobody waits for the call any more; one in a thread goes on until its end."""
        self.held.abandon()

    def _settle(self, paid: Fraction) -> None:
        self._is_over = True
        self._bill(paid - self._doubt)
        self.held.settle(paid)

    def _bill(self, amount: Fraction) -> None:
        self.receipts[self.key] = self.receipts.get(self.key, NOTHING) + amount
