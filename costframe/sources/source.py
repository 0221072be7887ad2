"""The protocol of sources: one trip fetches the values that some keys want."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping
from typing import Any

__all__ = ["Reply", "Source", "Wanted"]

Wanted = Mapping[Hashable, Collection[str]]
"""The places, such as columns or fields, that each key wants in one trip."""

Reply = Mapping[Hashable, Any]
"""For each key a mapping of its places to raw values, or the exception by which this key failed."""


class Source(ABC):
    """A database table, a cache, a service: something that gives values of places for keys.

    A source knows neither features nor prices: a `Lookup` says which feature is at which place, what to do when the
    source fails, and how to read its values. Every method runs in one event loop; a source opens its connections at
    the first trip and may be asked for several trips at once.
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
            entry says that this key alone failed. Further places of a key are left unread.

        Raises
        ------
        Exception
            Anything: the trip failed for all its keys.
        """

    async def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Close the connections; a later trip may open them again."""
