"""Hashes in Redis, read by one pipeline a trip."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import InquiryError, ParameterError, shown
from costframe.sources.source import MOST_BYTES, Reply, Source, Wanted, as_text

if TYPE_CHECKING:
    from collections.abc import Collection

_PART = 65_536


@define(eq=False, repr=False)
class RedisSource(Source):
    """Hashes in Redis; its places are their fields.

    Parameters
    ----------
    url : str
        ``redis://host:6379/0``.
    name : str
        Name of a row's hash, in which ``{key}`` stands for the key.
    connections : int
        Most connections.
    """

    url: str
    name: str = "{key}"
    connections: int = 5

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.url, str):
            raise ParameterError("url: expected a text")
        if not isinstance(self.name, str) or "{key}" not in self.name:
            raise ParameterError(f"name: expected a text with {{key}} in it, got {shown(self.name)}")
        check_number("connections", self.connections, low=1, whole=True)
        needed("redis", "redis")

    def __repr__(self) -> str:
        """Name the hashes; the address may hold a password."""
        return f"RedisSource({shown(self.name)})"

    async def connect(self, places: Collection[str]) -> None:  # noqa: ARG002 - hashes differ in their fields
        """Open a connection."""
        self._client = self._client or self._connect()
        await self._client.ping()

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the fields of all hashes; a hash that is not there has no row."""
        client = self._client = self._client or self._connect()
        reply: dict[Any, Any] = {}
        names: dict[Any, str] = {}
        for key in wanted:
            try:
                names[key] = self._name_of(key)
            except InquiryError as error:
                reply[key] = error
        async with client.pipeline(transaction=False) as pipe:
            for key, name in names.items():
                pipe.hmget(name, list(wanted[key]))
            values = await pipe.execute(raise_on_error=False)
        for key, got in zip(names, values, strict=True):
            reply[key] = got if isinstance(got, Exception) else dict(zip(wanted[key], got, strict=True))
        empty = [key for key, got in reply.items() if isinstance(got, dict) and all(v is None for v in got.values())]
        if empty:
            async with client.pipeline(transaction=False) as pipe:
                for key in empty:
                    pipe.exists(names[key])
                there = await pipe.execute(raise_on_error=False)
            for key, is_there in zip(empty, there, strict=True):
                if is_there == 0:
                    del reply[key]
        return reply

    async def close(self) -> None:
        """Close the pool of connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()
            await client.connection_pool.disconnect()

    def _name_of(self, key: object) -> str:
        return self.name.replace("{key}", as_text(key))

    def _connect(self) -> Any:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.connection import parse_url
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        try:
            address: dict[str, Any] = {**parse_url(self.url)}
        except ValueError:
            raise ParameterError("url: expected an address such as redis://host:6379/0") from None
        ours: dict[str, Any] = {
            "max_connections": self.connections,
            "timeout": None,
            "protocol": 2,
            "parser_class": _bounded_parser(),
        }
        ours["retry"] = Retry(NoBackoff(), 0)  # policies retry; the client's own retries would not be counted
        return Redis(connection_pool=BlockingConnectionPool(**address | ours))


@cache
def _bounded_parser() -> Any:
    """Return a parser of replies that reads past values of more than the most bytes; Redis sends up to 512 MB."""
    from redis._parsers import _AsyncRESP2Parser

    class Bounded(_AsyncRESP2Parser):  # type: ignore[misc, unused-ignore]
        async def _read(self, length: int) -> Any:
            if length <= MOST_BYTES:
                return await super()._read(length)
            for begin in range(0, length + 2, _PART):  # the last two are the end of a line, which each reading drops
                await super()._read(min(_PART, length + 2 - begin) - 2)
                self._chunks.clear()
            return InquiryError(f"expected a value of at most {MOST_BYTES:,} bytes, got {length:,}")

    return Bounded
