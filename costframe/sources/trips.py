"""Lookups, each a source with its features and a policy, and trips to their sources within the policy."""

from __future__ import annotations

import asyncio
import math
import numbers
import traceback
from collections.abc import Collection, Coroutine, Hashable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from attrs import define, field, fields, frozen

from costframe.core.checks import check_choice, check_number, needed
from costframe.core.errors import CostframeError, DataError, InquiryError, ParameterError, printable, quote_names, shown
from costframe.core.tables.categories import encode_value, is_missing
from costframe.sources.source import KeyRefusedError, Source, TripError, may_pass

if TYPE_CHECKING:
    from costframe.core.tables.categories import Categories, Labels
    from costframe.sources.source import Wanted

TYPES = ("number", "text", "truth")
_TRUTHS = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "0": 0.0}


def _as_markers(markers: Any) -> tuple[str, ...]:
    listed = (markers,) if isinstance(markers, str) else tuple(markers) if isinstance(markers, Iterable) else (markers,)
    if wrong := [each for each in listed if not isinstance(each, str)]:
        raise ParameterError(f"missing: expected texts that stand for a missing value, got {shown(wrong[0])}")
    return tuple(each.strip().lower() for each in listed)


@frozen
class Field:
    """One feature at a source.

    Parameters
    ----------
    place : str
        Column of a table, field of a hash, JSON pointer into a document, or whatever the source calls a value.
    type : {"number", "text", "truth"}, optional
        None reads a label where the model knows labels of the feature, and else a number. "number" reads a number, also
        the number of a label. "text" demands a text, "truth" a boolean, or a text such as yes, t or false, which
        becomes 1 or 0.
    missing : tuple of str
        Texts that stand for a missing value, in any case, without spaces at their ends. None and NaN always do.
    """

    place: str
    type: str | None = None
    missing: tuple[str, ...] = field(default=("",), converter=_as_markers)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.place, str) or not self.place:
            raise ParameterError(f"place: expected a text, got {shown(self.place)}")
        check_choice("type", self.type, (*TYPES, None))

    def read(self, raw: object, labels: Labels | None) -> float:
        """Return a raw value as a number, or the number of a label; NaN if it is missing.

        Raises
        ------
        InquiryError
            If it is of another type.
        BaseException
            If it is an exception: this value failed alone.
        """
        if type(raw) is float and labels is None and self.type in {None, "number"}:
            return raw  # most values: NaN is missing already
        if isinstance(raw, BaseException):
            raise raw
        value = _plain(raw)
        if is_missing(value) or (isinstance(value, str) and value.strip().lower() in self.missing):
            return math.nan
        if self.type == "truth":
            return _truth(value, raw)
        if self.type == "text" and not isinstance(value, str):
            raise InquiryError(f"expected a text, got {_named(raw)}")
        if self.type is None and isinstance(labels, tuple) and labels and not isinstance(value, str):  # as in frames
            raise InquiryError(
                f"expected a label such as {shown(labels[0])}, got {_named(raw)}; numbers need their type"
            )
        if labels is not None and self.type != "number":
            try:
                value = encode_value(value, labels)
            except DataError as error:  # an unknown label, where the model refuses these
                raise InquiryError(str(error)) from None
        return _number(value, raw)


def _plain(raw: object) -> object:
    """Return bytes, which caches give, as a text."""
    if isinstance(raw, bytes | bytearray | memoryview):
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError:
            raise InquiryError(f"expected a text in UTF-8, got {_named(raw)}") from None
    return raw


def _number(value: object, raw: object) -> float:
    try:
        if isinstance(value, str):
            if "_" in value:  # float("1_000") is a number to Python only
                raise ValueError  # noqa: TRY301
            return float(value)
        if isinstance(value, numbers.Real | Decimal | np.number | np.bool_):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InquiryError(f"expected a number, got {_named(raw)}")


def _truth(value: object, raw: object) -> float:
    truth = _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None
    if truth is None and isinstance(value, bool | int | float | np.bool_ | np.integer) and value in {0, 1}:
        truth = float(value)
    if truth is None:
        raise InquiryError(f"expected yes or no, got {_named(raw)}")
    return truth


def _named(raw: object) -> str:
    return f"{shown(raw)} of type {type(raw).__name__}"


