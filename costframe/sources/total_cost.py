"""What a run may pay at most: money is reserved before each call, so that calls side by side never pass it."""

from __future__ import annotations

import asyncio
import math
import numbers
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from threading import Lock
from typing import Any

from attrs import define, field

from costframe.core.errors import ParameterError, TotalCostError, shown
from costframe.core.prices.exact_prices import exact

_DIGITS = 330  # powers of ten of the smallest double
_MOST = 10**300  # of one amount: sums of them are numbers that can be shown


def as_money(name: str, value: Any) -> Fraction:
    """Return an amount of money exactly, a float as the decimal number that people write for it, or refuse it."""
    if not isinstance(value, bool):
        with suppress(ValueError, OverflowError):  # of numbers that are not finite
            money: Fraction | None = None
            if isinstance(value, numbers.Rational) or (isinstance(value, Decimal) and _is_usual(value)):
                money = Fraction(value)
            elif isinstance(value, numbers.Real):
                money = exact(float(value))
            if money is not None and 0 <= money <= _MOST:
                return money
    raise ParameterError(f"{name}: expected an amount of money from 0 to 1e300, got {shown(value)}")


def _is_usual(value: Decimal) -> bool:
    """Return whether a decimal number is finite, and as large or small as doubles: exact powers of ten take memory."""
    return value.is_finite() and (not value or abs(value.adjusted()) <= _DIGITS)


class TotalCost:
    """What a run may pay at most, over all calls that share it.

    Before a call begins, the most that it can cost is reserved; at its end it is paid what it really cost. Where the
    rest is reserved by calls under way, a call waits for them: they may cost less. Sums are exact.

    Parameters
    ----------
    limit : float, Decimal or Fraction, optional
        In the unit of prices; None for no limit.

    Attributes
    ----------
    limit : Fraction or None
    """

    def __init__(self, limit: Any = None) -> None:
        self.limit = None if limit is None else as_money("total_cost", limit)
        self._paid, self._reserved, self._awaited = Fraction(0), Fraction(0), 0
        self._waiting: list[asyncio.Future[None]] = []
        self._lock = Lock()  # sync functions end in threads of their own

    def __repr__(self) -> str:
        """Name what was paid, and the limit."""
        limit = "no limit" if self.limit is None else f"limit {float(self.limit):g}"
        return f"TotalCost({limit}, paid {float(self.paid):g})"

    @property
    def paid(self) -> Fraction:
        """What calls were paid so far, those that ended in doubt at the most that they can cost."""
        return self._paid

    @property
    def left(self) -> Fraction | float:
        """What may still be paid beside the calls under way; infinity without a limit."""
        return math.inf if self.limit is None else self.limit - self._paid - self._reserved

    def add_paid(self, amount: Fraction) -> None:
        """Note what an earlier run has paid."""
        with self._lock:
            self._paid += amount

    async def reserve(self, most: Fraction) -> Reservation:
        """Reserve the most that a call can cost, and wait for calls under way where they hold what it needs.

        Raises
        ------
        TotalCostError
            If the limit could be passed whatever those calls cost.
        """
        while True:
            with self._lock:
                if most <= self.left:
                    self._reserved += most
                    self._awaited += 1
                    return Reservation(self, most)
                never = self.limit is not None and self._paid + most > self.limit
                if never or not self._awaited:
                    raise TotalCostError(self._refusal(most))
                freed = asyncio.get_running_loop().create_future()
                self._waiting.append(freed)
            await freed

    def _refusal(self, most: Fraction) -> str:
        held = f", {float(self._reserved):g} is held by calls whose time is over" if self._reserved else ""
        return (
            f"total_cost: {float(self._paid):g} of {float(self.limit or 0):g} is paid{held}, "
            f"and the next call could cost {float(most):g}"
        )

    def change(self, paid: Fraction, reserved: Fraction, awaited: int) -> None:
        """Add to the sums, and have the calls that wait look again; the lock is held."""
        self._paid += paid
        self._reserved += reserved
        self._awaited += awaited
        waiting, self._waiting = self._waiting, []
        for freed in waiting:
            with suppress(RuntimeError):  # its loop has ended
                freed.get_loop().call_soon_threadsafe(_wake, freed)

    @property
    def lock(self) -> Lock:
        """The lock of the sums."""
        return self._lock


def _wake(freed: asyncio.Future[None]) -> None:
    if not freed.done():
        freed.set_result(None)


@define(eq=False)
class Reservation:
    """Money for one call: held until the call ends, then paid what it really cost.

    Every method may be called from any thread, in any order; what has happened before wins.
    """

    total: TotalCost
    most: Fraction
    has_begun: bool = field(default=False, init=False)
    _is_awaited: bool = field(default=True, init=False)
    _is_over: bool = field(default=False, init=False)

    def begin(self) -> bool:
        """Note that the call begins; return whether it may, since somebody still waits for it."""
        with self.total.lock:
            self.has_begun = not self._is_over
            return self.has_begun

    def settle(self, amount: Fraction) -> None:
        """Pay what the call really cost, and let go of the rest."""
        with self.total.lock:
            if not self._is_over:
                self._is_over = True
                self.total.change(amount, -self.most, -self._is_awaited)
                self._is_awaited = False

    def abandon(self) -> None:
        """Note that nobody waits for the call: it is let go of if it has not begun, else held until it ends."""
        with self.total.lock:
            if self._is_over or not self._is_awaited:
                return
            self._is_awaited, self._is_over = False, not self.has_begun
            self.total.change(Fraction(0), Fraction(0) if self.has_begun else -self.most, -1)
