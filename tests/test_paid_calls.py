"""Functions of paid services as sources: what calls really cost, a limit that is never passed, and nothing lost."""

import asyncio
import json
import threading
import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, table, tree

import costframe as cf
from costframe.errors import DataError, KeyRefusedError, ParameterError, SourceError, TotalCostError
from costframe.sources import InquiryLog, Lookup, PaidCall, Policy, Sources, TotalCost, audit

ROWS = table(40).set_index("key")
KEYS = list(ROWS.index)
CHEAP = {name: name for name in NAMES if name != "scan"}


class Service:
    """A paid model: it counts calls, and the money that it takes, and fails as it is told."""

    def __init__(self, failing=(), seconds=0.0):
        self.failing, self.seconds = dict.fromkeys(failing, 1), seconds
        self.called, self.under_way, self.most, self._lock = [], 0, 0, threading.Lock()

    def __call__(self, key):
        with self._lock:
            self.called.append(key)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            fails = self.failing.get(key, 0) > 0
            self.failing[key] = self.failing.get(key, 0) - 1
        time.sleep(self.seconds)
        with self._lock:
            self.under_way -= 1
        if fails:
            raise ConnectionError
        return float(ROWS.loc[key, "scan"])


def tokens(key, output):
    """Price of a call: from 3.1 to 3.9, by its key and its output."""
    return Decimal("3.1") + Decimal(int(key[1:]) % 5) / 10 + (Decimal("0.4") if output > 0 else 0)


def sources(call, policy=None):
    free = PaidCall(lambda key: ROWS.loc[key].to_dict(), 0)
    return Sources({"free": Lookup(free, CHEAP), "scan": Lookup(call, {"scan": "scan"}, policy=policy or Policy())})


def run(call, policy=None, keys=KEYS, driver="sync", **terms):
    """Return the ends of rows by key, and what sources say they were paid for scans."""
    given = sources(call, policy)
    if driver == "sync":
        with given:
            return dict(cf.predict_stream(tree(), given, keys, **terms)), given.paid["scan"]

    async def main():
        async with given:
            return {key: end async for key, end in cf.sources.predict_stream_async(tree(), given, keys, **terms)}

    return asyncio.run(main()), given.paid["scan"]


def asynchronous(service):
    async def call(key):
        await asyncio.sleep(0)
        return service(key)

    return call


def test_what_was_really_paid_stands_beside_the_cost():
    service = Service()
    ends, paid = run(PaidCall(service, tokens, max_price=4))
    assert sorted(service.called) == sorted(key for key in KEYS if "scan" in ends[key].acquired)
    report = tree().cost(ROWS[list(NAMES)].to_numpy())
    for key, cost in zip(KEYS, report.per_row, strict=True):
        assert ends[key].cost == cost  # by the price list
        bought = tokens(key, ROWS.loc[key, "scan"]) if key in service.called else Decimal(0)
        assert ends[key].paid == float(bought)
    assert paid == sum(Fraction(tokens(key, ROWS.loc[key, "scan"])) for key in service.called)
    one = cf.predict_one(tree(), sources(PaidCall(service, tokens, max_price=4)), key=service.called[0])
    assert f"paid {one.paid:g}" in repr(one)
    assert cf.predict_one(tree(), ROWS.loc["k0"].to_dict()).paid is None


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("make", [lambda service: service, asynchronous], ids=["threads", "coroutines"])
@pytest.mark.parametrize("limit", [0, 3.9, 10, 20.05, 1000])
def test_a_run_never_passes_its_limit_and_says_which_rows_are_left(driver, make, limit):
    service = Service(failing=KEYS[::3], seconds=0.001)
    call = PaidCall(make(service), tokens, max_price=4, total_cost=limit)
    ends, paid = run(call, Policy(on_failure="without", retries=2, backoff=0.0), driver=driver, in_flight=13)
    failed = len(service.called) - len(set(service.called)) + sum(service.failing[k] == 0 for k in service.called)
    left = [key for key, end in ends.items() if isinstance(end, TotalCostError)]
    assert paid == call.total.paid <= Fraction(str(limit))
    assert set(ends) == set(KEYS)  # nobody is lost
    scanned = {key for key, end in ends.items() if key not in left and "scan" in end.acquired}
    by_row = sum(Fraction(str(round(end.paid, 6))) for end in ends.values())
    assert by_row == paid  # failed calls and retries included
    assert sum(Fraction(tokens(key, ROWS.loc[key, "scan"])) for key in scanned) <= paid
    assert (left == []) == (limit == 1000)
    assert failed or limit < 4
    if left:
        assert paid + 4 > Fraction(str(limit))  # no earlier than it must
        assert "total_cost" in str(ends[left[0]])


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40),
    st.integers(0, 300),
    st.integers(1, 8),
    st.sampled_from(["paid", "free"]),
)
@settings(deadline=None, max_examples=40)
def test_money_adds_up_whatever_calls_cost_and_fail(calls, limit, workers, failures):
    really = []

    async def function(key):
        price, fails = calls[key]
        await asyncio.sleep(0)
        really.append((30 if failures == "paid" else 0) if fails else price)
        assert sum(really) <= limit
        if fails:
            raise ConnectionError
        return price

    call = PaidCall(
        function, lambda key, _: calls[key][0], max_price=30, total_cost=limit, workers=workers, failures=failures
    )
    receipts = {}
    replies = asyncio.run(call.fetch_paid(dict.fromkeys(range(len(calls)), ("p",)), receipts)) if calls else {}
    assert call.total.paid == sum(really) == sum(receipts.values())
    refused = [key for key, reply in replies.items() if isinstance(reply, TotalCostError)]
    assert len(refused) + len(really) == len(calls)
    assert call.total.left == limit - call.total.paid  # nothing is held at the end
    assert not refused or sum(really) + 30 > limit


