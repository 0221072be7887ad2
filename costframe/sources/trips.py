"""Trips to a lookup's source, with retries and parts, within its policy."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Hashable, Mapping
from fractions import Fraction
from typing import Any

from costframe.core.checks import needed
from costframe.core.errors import CostframeError, InquiryError, ParameterError, TotalCostError
from costframe.core.tables.categories import Categories
from costframe.core.tables.unknown_values import Coverage
from costframe.sources.code_errors import CodeTrial, describe_code_error, is_code_error
from costframe.sources.failures import describe_failure, explain
from costframe.sources.lookup import Lookup
from costframe.sources.readings import Reader
from costframe.sources.rounds import Outcome
from costframe.sources.source import KeyRefusedError, PricedSource, Receipts, Reply, TripError, Wanted, may_pass
from costframe.sources.time_limits import TimeLimits

Wants = Mapping[Hashable, tuple[str, ...]]
"""Features by key."""

_OPENING = 10.0  # seconds that a source has to connect, which may import
_CLOSING = 5.0  # seconds that a source has to close
_MOST_PARTS = 200  # trips for parts of one that failed


class Trips:
    """Trips to one lookup in one event loop, with time limits and retries."""

    def __init__(self, name: str, lookup: Lookup) -> None:
        self.name, self.lookup, self.made = name, lookup, 0
        self.keys_with_row, self.keys_without_row = 0, 0
        self.failure: str | None = None  # the last one, of a connection or for a key
        self.paid = Fraction(0) if isinstance(lookup.source, PricedSource) else None
        self._reader, self._limits, self._code = Reader(lookup), TimeLimits(), CodeTrial()
        self._retrying = needed("tenacity", "retries") if lookup.policy.retries else None  # a while: before any row

    @property
    def coverage(self) -> dict[str, Coverage]:
        """What keys with a row had so far of each feature that was asked for, where it could be read."""
        return self._reader.coverage

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
            await self._limits.run(self.lookup.source.connect(places), _OPENING)
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
        """End trips whose time was over, and close the source."""
        await self._limits.close()
        async with asyncio.timeout(_CLOSING):
            await self.lookup.source.close()

    async def _try(
        self, wants: Wants, outcomes: Mapping[Any, Outcome], categories: Categories, end: float
    ) -> tuple[Wants, float]:
        """Make one trip and write down its outcomes; return what may be tried again, and after how many seconds."""
        clock, timeout = asyncio.get_running_loop().time, self.lookup.policy.timeout
        if end <= (now := clock()):
            self._fail(wants, outcomes, "the deadline passed", is_paid=False)
            return {}, 0.0
        receipts: Receipts = {}
        replies = await self._replies(wants, min(timeout, end - now), receipts)
        self._note_paid(receipts, outcomes)
        if (why := self._code.judge(replies)) is not None:
            self._fail(wants, outcomes, why)
            for key, names in wants.items():
                outcomes[key].broken.update(names)
            return {}, 0.0
        again: dict[Hashable, tuple[str, ...]] = {}
        pause, longest = 0.0, min(timeout, end - clock())
        for key, names in wants.items():
            reply = replies[key]
            self.keys_without_row += reply is None or isinstance(reply, KeyRefusedError)
            self.keys_with_row += not (reply is None or isinstance(reply, BaseException))
            if not isinstance(reply, BaseException):
                self.failure = self._reader.read(reply, names, outcomes[key], categories) or self.failure
                continue
            why = describe_failure(reply)
            if isinstance(reply, TotalCostError):
                outcomes[key].unpaid.update(names)
                self._fail({key: names}, outcomes, why, is_paid=False)
                continue
            if isinstance(reply, TripError) and reply.wait > max(longest, 0.0):
                limit = "the time limit is" if longest == timeout else "the deadline leaves"
                why += f", but {limit} {max(longest, 0.0):.3g} s"
            elif may_pass(reply):
                again[key], pause = names, max(pause, getattr(reply, "wait", 0.0))
            self._fail({key: names}, outcomes, why, is_paid=not isinstance(reply, KeyRefusedError))
        return again, pause

    def _note_paid(self, receipts: Receipts, outcomes: Mapping[Any, Outcome]) -> None:
        """Note what the calls of a trip were really paid, where the source says so."""
        if self.paid is not None:
            for key, outcome in outcomes.items():
                outcome.pay(paid := receipts.get(key, Fraction(0)))
                self.paid += paid

    async def _replies(self, wants: Wants, seconds: float, receipts: Receipts) -> dict[Hashable, Any]:
        """Make one trip; return each key's reply, or why it failed.

        A trip that one key may have spoiled is made again in parts, so that its neighbours have their replies.
        """
        clock = asyncio.get_running_loop().time
        end, more = clock() + seconds, _MOST_PARTS
        replies: dict[Hashable, Any] = {}
        parts = [wants]
        while parts:
            part = parts.pop()
            error, is_shared = await self._reply_to(part, end - clock(), replies, receipts)
            if error is None:
                continue
            if is_shared or clock() >= end:
                for unasked in (part, *parts):
                    replies |= dict.fromkeys(unasked, error)
                break
            if len(part) > 1 and more >= 2:
                keys, more = list(part), more - 2
                middle = len(keys) // 2
                parts += [{key: part[key] for key in some} for some in (keys[middle:], keys[:middle])]
            else:
                replies |= dict.fromkeys(part, error)
        return replies

    async def _reply_to(
        self, wants: Wants, seconds: float, replies: dict[Hashable, Any], receipts: Receipts
    ) -> tuple[InquiryError | None, bool]:
        """Make one trip, and add its replies; return why it failed, and whether that is so whatever is asked for."""
        self.made += 1
        try:
            raw = await self._limits.run(self._fetch(wants, receipts), seconds)
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

    async def _fetch(self, wants: Wants, receipts: Receipts) -> Reply:
        source, places = self.lookup.source, self._places(wants)
        return await (source.fetch_paid(places, receipts) if isinstance(source, PricedSource) else source.fetch(places))

    def _places(self, wants: Wants) -> Wanted:
        fields, places = self.lookup.features, dict[tuple[str, ...], tuple[str, ...]]()  # many rows want the same
        for names in wants.values():
            if names not in places:
                places[names] = tuple(dict.fromkeys(fields[name].place for name in names))
        return {key: places[names] for key, names in wants.items()}

    def _fail(self, wants: Wants, outcomes: Mapping[Any, Outcome], why: str, *, is_paid: bool = True) -> None:
        self.failure = why
        for key, names in wants.items():
            outcomes[key].fail(names, why, is_paid=is_paid)
