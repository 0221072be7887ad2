"""What a source is: what it is asked for, what it replies, and how it fails."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from costframe.core.errors import InquiryError

Wanted = Mapping[Hashable, Collection[str]]
"""The places, such as columns or fields, that each key wants in one trip."""

Reply = Mapping[Hashable, Any]
"""For each key a mapping of its places to raw values; an exception in place of either says why this one failed."""

MOST_BYTES = 1_000_000
"""Most bytes of one value, or of one document with values: what fills a source must not fill the memory."""
K = TypeVar("K")

Receipts = dict[Hashable, Fraction]
"""What calls for each key of a trip were really paid."""


class KeyRefusedError(InquiryError):
    """A key that a source cannot be asked for; it was not, so nothing is paid."""


class TripError(InquiryError):
    """A failure of the source, in words of ours; a further trip may do better.

    Parameters
    ----------
    text : str
    wait : float
        Seconds that the source asks to be left alone before.
    """

    def __init__(self, text: str, *, wait: float = 0.0) -> None:
        super().__init__(text)
        self.wait = wait


class LackingError(InquiryError):
    """A source lacks a table, a place or a permission, so that every trip fails, whatever it asks for."""


class OddValueError(InquiryError):
    """A value of a kind that no feature has, in place of that value; other values of its row are read.

    Parameters
    ----------
    text : str
    spelled : str
        The value as the source spells it, which a marker of missing values may name.
    """

    def __init__(self, text: str, spelled: str) -> None:
        super().__init__(text)
        self.spelled = spelled


def may_pass(reply: Any) -> bool:
    """Return whether a key's reply is a failure of the source, which a further trip may not meet."""
    return isinstance(reply, TripError) or (isinstance(reply, BaseException) and not isinstance(reply, InquiryError))


class Source(ABC):
    """A database table, a cache, a service: something that gives values of places for keys.

    A source knows neither features nor prices: a `Lookup` says which feature is at which place, what to do when the
    source fails, and how to read its values. Every method runs in one event loop; a source that was not connected
    opens its connections at the first trip, and may be asked for several trips at once.
    """

    async def connect(self, places: Collection[str]) -> None:  # noqa: B027 - most sources have nothing to open
        """Make the first trip as quick as others: open a connection, and look whether the places are there.

        Parameters
        ----------
        places : collection of str
            Distinct; those that trips may ask for.

        Raises
        ------
        InquiryError
            If a table or a place is not there, so that every trip would fail; not a `TripError`.
        Exception
            Anything else, such as a server that is down: trips may do better.
        """

    @abstractmethod
    async def fetch(self, wanted: Wanted) -> Reply:
        """Make one trip for all keys.

        Parameters
        ----------
        wanted : mapping of hashable to collection of str
            Distinct places, at least one, for each key, at least one.

        Returns
        -------
        mapping of hashable to mapping of str to object
            Raw values, as the source stores them. A key without an entry has no row there; an exception in place of an
            entry says that this key alone failed, an `InquiryError` other than `TripError` that it will fail again.
            Further places of a key are left unread.

        Raises
        ------
        Exception
            Anything: the trip failed for all its keys. Unless it says that the source itself is down, as `TripError`,
            `LackingError` and errors of connections and time limits do, the trip is made again in parts.
        """

    async def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Close the connections; a later trip may open them again."""


class PricedSource(Source):
    """A source that knows what its calls were really paid, such as a model with a price by tokens."""

    @property
    @abstractmethod
    def is_limited(self) -> bool:
        """Whether a run over it may pay a limited sum, which holds within one process."""

    @abstractmethod
    async def fetch_paid(self, wanted: Wanted, receipts: Receipts) -> Reply:
        """Make one trip, as `fetch`, and add to `receipts` what calls for each key were paid, failed ones included.

        A call is in the receipts from its beginning, with what it may have cost if nobody waits for its end.
        """

    async def fetch(self, wanted: Wanted) -> Reply:
        """Make one trip, and keep no receipts."""
        return await self.fetch_paid(wanted, {})


async def answer_each(asks: Mapping[K, Callable[[], Awaitable[Any]]], limit: asyncio.Semaphore) -> dict[K, Any]:
    """Await an answer for each key, within a limit; an exception is in the place of one that failed."""

    async def answer(ask: Callable[[], Awaitable[Any]]) -> object:
        async with limit:
            try:
                return await ask()
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                return TripError("it was cancelled")  # by itself: nobody has cancelled this task
            except Exception as error:  # noqa: BLE001 - one that fails never ends the trip of others
                return error

    return dict(zip(asks, await asyncio.gather(*map(answer, asks.values())), strict=True))
