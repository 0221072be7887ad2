"""Hashes in Redis, read by one pipeline a trip."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import CostframeError, InquiryError, ParameterError, quote_names, shown
from costframe.sources.keys import key_as_text
from costframe.sources.source import MOST_BYTES, LackingError, Reply, Source, TripError, Wanted

_PART = 65_536
_SCANNED = 1000  # names that Redis goes through at once
_MOST_SCANS = 100
_LOOKED_AT = 20  # hashes at once

_KINDS: dict[str, tuple[type[InquiryError], str]] = {  # of errors by their class, since servers' texts may hold secrets
    "AuthenticationError": (LackingError, "permission: the user or password is refused, or expected"),
    "AuthenticationWrongNumberOfArgsError": (LackingError, "permission: this server has no users"),
    "AuthorizationError": (LackingError, "permission denied"),
    "NoPermissionError": (InquiryError, "permission denied (NOPERM)"),
    "BusyLoadingError": (TripError, "the server is still loading its data (LOADING)"),
    "MaxConnectionsError": (TripError, "too many connections"),
    "MovedError": (InquiryError, "the key is at another server of a cluster (MOVED)"),
    "AskError": (InquiryError, "the key is at another server of a cluster (ASK)"),
    "ClusterDownError": (TripError, "the cluster is down (CLUSTERDOWN)"),
    "MasterDownError": (TripError, "the server has lost its master (MASTERDOWN)"),
    "TryAgainError": (TripError, "the cluster moves the key (TRYAGAIN)"),
    "TimeoutError": (TripError, "timeout"),
    "ConnectionError": (TripError, "connection: it cannot be made, or the server has ended it"),
}
_CODE = re.compile("[A-Z]{2,20}(?= |$)")


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
    sample : int
        Hashes that are looked at before the first row: a field that none has is an error. With 0 none are, for fields
        that come later or are rare.
    """

    url: str
    name: str = "{key}"
    connections: int = 5
    sample: int = 1000

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.url, str):
            raise ParameterError("url: expected a text")
        if not isinstance(self.name, str) or "{key}" not in self.name:
            raise ParameterError(f"name: expected a text with {{key}} in it, got {shown(self.name)}")
        check_number("connections", self.connections, low=1, whole=True)
        check_number("sample", self.sample, whole=True)
        needed("redis", "redis")

    def __repr__(self) -> str:
        """Name the hashes; the address may hold a password."""
        return f"RedisSource({shown(self.name)})"

    async def connect(self, places: Collection[str]) -> None:
        """Open a connection, and look whether the fields may be read, and some hash has them."""
        (reply,) = await self._ask([("HMGET", self._name_of("0"), *places)])
        if isinstance(reply, LackingError):
            raise reply
        await self._look_for(tuple(places))

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the fields of all hashes; a hash that is not there has no row."""
        reply: dict[Any, Any] = {}
        names: dict[Any, str] = {}
        for key in wanted:
            try:
                names[key] = self._name_of(key)
            except InquiryError as error:
                reply[key] = error
        values = await self._ask(("HMGET", name, *wanted[key]) for key, name in names.items())
        for key, got in zip(names, values, strict=True):
            reply[key] = got if isinstance(got, Exception) else dict(zip(wanted[key], got, strict=True))
        empty = [key for key, got in reply.items() if isinstance(got, dict) and all(v is None for v in got.values())]
        if empty:
            answers = await self._ask(("EXISTS", names[key]) for key in empty)
            for key, is_there in zip(empty, answers, strict=True):
                if is_there == 0:
                    del reply[key]
        return reply

    async def close(self) -> None:
        """Close the pool of connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()
            await client.connection_pool.disconnect()

    async def _ask(self, commands: Iterable[tuple[str, ...]]) -> list[Any]:
        """Return the replies to commands that only read, in one trip; an error in the place of one that failed.

        Once more on a new connection where the old one has ended.
        """
        listed = list(commands)
        for is_again in (False, True):
            try:
                async with self._client_now().pipeline(transaction=False) as pipe:
                    for command in listed:
                        pipe.execute_command(*command)
                    replies = await pipe.execute(raise_on_error=False)
            except Exception as error:  # noqa: BLE001 - of a library that need not be there
                if is_again or _kind(error) != "ConnectionError":
                    raise _explain(error) from None
            else:
                break
        return [_explain(reply) if isinstance(reply, Exception) else reply for reply in replies]

    async def _look_for(self, places: Collection[str]) -> None:
        """Refuse fields that no hash of a sample has; without the permission to look, none are."""
        seen, cursor = _Sample(dict.fromkeys(places)), 0
        for _ in range(_MOST_SCANS * bool(self.sample)):
            (reply,) = await self._ask([("SCAN", str(cursor), "MATCH", _pattern(self.name), "COUNT", str(_SCANNED))])
            if isinstance(reply, Exception):
                return
            cursor, names = int(reply[0]), reply[1]
            while names and seen.lacking and seen.hashes < self.sample:
                some, names = names[:_LOOKED_AT], names[_LOOKED_AT:]
                replies = await self._ask(("HEXISTS", name, place) for name in some for place in places)
                for k, name in enumerate(some):
                    seen.add(name, dict(zip(places, replies[k * len(places) :], strict=False)))
            if cursor == 0 or not seen.lacking or seen.hashes >= self.sample:
                break
        if not seen.lacking or (cursor and max(seen.hashes, seen.others) < self.sample):
            return
        named = f"named {shown(self.name)}"
        if seen.others and not seen.hashes:
            raise LackingError(f"expected hashes {named}, got values of another type (WRONGTYPE)")
        if seen.hashes and (not cursor or seen.fitting or self.name != "{key}"):  # else they may be of others
            (fields,) = await self._ask([("HKEYS", seen.first)])
            has = "" if isinstance(fields, Exception) else f"; one has {quote_names([*map(_plain, fields)])}"
            raise LackingError(
                f"no field {quote_names(seen.lacking)} in {seen.hashes:,} hashes {named}{has}; where it is rare or "
                "comes later, sample = 0 does not look"
            )

    def _client_now(self) -> Any:
        self._client = self._client or self._connect()
        return self._client

    def _name_of(self, key: object) -> str:
        return self.name.replace("{key}", key_as_text(key))

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