def test_a_later_run_goes_on_and_pays_for_nothing_again(tmp_path):
    file, first, second = tmp_path / "scans.jsonl", Service(), Service()
    whole, _ = run(PaidCall(Service(), tokens, max_price=4))
    begun, paid = run(PaidCall(first, tokens, max_price=4, total_cost=15, answers=file))
    left = [key for key, end in begun.items() if isinstance(end, TotalCostError)]
    with file.open("a") as lines:
        lines.write('{"key": "k1", "pa')  # the process was killed
    call = PaidCall(second, tokens, max_price=4, total_cost=1000, answers=file)
    assert call.total.paid == paid  # of both runs
    ended, more = run(call, keys=left)
    assert not set(first.called) & set(second.called)
    assert {**begun, **ended}.keys() == whole.keys()
    assert all(np.array_equal({**begun, **ended}[key].value, whole[key].value) for key in KEYS)
    again = PaidCall(Service(), tokens, max_price=4, total_cost=0, answers=file)
    assert again.total.paid == paid + more
    assert not any(isinstance(end, Exception) for end in run(again)[0].values())
    assert again.function.called == []


def test_a_key_that_is_asked_twice_at_once_is_paid_once():
    service = Service(seconds=0.01)
    call = PaidCall(service, 5, total_cost=5)

    async def main():
        receipts = {}
        return await asyncio.gather(*(call.fetch_paid({"k1": ("scan",)}, receipts) for _ in range(5))), receipts

    replies, receipts = asyncio.run(main())
    assert receipts == {"k1": 5}
    assert all(reply["k1"]["scan"] == ROWS.loc["k1", "scan"] for reply in replies)


@pytest.mark.parametrize(
    ("failures", "paid"),
    [("paid", 10), ("free", 5), (lambda error: isinstance(error, ConnectionError), 10), (lambda _: False, 5)],
)
def test_who_pays_for_a_failed_call_is_said(failures, paid):
    key = next(k for k, end in run(PaidCall(Service(), 5))[0].items() if "scan" in end.acquired)
    call = PaidCall(Service(failing=[key]), 5, failures=failures)
    ends, total = run(call, Policy(retries=1, backoff=0.0), keys=[key])
    assert ends[key].paid == total == paid
    assert ends[key].failed_cost == 0.0 or ends[key].failed_cost == 50.0  # by the price list, in vain
    refuses = PaidCall(_refuse, 5, total_cost=100)
    ends, total = run(refuses, keys=[key])
    assert isinstance(ends[key], SourceError)
    assert ends[key].paid == total == 0


def _refuse(key):
    raise KeyRefusedError(f"nobody knows {key}")