def as_fields(features: Any, missing: Iterable[str] = ("",)) -> dict[str, Field]:
    """Make fields by feature from names, or from a mapping of features to places, tables or fields.

    Parameters
    ----------
    features : iterable of str, or mapping of str to str, mapping or Field
        A name alone is its place too; a mapping has the keys of `Field`.
    missing : iterable of str
        Markers of fields that give none.

    Raises
    ------
    ParameterError
        If an entry is of another kind; the error names it.
    """
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise ParameterError(f"features: expected names, or names with their places, got {shown(features)}")
    entries = features.items() if isinstance(features, Mapping) else [(name, name) for name in features]
    found: dict[str, Field] = {}
    for name, entry in entries:
        if not isinstance(name, str):
            raise ParameterError(f"features: expected names that are texts, got {shown(name)}")
        if name in found:
            raise ParameterError(f"features: {shown(name)} is there twice")
        try:
            found[name] = _as_field(name, entry, missing)
        except (ParameterError, TypeError) as error:
            raise ParameterError(f"features, {shown(name)}: {error}") from None
    if not found:
        raise ParameterError("features: expected at least one, got none")
    return found


def _as_field(name: str, entry: Any, missing: Iterable[str]) -> Field:
    if isinstance(entry, Field):
        return entry
    if isinstance(entry, str):
        return Field(entry, missing=missing)
    if not isinstance(entry, Mapping):
        raise ParameterError(f"expected a place, or a table with a place, got {shown(entry)}")
    if unknown := [key for key in entry if key not in {"place", "type", "missing"}]:
        raise ParameterError(f"expected place, type and missing, got {shown(unknown[0])}")
    return Field(**{"place": name, "missing": missing, **entry})


ON_FAILURE = ("raise", "missing", "without")
ON_ABSENT = ("fail", "missing")


@frozen
class Policy:
    """What to do when a source fails.

    Parameters
    ----------
    on_failure : {"raise", "missing", "without"}
        What a row does without the values that did not come. "raise" ends the row with an error; other rows go on.
        "missing" takes them as missing, so trees send the row their default way. "without" goes without them: a plan
        plans around them, a stage tree answers with the best that the rest allows.
    absent : {"fail", "missing"}
        Whether a key that the source has no row for is a failure, or a row of missing values that was paid for.
    timeout : float
        Seconds that one trip may take, and that the wait for a busy service (`Retry-After`) may take.
    retries : int
        Further trips for keys that failed, unless the source answered and its answer was wrong, or asks to wait longer
        than the time limit or the deadline allow. They need the extra "retries".
    backoff : float
        Seconds before the first retry, at most; each further one waits up to twice as long. The wait is drawn at
        random, so that many clients do not come back at once.
    """

    on_failure: str = "raise"
    absent: str = "fail"
    timeout: float = 10.0
    retries: int = 0
    backoff: float = 0.1

    def __attrs_post_init__(self) -> None:
        check_choice("on_failure", self.on_failure, ON_FAILURE)
        check_choice("absent", self.absent, ON_ABSENT)
        check_number("timeout", self.timeout, strict=True)
        check_number("retries", self.retries, whole=True, high=1000)
        check_number("backoff", self.backoff)


POLICY_NAMES = tuple(each.name for each in fields(Policy))


@frozen
class Lookup:
    """A source with the features that it serves; in prices, often a resource.

    Parameters
    ----------
    source : Source
    features : iterable of str, or mapping of str to str, mapping or Field
        The features it serves, with their places; see `Field`.
    key : str, optional
        Where keys of rows are mappings: the entry that is the key at this source.
    policy : Policy
    """

    source: Source
    features: dict[str, Field] = field(converter=as_fields)
    key: str | None = None
    policy: Policy = field(factory=Policy)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.source, Source):
            raise ParameterError(f"source: expected a Source, got {shown(self.source)}")
        if not isinstance(self.policy, Policy):
            raise ParameterError(f"policy: expected a Policy, got {shown(self.policy)}")
        if self.key is not None and not isinstance(self.key, str):
            raise ParameterError(f"key: expected the name of a key, got {shown(self.key)}")


def check_served(lookups: Mapping[str, Lookup]) -> dict[str, str]:
    """Return the lookup of each feature, or refuse a feature that two lookups serve."""
    served: dict[str, str] = {}
    for name, lookup in lookups.items():
        if twice := [feature for feature in lookup.features if feature in served]:
            raise ParameterError(
                f"sources {printable(name)} and {printable(served[twice[0]])}: both serve {quote_names(twice)}"
            )
        served |= dict.fromkeys(lookup.features, name)
    return served


T = TypeVar("T")

