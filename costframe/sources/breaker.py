"""A circuit breaker, which leaves a source alone after failures in a row. No I/O and no clock: it is given the time."""

from __future__ import annotations

import math

from attrs import define, field

__all__ = ["Breaker", "Ticket"]

Ticket = int
"""The number of a trip, in the order in which trips began."""


@define
class Breaker:
    """Says whether a trip may begin, and learns how trips ended, in any order.

    Failures in a row are those of trips that began after every trip that went well: trips side by side count as they
    would one after another, a late success takes back no failure of a trip that began after it, and a late failure is
    old news. So is all that began before the breaker opened, until the one trip that tries the source after its rest.

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
    _begun: int = field(default=0, init=False)
    _old: Ticket = field(default=0, init=False)  # trips up to this one count nothing any more
    _ill: list[Ticket] = field(factory=list, init=False)  # those of the failures, while it is closed
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
        self._begun += 1
        return self._begun

    def end(self, ticket: Ticket, now: float, *, is_well: bool | None) -> None:
        """Take the ticket of a trip that ended; `is_well` is None if it says nothing about the source."""
        if ticket <= self._old:
            return
        self._is_tried = False
        if is_well:
            self._old, self._ill = ticket, [each for each in self._ill if each > ticket]
            self.failures = len(self._ill)
        elif is_well is False:
            self.failures += 1
            self._ill.append(ticket)
            if self.failures >= self.most:
                self._until, self._old, self._ill = now + self.rest, self._begun, []
