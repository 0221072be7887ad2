"""The claims of docs/safety.md: what reaches a server, a log and a terminal, and how much comes back."""

import http.server
import json
import logging
import re
import sqlite3
import threading
from pathlib import Path

import pytest
from live_cases import NAMES, Doing, Plain, postgres_url, redis_url, table, tree
from test_faults import Server
from test_source_kinds import SCHEMA, fetch

import costframe as cf
from costframe.errors import InquiryError, SourceError
from costframe.plugin import ParameterError
from costframe.sources import CallSource, HTTPSource, Lookup, Policy, RedisSource, Sources, SQLSource

ROOT = Path(__file__).resolve().parents[1]
FRAME, TREE = table(5), tree()
LONG = "x" * 1_000_001
EVIL = "\x1b[2J"


def test_every_claim_names_tests_that_exist():
    text = (ROOT / "docs" / "safety.md").read_text()
    named = re.findall(r"`(test_\w+)(?:::(\w+))?`", text)
    assert len(named) > 15
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / f"{file}.py").read_text(), (file, test)


@pytest.fixture(params=["sqlite", "postgres"])
def people(request, tmp_path):
    """A table whose texts, bytes and documents may be long, in both kinds of databases; and 3,000 rows of one key."""
    if request.param == "sqlite":
        url, schema, where, binary, document = f"sqlite:///{tmp_path}/people.db", None, "", "blob", "text"
        connection, mark = sqlite3.connect(tmp_path / "people.db", isolation_level=None), "?"
    else:
        psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
        url, schema, binary, document = request.getfixturevalue("server"), f"{SCHEMA}_safety", "bytea", "json"
        connection, where, mark = psycopg.connect(url, autocommit=True), f"{schema}.", "%s"
        connection.execute(f"create schema {schema}")
    rows = [(1, "a", b"1", "1", 0.5), (2, LONG, b"1", "1", 1.5), (3, "a", LONG.encode(), f'"{LONG}"', None)]
    columns = f"id integer, text text, bytes {binary}, document {document}, number double precision"
    connection.execute("begin")
    connection.execute(f"create table {where}people ({columns})")
    connection.execute(f"create table {where}twice (id integer, number double precision)")
    cursor = connection.cursor()
    cursor.executemany(f"insert into {where}people values ({', '.join([mark] * 5)})", rows)  # noqa: S608 - our name
    cursor.executemany(f"insert into {where}twice values ({mark}, {mark})", [(1, 0.5)] * 3000)  # noqa: S608 - our name
    connection.execute("commit")
    yield lambda table, key="id": SQLSource(url, table, key, schema=schema)
    if schema:
        connection.execute(f"drop schema {schema} cascade")
    connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgres_url(tmp_path_factory.mktemp("postgres")) as url:
        yield url


def test_a_long_value_in_a_database_stays_there_and_fails_alone(people):
    wanted = dict.fromkeys((1, 2, 3), ("text", "bytes", "document", "number"))
    reply = fetch(people("people"), wanted | {4: ("text",)})
    assert (reply[1]["text"], bytes(reply[1]["bytes"]), reply[1]["number"]) == ("a", b"1", 0.5)
    assert (reply[2]["number"], bytes(reply[2]["bytes"])) == (1.5, b"1")
    for raw in (reply[2]["text"], reply[3]["bytes"], reply[3]["document"]):
        assert isinstance(raw, InquiryError)
        assert "at most 1,000,000 bytes" in str(raw)
    assert reply[3]["text"] == "a"
    assert 4 not in reply


def test_a_database_that_gives_many_rows_for_a_key_is_not_read_to_its_end(people):
    with pytest.raises(InquiryError, match="1 keys have 1,002 rows or more"):
        fetch(people("twice"), {1: ("number",)})


