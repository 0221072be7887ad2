"""Live rows when sources fail: no wrong answer, no lost row, no double charge, no hang past the deadline."""

import asyncio
import enum
import threading
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Doing, Plain, check_end, sources, table, tree

import costframe as cf
from costframe.errors import InquiryError, SourceError
from costframe.plugin import ParameterError
from costframe.sources import (
    CallSource,
    Field,
    InquiryLog,
    Lookup,
    Policy,
    Sources,
    TableSource,
    audit,
    predict_many,
    predict_one,
    predict_stream,
)
from costframe.sources.keys import as_key, key_as_text
from costframe.sources.partitions import _listed

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


def test_a_retry_that_helps_is_charged_once_and_its_failure_apart():
    def first_fails(trip, _wanted, values):
        return raises(0, 0, 0) if trip == 1 else values

    found = sources(FRAME, Doing(FRAME, first_fails), retries=1, backoff=0.0)
    ends = dict(stream(found))
    for i, key in enumerate(FRAME.key):
        assert ends[key].cost == REPORT.per_row[i]
        assert ends[key].failed_cost == (10.0 if REPORT.acquired[i, 1] else 0.0)
        assert ends[key].failures == ()


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


class Id(str, enum.Enum):  # noqa: UP042 - its text is its name
    ONE = "k1"


def broken_hash():
    return type("Broken", (), {"__hash__": lambda _: 1 // 0})()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([Decimal("0.50"), 0.5, Fraction(1, 2), np.float32(0.5)], "0.5"),
        ([(1.0, True), (1, 1)], "(1, 1)"),
        ([Id.ONE, "k1", np.str_("k1")], "k1"),
        ([np.True_, 1, 1.0, Decimal("1.0"), np.float32(1)], "1"),
    ],
)
def test_equal_keys_have_one_text(keys, text):
    assert {key_as_text(as_key(key, None)) for key in keys} == {text}


@pytest.mark.parametrize(
    "odd",
    [10**5000, broken_hash(), [1], float("nan"), Decimal("sNaN")],
    ids=["huge", "hash", "list", "nan", "signal"],
)
def test_a_key_that_cannot_be_one_ends_its_own_row(odd):
    rows = FRAME.set_index("key").to_dict("index")
    both = {
        "table": Lookup(TableSource(FRAME, "key"), ["age", "chol"]),
        "text": Lookup(CallSource(lambda key, _: rows[key_as_text(key)], each=True), ["pulse", "scan"]),
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


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lambda _: None, "expected a mapping of keys, got NoneType"),
        (lambda v: dict.fromkeys(v, 3), "expected a mapping of values, got int"),
        (lambda _: {}, "no row for the key"),
        (lambda v: {key: {"chol": 1.0} for key in v}, "no value at 'pulse'"),
        (lambda v: {key: {"chol": "1_000", "pulse": 1} for key in v}, "expected a number, got '1_000'"),
    ],
)
def test_garbage_is_refused_by_name(reply, why):
    ends = stream(sources(FRAME, Doing(FRAME, lambda _t, _w, values: reply(values))))
    errors = [str(end) for _, end in ends if isinstance(end, Exception)]
    assert len(errors) == REPORT.acquired[:, 1].sum() > 0
    assert why in errors[0]


def test_lookups_take_their_own_key_of_several():
    people, shops = FRAME.rename(columns={"key": "person"}), FRAME.rename(columns={"key": "shop"})
    found = Sources({
        "person": Lookup(TableSource(people, "person"), ["age", "chol", "pulse"], key="who"),
        "shop": Lookup(TableSource(shops, "shop"), ["scan"], key="where"),
    })  # fmt: skip
    ((_, end), (_, error)) = stream(found, [{"who": "k1", "where": "k1"}, "k1"], in_flight=1)
    assert end.cost == REPORT.per_row[1]
    assert isinstance(error, Exception)


@pytest.mark.filterwarnings("ignore::costframe.errors.UnknownValuesWarning")  # of columns that are made missing
@pytest.mark.parametrize("on_failure", ["missing", "without"])
def test_what_fails_is_missing_or_as_if_it_had_been_unavailable_and_not_charged(on_failure):
    ends = dict(stream(sources(FRAME, Doing(FRAME, raises), on_failure=on_failure)))
    gone = dict.fromkeys(("chol", "pulse"), np.nan)
    if on_failure == "missing":
        report = TREE.cost(FRAME[list(NAMES)].assign(**gone), COSTS)
        in_vain = np.where(report.acquired[:, 1], 10.0, 0.0)
    else:
        report, in_vain = TREE.cost(FRAME[list(NAMES)], COSTS, unavailable=list(gone)), np.zeros(len(FRAME))
    for i, key in enumerate(FRAME.key):
        assert ends[key].value == report.predictions[i]
        assert ends[key].cost == pytest.approx(report.per_row[i] - in_vain[i])
        assert set(ends[key].acquired) <= {"age", "scan"}
        if on_failure == "missing":
            assert ends[key].failed_cost == in_vain[i]
        else:
            assert ends[key].reason == ("unavailable" if report.cut[i] else "complete")


