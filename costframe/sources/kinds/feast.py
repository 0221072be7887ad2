"""Feature views in Feast's online store, through its feature server, so that nothing of Feast is installed here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from costframe.core.errors import InquiryError, ParameterError, shown
from costframe.sources.kinds.http import Client, check_limits, check_status, read_document
from costframe.sources.kinds.needed import needed
from costframe.sources.kinds.side_by_side import answer_each
from costframe.sources.source import KeyRefusedError, Reply, Source, Wanted, as_text

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

__all__ = ["FeastSource"]

_ABSENT = {"NOT_FOUND", "OUTSIDE_MAX_AGE"}


@define(eq=False, repr=False)
class FeastSource(Source):
    """Feature views of a Feast feature server; its places are features of a view, or texts such as view:feature.

    A trip sends one request for each set of places that some keys want, so no key's features are read in vain. A value
    that Feast calls null is missing; a key that no wanted view has, or whose values are older than their view allows,
    has no row.

    Parameters
    ----------
    url : str
        Address of the server, such as ``http://127.0.0.1:6566``.
    entity : str
        Join key of the views, whose values are the keys: whole numbers or texts. Feast refuses a whole request for one
        key of a wrong type.
    view : str, optional
        The view of places that name none.
    headers : mapping of str to str
        Sent with each request; may hold a secret.
    connections : int
        Most requests side by side.
    most_bytes : int
        Most bytes of one answer: about 60 for each value.
    """

    url: str
    entity: str
    view: str | None = None
    headers: Mapping[str, str] = field(factory=dict)
    connections: int = 5
    most_bytes: int = 20_000_000

    _client: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        httpx = needed("httpx", "http")
        try:
            url = httpx.URL(self.url)
        except (httpx.InvalidURL, TypeError, ValueError):
            url = httpx.URL()
        if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment:
            raise ParameterError("url: expected an address such as http://host:6566")
        for name in ("entity", "view"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and (name, value) != ("view", None):
                raise ParameterError(f"{name}: expected a text, got {shown(value)}")
        check_limits(self)

    def __repr__(self) -> str:
        """Name the view or the entity; the address may hold a password."""
        return f"FeastSource({shown(self.view or self.entity)})"

    async def connect(self, places: Collection[str]) -> None:  # noqa: ARG002 - no request without a key
        """Make the client; its connections open with the first requests."""
        self._client = self._client or Client(self)

    async def fetch(self, wanted: Wanted) -> Reply:
        """Get the features of all keys; keys that want the same go together."""
        self._client = self._client or Client(self)
        reply: dict[Hashable, Any] = {}
        groups: dict[tuple[bool, tuple[str, ...]], dict[Hashable, str | int]] = {}
        for key, places in wanted.items():
            try:
                sent = _as_sent(key)
            except InquiryError as error:
                reply[key] = error
            else:  # texts apart: if the entity's keys are numbers, they alone fail
                groups.setdefault((isinstance(sent, str), tuple(sorted(places))), {})[key] = sent
        asks = {group: partial(self._ask, group[1], keys) for group, keys in groups.items()}
        for group, part in (await answer_each(asks, self._client.free)).items():
            reply |= dict.fromkeys(groups[group], part) if isinstance(part, Exception) else part
        return reply

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _ask(self, places: tuple[str, ...], keys: Mapping[Hashable, str | int]) -> dict[Hashable, Any]:
        """Send one request; return the rows of its keys."""
        names = {place: place if self.view is None else f"{self.view}:{place}" for place in places}
        request = {
            "features": list(names.values()),
            "entities": {self.entity: list(keys.values())},
            "full_feature_names": True,  # view__feature; else two views may have one name
        }
        url = f"{self.url.rstrip('/')}/get-online-features"
        async with self._client.stream("POST", url, json=request) as response:
            check_status(response, "Feast")
            columns = _columns(await read_document(response, self.most_bytes), len(keys))
        if lacking := [name for name in (self.entity, *map(_full, names.values())) if name not in columns]:
            raise InquiryError(f"Feast's answer has no {shown(lacking[0])}")
        wanted = {place: columns[_full(name)] for place, name in names.items()}
        rows: dict[Hashable, Any] = {}
        for i, ((key, sent), (answered, _)) in enumerate(zip(keys.items(), columns[self.entity], strict=True)):
            if str(answered) != str(sent):  # it turns keys into the entity's type as it can
                rows[key] = InquiryError(f"Feast took the key for {shown(answered)}")
            elif row := _row((place, *column[i]) for place, column in wanted.items()):
                rows[key] = row
        return rows


def _as_sent(key: Hashable) -> str | int:
    """Return a key as JSON has it; Feast would cut 1.5 and True down to 1."""
    if isinstance(key, bool | float):
        raise KeyRefusedError(f"expected a key that is a text or a whole number, got {shown(key)}")
    if isinstance(key, int):
        if not -(2**63) <= key < 2**63:
            raise InquiryError(f"expected a whole number of 64 bits, got {shown(key)}")
        return int(key)
    return as_text(key)


def _full(name: str) -> str:
    """Return the full name that answers have for view:feature."""
    return name.replace(":", "__", 1)


def _columns(document: Any, keys: int) -> dict[str, list[tuple[Any, Any]]]:
    """Return the values with their statuses by full name; refuse an answer of another form."""
    try:
        names = document["metadata"]["feature_names"]
        columns = [list(zip(each["values"], each["statuses"], strict=True)) for each in document["results"]]
        found = dict(zip(names, columns, strict=True))
    except (TypeError, KeyError, ValueError):
        raise InquiryError("Feast's answer is not of the form that get-online-features has") from None
    if len(found) < len(columns) or any(len(column) != keys for column in columns):
        raise InquiryError(f"Feast's answer: expected {keys} values of each feature, each feature once")
    return found


def _row(values: Iterable[tuple[str, Any, Any]]) -> dict[str, Any] | InquiryError:
    """Return the values of one key by place, without those that are absent."""
    row: dict[str, Any] = {}
    for place, value, status in values:
        if status in {"PRESENT", "NULL_VALUE"}:
            row[place] = value if status == "PRESENT" else None
        elif status not in _ABSENT:
            return InquiryError(f"Feast gives {shown(place)} the status {shown(status)}")
    return row
