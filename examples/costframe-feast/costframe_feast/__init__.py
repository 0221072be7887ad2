"""Feature views of a Feast feature server, an example of a source plugin for costframe."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

from costframe import hookimpl
from costframe.plugin import ParameterError
from costframe.sources import KeyRefusedError, Source

__all__ = ["FeastSource", "costframe_sources"]


@hookimpl
def costframe_sources() -> Mapping[str, Callable[..., Source]]:
    """Return the kind of source that files can name; its options are the arguments of the class."""
    return {"feast": FeastSource}


@define(eq=False, repr=False)
class FeastSource(Source):
    """Feature views of a Feast feature server; its places are features of a view, or texts such as view:feature.

    Parameters
    ----------
    url : str
        Address of the server, such as ``http://127.0.0.1:6566``.
    entity : str
        Join key of the views, whose values are the keys: whole numbers or texts.
    view : str, optional
        The view of places that name none.
    headers : mapping of str to str
        Sent with each request; may hold a secret.
    """

    url: str
    entity: str
    view: str | None = None
    headers: Mapping[str, str] = field(factory=dict)

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ParameterError("url: expected an address such as http://host:6566")  # it may hold a secret

    async def fetch(self, wanted: Mapping[Any, Any]) -> dict[Any, Any]:
        """Send one request for each set of places that some keys want, so that no feature is read in vain."""
        if self._client is None:
            import httpx  # when it is used: every process that looks for algorithms imports this module

            limits = httpx.Limits(max_connections=None)  # a pool with a limit keeps places of cancelled requests
            self._client = httpx.AsyncClient(headers=self.headers, limits=limits, trust_env=False)
        reply: dict[Any, Any] = {}
        groups: dict[Any, list[str | int]] = {}
        for key, places in wanted.items():
            if isinstance(key, str | int) and not isinstance(key, bool):
                # texts apart: if the entity's keys are numbers, Feast refuses the whole request for a text
                groups.setdefault((isinstance(key, str), tuple(sorted(places))), []).append(key)
            else:  # Feast would cut 1.5 and True down to 1
                reply[key] = KeyRefusedError(f"expected a key that is a text or a whole number, got {key!r}")
        asks = (self._ask(places, keys) for (_, places), keys in groups.items())
        for keys, rows in zip(groups.values(), await asyncio.gather(*asks, return_exceptions=True), strict=True):
            reply |= dict.fromkeys(keys, rows) if isinstance(rows, BaseException) else rows
        return reply

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _ask(self, places: Sequence[str], keys: Sequence[str | int]) -> dict[Any, Any]:
        """Return the rows of some keys; an exception fails all of them."""
        names = {place: place if self.view is None else f"{self.view}:{place}" for place in places}
        request = {
            "features": list(names.values()),
            "entities": {self.entity: keys},
            "full_feature_names": True,  # view__feature; else two views may have one name
        }
        response = await self._client.post(f"{self.url.rstrip('/')}/get-online-features", json=request)
        response.raise_for_status()
        answer = response.json()
        columns = dict(zip(answer["metadata"]["feature_names"], answer["results"], strict=True))
        rows: dict[Any, Any] = {key: {} for key in keys}
        for place, name in names.items():
            column = columns[name.replace(":", "__", 1)]
            for key, value, status in zip(keys, column["values"], column["statuses"], strict=True):
                if status in {"PRESENT", "NULL_VALUE"}:  # else it is not found, or too old
                    rows[key][place] = value
        for key, answered in zip(keys, columns[self.entity]["values"], strict=True):
            if str(answered) != str(key):
                rows[key] = KeyRefusedError(f"Feast took the key {key!r} for {answered!r}")
        return {key: row for key, row in rows.items() if row}