def test_a_function_of_many_rows_has_a_deadline_too():
    rows, tested = FRAME.set_index("key"), threading.Event()

    def slow_after_the_first(requests):
        if any("age" not in names for names in requests.values()):
            tested.wait(20)
        return {key: rows.loc[key, list(names)].to_dict() for key, names in requests.items()}

    ends = predict_many(TREE, slow_after_the_first, FRAME.key, COSTS, deadline=2.0)
    tested.set()
    for i, end in enumerate(ends):
        if REPORT.acquired[i, 1]:
            assert (end.reason, end.acquired, end.cost) == ("deadline", ("age",), 1.0)
        else:
            assert (end.reason, end.value, end.cost) == ("complete", REPORT.predictions[i], REPORT.per_row[i])


def test_an_audit_finds_every_altered_amount_value_and_question_and_lines_that_were_cut_off(tmp_path):
    path = tmp_path / "log.jsonl"
    for _ in range(2):
        with InquiryLog(path) as log:
            stream(sources(FRAME), observe=log)
        path.write_text(path.read_text()[:-9])  # a full disk, a killed process
    replayed, lines = audit(path, TREE), path.read_text().splitlines()[:-1]
    assert (replayed.rows, replayed.agrees) == (2 * len(FRAME) - 2, True)
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
    with pytest.raises(cf.CostframeError, match="other prices"):
        audit(path, TREE, dict.fromkeys(NAMES, 1.0))
    path.write_text("\n".join([*lines[:5], lines[5][:-9], *lines[6:]]))
    with pytest.raises(cf.CostframeError, match="line 6: expected JSON"):
        audit(path, TREE)


def test_fields_read_what_databases_and_caches_give():
    for raw, number in [("12.5", 12.5), (b"12.5", 12.5), (True, 1.0), (" -3e2 ", -300.0)]:
        assert Field("x").read(raw, None) == number
    for raw in (None, float("nan"), " ", "n/a"):
        assert np.isnan(Field("x", missing=("", "n/a")).read(raw, None))
    assert Field("x").read(b"red", ("blue", "red")) == 1.0
    assert np.isnan(Field("x").read("green", ("blue", "red")))
    assert [Field("x", "truth").read(raw, None) for raw in ("yes", b"F", 1, False)] == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(InquiryError, match="expected a label such as '0', got"):
        Field("x").read(1, ("0", "1"))  # a column of numbers whose labels are texts: 1 is not label number 1
    for kind, raw in [("truth", "perhaps"), ("text", 3), (None, "red")]:
        with pytest.raises(InquiryError, match="expected"):
            Field("x", kind).read(raw, None)


def test_sources_belong_to_one_loop():
    found = sources(FRAME)
    predict_one(TREE, found, key="k1")
    with pytest.raises(ParameterError, match="another event loop"):
        asyncio.run(cf.predict_one_async(TREE, found, key="k1"))
    found.close()


ONE = Lookup(Plain(FRAME), ["age", "chol"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Policy(on_failure="ignore"), "on_failure"),
        (lambda: Lookup(Plain(FRAME), ["age", "age"]), "features"),
        (lambda: Lookup(Plain(FRAME), {"age": {"plce": "x"}}), "features"),
        (lambda: Lookup(FRAME, ["age"]), "Source"),
        (lambda: Sources({"a": ONE, "b": Lookup(Plain(FRAME), ["age"])}), "both serve 'age'"),
        (lambda: predict_one(TREE, Sources({"a": ONE}), key="k1"), "none serves 'pulse', 'scan'"),
        (lambda: predict_one(TREE, dict.fromkeys(NAMES, 0.0), key="k1"), "key"),
        (lambda: stream(sources(FRAME), "k1"), "keys: expected a list"),
        (lambda: predict_one(TREE, sources(FRAME), key="k1", max_cost=float("nan")), "max_cost"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_sources_need_a_key():
    sources = Sources({"all": Lookup(CallSource(dict), NAMES)})
    with pytest.raises(ParameterError, match="key: expected that of the row"):
        cf.predict_one(tree(), sources)
    with pytest.raises(ParameterError, match="source: Sources are for predict_stream"):
        cf.predict_many(tree(), sources, keys=[1])