_OPENING = 10.0  # seconds that a source has to connect, which may import
_CLOSING = 5.0  # seconds that a source has to close
_PATIENCE = 0.5  # seconds between cancellations of a trip
Wants = Mapping[Hashable, tuple[str, ...]]  # features by key


@define
class Outcome:
    """What trips brought for one key, or for one row of a round."""

    values: dict[str, float] = field(factory=dict)  # by feature
    failed: dict[str, str] = field(factory=dict)  # why a feature did not come
    lost: tuple[tuple[str, ...], ...] = ()  # features of each trip that failed or was given up, in vain

    def join(self, other: Outcome, features: tuple[str, ...]) -> None:
        """Add some features of what trips brought for this row's key and others."""
        self.values |= {name: other.values[name] for name in features if name in other.values}
        self.failed |= {name: other.failed[name] for name in features if name in other.failed}
        lost = [tuple(name for name in each if name in features) for each in other.lost]
        self.lost += tuple(each for each in lost if each)


class Trips:
    """Trips to one lookup in one event loop, with time limits and retries."""

    def __init__(self, name: str, lookup: Lookup) -> None:
        self.name, self.lookup, self.made = name, lookup, 0
        self.found, self.absent = 0, 0  # keys with a row, and without one
        self.failure: str | None = None  # the last one, of a connection or for a key
        self._retrying = needed("tenacity", "retries") if lookup.policy.retries else None  # a while: before any row
        self._left_behind: set[asyncio.Task[Any]] = set()

    async def fetch(
        self, wants: Wants, outcomes: Mapping[Any, Outcome], categories: Categories, deadline: float | None = None
    ) -> None:
        """Fetch features for keys, within the policy; no failure of the source is raised.

        Parameters
        ----------
        wants : mapping of hashable to tuple of str
        outcomes : mapping of hashable to Outcome
            For each key, to which what came and what failed is added.
        categories : mapping of str to labels
            Labels of the model's features.
        deadline : float, optional
            Time of the event loop after which nothing is waited for.
        """
        policy, clock = self.lookup.policy, asyncio.get_running_loop().time
        end, left, pause = math.inf if deadline is None else deadline, wants, 0.0

        async def some_failed() -> bool:
            nonlocal left, pause
            left, pause = await self._try(left, outcomes, categories, end)
            return bool(left)

        if (tenacity := self._retrying) is None:
            await some_failed()
            return
        drawn = tenacity.wait_random_exponential(multiplier=policy.backoff)

        def is_last(state: Any) -> Any:
            return state.attempt_number > policy.retries or clock() + state.upcoming_sleep >= end

        await tenacity.AsyncRetrying(
            sleep=asyncio.sleep,
            wait=lambda state: max(pause, drawn(state)),
            stop=is_last,
            retry=tenacity.retry_if_result(bool),
            retry_error_callback=lambda _: None,
        )(some_failed)

    async def connect(self, features: Collection[str]) -> None:
        """Connect the source, and check the places of features; a source that is down is left to the policy.

        Raises
        ------
        CostframeError
            If a place is not there.
        """
        places = tuple(dict.fromkeys(self.lookup.features[name].place for name in features))
        try:
            await self._wait(self.lookup.source.connect(places), _OPENING)
        except Exception as error:
            if isinstance(error, CostframeError) and not isinstance(error, TripError):
                raise
            self.failure = describe_failure(error)

    async def close(self) -> None:
        """End trips that were left behind, and close the source."""
        left = [task for task in self._left_behind if not task.get_loop().is_closed()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CLOSING)
        async with asyncio.timeout(_CLOSING):
            await self.lookup.source.close()

    async def _try(
        self, wants: Wants, outcomes: Mapping[Any, Outcome], categories: Categories, end: float
    ) -> tuple[Wants, float]:
        """Make one trip and write down its outcomes; return what may be tried again, and after how many seconds."""
        clock, timeout = asyncio.get_running_loop().time, self.lookup.policy.timeout
        if end <= (now := clock()):
            self._fail(wants, outcomes, "the deadline passed", lost=False)
            return {}, 0.0
        self.made += 1
        replies = await self._replies(wants, min(timeout, end - now))
        again: dict[Hashable, tuple[str, ...]] = {}
        pause, longest = 0.0, min(timeout, end - clock())
        for key, names in wants.items():
            reply = replies[key]
            self.absent += reply is None or isinstance(reply, KeyRefusedError)
            self.found += not (reply is None or isinstance(reply, BaseException))
            if not isinstance(reply, BaseException):
                self._read(reply, names, outcomes[key], categories)
                continue
            why = describe_failure(reply)
            if isinstance(reply, TripError) and reply.wait > max(longest, 0.0):
                limit = "the time limit is" if longest == timeout else "the deadline leaves"
                why += f", but {limit} {max(longest, 0.0):.3g} s"
            elif may_pass(reply):
                again[key], pause = names, max(pause, getattr(reply, "wait", 0.0))
            self._fail({key: names}, outcomes, why, lost=not isinstance(reply, KeyRefusedError))
        return again, pause

    async def _replies(self, wants: Wants, seconds: float) -> dict[Hashable, Any]:
        """Make one trip; return each key's reply, or why it failed."""
        try:
            raw = await self._wait(self.lookup.source.fetch(self._places(wants)), seconds)
            if isinstance(raw, Mapping):
                return {key: raw.get(key) for key in wants}
            error = InquiryError(f"expected a mapping of keys, got {type(raw).__name__}")
        except Exception as raised:  # noqa: BLE001 - a source may raise anything; the policy says what follows
            error = raised if isinstance(raised, TripError) else TripError(describe_failure(raised))
        return dict.fromkeys(wants, error)

    def _places(self, wants: Wants) -> Wanted:
        fields, places = self.lookup.features, dict[tuple[str, ...], tuple[str, ...]]()  # many rows want the same
        for names in wants.values():
            if names not in places:
                places[names] = tuple(dict.fromkeys(fields[name].place for name in names))
        return {key: places[names] for key, names in wants.items()}

    async def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Wait so long for a trip or a connection; then it is cancelled, and not waited for again."""
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            self._leave(task)
            raise
        if not done:
            self._leave(task)
            raise TripError(f"no answer within {seconds:.3g} s")
        if task.cancelled():
            raise TripError("the trip was cancelled")
        return task.result()

    def _leave(self, task: asyncio.Task[Any]) -> None:
        def forget(ended: asyncio.Task[Any]) -> None:
            self._left_behind.discard(ended)
            try:
                error: BaseException | None = ended.exception()
            except asyncio.CancelledError as cancelled:
                error = cancelled
            while error is not None:  # its frames are in cycles with it, and may hold the only reference to a socket
                traceback.clear_frames(error.__traceback__)
                error = error.__context__

        def cancel(due: float) -> None:
            """Cancel again and again: a driver may wait for a server that is gone to confirm the first time."""
            if task.done():
                return
            if (now := loop.time()) - due < _PATIENCE:  # else the loop stood still, and the driver had no time to end
                task.cancel()
            loop.call_at(now + _PATIENCE, cancel, now + _PATIENCE)

        loop = asyncio.get_running_loop()
        self._left_behind.add(task)
        task.add_done_callback(forget)
        cancel(loop.time())

    def _read(self, reply: Any, names: tuple[str, ...], outcome: Outcome, categories: Categories) -> None:
        """Read one key's reply, value by value."""
        if outcome.failed:  # at an earlier trip
            for name in names:
                outcome.failed.pop(name, None)
        if reply is None and self.lookup.policy.absent == "missing":
            outcome.values.update(dict.fromkeys(names, math.nan))
            return
        if type(reply) is not dict and not isinstance(reply, Mapping):
            what = (
                "no row for the key" if reply is None else f"expected a mapping of values, got {type(reply).__name__}"
            )
            self._fail({None: names}, {None: outcome}, what)
            return
        fields, failed = self.lookup.features, []
        for name in names:
            field = fields[name]
            try:
                outcome.values[name] = field.read(reply[field.place], categories.get(name))
            except Exception as error:  # noqa: BLE001 - a mapping of a source's own may raise anything
                is_absent = isinstance(error, KeyError)
                why = f"no value at {shown(field.place)}" if is_absent else describe_failure(error)
                outcome.failed[name] = self.failure = why
                failed.append(name)
        if failed:
            outcome.lost += (tuple(failed),)

    def _fail(self, wants: Wants, outcomes: Mapping[Any, Outcome], why: str, *, lost: bool = True) -> None:
        self.failure = why
        for key, names in wants.items():
            outcomes[key].failed |= dict.fromkeys(names, why)
            if lost:
                outcomes[key].lost += (names,)


def describe_failure(error: BaseException) -> str:
    """Return the kind of a source's exception, with its text only where it is ours: others quote URLs and passwords."""
    if isinstance(error, CostframeError):
        return str(error)
    return f"{type(error).__name__}, whose own text may hold a secret"
