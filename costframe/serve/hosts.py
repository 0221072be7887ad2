"""The names that requests may call a service by: a page of another site may have its own name point to this machine."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from costframe.core.errors import ParameterError, shown
from costframe.serve.json_reply import reply

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ANY = "*"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@*\[\]]+)(?::[0-9]*)?")


def check_hosts(names: Collection[str]) -> None:
    """Refuse what is no name of a host, without port."""
    for name in names:
        if not name or (name != ANY and (set(name) & set("*/ @") or _without_port(name) != name)):
            raise ParameterError(f"--allow-host: expected a name without port, or {ANY!r} for any, got {shown(name)}")


class KnownHosts:
    """An application that answers only requests to some hosts, by any port."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = None if ANY in names else {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse its host."""
        if scope["type"] == "http" and self._names is not None:
            named = [value for header, value in scope["headers"] if header == b"host"]
            host = named[0].decode("latin-1") if len(named) == 1 else ""
            if _without_port(host).lower() not in self._names:
                refusal = "the request calls the service by a name that it does not know; --allow-host adds one"
                await reply({"error": refusal}, 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _without_port(host: str) -> str:
    """Return a host without its port, an address of IPv6 in brackets; nothing of what is no host."""
    parts = _HOST.fullmatch(host)
    return parts[1] if parts else ""
