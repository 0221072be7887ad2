"""Trips to a lookup's source, with time limits, retries and parts, within its policy."""

from __future__ import annotations

import asyncio
import math
import traceback
from collections import Counter
from collections.abc import Collection, Coroutine, Hashable, Mapping
from typing import Any, TypeVar

from attrs import define, evolve, field

from costframe.core.checks import needed
from costframe.core.errors import CostframeError, InquiryError, ParameterError, shown
from costframe.core.tables.categories import Categories
from costframe.core.tables.unknown_values import Coverage
from costframe.sources.code_errors import Broken, describe_code_error, is_code_error
from costframe.sources.failures import describe_failure, explain
from costframe.sources.fields import as_plain
from costframe.sources.lookups import Lookup
from costframe.sources.source import KeyRefusedError, TripError, Wanted, may_pass

T = TypeVar("T")

_OPENING = 10.0  # seconds that a source has to connect, which may import
_CLOSING = 5.0  # seconds that a source has to close
_PATIENCE = 0.5  # seconds between cancellations of a trip
_MOST_PARTS = 200  # trips for parts of one that failed
Wants = Mapping[Hashable, tuple[str, ...]]  # features by key


@define
class Outcome:
    """What trips brought for one key, or for one row of a round."""

    values: dict[str, float] = field(factory=dict)  # by feature
    failed: dict[str, str] = field(factory=dict)  # why a feature did not come
    lost: tuple[tuple[str, ...], ...] = ()  # features of each trip that failed or was given up, in vain
    broken: set[str] = field(factory=set)  # features whose source has code that fails for all keys: no policy helps

    def join(self, other: Outcome, features: tuple[str, ...]) -> None:
        """Add some features of what trips brought for this row's key and others."""
        self.values |= {name: other.values[name] for name in features if name in other.values}
        self.failed |= {name: other.failed[name] for name in features if name in other.failed}
        self.broken |= other.broken.intersection(features)
        lost = [tuple(name for name in each if name in features) for each in other.lost]
        self.lost += tuple(each for each in lost if each)


class Trips:
    """Trips to one lookup in one event loop, with time limits and retries."""

    def __init__(self, name: str, lookup: Lookup) -> None:
        self.name, self.lookup, self.made = name, lookup, 0
        self.found, self.absent = 0, 0  # keys with a row, and without one
        self._read_together: dict[tuple[str, ...], int] = {}  # how often features were read, by those of a key
        # unknown labels of each, and minus the keys for which it could not be read
        self._lacked: dict[str, Coverage] = {name: Coverage() for name in lookup.features}
        self._without = set(lookup.features)  # of which no value was known so far
        self.failure: str | None = None  # the last one, of a connection or for a key
        self._broken = Broken()
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
            if is_code_error(error):
                raise ParameterError(describe_code_error(error)) from error
            failure = explain(error)
            if failure.is_lasting:
                raise InquiryError(failure.text) from None
            self.failure = failure.text

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
        replies = await self._replies(wants, min(timeout, end - now))
        if (why := self._broken.judge(replies)) is not None:
            self._fail(wants, outcomes, why)
            for key, names in wants.items():
                outcomes[key].broken.update(names)
            return {}, 0.0
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
        """Make one trip; return each key's reply, or why it failed.

        A trip that one key may have spoiled is made again in parts, so that its neighbours have their replies.
        """
        clock = asyncio.get_running_loop().time
        end, more = clock() + seconds, _MOST_PARTS
        replies: dict[Hashable, Any] = {}
        parts = [wants]
        while parts:
            part = parts.pop()
            error, is_shared = await self._reply_to(part, end - clock(), replies)
            if error is None:
                continue
            if is_shared or clock() >= end:
                for each in (part, *parts):
                    replies |= dict.fromkeys(each, error)
                break
            if len(part) > 1 and more >= 2:
                keys, more = list(part), more - 2
                half = len(keys) // 2
                parts += [{key: part[key] for key in some} for some in (keys[half:], keys[:half])]
            else:
                replies |= dict.fromkeys(part, error)
        return replies

    async def _reply_to(
        self, wants: Wants, seconds: float, replies: dict[Hashable, Any]
    ) -> tuple[InquiryError | None, bool]:
        """Make one trip, and add its replies; return why it failed, and whether that is so whatever is asked for."""
        self.made += 1
        try:
            raw = await self._wait(self.lookup.source.fetch(self._places(wants)), seconds)
            if not isinstance(raw, Mapping):
                return TripError(f"expected a mapping of keys, got {type(raw).__name__}"), True
            replies |= {key: raw.get(key) for key in wants}
        except Exception as raised:  # noqa: BLE001 - a source may raise anything; the policy says what follows
            failure = explain(raised)
            make = InquiryError if failure.is_lasting else TripError
            error = raised if isinstance(raised, TripError) else make(failure.text)
            error.__cause__ = None if error is raised else raised  # which tells errors of code from failures that pass
            return error, failure.is_shared
        return None, False

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
                outcome.values[name] = value = field.read(raw := reply[field.place], categories.get(name))
                if value != value:  # noqa: PLR0124 - NaN
                    is_label = isinstance(categories.get(name), tuple) and not field.is_missing(raw)
                    self._lacked[name].note([str(as_plain(raw))] if is_label else ())
                elif self._without:
                    self._without.discard(name)
            except Exception as error:  # noqa: BLE001 - a mapping of a source's own may raise anything
                is_absent = isinstance(error, KeyError)
                why = f"no value at {shown(field.place)}" if is_absent else describe_failure(error)
                outcome.failed[name] = self.failure = why
                failed.append(name)
                self._lacked[name].rows -= 1
        if failed:
            outcome.lost += (tuple(failed),)
        self._read_together[names] = self._read_together.get(names, 0) + 1

    @property
    def coverage(self) -> dict[str, Coverage]:
        """What keys with a row had so far of each feature that was asked for, where it could be read."""
        rows = Counter({name: each.rows for name, each in self._lacked.items()})
        for names, times in self._read_together.items():
            rows.update(dict.fromkeys(names, times))
        found = {name: each for name, each in self._lacked.items() if rows[name]}
        return {
            name: evolve(each, rows=rows[name], has_known=name not in self._without) for name, each in found.items()
        }

    def _fail(self, wants: Wants, outcomes: Mapping[Any, Outcome], why: str, *, lost: bool = True) -> None:
        self.failure = why
        for key, names in wants.items():
            outcomes[key].failed |= dict.fromkeys(names, why)
            if lost:
                outcomes[key].lost += (names,)
