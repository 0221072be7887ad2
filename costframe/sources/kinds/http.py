"""JSON documents of an HTTP service, one request a key, through httpx."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import InquiryError, ParameterError, shown
from costframe.sources.kinds.needed import needed
from costframe.sources.source import Reply, Source, Wanted

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["HTTPSource"]

_MOST_REDIRECTS = 3
_ABSENT = {404, 410}


@define(eq=False, repr=False)
class HTTPSource(Source):
    """A service that answers GET with a JSON document for each key; its places are JSON pointers such as /score/value.

    It follows redirects within its host only, and reads a limited number of bytes.

    Parameters
    ----------
    url : str
        In which ``{key}`` stands for the key, quoted, after the host.
    headers : mapping of str to str
        Sent with each request; may hold a secret.
    places : str, optional
        Name of a query parameter that tells the service which places a key wants, joined by commas.
    connections : int
        Most requests side by side.
    most_bytes : int
        Most bytes of one document.
    """

    url: str
    headers: Mapping[str, str] = field(factory=dict)
    places: str | None = None
    connections: int = 20
    most_bytes: int = 1_000_000

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        httpx = needed("httpx", "http")
        if not isinstance(self.url, str) or "{key}" not in self.url:
            raise ParameterError("url: expected an address with {key} in it")
        try:
            host = httpx.URL(self.url.replace("{key}", "k"))
            fixed = httpx.URL(self.url.partition("{key}")[0])
        except httpx.InvalidURL:
            raise ParameterError("url: expected an address such as https://host/customers/{key}") from None
        if host.scheme not in {"http", "https"} or not host.host or _origin(host) != _origin(fixed):
            raise ParameterError("url: expected http or https, and {key} after the host and its slash")
        check_limits(self)

    def __repr__(self) -> str:
        """Name the host only; paths and headers may hold secrets."""
        import httpx

        return f"HTTPSource({httpx.URL(self.url.replace('{key}', 'k')).host})"

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the documents of all keys, some side by side; a key that fails fails alone."""
        client = self._client = self._client or open_client(self)
        limit = asyncio.Semaphore(self.connections)

        async def one(key: Hashable, places: Collection[str]) -> object:
            async with limit:
                try:
                    return await self._get(client, key, places)
                except Exception as error:  # noqa: BLE001 - one key that fails never ends the trip of others
                    return error

        replies = await asyncio.gather(*(one(key, places) for key, places in wanted.items()))
        return {key: reply for key, reply in zip(wanted, replies, strict=True) if reply is not None}

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _get(self, client: Any, key: Hashable, places: Collection[str]) -> object:
        """Return the values of one document by place; None if the service knows no such key."""
        import httpx

        name = key.decode() if isinstance(key, bytes) else str(key)
        if name in {"", ".", ".."}:  # would name another address
            raise InquiryError(f"expected a key that can stand in an address, got {shown(key)}")
        url = httpx.URL(self.url.replace("{key}", quote(name, safe="")))
        if self.places is not None:
            url = url.copy_merge_params({self.places: ",".join(places)})
        for _ in range(_MOST_REDIRECTS + 1):
            async with client.stream("GET", url) as response:
                if response.is_redirect and response.has_redirect_location:
                    to = url.join(response.headers["location"])
                    if _origin(to) != _origin(url):
                        raise InquiryError("the service redirects to another host, which is not followed")
                    url = to
                    continue
                if response.status_code in _ABSENT:
                    return None
                if response.status_code != httpx.codes.OK:
                    raise InquiryError(f"the service answered with status {response.status_code}")
                document = await read_document(response, self.most_bytes)
                return {place: value for place in places for value in _resolve(document, place)}
        raise InquiryError(f"the service redirects more than {_MOST_REDIRECTS} times")


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def check_limits(source: Any) -> None:
    """Check the headers and limits of a source that asks a service."""
    if not isinstance(source.headers, Mapping) or not all(isinstance(v, str) for v in source.headers.values()):
        raise ParameterError("headers: expected texts by name")
    check_number("connections", source.connections, low=1, whole=True)
    check_number("most_bytes", source.most_bytes, low=1, whole=True)


def open_client(source: Any) -> Any:
    """Return a client with a source's headers and connections, which follows no redirect by itself."""
    import httpx

    limits = httpx.Limits(max_connections=source.connections, max_keepalive_connections=source.connections)
    headers = {"accept": "application/json", "accept-encoding": "identity", **source.headers}
    return httpx.AsyncClient(headers=headers, limits=limits, timeout=None, follow_redirects=False, trust_env=False)  # noqa: S113 - the policy's time limit ends requests


async def read_document(response: Any, most_bytes: int) -> object:
    """Read the JSON document of an answer that may have so many bytes."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise InquiryError("the service compresses its answer, which it was not asked to")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > most_bytes:
            raise InquiryError(f"the service answers with more than {most_bytes:,} bytes")
    return _parse(bytes(body))


def _parse(body: bytes) -> object:
    try:
        return json.loads(body, object_pairs_hook=_different)
    except (ValueError, RecursionError):
        raise InquiryError("the service answers with something else than JSON") from None


def _different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError
    return table


def _resolve(document: object, pointer: str) -> list[object]:
    """Return the value at a JSON pointer (RFC 6901) in a list, or an empty list; a plain name is a key at the top."""
    steps = pointer.split("/")[1:] if pointer.startswith("/") else [pointer]
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~") if pointer.startswith("/") else step
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return []
    return [document]
