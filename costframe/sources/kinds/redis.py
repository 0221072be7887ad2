"""Hashes in Redis, read by one pipeline a trip."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.sources.kinds.needed import needed
from costframe.sources.source import Reply, Source, Wanted

__all__ = ["RedisSource"]


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
        return f"RedisSource({self.name})"

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the fields of all hashes; a hash that is not there has no row."""
        client = self._client = self._client or self._connect()
        async with client.pipeline(transaction=False) as pipe:
            for key, places in wanted.items():
                pipe.hmget(self._name_of(key), list(places))
            values = await pipe.execute(raise_on_error=False)
        reply: dict[Any, Any] = {}
        for (key, places), got in zip(wanted.items(), values, strict=True):
            reply[key] = got if isinstance(got, Exception) else dict(zip(places, got, strict=True))
        empty = [key for key, got in reply.items() if isinstance(got, dict) and all(v is None for v in got.values())]
        if empty:
            async with client.pipeline(transaction=False) as pipe:
                for key in empty:
                    pipe.exists(self._name_of(key))
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
        return self.name.replace("{key}", key.decode() if isinstance(key, bytes) else str(key))

    def _connect(self) -> Any:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        try:
            pool = BlockingConnectionPool.from_url(
                self.url, max_connections=self.connections, timeout=None, retry=Retry(NoBackoff(), 0)
            )
        except ValueError:
            raise ParameterError("url: expected an address such as redis://host:6379/0") from None
        return Redis(connection_pool=pool)  # policies retry; the client's own retries would not be counted