@pytest.mark.parametrize(("failures", "told"), [("paid", 5), ("free", 0)])
def test_a_call_whose_time_is_over_is_in_doubt_until_its_thread_ends(failures, told):
    go_on = threading.Event()

    def slow(key):
        go_on.wait(5)
        return ROWS.loc[key, "scan"]

    call = PaidCall(slow, lambda _key, _output: 2, max_price=5, total_cost=6, failures=failures)
    key = next(k for k, end in run(PaidCall(Service(), 5))[0].items() if "scan" in end.acquired)
    with sources(call, Policy(timeout=0.05)) as given:
        (end,) = (end for _, end in cf.predict_stream(tree(), given, [key]))
        assert isinstance(end, SourceError)
        assert end.paid == told
        assert call.total.left == 1  # it is still under way
        (other,) = (end for _, end in cf.predict_stream(tree(), given, ["k" + key[1:]]))
        assert isinstance(other, TotalCostError)
        go_on.set()
        while call.total.left == 1:
            time.sleep(0.001)
        assert call.total.paid == 2
        (end,) = (end for _, end in cf.predict_stream(tree(), given, [key]))
    assert end.paid == 0.0  # its answer was kept


def test_a_cancelled_coroutine_is_paid_in_doubt():
    async def hangs(_key):
        await asyncio.sleep(60)

    call = PaidCall(hangs, lambda _key, _output: 2, max_price=5, total_cost=6)
    ends, paid = run(call, Policy(timeout=0.05))
    assert paid == 5  # a second one could have passed the limit
    assert call.total.left == 1
    assert all(isinstance(end, Exception) for end in ends.values() if getattr(end, "reason", "") != "complete")


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (lambda _key, _output: 7, "max_price: 6, but the call for key .* cost 7"),
        (lambda _key, _output: -1, "price for key .*: expected an amount of money from 0 to 1e300, got -1"),
        (lambda _key, _output: 1 / 0, "price: failed by ZeroDivisionError for key"),
        (lambda _key, _output: 10**400, "price for key .*: expected an amount of money"),
        (lambda _key, _output: Decimal("1e400"), "price for key .*: expected an amount of money"),
        (lambda _key, _output: Decimal("1e999999999"), "price for key .*: expected an amount of money"),
        (lambda _key, _output: Decimal("1e-999999999"), "price for key .*: expected an amount of money"),
        (lambda _key, _output: Decimal("sNaN"), "price for key .*: expected an amount of money"),
    ],
)
def test_after_a_price_that_breaks_the_rules_nothing_more_is_called(price, words):
    service = Service()
    call = PaidCall(service, price, max_price=6, total_cost=1000, workers=1)
    ends, _ = run(call, Policy(on_failure="without"))
    errors = [end for end in ends.values() if isinstance(end, Exception)]
    assert len(service.called) == 1
    assert errors
    with pytest.raises(TotalCostError, match=words):
        raise errors[0]


@pytest.mark.parametrize("make", [lambda call: call, asynchronous], ids=["threads", "coroutines"])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, StopIteration])
def test_a_call_that_ends_by_an_interrupt_is_paid_and_holds_nothing(make, error, tmp_path):
    def interrupted(_key):
        raise error

    call = PaidCall(make(interrupted), 2, total_cost=9, answers=tmp_path / "a", workers=1)
    receipts = {}
    with suppress(BaseException):
        asyncio.run(call.fetch_paid({"k1": ("scan",)}, receipts))
    assert (call.total.paid, call.total.left, receipts) == (2, 7, {"k1": 2})
    asyncio.run(call.close())
    assert PaidCall(make(interrupted), 2, total_cost=9, answers=tmp_path / "a").total.paid == 2


def test_outputs_that_no_file_holds_are_used_and_nothing_more_is_called(tmp_path):
    call = PaidCall(lambda key: {"scan": ROWS.loc[key, "scan"], "raw": object()}, 1, answers=tmp_path / "a", workers=1)
    ends, paid = run(call)
    assert paid == 1
    assert any("outputs that JSON can hold" in str(end) for end in ends.values())
    call, receipts = PaidCall(Service(), 1, answers=tmp_path / "b"), {}
    replies = asyncio.run(call.fetch_paid({("a", 1): ("scan",)}, receipts))
    assert isinstance(replies["a", 1], KeyRefusedError)  # it could not be found again
    assert (call.function.called, receipts) == ([], {})


