"""Live rows when sources fail: no wrong answer, no lost row, no double charge, no hang past the deadline."""

import asyncio
import contextlib
import enum
import threading
import time
from decimal import Decimal
from fractions import Fraction
from io import FileIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Doing, Plain, check_end, sources, table, tree

import costframe as cf
from costframe.core.errors import InquiryError, ParameterError, SourceError
from costframe.sources import (
    CallSource,
    InquiryLog,
    Lookup,
    Policy,
    Sources,
    TableSource,
    audit,
    predict_many,
    predict_one,
    predict_stream,
    predict_stream_async,
)
from costframe.sources.lookups import Field, as_fields
from costframe.sources.partitions import _listed
from costframe.sources.source import as_key, as_text

FRAME, TREE = table(), tree()
REPORT = TREE.cost(FRAME[list(NAMES)], COSTS, rounds=True)


def stream(found, keys=None, **terms):
    with found:
        return list(predict_stream(TREE, found, FRAME.key if keys is None else keys, **terms))


def raises(_trip, _wanted, _values):
    raise OSError("postgresql://me:hunter2@host is down")


async def hangs(_trip, _wanted, _values):
    await asyncio.sleep(60)


def test_a_stream_pays_what_the_report_says_and_fetches_no_more():
    found = sources(FRAME)
    ends = dict(stream(found, in_flight=7))
    for i, key in enumerate(FRAME.key):
        assert ends[key].cost == REPORT.per_row[i]
        assert ends[key].value == REPORT.predictions[i]
        assert ends[key].rounds == REPORT.rounds[i]
        assert (ends[key].failed_cost, ends[key].failures, ends[key].reason) == (0.0, (), "complete")
    asked = [each for lookup in found.lookups.values() for each in lookup.source.asked]
    assert len(asked) == len(set(asked)) == REPORT.acquired.sum()
    assert 0 < max(found.trips.values()) <= sum(REPORT.rounds[i : i + 7].max() for i in range(0, 60, 7))


def test_keys_may_come_again_and_rows_of_one_key_are_fetched_together():
    found = sources(FRAME)
    ends = stream(found, ["k1", "k1", "k2"])
    assert [key for key, _ in ends].count("k1") == 2
    asked = found.lookups["rest"].source.asked
    assert len(asked) == len(set(asked))


def test_an_error_ends_its_row_only_and_says_what_the_row_paid():
    def one_fails(_trip, _wanted, values):
        return {key: (OSError("x") if key == "k3" else row) for key, row in values.items()}

    ends = dict(stream(sources(FRAME, Doing(FRAME, one_fails))))
    failed = [key for key, end in ends.items() if isinstance(end, Exception)]
    needs_blood = REPORT.acquired[:, 1]
    assert failed == (["k3"] if needs_blood[3] else [])
    assert len(ends) == len(FRAME)
    everywhere = dict(stream(sources(FRAME, Doing(FRAME, raises))))
    for i, key in enumerate(FRAME.key):
        assert isinstance(everywhere[key], SourceError) == needs_blood[i]
        if needs_blood[i]:
            assert everywhere[key].cost == 1.0  # age came
            assert everywhere[key].failed_cost == 3.0 + 4.0 + 2.0 + 1.0
            assert "hunter2" not in str(everywhere[key])
            assert everywhere[key].failures.keys() == {"chol", "pulse"}


def test_missing_takes_the_way_of_nan_and_does_not_charge_what_did_not_come():
    ends = dict(stream(sources(FRAME, Doing(FRAME, raises), on_failure="missing")))
    blank = FRAME[list(NAMES)].assign(chol=np.nan, pulse=np.nan)
    report = TREE.cost(blank, COSTS)
    for i, key in enumerate(FRAME.key):
        assert ends[key].value == report.predictions[i]
        in_vain = 10.0 if report.acquired[i, 1] else 0.0
        assert ends[key].cost == pytest.approx(report.per_row[i] - in_vain)
        assert ends[key].failed_cost == in_vain
        assert set(ends[key].acquired) <= {"age", "scan"}


