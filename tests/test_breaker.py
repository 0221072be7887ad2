"""Retries and the circuit breaker: what counts for and against a source, in any order of trips, in time that jumps."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule
from live_cases import run_timeless

from costframe.core.errors import InquiryError
from costframe.sources import Lookup, Policy, Source
from costframe.sources.breaker import Breaker
from costframe.sources.lookup import Outcome, Trips
from costframe.sources.source import KeyRefusedError, TripError

REST = 10.0


class Naive:
    """Reads its answers out of the whole history: (trip, what happened, when)."""

    def __init__(self, most):
        self.most, self.history = most, []

    def news(self):
        """What counted, as it ended: (where the trip began and ended in the history, whether it was well, when)."""
        found, opened = [], -1
        for place, (trip, what, when) in enumerate(self.history):
            began = self.history.index((trip, "begins", None))
            if what in {"well", "ill"} and began > max([opened, *(each[0] for each in found if each[2])]):
                found.append((began, place, what == "well", when))
                if len(self.in_a_row(found)) >= self.most:
                    opened = place
        return found

    @staticmethod
    def in_a_row(news):
        last = max((began for began, _, is_well, _ in news if is_well), default=-1)
        return [each for each in news if not each[2] and each[0] > last]

    def admits(self, now):
        ill = self.in_a_row(self.news())
        if len(ill) < self.most:
            return True
        _, place, _, when = ill[-1]
        began = {trip for trip, what, _ in self.history[place:] if what == "begins"}
        ended = {trip for trip, what, _ in self.history[place:] if what != "begins"}
        return now >= when + REST and began <= ended


class Trial(RuleBasedStateMachine):
    trips = Bundle("trips")

    def __init__(self):
        super().__init__()
        self.now, self.begun = 0.0, 0
        self.breaker, self.naive = Breaker(2, REST), Naive(2)

    @rule(seconds=st.sampled_from([0.0, 1.0, REST]))
    def wait(self, seconds):
        self.now += seconds

    @rule(target=trips)
    def begin(self):
        admitted = self.naive.admits(self.now)
        assert self.breaker.admits(self.now) == admitted
        assert self.breaker.failures == len(self.naive.in_a_row(self.naive.news()))
        ticket = self.breaker.begin(self.now)
        assert (ticket is not None) == admitted
        self.begun += 1
        if admitted:
            self.naive.history.append((self.begun, "begins", None))
        return self.begun, ticket

    @rule(trip=consumes(trips), is_well=st.sampled_from([True, False, None]))
    def end(self, trip, is_well):
        number, ticket = trip
        if ticket is not None:
            self.naive.history.append((number, {True: "well", False: "ill", None: "unknown"}[is_well], self.now))
            self.breaker.end(ticket, self.now, is_well=is_well)


TestBreaker = Trial.TestCase
TestBreaker.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("side_by_side", [1, 20, 100])
def test_a_few_failures_among_many_trips_side_by_side_open_nothing(side_by_side):
    breaker = Breaker(3, REST)
    tickets = [breaker.begin(0.0) for _ in range(side_by_side)]
    for trip in range(600):
        breaker.end(tickets.pop(0), 0.0, is_well=trip % 3 == 0)
        tickets.append(breaker.begin(0.0))
    assert None not in tickets


class Timed(Source):
    """Each key is (seconds, how its trip ends); it notes when trips begin."""

    def __init__(self):
        self.begun = []

    async def fetch(self, wanted):
        self.begun.append(asyncio.get_running_loop().time())
        for seconds, how in wanted:
            await asyncio.sleep(seconds)
            if isinstance(how, BaseException):
                raise how
        return {key: how if isinstance(how, dict) else {"x": 1.0} for key, how in ((key, key[1]) for key in wanted)}


def trips_of(**policy):
    return Trips("it", Lookup(Timed(), ["x"], policy=Policy(**{"timeout": 5.0, "rest": REST} | policy)))


async def ask(trips, *key, at=0.0, deadline=None):
    """Ask for one key at a time; return its outcome, and when."""
    clock = asyncio.get_running_loop().time
    await asyncio.sleep(at - clock())
    outcome = Outcome()
    await trips.fetch({key: ("x",)}, {key: outcome}, {}, None if deadline is None else clock() + deadline)
    return outcome.failed.get("x", "came"), clock()


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_trips_at_any_times_ask_as_the_naive_breaker_would(data):
    """Begin, end, and are cut or cancelled at different times; the trips that are made are those it admits."""
    count = data.draw(st.integers(1, 12))
    times = data.draw(st.lists(st.integers(0, 300), min_size=2 * count, max_size=2 * count, unique=True))
    ways = data.draw(st.lists(st.sampled_from(["well", "ill", "cut", "cancelled"]), min_size=count, max_size=count))
    pairs = zip(times[::2], times[1::2], strict=True)
    plan = [(min(pair) / 10.0, max(pair) / 10.0, how) for pair, how in zip(pairs, ways, strict=True)]
    naive, expected = Naive(2), []
    for when, i in sorted((when, i) for i, each in enumerate(plan) for when in each[:2]):
        begin, _, how = plan[i]
        if when == begin and naive.admits(when):
            expected.append(when)
            naive.history.append((i, "begins", None))
        elif when != begin and (i, "begins", None) in naive.history:
            naive.history.append((i, how, when))
    trips = trips_of(timeout=100.0, breaker=2)

    async def one(begin, end, how):
        ill = OSError() if how == "ill" else None
        seconds = 99.0 if how in {"cut", "cancelled"} else end - begin
        work = asyncio.ensure_future(ask(trips, seconds, ill, at=begin, deadline=end - begin if how == "cut" else None))
        if how == "cancelled":
            asyncio.get_running_loop().call_at(end, work.cancel)
        await asyncio.wait([work])

    async def main():
        await asyncio.gather(*(one(*each) for each in plan))

    run_timeless(main())
    assert trips.lookup.source.begun == pytest.approx(expected)


def test_deadlines_of_callers_and_refused_keys_open_nothing():
    trips = trips_of(breaker=2)

    async def main():
        cut = [await ask(trips, 60.0, None, deadline=1.0) for _ in range(5)]
        assert {why for why, _ in cut} == {"no answer within 1 s"}
        assert (await ask(trips, 0.0, None))[0] == "came"
        for _ in range(2):
            await ask(trips, 60.0, None, deadline=60.0)
        assert (await ask(trips, 0.0, None))[0].startswith("left alone after 2")

    run_timeless(main())


def test_a_key_that_is_not_asked_for_neither_closes_nor_counts_beside_one_that_fails():
    class Refusing(Source):
        async def fetch(self, wanted):
            return {key: KeyRefusedError("no") if key == "odd" else OSError() for key in wanted}

    trips = Trips("it", Lookup(Refusing(), ["x"], policy=Policy(breaker=2)))

    async def main():
        for keys in (["a"], ["odd"], ["odd", "b"], ["c"]):
            outcomes = {key: Outcome() for key in keys}
            await trips.fetch(dict.fromkeys(keys, ("x",)), outcomes, {})
        return outcomes["c"].failed["x"]

    assert run_timeless(main()).startswith("left alone after 2")


def test_retries_wait_as_the_policy_says_and_stop_before_the_deadline_and_an_open_breaker():
    async def main(trips, **terms):
        why, when = await ask(trips, 0.0, OSError(), **terms)
        return why, when, trips.lookup.source.begun

    _, _, begun = run_timeless(main(trips_of(retries=6, backoff=1.0, breaker=99)))
    waits = [later - sooner for sooner, later in pairwise(begun)]
    assert len(waits) == 6
    assert all(0.0 <= wait <= 2.0**i for i, wait in enumerate(waits))
    assert sum(waits) > 0.0
    _, when, begun = run_timeless(main(trips_of(retries=1000, backoff=1.0, breaker=9999), deadline=4.0))
    assert when < 4.0
    assert begun
    why, when, begun = run_timeless(main(trips_of(retries=9, backoff=0.0, breaker=3)))
    assert (why, when, len(begun)) == ("OSError, whose own text may hold a secret", 0.0, 3)


@pytest.mark.parametrize("retries", [0, 3])
def test_a_cancelled_caller_cancels_its_trip_and_nothing_counts(retries):
    trips = trips_of(breaker=1, retries=retries)

    async def main():
        for _ in range(3):
            work = asyncio.ensure_future(ask(trips, 60.0, None))
            await asyncio.sleep(1.0)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
        assert (await ask(trips, 0.0, None))[0] == "came"
        await trips.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_timeless(main())


def busy(wait, *, counts=False):
    return TripError(f"busy for {wait:g} s", wait=wait, counts=counts)


@pytest.mark.parametrize(
    ("error", "terms", "ends", "begun"),
    [
        (busy(3.0), {}, "busy for 3 s", [0.0, 3.0, 6.0]),
        (busy(3.0), {"deadline": 4.0}, "busy for 3 s, but the deadline leaves 1 s", [0.0, 3.0]),
        (busy(3.0), {"deadline": 2.0}, "busy for 3 s, but the deadline leaves 2 s", [0.0]),
        (busy(6.0), {}, "busy for 6 s, but the time limit is 5 s", [0.0]),
        (busy(3.0, counts=True), {}, "busy for 3 s", [0.0]),
    ],
)
def test_a_source_says_how_long_to_wait(error, terms, ends, begun):
    """Within the time limit and the deadline, or the row goes on at once; it does not speak against the source."""
    trips = trips_of(breaker=1, retries=2, backoff=0.0)
    assert run_timeless(ask(trips, 0.0, error, **terms)) == (ends, begun[-1])
    assert trips.lookup.source.begun == begun


def test_wrong_answers_and_odd_mappings_fail_their_rows_only():
    class Odd(dict):
        def get(self, _key, _default=None):
            raise OSError("hunter2")

    class Whole(Source):
        async def fetch(self, wanted):
            return {"odd": Odd(), "error": InquiryError("x")}.get(*wanted, {key: {"x": 1.0} for key in wanted})

    trips = Trips("it", Lookup(Whole(), ["x"]))

    async def main(key):
        outcome = Outcome()
        await trips.fetch({key: ("x",)}, {key: outcome}, {})
        return outcome.failed.get("x", "came")

    assert run_timeless(main("odd")) == "OSError, whose own text may hold a secret"
    assert run_timeless(main("error")) == "expected a mapping of keys, got InquiryError"
    assert run_timeless(main("k")) == "came"


def test_a_driver_that_had_no_time_to_end_is_not_cancelled_twice():
    cancelled = []

    class Ending(Source):
        async def fetch(self, _wanted):
            try:
                await asyncio.sleep(60.0)
            finally:
                for _ in range(5):
                    asyncio.get_running_loop().now += 30.0  # others keep the loop busy
                    try:
                        await asyncio.sleep(0.0)
                    except asyncio.CancelledError:
                        cancelled.append(True)

    trips = Trips("it", Lookup(Ending(), ["x"]))

    async def main():
        outcome = Outcome()
        await trips.fetch({"k": ("x",)}, {"k": outcome}, {}, asyncio.get_running_loop().time() + 1.0)
        for _ in range(20):
            await asyncio.sleep(0.0)
        return outcome.failed["x"]

    assert run_timeless(main()) == "no answer within 1 s"
    assert not cancelled