def test_files_of_other_functions_and_of_none_are_refused(tmp_path):
    def other(key):
        return key

    mine = PaidCall(Service(), 1, answers=tmp_path / "a")
    run(mine)
    with pytest.raises(DataError, match=r"line 1: expected .*other.*, got .*Service"):
        PaidCall(other, 1, answers=tmp_path / "a")
    text = (tmp_path / "a").read_text().splitlines()
    amounts = [{"key": 1, "paid": paid} for paid in ("-1", "1/0", "1e999999999", 1)]  # a power would take forever
    for odd in (*amounts, {"key": [1], "paid": "1"}, {"paid": "1"}):
        (tmp_path / "a").write_text("\n".join([text[0], json.dumps(odd), ""]))
        with pytest.raises(DataError, match="line 2: expected a paid call"):
            PaidCall(Service(), 1, answers=tmp_path / "a")
    (tmp_path / "a").write_text(text[1] + "\n")
    with pytest.raises(DataError, match="line 1: expected a paid call"):
        PaidCall(Service(), 1, answers=tmp_path / "a")
    two = [sources(PaidCall(Service(), 1, answers=tmp_path / "b")) for _ in range(2)]
    with two[0].open(), pytest.raises(ParameterError, match="is open in another source"):
        two[1].open()


def test_one_limit_holds_over_several_models():
    total = TotalCost(Decimal("20.5"))
    one, two = (PaidCall(lambda key: ROWS.loc[key].to_dict(), price, total_cost=total) for price in (0.1, 5))
    given = Sources({"one": Lookup(one, CHEAP), "two": Lookup(two, {"scan": "scan"})})
    with given:
        ends = dict(cf.predict_stream(tree(), given, KEYS))
    assert sum(given.paid.values()) == total.paid <= Fraction("20.5")
    assert any(isinstance(end, TotalCostError) for end in ends.values())
    assert repr(total) == f"TotalCost(limit 20.5, paid {float(total.paid):g})"


def test_a_log_says_what_was_paid_and_replays(tmp_path):
    given = sources(PaidCall(Service(), tokens, max_price=4))
    with given, InquiryLog(tmp_path / "log") as log:
        ends = dict(cf.predict_stream(tree(), given, KEYS, observe=log))
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()[1:]]
    assert {line["key"]: line["paid"] for line in lines} == {key: end.paid for key, end in ends.items()}
    assert audit(tmp_path / "log", tree(), COSTS).agrees


@pytest.mark.parametrize("function", [Service(), lambda key: key + 1], ids=["limited", "wrong"])
def test_a_log_of_rows_that_no_policy_helps_replays(tmp_path, function):
    given = sources(PaidCall(function, tokens, max_price=4, total_cost=9), Policy(on_failure="without"))
    with given, InquiryLog(tmp_path / "log") as log:
        ends = dict(cf.predict_stream(tree(), given, KEYS, observe=log))
    assert any(isinstance(end, SourceError) for end in ends.values())
    assert audit(tmp_path / "log", tree(), COSTS).agrees


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"price": "1"}, "price: expected an amount"),
        ({"price": -1}, "price: expected an amount"),
        ({"price": float("nan")}, "price: expected an amount"),
        ({"price": True}, "price: expected an amount"),
        ({"price": tokens}, "max_price: expected"),
        ({"price": 1, "max_price": 2}, "max_price: has no effect"),
        ({"price": lambda key: key, "max_price": 2}, "price: expected a function of"),
        ({"price": 1, "total_cost": float("inf")}, "total_cost: expected an amount"),
        ({"price": 1, "failures": "maybe"}, "failures: expected"),
        ({"price": 1, "workers": 0}, "workers: expected"),
        ({"price": 1, "function": 3}, "function: expected"),
        ({"price": 1, "function": lambda: 3}, "function: expected a function of"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(terms, words):
    with pytest.raises(ParameterError, match=words):
        PaidCall(**{"function": Service(), **terms})


def test_a_limit_over_partitions_is_refused():
    dask = pytest.importorskip("dask.array", reason="needs dask: pip install 'costframe[dask]'")
    keys = dask.from_array(np.array(KEYS, dtype=object), chunks=10)
    make = _limited
    with pytest.raises(ParameterError, match="total_cost holds within one process"):
        list(cf.predict_stream(tree(), make, keys))


def _limited():
    return sources(PaidCall(Service(), 1, total_cost=5))