def test_without_answers_as_if_it_had_been_unavailable():
    ends = dict(stream(sources(FRAME, Doing(FRAME, raises), on_failure="without")))
    report = TREE.cost(FRAME[list(NAMES)], COSTS, unavailable=["chol", "pulse"])
    for i, key in enumerate(FRAME.key):
        assert ends[key].value == report.predictions[i]
        assert ends[key].cost == report.per_row[i]
        assert ends[key].reason == ("unavailable" if report.cut[i] else "complete")


def test_a_retry_that_helps_is_charged_once_and_its_failure_apart():
    def first_fails(trip, _wanted, values):
        return raises(0, 0, 0) if trip == 1 else values

    found = sources(FRAME, Doing(FRAME, first_fails), retries=1, backoff=0.0)
    ends = dict(stream(found))
    for i, key in enumerate(FRAME.key):
        assert ends[key].cost == REPORT.per_row[i]
        assert ends[key].failed_cost == (10.0 if REPORT.acquired[i, 1] else 0.0)
        assert ends[key].failures == ()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lambda _: None, "expected a mapping of keys, got NoneType"),
        (lambda v: dict.fromkeys(v, 3), "expected a mapping of values, got int"),
        (lambda _: {}, "no row for the key"),
        (lambda v: {key: {"chol": 1.0} for key in v}, "no value at 'pulse'"),
        (lambda v: {key: {"chol": "high", "pulse": 1} for key in v}, "expected a number, got 'high' of type str"),
        (lambda v: {key: {"chol": b"\xff", "pulse": 1} for key in v}, "expected a text in UTF-8"),
        (lambda v: {key: {"chol": "1_000", "pulse": 1} for key in v}, "expected a number, got '1_000'"),
        (lambda v: {key: {"chol": [1], "pulse": 1} for key in v}, r"expected a number, got \[1\] of type list"),
    ],
)
def test_garbage_is_refused_by_name(reply, why):
    ends = stream(sources(FRAME, Doing(FRAME, lambda _t, _w, values: reply(values))))
    errors = [str(end) for _, end in ends if isinstance(end, Exception)]
    assert len(errors) == REPORT.acquired[:, 1].sum() > 0
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(errors[0])


@pytest.mark.parametrize("on_failure", ["raise", "missing", "without"])
def test_a_row_has_an_answer_at_its_deadline(on_failure):
    found = sources(FRAME, Doing(FRAME, hangs), on_failure=on_failure)
    began = time.monotonic()
    ends = dict(stream(found, deadline=0.2))
    assert time.monotonic() - began < 20  # a hang takes 60 s
    late = {key for key, end in ends.items() if end.reason == "deadline"}
    assert late >= set(FRAME.key[REPORT.acquired[:, 1]])  # on a busy machine others too
    assert all(ends[key].failures for key in late)
    assert not any({"chol", "pulse"} & set(end.acquired) for end in ends.values())


def test_a_function_has_a_deadline_too():
    def slow(_names):
        time.sleep(0.5)

    end = predict_one(TREE, slow, COSTS, deadline=0.05)
    assert (end.reason, end.acquired) == ("deadline", ())
    at_once = predict_one(TREE, dict(zip(NAMES, FRAME.iloc[0], strict=False)), COSTS, deadline=0.05)
    assert at_once.value == REPORT.predictions[0]


def test_a_function_of_many_rows_has_a_deadline_too():
    rows, tested = FRAME.set_index("key"), threading.Event()

    def slow_after_the_first(requests):
        if any("age" not in names for names in requests.values()):
            tested.wait(20)
        return {key: rows.loc[key, list(names)].to_dict() for key, names in requests.items()}

    late = REPORT.acquired[:, 1]
    ends = predict_many(TREE, slow_after_the_first, FRAME.key, COSTS, deadline=2.0)
    tested.set()
    for i, end in enumerate(ends):
        if late[i]:
            assert (end.reason, end.acquired, end.cost) == ("deadline", ("age",), 1.0)
        else:
            assert (end.reason, end.value, end.cost) == ("complete", REPORT.predictions[i], REPORT.per_row[i])
    in_time = predict_many(TREE, slow_after_the_first, FRAME.key, COSTS, deadline=60.0, max_cost=8.0)
    at_hand = predict_many(TREE, FRAME[list(NAMES)], costs=COSTS, max_cost=8.0)
    assert [(end.value, end.cost, end.reason) for end in in_time] == [(e.value, e.cost, e.reason) for e in at_hand]
    assert len(predict_many(TREE, slow_after_the_first, [], COSTS, deadline=0.2)) == 0
    with pytest.raises(SourceError, match="KeyError"):
        predict_many(TREE, slow_after_the_first, ["k0", "nobody"], COSTS, deadline=60.0)
    with pytest.raises(ParameterError, match="deadline"):
        predict_many(TREE, slow_after_the_first, FRAME.key, COSTS, deadline=-1)


