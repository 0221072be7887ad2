"""JSON documents of an HTTP service, one request a key, through httpx."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from attrs import define, field

from costframe.core.checks import check_number, needed
from costframe.core.errors import InquiryError, ParameterError, shown
from costframe.sources.documents import read_json, resolve_pointer
from costframe.sources.http_client import HTTPClient
from costframe.sources.keys import key_as_text
from costframe.sources.source import MOST_BYTES, KeyRefusedError, Reply, Source, TripError, Wanted, answer_each

_MOST_REDIRECTS = 3
_ABSENT = {404, 410}
_TRY_AGAIN = {408, 425, 429}  # and all from 500
_MAY_WAIT = {429, 503}  # their Retry-After
_SECONDS = re.compile("[0-9]{1,9}")


@define(eq=False, repr=False)
class HTTPSource(Source):
    """A service that answers GET with a JSON document for each key; its places are JSON pointers such as /score/value.

    It follows redirects within its host only, and reads a limited number of bytes. A retry after status 429 or 503
    waits as long as the service asks.

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
    most_bytes: int = MOST_BYTES

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        httpx = needed("httpx", "http")
        if not isinstance(self.url, str) or "{key}" not in self.url:
            raise ParameterError("url: expected an address with {key} in it")
        try:
            host = httpx.URL(self.url.replace("{key}", "k"))
            fixed = httpx.URL(self.url.partition("{key}")[0])
        except (httpx.InvalidURL, ValueError):
            raise ParameterError("url: expected an address such as https://host/customers/{key}") from None
        if host.scheme not in {"http", "https"} or not host.host or _origin(host) != _origin(fixed):
            raise ParameterError("url: expected http or https, and {key} after the host and its slash")
        if self.places is not None and (not isinstance(self.places, str) or not self.places):
            raise ParameterError(f"places: expected the name of a parameter, got {shown(self.places)}")
        if not isinstance(self.headers, Mapping) or not all(isinstance(v, str) for v in self.headers.values()):
            raise ParameterError("headers: expected texts by name")
        if not all(text.isascii() and text.isprintable() for pair in self.headers.items() for text in pair):
            raise ParameterError("headers: expected printable texts in ASCII")
        check_number("connections", self.connections, low=1, whole=True)
        check_number("most_bytes", self.most_bytes, low=1, whole=True)

    def __repr__(self) -> str:
        """Name the host only; paths and headers may hold secrets."""
        import httpx

        return f"HTTPSource({httpx.URL(self.url.replace('{key}', 'k')).host})"

    async def connect(self, places: Collection[str]) -> None:  # noqa: ARG002 - no request without a key
        """Make the client; its connections open with the first requests."""
        self._client = self._client or HTTPClient(self)

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the documents of all keys, some side by side; a key that fails fails alone."""
        client = self._client = self._client or HTTPClient(self)
        asks = {key: partial(self._get, client, key, places) for key, places in wanted.items()}
        replies = await answer_each(asks, client.free)
        return {key: reply for key, reply in replies.items() if reply is not None}

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _get(self, client: Any, key: Hashable, places: Collection[str]) -> object:
        """Return the values of one document by place; None if the service knows no such key."""
        import httpx

        name = key_as_text(key)
        if name in {"", ".", ".."}:  # would name another address
            raise KeyRefusedError(f"expected a key that can stand in an address, got {shown(key)}")
        url = httpx.URL(self.url.replace("{key}", quote(name, safe="")))
        if self.places is not None:
            url = url.copy_merge_params({self.places: ",".join(places)})
        for _ in range(_MOST_REDIRECTS + 1):
            async with client.get(url) as response:
                if response.is_redirect and response.has_redirect_location:
                    to = url.join(response.headers["location"])
                    if _origin(to) != _origin(url):
                        raise InquiryError("the service redirects to another host, which is not followed")
                    url = to
                    continue
                if response.status_code in _ABSENT:
                    return None
                check_status(response)
                document = await _read_document(response, self.most_bytes)
                return {place: value for place in places for value in resolve_pointer(document, place)}
        raise InquiryError(f"the service redirects more than {_MOST_REDIRECTS} times")


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def check_status(response: Any) -> None:
    """Refuse an answer that is not OK."""
    status, text = response.status_code, f"the service answered with status {response.status_code}"
    if status == 200:
        return
    if status < 500 and status not in _TRY_AGAIN:
        raise InquiryError(text)
    wait = _retry_after(response.headers) if status in _MAY_WAIT else 0.0
    asks = f", and asks to wait {wait:g} s" if wait else ""
    raise TripError(text + asks, wait=wait)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer asks to wait: a number, or a date beside its own; 0 where it is neither."""
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        begun = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (parsedate_to_datetime(text) - begun).total_seconds())
    except (ValueError, TypeError):  # no date; a date without a zone
        return 0.0


async def _read_document(response: Any, most_bytes: int) -> object:
    """Read the JSON document of an answer of at most `most_bytes`."""
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
        return read_json(body)
    except (ValueError, RecursionError):
        raise InquiryError("the service answers with something else than JSON") from None
