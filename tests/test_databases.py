"""Databases as they mean it: one cell or key never ends another row, values are those stored, connections end."""

import asyncio
import contextlib
import datetime as dt
import os
import re
import sqlite3
from decimal import Decimal

import numpy as np
import pytest
from live_cases import COSTS, NAMES, Doing, fetch, pgbouncer_url, postgres_url, redis_url, sources, table, tree

import costframe as cf
from costframe.core.tables.dates import Dates
from costframe.errors import InquiryError, SourceError
from costframe.plugin import ParameterError
from costframe.sources import Field, Lookup, Policy, RedisSource, Sources, SQLSource
from costframe.sources.failures import describe_failure
from costframe.sources.source import OddValueError

FRAME, TREE = table(), tree()
REPORT = TREE.cost(FRAME[list(NAMES)], COSTS, rounds=True)
SCHEMA = f"costframe_meaning_{os.getpid()}"  # of this process: others may test on the same server


def connect(source, places):
    async def main():
        try:
            await source.connect(places)
        finally:
            await source.close()

    asyncio.run(main())


@pytest.fixture
def sqlite(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    with postgres_url(tmp_path_factory.mktemp("postgres")) as url, psycopg.connect(url, autocommit=True) as client:
        client.execute(f"drop schema if exists {SCHEMA} cascade")
        client.execute(f"create schema {SCHEMA}")
        client.execute(f"set search_path = {SCHEMA}")
        client.execute("create table people (key text primary key, age float8, chol float8, pulse float8, scan float8)")
        rows = [tuple(row) for row in FRAME[["key", *NAMES]].itertuples(index=False)]
        with client.cursor() as cursor:
            cursor.executemany("insert into people values (%s, %s, %s, %s, %s)", rows)
        yield url, client
        client.execute(f"drop schema {SCHEMA} cascade")


def postgres(server, name="people", key="key", **options):
    url, _ = server
    given = "%20".join(f"-c{option}%3D{value}" for option, value in options.items())
    return SQLSource(f"{url}?options={given}" if given else url, name, key, schema=SCHEMA)


def is_odd(value):
    return isinstance(value, InquiryError)


ODD_CELLS = {
    "date": (["'2024-01-05'", "'infinity'", "'0044-03-15 BC'", "'10000-01-01'"],
             [dt.date(2024, 1, 5), is_odd, is_odd, is_odd]),
    "timestamp": (["'2024-01-05 00:00'", "'-infinity'", "'9999-12-31 23:59:59'"],
                  [dt.datetime.fromisoformat("2024-01-05"), is_odd, dt.datetime.fromisoformat("9999-12-31T23:59:59")]),
    "timestamptz": (["'2024-01-05 10:00+02'", "'infinity'", "'9999-12-31 23:59:59-05'"],
                    [dt.datetime(2024, 1, 5, 8, tzinfo=dt.UTC), is_odd, is_odd]),
    "time": (["'10:00'", "'24:00:00'"], ["10:00:00", "24:00:00"]),
    "interval": (["'1 day'", "'0'", "null"], [is_odd, is_odd, None]),
    "numeric": (["1.50", "'Infinity'", "12345678901234567890", "0.1234567890123456789"],
                [Decimal("1.50"), np.inf, 12345678901234567890, Decimal("0.1234567890123456789")]),
    "float8": (["0.1", "5e-324", "'Infinity'", "0.30000000000000004"], [0.1, 5e-324, np.inf, 0.30000000000000004]),
    "bigint": (["9007199254740993", "-9223372036854775808"], [2**53 + 1, -(2**63)]),
    "boolean": (["true", "false"], [True, False]),
    "json": (["'1e400'", "'0.1'"], [Decimal("1e400"), 0.1]),
    "jsonb": (["'5'", "'\"no\"'", "'{\"a\": 1}'", "'null'", "'1e400'"], [5, "no", is_odd, None, 10**400]),
    "money": (["'1234.50'"], [Decimal("1234.50")]),
    "uuid": (["'12345678-1234-5678-1234-567812345678'"], ["12345678-1234-5678-1234-567812345678"]),
    "char(4)": (["'no'", "''"], ["no", ""]),
    "bytea": ([r"'\x00ff'"], [b"\x00\xff"]),
    "int[]": (["'{1,2}'"], ["{1,2}"]),
}  # fmt: skip


def agrees(values, expected):
    return all(want(value) if callable(want) else (value == want and type(value) is type(want))
               for value, want in zip(values, expected, strict=True))  # fmt: skip


@pytest.mark.parametrize("kind", ODD_CELLS)
def test_postgresql_gives_each_cell_as_it_is_stored_whatever_the_server_prints(server, kind):
    texts, expected = ODD_CELLS[kind]
    _, client = server
    client.execute("drop table if exists cells")
    client.execute(f"create table cells (k int primary key, x {kind})")
    for k, text in enumerate(texts):
        client.execute(f"insert into cells values ({k}, {text})")  # noqa: S608 - ours
    wanted = {k: ["x"] for k in range(len(texts))}
    settings = [{}, {"DateStyle": "German", "TimeZone": "Asia/Kolkata", "extra_float_digits": "-10"}]
    settings += [{"bytea_output": "escape", "IntervalStyle": "sql_standard", "TimeZone": "America/New_York"}]
    for options in settings:
        reply = fetch(postgres(server, "cells", "k", **options), wanted)
        assert agrees([reply[k]["x"] for k in wanted], expected), (options, reply)


def test_sqlite_gives_each_cell_as_it_is_stored(sqlite, tmp_path):
    rows = [
        ("n/a", "2024-01-05", "2024-01-05 10:00:00", 0.123456, 1, 1e-12, "A1", "x", "5"),
        (5, "31/12/2024", "n/a", "0.1x", "t", "inf", 2**53 + 1, b"\xff", '{"a": 1}'),
        (1e-12, 20240105, 1704448800, 1e300, 0, 1e300, -(2**63), "12", '"no"'),
    ]
    sqlite.execute(
        "create table cells (a numeric, d date, t timestamp, m decimal(10,2), b boolean, r real, i integer, x text, "
        "j json, k integer primary key, g generated always as (k * 2))"
    )
    for row in rows:
        sqlite.execute(f"insert into cells values ({', '.join('?' * 9)}, null)", row)  # noqa: S608 - ours
    sqlite.execute("update cells set x = cast(x as text)")
    reply = fetch(SQLSource(f"sqlite:///{tmp_path}/a.db", "cells", "k"), {k: list("adtmbrixjg") for k in (1, 2, 3)})
    expected = [
        ["n/a", dt.date(2024, 1, 5), dt.datetime(2024, 1, 5, 10), 0.123456, True, 1e-12, "A1", "x", 5, 2],  # noqa: DTZ001
        [5, "31/12/2024", "n/a", "0.1x", "t", "inf", 2**53 + 1, b"\xff", is_odd, 4],
        [1e-12, 20240105, 1704448800, 1e300, False, 1e300, -(2**63), "12", "no", 6],
    ]
    for k, values in enumerate(expected, 1):
        assert agrees(list(reply[k].values()), values), reply[k]


def test_one_odd_cell_ends_its_own_row_only_or_is_missing(server, sqlite, tmp_path):
    sqlite.execute("create table people (key text, age numeric, chol real, pulse real, scan real)")
    sqlite.executemany("insert into people values (?, ?, ?, ?, ?)", FRAME[["key", *NAMES]].itertuples(index=False))
    sqlite.execute("update people set age = 'n/a' where key = 'k1'")
    source = SQLSource(f"sqlite:///{tmp_path}/a.db", "people", "key")
    right = dict(zip(FRAME.key, REPORT.predictions, strict=True))
    for marker in ("", "N/A"):
        with Sources({"all": Lookup(source, {name: Field(name, missing=marker) for name in NAMES})}) as found:
            ends = dict(cf.predict_stream(TREE, found, FRAME.key))
        assert all(ends[key].value == right[key] for key in FRAME.key if key != "k1")
        assert isinstance(ends["k1"], SourceError) == (marker == "")
    day = Field("x", missing=("infinity",))
    _, client = server
    client.execute("create table days (k int primary key, x date)")
    client.execute("insert into days values (1, '2024-01-05'), (2, 'infinity')")
    reply = fetch(postgres(server, "days", "k"), {1: ["x"], 2: ["x"]})
    assert day.read(reply[1]["x"], Dates()) == 19727.0
    assert np.isnan(day.read(reply[2]["x"], Dates()))
    with pytest.raises(OddValueError, match="years 1 to 9999, got 'infinity'"):
        Field("x").read(reply[2]["x"], None)


def test_a_number_beyond_doubles_is_refused():
    for raw in (Decimal("1e400"), Decimal("-1e400"), 10**400, "1e400", "-9.9E+308"):
        with pytest.raises(InquiryError, match="expected a number"):
            Field("x").read(raw, None)
    assert Field("x").read(Decimal("0.1234567890123456789"), None) == 0.1234567890123456789
    assert Field("x").read(Decimal("inf"), None) == np.inf


KEYS = {  # what the column holds, what is asked for, and the row that each finds
    "char(10)": (["A1", "B"], {"A1": 0, "B": 1, "A1        ": 0, "A1xxxxxxxxxx": None, "a1": None}),
    "varchar(3)": (["A1"], {"A1": 0, "A1 ": None, "A1xxx": None}),
    "mood": (["sad", "ok"], {"sad": 0, "ok": 1, "nope": None}),
    "code": (["ab", "c"], {"ab": 0, "c": 1, "abcdefghi": None}),
    "numeric(10,2)": (["1.50", "7"], {"1.5": 0, "1.50": 0, 1.5: 0, 7: 1, "7": 1, "1.504": None, "x": is_odd}),
    "numeric": (["12345678901234567890"], {12345678901234567890: 0, "12345678901234567891": None}),
    "real": (["0.1"], {0.1: 0, "0.1": 0}),
    "timestamptz": (["2024-01-05 10:00+00"], {
        "2024-01-05 10:00:00+00": 0, dt.datetime(2024, 1, 5, 11, tzinfo=dt.timezone(dt.timedelta(hours=1))): 0,
        dt.datetime(2024, 1, 5, 10): is_odd,  # noqa: DTZ001
    }),
    "date": (["2024-01-05"], {"2024-01-05": 0, dt.date(2024, 1, 5): 0}),
    "boolean": (["t", "f"], {1: 0, 0: 1, "true": 0}),
    "name": (["a" * 63], {"a" * 63: 0, "a" * 70: None}),
    '"char"': (["A"], {"A": 0, "AB": None}),
    "bigint": ([str(2**53), str(2**53 + 1)], {2**53 + 1: 1, str(2**53): 0, "0007": is_odd, 2**70: is_odd}),
    "text": (["a\\\"b{},'", "NULL", ""], {"a\\\"b{},'": 0, "NULL": 1, "": 2, "null": None, "a\0": is_odd}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KEYS)
def test_keys_compare_as_in_postgresql(server, kind):
    held, asked = KEYS[kind]
    _, client = server
    client.execute("drop domain if exists code; drop domain if exists base; drop type if exists mood")
    client.execute("create type mood as enum ('sad', 'ok'); create domain base as char(6); create domain code as base")
    client.execute(f"create table keyed (k {kind}, v int)")
    with contextlib.closing(client.cursor()) as cursor:
        cursor.executemany(f"insert into keyed values (%s::text::{kind}, %s)", [(k, i) for i, k in enumerate(held)])  # noqa: S608
    try:
        together = fetch(postgres(server, "keyed", "k"), dict.fromkeys(asked, ("v",)))
        for key, row in asked.items():
            alone = fetch(postgres(server, "keyed", "k"), {key: ("v",)})
            for reply in (alone, together):
                assert row(reply[key]) if callable(row) else reply.get(key) == (None if row is None else {"v": row})
    finally:
        client.execute("drop table keyed")


LITE_KEYS = {
    "integer": ([1, "A1", 2**53 + 1], {1: 0, "1": 0, "01": is_odd, "A1": 1, 2**53 + 1: 2, "x": None, 2**63: is_odd}),
    "numeric": ([1.5, "A1"], {"1.5": 0, "1.50": 0, 1.5: 0, "A1": 1, "1e0": is_odd, "12345678901234567890": is_odd}),
    "text": (["1", "01"], {1: 0, "1": 0, "01": 1}),
    "text collate nocase": (["Ab"], {"aB": 0, "AB": 0, "x": None}),
    "blob": ([b"\x00\xff", "t"], {b"\x00\xff": 0, "t": 1, b"t": None}),
    "timestamp": (["2024-01-05T10:00:00"], {dt.datetime(2024, 1, 5, 10): 0, "2024-01-05T10:00:00": 0}),  # noqa: DTZ001
}


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("kind", LITE_KEYS)
def test_keys_compare_as_in_sqlite(sqlite, tmp_path, kind, indexed):
    held, asked = LITE_KEYS[kind]
    sqlite.execute(f"create table keyed (k {kind}, v int, w int)")
    sqlite.executemany("insert into keyed values (?, ?, 5)", [(k, i) for i, k in enumerate(held)])
    if indexed:
        sqlite.execute("create index by_key on keyed (k)")
    sqlite.execute("create view grouped as select k, max(v) as v, max(w) as w from keyed group by k")
    for name in ("keyed", "grouped"):
        source = SQLSource(f"sqlite:///{tmp_path}/a.db", name, "k")
        together = fetch(source, {key: ("v",) if i % 2 else ("v", "w") for i, key in enumerate(asked)})
        for i, (key, row) in enumerate(asked.items()):
            alone, reply = fetch(source, {key: ("v",)}), together.get(key)
            if callable(row):
                assert row(alone[key])
                assert row(reply)
            else:
                assert alone.get(key) == (None if row is None else {"v": row})
                assert reply == (None if row is None else {"v": row, "w": None if i % 2 else 5})


def test_a_file_that_another_replaces_is_opened_anew(sqlite, tmp_path):
    sqlite.execute("create table t (k int, a real)")
    sqlite.execute("insert into t values (1, 1)")
    with contextlib.closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as new:
        new.execute("create table t (k int, a real)")
        new.execute("insert into t values (1, 42)")

    async def main():
        source = SQLSource(f"sqlite:///{tmp_path}/a.db", "t", "k")
        before = await source.fetch({1: ["a"]})
        (tmp_path / "new.db").replace(tmp_path / "a.db")
        after = await source.fetch({1: ["a"]})
        await source.close()
        return before, after

    assert asyncio.run(main()) == ({1: {"a": 1.0}}, {1: {"a": 42.0}})


def end_sessions(client, text):
    found = client.execute(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and query like %s",
        [f"%{text}%"],
    )
    assert found.fetchone()[0] > 0


def test_a_connection_that_the_server_ends_is_opened_anew_before_a_row_fails(server, monkeypatch):
    _, client = server
    with Sources({"all": Lookup(postgres(server), NAMES, policy=Policy("missing"))}) as found:
        found.open(TREE, COSTS)
        for idle in (10.0, 0.0):  # then connections are tried before their use
            monkeypatch.setattr("costframe.sources.sql.connections._IDLE", idle)
            for i in range(4):
                if i % 2:
                    end_sessions(client, SCHEMA)
                end = cf.predict_one(TREE, found, key=FRAME.key[i])
                assert (end.value, end.failures, end.failed_cost) == (REPORT.predictions[i], (), 0.0)
        end_sessions(client, SCHEMA)
        ends = dict(cf.predict_stream(TREE, found, FRAME.key, in_flight=7))
        assert [ends[key].value for key in FRAME.key] == REPORT.predictions.tolist()


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_rows_come_through_pgbouncer_and_leave_no_setting_in_its_sessions(server, tmp_path, mode):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    url, client = server
    with pgbouncer_url(tmp_path, url, mode) as pooled:
        most = 1 if mode == "session" else 5  # more wait for the pooler's one connection
        lookups = {
            name: Lookup(SQLSource(pooled, "people", "key", schema=SCHEMA, connections=most), features)
            for name, features in (("a", NAMES[:2]), ("b", NAMES[2:]))[: 1 if mode == "session" else 2]
        }
        if mode == "session":
            lookups = {"all": Lookup(lookups["a"].source, NAMES)}
        with Sources(lookups) as found:
            found.open(TREE, COSTS)
            for _ in range(2):
                ends = dict(cf.predict_stream(TREE, found, FRAME.key, in_flight=7))
                assert [ends[key].value for key in FRAME.key] == REPORT.predictions.tolist()
                for i in range(8):  # as often as drivers need before they prepare statements
                    assert cf.predict_one(TREE, found, key=FRAME.key[i]).value == REPORT.predictions[i]
                end_sessions(client, SCHEMA)
            assert cf.predict_one(TREE, found, key="k0").value == REPORT.predictions[0]
        with psycopg.connect(pooled, autocommit=True) as other:
            left = other.execute("select current_setting('transaction_read_only'), current_setting('DateStyle')")
            assert left.fetchone() == ("off", client.execute("show DateStyle").fetchone()[0])
            assert other.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
            other.execute(f"create table {SCHEMA}.written (a int)")
            other.execute(f"drop table {SCHEMA}.written")


def test_a_row_that_the_database_fails_for_fails_alone(server):
    _, client = server
    client.execute("create or replace view divided as select key, age, chol, pulse, "
                   "scan / (case when key = 'k1' then 0 else 1 end) as scan from people")  # fmt: skip
    with Sources({"all": Lookup(postgres(server, "divided"), NAMES, policy=Policy("missing"))}) as found:
        ends = dict(cf.predict_stream(TREE, found, FRAME.key))
    failed = {key for key, end in ends.items() if end.failures}
    assert failed <= {"k1"}
    assert all(ends[key].value == REPORT.predictions[i] for i, key in enumerate(FRAME.key) if key not in failed)
    with pytest.raises(Exception, match="division by zero"):
        fetch(postgres(server, "divided"), {"k1": ["scan"], "k2": ["scan"]})


def failure_of(source, key="k1"):
    with Sources({"all": Lookup(source, NAMES)}) as found, pytest.raises((SourceError, ParameterError)) as caught:
        cf.predict_one(TREE, found.open(TREE, COSTS), key=key)
    assert "hunter" not in str(caught.value)
    return f"{type(caught.value).__name__}: {caught.value}"


def test_failures_are_named_by_their_kind_and_code(server, tmp_path):
    _, client = server
    nobody = f"{SCHEMA}_nobody"
    client.execute(f"drop role if exists {nobody}; create role {nobody}; grant usage on schema {SCHEMA} to {nobody}")
    client.execute(f"grant select (key, age) on people to {nobody}")
    slow = "select key, age + (pg_sleep(5) is null)::int as age, chol, pulse, scan from people"
    client.execute(f"create or replace view slow as {slow}")
    client.execute("create or replace function fail() returns float8 language plpgsql as "
                   "$$ begin raise exception 'hunter2' using errcode = '23514'; end $$")  # fmt: skip
    client.execute(
        "create or replace view failing as select key, age, chol, pulse, fail() as scan, age as k from people"
    )
    client.execute("create or replace view typed as select key, key::int as age, chol, pulse, scan from people")
    try:
        for source, why in [
            (
                postgres(server, role=nobody),
                "ParameterError: .*permission denied to read 'chol', 'pulse', 'scan'",
            ),
            (postgres(server, "typed"), "SourceError: .*type or range: InvalidTextRepresentation, SQLSTATE 22P02"),
            (postgres(server, "nothing"), "ParameterError: .*no table 'nothing'"),
            (postgres(server, key="Key"), r"ParameterError: .*no column 'Key' \(spelled 'key'\)"),
            (postgres(server, "slow", statement_timeout="50"), "SourceError: .*timeout: QueryCanceled, SQLSTATE 57014"),
            (SQLSource("postgresql://me:hunter2@127.0.0.1:1/x", "t", "k"), "SourceError: .*connection refused"),
            (SQLSource(f"{server[0]}_none", "t", "k"), "ParameterError: .*no such database"),
            (SQLSource(f"sqlite:///{tmp_path}/none.db", "t", "k"), "ParameterError: .*no file"),
        ]:
            assert re.search(why, found := failure_of(source)), (why, found)
        with pytest.raises(Exception, match="hunter2") as caught:
            fetch(postgres(server, "failing"), {"k1": ["scan"]})
        assert describe_failure(caught.value).startswith("constraint: CheckViolation, SQLSTATE 23514, whose own text")
    finally:
        client.execute(f"drop owned by {nobody}; drop role {nobody}")


def test_a_key_that_spoils_a_trip_does_not_end_its_neighbours_rows():
    spoiling = {"k3", "k17", "k18"} & set(FRAME.key[REPORT.acquired[:, 1]])
    assert spoiling

    def spoiled(_trip, wanted, values):
        if spoiling & wanted.keys():
            raise ValueError("hunter2")
        return values

    for policy in ("raise", "missing"):
        blood = Doing(FRAME, spoiled)
        with sources(FRAME, blood, on_failure=policy) as found:
            ends = dict(cf.predict_stream(TREE, found, FRAME.key))
        assert {key for key, end in ends.items() if isinstance(end, Exception) or end.failures} == spoiling
        for i, key in enumerate(FRAME.key):
            if key not in spoiling:
                assert (ends[key].value, ends[key].cost) == (REPORT.predictions[i], REPORT.per_row[i])
                assert ends[key].failed_cost == 0.0
        assert found.trips["blood"] == blood.trips < 50


@pytest.mark.parametrize("error", [ValueError("hunter2"), ConnectionResetError("hunter2")])
def test_a_source_that_always_fails_is_not_asked_without_end(error):
    def fails(_trip, _wanted, _values):
        raise error

    many = table(2000)
    blood = Doing(many, fails)
    with sources(many, blood, on_failure="missing") as found:
        ends = [end for _, end in cf.predict_stream(TREE, found, many.key, in_flight=2000)]
    assert sum(bool(end.failures) for end in ends) > 500
    assert blood.trips <= (1 if isinstance(error, OSError) else 202)


@pytest.fixture
def hashes():
    library = pytest.importorskip("redis", reason="needs redis")
    with redis_url() as url, library.Redis.from_url(url) as client:
        yield url, client
        if found := client.keys(f"{SCHEMA}*"):
            client.delete(*found)


def test_redis_names_what_is_wrong_before_the_first_row(hashes):
    url, client = hashes
    for i in range(30):
        client.hset(f"{SCHEMA}:{i}", mapping={"age": 1.0, **({"chol": 2.0} if i == 29 else {})})
    client.set(f"{SCHEMA}[a]:1", "text")

    name = SCHEMA + ":{key}"
    connect(RedisSource(url, name), ["age", "chol"])
    connect(RedisSource(url, name, sample=0), ["aeg"])
    connect(RedisSource(url, SCHEMA + "-later:{key}"), ["age"])  # no hash is there yet
    with pytest.raises(InquiryError, match=r"no field 'aeg' in 30 hashes named .*; one has 'age'.*sample = 0"):
        connect(RedisSource(url, name), ["age", "aeg"])
    with pytest.raises(InquiryError, match=r"expected hashes named .*another type \(WRONGTYPE\)"):
        connect(RedisSource(url, SCHEMA + "[a]:{key}"), ["age"])
    reply = fetch(RedisSource(url, SCHEMA + "{key}"), {":1": ["age"], "[a]:1": ["age"]})
    assert reply[":1"] == {"age": b"1.0"}
    assert str(reply["[a]:1"]).endswith("(WRONGTYPE)")


def test_redis_names_permissions_without_secrets(hashes):
    url, client = hashes
    client.hset(f"{SCHEMA}:1", mapping={"age": 1.0})
    users = {"keys": f"+ping +hmget +exists ~{SCHEMA}:1*", "none": "+ping ~*"}
    for name, rules in users.items():
        client.execute_command("ACL", "SETUSER", f"{SCHEMA}-{name}", "on", ">hunter2", *rules.split())
    try:
        address = f"redis://{SCHEMA}-%s:%s@{url.removeprefix('redis://')}"
        found = RedisSource(address % ("keys", "hunter2"), SCHEMA + ":{key}")
        reply = fetch(found, {"1": ["age"], "2": ["age"]})
        assert (reply["1"], str(reply["2"])) == ({"age": b"1.0"}, "permission denied (NOPERM)")
        connect(found, ["other"])  # it may not look around
        for name, word, why in [("none", "hunter2", "permission denied"), ("keys", "hunter3", "password is refused")]:
            with pytest.raises(InquiryError, match=why) as caught:
                connect(RedisSource(address % (name, word), SCHEMA + ":{key}"), ["age"])
            assert "hunter" not in str(caught.value)
    finally:
        client.execute_command("ACL", "DELUSER", *(f"{SCHEMA}-{name}" for name in users))
