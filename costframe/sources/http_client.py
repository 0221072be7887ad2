"""Connections to an HTTP service, through httpx's transports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any


class HTTPClient:
    """Requests with a source's headers and connections, which follow no redirect by themselves.

    They go through httpx's transports, for its client logs whole addresses, and brings cookies from one key to another.
    Each connection has a transport, which is closed if its request fails: a pool keeps places of cancelled requests for
    ever. A request holds `free`.
    """

    def __init__(self, source: Any) -> None:
        import httpx

        self.free = asyncio.Semaphore(source.connections)
        limits, verify = httpx.Limits(max_connections=1), httpx.create_ssl_context(trust_env=False)
        self._connect = partial(httpx.AsyncHTTPTransport, verify=verify, limits=limits, trust_env=False)
        self._open, self._idle, self._closing = set[Any](), list[Any](), set[asyncio.Task[None]]()
        self._headers = {"accept": "application/json", "accept-encoding": "identity", **source.headers}

    @asynccontextmanager
    async def get(self, url: Any) -> AsyncIterator[Any]:
        """Send a request; its answer is open in the block."""
        import httpx

        plain = url.copy_with(username=None, password=None)
        request = httpx.Request("GET", plain, headers=self._headers)
        if url.userinfo:
            request = next(httpx.BasicAuth(url.username, url.password).auth_flow(request))
        transport, response = await self._send(request)
        try:
            async with aclosing(response):
                yield response
        except BaseException:
            self._close(transport)
            raise
        self._idle.append(transport)

    async def _send(self, request: Any) -> tuple[Any, Any]:
        """Send a request; once more on a new connection where the service has ended the old one meanwhile."""
        import httpx

        while True:
            is_old = bool(self._idle)
            transport = self._idle.pop() if is_old else self._connect()
            self._open.add(transport)
            try:
                return transport, await transport.handle_async_request(request)
            except BaseException as error:
                self._close(transport)
                if not (is_old and isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)):
                    raise
            while self._idle:  # likely ended, too
                self._close(self._idle.pop())

    def _close(self, transport: Any) -> None:
        self._open.discard(transport)
        task = asyncio.ensure_future(transport.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Close the connections."""
        for transport in self._open.copy():
            self._close(transport)
        await asyncio.gather(*self._closing, return_exceptions=True)
