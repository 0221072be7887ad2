"""A circuit breaker, which leaves a source alone after failures in a row. No I/O and no clock: it is given the time."""

from __future__ import annotations

import math

from attrs import define, field

__all__ = ["Breaker", "Ticket"]

Ticket = tuple[int, int]
"""The epoch and its number of failures when a trip began."""


@define
class Breaker:
    """Says whether a trip may begin, and learns how trips ended, in any order.

    An epoch ends when the breaker opens, and with each success of a trip that began after the last failure. What a trip
    of an earlier epoch brings is old news and counts nothing, nor does a success that began before a failure of its
    epoch. While the breaker is open, only the one trip that tries the source after its rest is of the current epoch.

    Parameters
    ----------
    most : int
        Failures in a row that open it.
    rest : float
        Seconds that it then stays open before one trip may try again.

    Attributes
    ----------
    failures : int
        Failures in a row so far.
    """

    most: int
    rest: float
    failures: int = field(default=0, init=False)
    _epoch: int = field(default=0, init=False)
    _until: float = field(default=-math.inf, init=False)
    _is_tried: bool = field(default=False, init=False)

    def admits(self, now: float) -> bool:
        """Return whether a trip may begin at this time."""
        return self.failures < self.most or (now >= self._until and not self._is_tried)

    def begin(self, now: float) -> Ticket | None:
        """Return the ticket of a trip that begins, which must come back; None if none may begin."""
        if not self.admits(now):
            return None
        self._is_tried = self.failures >= self.most
        return self._epoch, self.failures

    def end(self, ticket: Ticket, now: float, *, is_well: bool | None) -> None:
        """Take the ticket of a trip that ended; `is_well` is None if it says nothing about the source."""
        if ticket[0] != self._epoch:
            return
        self._is_tried = False
        if is_well and ticket[1] == self.failures:
            self.failures, self._epoch = 0, self._epoch + 1
        elif is_well is False:
            self.failures += 1
            if self.failures >= self.most:
                self._until, self._epoch = now + self.rest, self._epoch + 1