def test_a_timeout_is_a_failure_of_the_trip():
    found = sources(FRAME, Doing(FRAME, hangs), timeout=0.05, on_failure="missing")
    ends = dict(stream(found))
    assert all(end.reason == "complete" for end in ends.values())
    assert any(end.failures for end in ends.values())


def test_no_trip_is_left_when_a_reader_goes_away():
    source = Doing(FRAME, hangs)
    found = sources(FRAME, source, timeout=30.0)

    async def read():
        async with found:
            async for _ in predict_stream_async(TREE, found, FRAME.key):
                pass

    async def main():
        task = asyncio.create_task(read())
        while not source.open:  # noqa: ASYNC110 - the source knows no events
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return source.open

    assert asyncio.run(main()) == 0


def test_a_stream_that_is_not_read_to_its_end_closes_cleanly():
    with sources(FRAME) as found:
        rows = predict_stream(TREE, found, FRAME.key, in_flight=5)
        next(rows)
        rows.close()
        assert found.lookups["rest"].source.trips < 6


@given(st.data())
def test_faults_of_any_kind_never_change_what_came_nor_charge_twice(data):
    """Whatever fails, a row's answer is that of its values, its cost the price of what came."""
    plan = data.draw(st.lists(st.sampled_from(["fine", "raise", "garbage", "absent", "key"]), min_size=30, max_size=30))
    policy = data.draw(st.sampled_from(["raise", "missing", "without"]))
    retries, cap = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([None, 0.5, 12.0, 20.0, 70.0]))

    def faulty(trip, _wanted, values):
        fault = plan[trip % len(plan)]
        if fault == "raise":
            raise OSError
        if fault == "fine":
            return values
        bad = {"garbage": {"chol": "x"}, "absent": None, "key": OSError()}[fault]
        spoil = (lambda row: row | bad) if fault == "garbage" else lambda _: bad
        return {key: (spoil(row) if i % 2 else row) for i, (key, row) in enumerate(values.items())}

    found = sources(FRAME, Doing(FRAME, faulty), on_failure=policy, retries=retries, backoff=0.0)
    keys = FRAME.key[:20].tolist()
    rows = stream(found, keys, in_flight=data.draw(st.integers(1, 20)), max_cost=cap)
    assert sorted(key for key, _ in rows) == sorted(keys)
    for key, end in rows:
        check_end(FRAME, key, end, policy, cap)


def test_logs_replay_to_the_last_digit(tmp_path):
    def every_other(trip, _wanted, values):
        return raises(0, 0, 0) if trip % 2 else values

    for number, policy in enumerate(("raise", "missing", "without")):
        path = tmp_path / f"{number}.jsonl"
        found = sources(FRAME, Doing(FRAME, every_other), on_failure=policy)
        with InquiryLog(path) as log:
            ends = stream(found, in_flight=7, observe=log, max_cost=40.0)
        replayed = audit(path, TREE)
        assert replayed.agrees, replayed.differences
        assert replayed.rows == len(FRAME)
        assert replayed.paid == pytest.approx(sum(end.cost for _, end in ends))
        assert replayed.failed == pytest.approx(sum(end.failed_cost for _, end in ends))
        assert replayed.failed > 0


def test_an_audit_finds_every_altered_amount_value_and_question(tmp_path):
    path = tmp_path / "log.jsonl"
    with InquiryLog(path) as log:
        stream(sources(FRAME), observe=log)
    lines = path.read_text().splitlines()
    for old, new, what in [
        ('"cost": 1.0', '"cost": 1.5', "cost"),
        ('"reason": "complete"', '"reason": "max_cost"', "ends at"),
        ('"values": {"age":', '"values": {"pulse":', "asked for"),
        ('"value": 0.', '"value": 1.', "answer"),
    ]:
        row = next(i for i, line in enumerate(lines) if old in line)
        changed = [line.replace(old, new) if i == row else line for i, line in enumerate(lines)]
        path.write_text("\n".join(changed) + "\n")
        replayed = audit(path, TREE)
        assert (replayed.different, replayed.agrees) == (1, False)
        assert what in replayed.differences[0]
    path.write_text("\n".join(lines)[:-5])  # a process was killed while it wrote
    assert audit(path, TREE).rows == len(FRAME) - 1
    with pytest.raises(cf.CostframeError, match="other prices"):
        audit(path, TREE, dict.fromkeys(NAMES, 1.0))