@pytest.mark.parametrize("key", [1.5, "1_0", 10**30, float("nan"), None, "1\0", "\ud800", b"\xff"])
def test_a_key_that_a_database_cannot_hold_fails_alone(people, key):
    reply = fetch(people("people"), {1: ("number",), key: ("number",)})
    assert reply[1] == {"number": 0.5}
    assert key not in reply or isinstance(reply[key], InquiryError)
    reply = fetch(people("people", "text"), {"a": ("id",), key: ("id",)})
    assert isinstance(reply["a"], InquiryError)  # two rows have it
    assert key not in reply or isinstance(reply[key], InquiryError)


def test_a_column_of_numbers_in_sqlite_may_hold_no_endless_text(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table people (id integer, number real)")
        connection.execute("insert into people values (1, replace(hex(zeroblob(26000000)), '0', 'x'))")
    connection.close()
    with pytest.raises(Exception, match="too big"):
        fetch(SQLSource(f"sqlite:///{tmp_path}/a.db", "people", "id"), {1: ("number",)})


def test_a_file_of_sources_cannot_open_sqlite_to_write(tmp_path):
    sqlite3.connect(tmp_path / "a.db").close()
    for url in (f"sqlite:///{tmp_path}/a.db?mode=rwc", f"sqlite:///file:{tmp_path}/a.db?mode=rwc&uri=true"):
        raw = SQLSource(url, "people", "id")._make().file._connect()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            raw.execute("create table people (id int)")
        raw.close()


def test_long_values_and_odd_keys_of_redis_fail_alone():
    redis = pytest.importorskip("redis", reason="needs redis")
    name = f"{SCHEMA}-safety"
    with redis_url() as url, redis.Redis.from_url(url) as client:
        client.hset(f"{name}:a", mapping={"age": "1", "text": LONG, "more": "2"})
        client.hset(f"{name}:b", mapping={"age": "3", "text": "4", "more": LONG[:-1]})
        try:
            for address in (url, f"{url}?protocol=3"):
                wanted = dict.fromkeys(("a", "b", None, "\ud800", "c"), ("age", "text", "more"))
                reply = fetch(RedisSource(address, name + ":{key}"), wanted)
                assert (reply["a"]["age"], reply["a"]["more"]) == (b"1", b"2")
                assert str(reply["a"]["text"]) == "expected a value of at most 1,000,000 bytes, got 1,000,001"
                assert reply["b"] == {"age": b"3", "text": b"4", "more": LONG[:-1].encode()}
                assert all(isinstance(reply[key], InquiryError) for key in (None, "\ud800"))
                assert "c" not in reply
        finally:
            client.delete(*client.keys(f"{name}:*"))


class Greedy(http.server.BaseHTTPRequestHandler):
    """A service that sets cookies, and remembers what it was sent."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        status = self.server.odd.get(self.path.split("?")[0], 200)
        body = json.dumps({name: [1.0] if name == "scan" else 1.0 for name in NAMES}).encode()
        self.send_response(status)
        self.send_header("set-cookie", "who=k1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def service():
    pytest.importorskip("httpx", reason="needs httpx")
    with Server(("127.0.0.1", 0), Greedy) as server:
        server.seen, server.odd = [], {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_nothing_is_logged_and_no_cookie_goes_from_key_to_key(service, caplog):
    caplog.set_level(logging.DEBUG)
    url = f"http://me:hunter2@127.0.0.1:{service.server_port}/{{key}}?token=hunter3"
    reply = fetch(HTTPSource(url, {"x-token": "hunter4"}), {"k1": ("age", "scan"), "k2": ("age",)})
    assert (reply["k1"]["age"], str(reply["k1"]["scan"])) == (1.0, "expected a value, got a list")
    fetch(HTTPSource(url), {"k3": ("age",)})
    assert all("cookie" not in seen for seen in service.seen)
    assert {seen["authorization"] for seen in service.seen} == {"Basic bWU6aHVudGVyMg=="}
    pytest.importorskip("psycopg", reason="needs psycopg")
    pytest.importorskip("redis", reason="needs redis")
    down = [
        SQLSource("postgresql://me:hunter2@127.0.0.1:1/x", "t", "key"),
        RedisSource("redis://:hunter2@127.0.0.1:1"),
        HTTPSource("http://127.0.0.1:1/{key}?token=hunter2"),
        CallSource(lambda _: 1 / 0),
    ]
    for source in down:
        with Sources({"all": Lookup(source, NAMES, policy=Policy("missing"))}) as found:
            assert cf.predict_one(TREE, found, key="k1").failures
    assert "hunter" not in caplog.text
    assert not any("hunter" in str(record.__dict__) for record in caplog.records)


def test_values_of_the_environment_are_in_no_error_and_no_repr(tmp_path, monkeypatch):
    pytest.importorskip("redis", reason="needs redis")
    monkeypatch.setenv("NAME", "hunter2")
    sqlite3.connect(tmp_path / "a.db").close()
    path = tmp_path / "sources.toml"
    features = "features = ['age', 'chol', 'pulse', 'scan']\n"
    good = (
        f"[sources.a]\nkind = 'sql'\nurl = 'sqlite:///{tmp_path}/a.db'\ntable = '$NAME'\nkey = '${{NAME}}'\n{features}"
    )
    path.write_text(good)
    with Sources.load(path) as found:
        assert "hunter2" not in repr(found) + repr(found.lookups)
        with pytest.raises(SourceError, match=r"no table '\$NAME'") as caught:
            cf.predict_one(TREE, found, key=1)
        assert "hunter2" not in str(caught.value) + str(caught.value.failures)
    for old, new, why in [
        ("table = ", "connections = '$NAME'\ntable = ", r"connections: .*\$NAME"),
        ("kind = 'sql'", "kind = 'redis'", "table"),
        (good, f"[sources.a]\nkind = 'table'\npath = '$NAME.csv'\nkey = 'k'\n{features}", r"\$NAME.csv"),
    ]:
        path.write_text(good.replace(old, new, 1))
        with pytest.raises(ParameterError, match=why) as caught:
            Sources.load(path)
        assert "hunter2" not in str(caught.value) + repr(caught.value)
        assert caught.value.__suppress_context__


def test_names_and_values_with_control_characters_are_escaped(tmp_path):
    def evil(_trip, _wanted, _values):
        return {key: dict.fromkeys(NAMES, EVIL) for key in FRAME.key}

    lookup = Lookup(Doing(FRAME, evil), NAMES)
    with Sources({EVIL: lookup}) as found, cf.sources.InquiryLog(tmp_path / "log") as log:
        ends = dict(cf.predict_stream(TREE, found, [*FRAME.key, EVIL], observe=log))
    for key, end in ends.items():
        assert isinstance(end, SourceError)
        assert all(line.isprintable() for line in f"{end}\n{end.__notes__}".split("\n")), key
    assert (tmp_path / "log").read_text().replace("\n", "").isprintable()


def test_a_wrong_answer_is_not_asked_for_again_and_a_failure_is(service):
    service.odd = {"/wrong": 403, "/down": 503}
    url = f"http://127.0.0.1:{service.server_port}/{{key}}"
    for key, requests in (("wrong", 1), ("down", 3)):
        service.seen.clear()
        lookup = Lookup(HTTPSource(url), NAMES, policy=Policy(retries=2, backoff=0.0))
        with Sources({"all": lookup}) as found, pytest.raises(SourceError, match="status"):
            cf.predict_one(TREE, found, key=key)
        assert len(service.seen) == requests


def test_a_closing_that_fails_closes_the_others_and_says_whose_it_was():
    class Closing(Plain):
        async def close(self):
            self.trips = -1
            if "scan" not in places[self]:
                raise OSError("hunter2")

    bad, good = Closing(FRAME), Closing(FRAME)
    places = {bad: ["age", "chol"], good: ["pulse", "scan"]}
    found = Sources({name: Lookup(each, places[each]) for name, each in (("bad", bad), ("good", good))})
    with pytest.raises(InquiryError, match="bad did not close: OSError") as caught:
        found.close()
    assert ("hunter2" in str(caught.value), good.trips) == (False, -1)