@define
class _Sample:
    """Hashes that were looked at: how many, how many have one of the fields, and fields that none has."""

    lacking: dict[str, None]
    hashes: int = 0
    others: int = 0  # values of other types
    fitting: int = 0
    first: Any = None

    def add(self, name: Any, fields: dict[str, Any]) -> None:
        """Note a hash with whether it has each field, or errors in the place of that."""
        if any(isinstance(reply, Exception) for reply in fields.values()):
            self.others += any("WRONGTYPE" in str(reply) for reply in fields.values())
            return
        present = [field for field, is_there in fields.items() if is_there]
        self.hashes, self.fitting = self.hashes + 1, self.fitting + bool(present)
        self.lacking = {field: None for field in self.lacking if field not in present}
        self.first = self.first or name


def _pattern(name: str) -> str:
    """Return the pattern of the names of all rows' hashes."""
    return re.sub(r"([*?\[\]\\^-])", r"\\\1", name.replace("{key}", "\0")).replace("\0", "*")


def _plain(field: Any) -> str:
    return field.decode(errors="replace") if isinstance(field, bytes) else str(field)


def _kind(error: BaseException) -> str:
    """Return the class by which an error is known, or an empty text."""
    return next((base.__name__ for base in type(error).__mro__ if base.__name__ in _KINDS), "")


def _explain(error: Exception) -> Exception:
    """Return an error of Redis in words of ours: a reply's, or a trip's."""
    if isinstance(error, CostframeError):
        return error
    if kind := _kind(error):
        make, text = _KINDS[kind]
        if kind == "NoPermissionError" and "permissions to run" in str(error):  # whatever the key
            make = LackingError
        return make(text)
    if type(error).__name__ != "ResponseError":
        return error
    if str(error).startswith("WRONGTYPE"):
        return InquiryError("expected a hash of the key's name, got a value of another type (WRONGTYPE)")
    code = _CODE.match(str(error))
    return TripError(f"the server refuses the command{f' ({code[0]})' if code else ''}; its own text may hold a secret")


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