def test_fields_read_what_databases_and_caches_give():
    for raw, number in [("12.5", 12.5), (b"12.5", 12.5), (7, 7.0), (True, 1.0), (" -3e2 ", -300.0)]:
        assert Field("x").read(raw, None) == number
    for raw in (None, float("nan"), "", " ", b"", "n/a", "N/A"):
        assert np.isnan(Field("x", missing=("", "n/a")).read(raw, None))
    assert Field("x").read(b"red", ("blue", "red")) == 1.0
    assert np.isnan(Field("x").read("green", ("blue", "red")))
    assert Field("x", "number").read(1, ("blue", "red")) == 1.0
    for raw in (1, True, 1.0):  # a column of numbers whose labels are texts: 1 is not label number 1
        with pytest.raises(InquiryError, match="expected a label such as '0', got"):
            Field("x").read(raw, ("0", "1"))
    assert [Field("x", "truth").read(raw, None) for raw in ("yes", b"F", 1, False)] == [1.0, 0.0, 1.0, 0.0]
    for kind, raw in [("truth", "perhaps"), ("truth", 2), ("text", 3), (None, "red"), (None, object())]:
        with pytest.raises(InquiryError, match="expected"):
            Field("x", kind).read(raw, None)


def test_settings_that_cannot_be_are_refused_by_name():
    for wrong in ({"on_failure": "ignore"}, {"timeout": 0}, {"retries": -1}, {"backoff": "x"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Policy(**wrong)
    for features in ("age", [], [1], ["age", "age"], {"age": 3}, {"age": {"plce": "x"}}):
        with pytest.raises(ParameterError, match="features"):
            as_fields(features)
    with pytest.raises(ParameterError, match="Source"):
        Lookup(FRAME, ["age"])
    one = Lookup(Plain(FRAME), ["age", "chol"])
    with pytest.raises(ParameterError, match="both serve 'age'"):
        Sources({"a": one, "b": Lookup(Plain(FRAME), ["age"])})
    with pytest.raises(ParameterError, match="none serves 'pulse', 'scan'"):
        predict_one(TREE, Sources({"a": one}), key="k1")
    with pytest.raises(ParameterError, match="Sources"):
        list(predict_stream(TREE, FRAME, FRAME.key))
    with pytest.raises(ParameterError, match="key"):
        predict_one(TREE, dict.fromkeys(NAMES, 0.0), key="k1")
    for keys in ("k1", {"who": "k1"}, FRAME, None):
        with pytest.raises(ParameterError, match="keys: expected a list"):
            list(predict_stream(TREE, sources(FRAME), keys))
    for cap in (-1.0, float("nan"), "1"):
        with pytest.raises(ParameterError, match="max_cost"):
            predict_one(TREE, sources(FRAME), key="k1", max_cost=cap)


def test_lookups_take_their_own_key_of_several():
    people, shops = FRAME.rename(columns={"key": "person"}), FRAME.rename(columns={"key": "shop"})
    found = Sources(
        {
            "person": Lookup(TableSource(people, "person"), ["age", "chol", "pulse"], key="who"),
            "shop": Lookup(TableSource(shops, "shop"), ["scan"], key="where"),
        }
    )
    (key, end), *_ = stream(found, [{"who": "k1", "where": "k1"}])
    assert key == {"who": "k1", "where": "k1"}
    assert end.cost == REPORT.per_row[1]
    (_, error), *_ = stream(found, ["k1"])
    assert isinstance(error, Exception)


def test_sources_belong_to_one_loop():
    found = sources(FRAME)
    predict_one(TREE, found, key="k1")
    with pytest.raises(ParameterError, match="another event loop"):
        asyncio.run(cf.predict_one_async(TREE, found, key="k1"))
    found.close()
    for _ in range(2):  # the second loop lets go of what the first left open
        assert asyncio.run(cf.predict_one_async(TREE, found, key="k1")).cost == REPORT.per_row[1]

    async def closed_in_another_loop():
        with sources(FRAME) as wrong:
            await cf.predict_one_async(TREE, wrong, key="k1")

    with pytest.raises(ParameterError, match="another event loop"):
        asyncio.run(closed_in_another_loop())


def test_equal_keys_are_one_key_whatever_their_types():
    shown = []
    texts = CallSource(lambda wanted: {key: shown.append(str(key)) or dict(FRAME.iloc[key]) for key in wanted})
    with Sources({"all": Lookup(texts, NAMES)}) as found:
        ends = list(predict_stream(TREE, found, [np.True_, 1, 1.0, Decimal("1.0"), np.float32(1)]))
    assert [end.cost for _, end in ends] == [REPORT.per_row[1]] * 5
    assert set(shown) == {"1"}


class Id(str, enum.Enum):  # noqa: UP042 - its text is its name
    ONE = "k1"


def broken_hash():
    return type("Broken", (), {"__hash__": lambda _: 1 // 0})()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([Decimal("0.50"), 0.5, Fraction(1, 2), np.float32(0.5)], "0.5"),
        ([Decimal("0.10"), Decimal("0.1")], "0.1"),
        ([(1.0, True), (1, 1)], "(1, 1)"),
        ([Id.ONE, "k1", np.str_("k1")], "k1"),
        ([-0.0, 0, False], "0"),
        ([10**400], str(10**400)),
    ],
)
def test_equal_keys_have_one_text(keys, text):
    assert {as_text(as_key(key, None)) for key in keys} == {text}


@pytest.mark.parametrize(
    "odd",
    [Fraction(10**400), 10**5000, broken_hash(), [1], float("nan"), None, Decimal("NaN"), Decimal("sNaN")],
    ids=["fraction", "huge", "hash", "list", "nan", "none", "decimal", "signal"],
)
def test_a_key_that_cannot_be_one_ends_its_own_row(odd):
    rows = FRAME.set_index("key").to_dict("index")
    both = {
        "table": Lookup(TableSource(FRAME, "key"), ["age", "chol"]),
        "text": Lookup(CallSource(lambda key, _: rows[as_text(key)], each=True), ["pulse", "scan"]),
    }
    ends = stream(Sources(both), ["k1", odd, "k2"])
    assert {key: end.cost for key, end in ends if isinstance(key, str)} == {f"k{i}": REPORT.per_row[i] for i in (1, 2)}
    assert [isinstance(end, SourceError) for key, end in ends if not isinstance(key, str)] == [True]


def test_no_row_of_a_table_is_that_of_a_missing_key():
    keys = [None, np.nan, float("nan"), pd.NA, *FRAME.key[4:]]
    for missing in keys[:4]:
        (_, end), *_ = stream(Sources({"all": Lookup(TableSource(FRAME.assign(key=keys), "key"), NAMES)}), [missing])
        assert isinstance(end, SourceError)
        assert end.failures["age"] in {"no row for the key", f"expected a key, got {missing!r}"}


def test_dates_in_partitions_of_keys_stay_dates():
    dates = pd.to_datetime(["2026-01-01", "2026-01-02"])
    for keys in (pd.Series(dates), dates, dates.to_numpy()):
        assert [pd.Timestamp(key) for key in _listed(keys)] == list(dates)
        assert not any(isinstance(key, int) for key in _listed(keys))


def test_masked_columns_of_a_table_are_missing():
    columns = {name: np.ma.array([7.0], mask=[True]) for name in NAMES}
    ((_, end),) = stream(Sources({"all": Lookup(TableSource(columns), NAMES)}), [0])
    assert end.value == TREE.predict(np.full((1, 4), np.nan))[0]


def test_a_function_that_cancels_itself_for_one_key_ends_that_row_only():
    rows = FRAME.set_index("key").to_dict("index")

    async def one(key, _places):
        await asyncio.sleep(0)
        if key == "k1":
            raise asyncio.CancelledError
        return rows[key]

    ends = dict(stream(Sources({"all": Lookup(CallSource(one, each=True), NAMES)}), ["k0", "k1", "k2"]))
    assert [ends[key].cost for key in ("k0", "k2")] == REPORT.per_row[[0, 2]].tolist()
    assert "it was cancelled" in str(ends["k1"])


def test_a_thread_that_does_not_start_takes_no_place(monkeypatch):
    rows = FRAME.set_index("key").to_dict("index")
    with Sources({"all": Lookup(CallSource(lambda key, _: rows[key], each=True, workers=1), NAMES)}) as found:
        with monkeypatch.context() as patch:
            patch.setattr("costframe.sources.threads.Thread", no_thread)
            with pytest.raises(SourceError, match="RuntimeError"):
                predict_one(TREE, found, key="k1")
        assert predict_one(TREE, found, key="k1", deadline=20.0).cost == REPORT.per_row[1]


def no_thread(**_):
    raise RuntimeError


def test_a_watch_that_raises_ends_the_other_trips_of_its_round():
    @contextlib.contextmanager
    def watch(lookup, _keys):
        if lookup == "first":
            raise ZeroDivisionError
        yield lambda _: None

    slow = Doing(FRAME, hangs)
    found = Sources({"first": Lookup(Plain(FRAME), ["age"]), "slow": Lookup(slow, NAMES[1:])}, watch)

    async def main():
        async with found:
            with pytest.raises(ZeroDivisionError):
                await found.fetch({0: ("k1", NAMES)}, {})
            await asyncio.sleep(0.01)
            return slow.open

    assert asyncio.run(main()) == 0


def test_a_row_that_a_log_could_not_write_spoils_no_other(tmp_path):
    path, full = tmp_path / "log", [2]
    with sources(FRAME) as found, InquiryLog(path) as log:
        log.close()

        class Full(FileIO):
            def write(self, data):
                full[0] -= 1
                return super().write(data[:9]) if full[0] == 1 else 1 // 0 if full[0] == 0 else super().write(data)

        log._file = Full(path, "a")
        with pytest.raises(ZeroDivisionError):
            predict_one(TREE, found, key="k1", observe=log)
        for key in ("k1", "k2"):
            predict_one(TREE, found, key=key, observe=log)
    replayed = audit(path, TREE)
    assert (replayed.rows, replayed.agrees) == (2, True)


def test_sync_drivers_can_be_called_from_many_threads():
    found, ends = sources(FRAME), {}

    def one(key):
        ends[key] = predict_one(TREE, found, key=key)

    threads = [threading.Thread(target=one, args=(key,)) for key in FRAME.key]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [ends[key].cost for key in FRAME.key] == REPORT.per_row.tolist()
    found.close()


def test_keys_of_a_stream_may_come_from_a_stream():
    with sources(FRAME) as found, sources(FRAME) as second:
        first = predict_stream(TREE, found, FRAME.key[:6], in_flight=2)
        ends = dict(predict_stream(TREE, second, (key for key, _ in first), in_flight=4))
    assert [ends[key].cost for key in FRAME.key[:6]] == REPORT.per_row[:6].tolist()


def test_a_sync_driver_in_the_loop_of_sync_drivers_is_refused():
    with sources(FRAME) as found, pytest.raises(ParameterError, match="call predict_one_async"):
        predict_one(TREE, found, key="k1", observe=lambda *_: predict_one(TREE, found, key="k2"))


@pytest.mark.parametrize("number", [np.float32(0.25), np.float64(0.25)])
def test_logs_of_numpy_numbers_replay(tmp_path, number):
    with sources(FRAME) as found, InquiryLog(tmp_path / "log") as log:
        predict_one(TREE, found, key="k1", known={"age": number}, max_cost=np.int64(40), observe=log)
    assert audit(tmp_path / "log", TREE).agrees


def test_a_log_goes_on_after_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "log"
    for _ in range(2):
        with sources(FRAME) as found, InquiryLog(path) as log:
            stream(found, observe=log)
        path.write_text(path.read_text()[:-9])  # a full disk, a killed process
    replayed = audit(path, TREE)
    assert (replayed.rows, replayed.agrees) == (2 * len(FRAME) - 2, True)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:5], lines[5][:-9] + "\n", *lines[6:]]))
    with pytest.raises(cf.CostframeError, match="line 6: expected JSON"):
        audit(path, TREE)
    with pytest.raises(FileNotFoundError), InquiryLog(tmp_path / "none" / "log"):
        pass
