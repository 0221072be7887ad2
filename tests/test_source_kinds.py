"""SQL, HTTP, tables and files of sources: what is theirs alone; what every kind does is in test_faults."""

import asyncio
import http.server
import json
import os
import sqlite3
import threading
from datetime import date, datetime
from decimal import Decimal

import pytest
from live_cases import COSTS, NAMES, fetch, postgres_url, table, tree

import costframe as cf
from costframe.errors import InquiryError, SourceError
from costframe.plugin import ParameterError
from costframe.sources import HTTPSource, Lookup, Policy, Sources, SQLSource, TableSource, predict_one, predict_stream
from costframe.sources.keys import as_type
from costframe.sources.source import TripError

FRAME, TREE = table().assign(number=range(60)), tree()
REPORT = TREE.cost(FRAME[list(NAMES)], COSTS, rounds=True)
TABLE = 'odd "table"; drop table x --'  # names are quoted, whatever they hold
ROWS = FRAME.set_index("key").to_dict("index")
SCHEMA = f"costframe_{os.getpid()}"  # of this process: others may test on the same server


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "a b%.db"
    with sqlite3.connect(path) as connection:
        FRAME.to_sql(TABLE, connection, index=False)
        connection.execute("create table double (key text, age double)")
        connection.execute("insert into double values ('a', 1), ('a', 2), ('b', null)")
        connection.execute("create table untyped (key, age double)")
        connection.execute("insert into untyped values ('0007', 1), (7, 2), (3, 2.5), ('3', 3.5)")
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    name = psycopg.sql.Identifier(SCHEMA, TABLE)
    with postgres_url(tmp_path_factory.mktemp("postgres")) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop schema if exists {SCHEMA} cascade")
            connection.execute(f"create schema {SCHEMA}")
            columns = ", ".join(f'"{each}" float8' for each in NAMES)
            create = psycopg.sql.SQL("create table {} (" + columns + ", key text, number bigint)").format(name)
            connection.execute(create)
            copy = psycopg.sql.SQL("copy {} from stdin").format(name)
            with connection.cursor().copy(copy) as rows:
                for row in FRAME[[*NAMES, "key", "number"]].itertuples(index=False):
                    rows.write_row(row)
            connection.execute(f"create table {SCHEMA}.double (key uuid, age numeric)")
            one = "00000000-0000-0000-0000-000000000001"
            connection.execute(f"insert into {SCHEMA}.double values ('{one}', 1), ('{one}', 2)")  # noqa: S608 - ours
        yield url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop schema {SCHEMA} cascade")


def test_a_trip_is_one_select_that_gives_no_row_what_it_does_not_want(sqlite, postgres, monkeypatch):
    from costframe.sources.sql import postgresql

    statements = []

    def noted(function, place):
        def note(*given):
            statements.append(given[place])
            return function(*given)

        return note

    monkeypatch.setattr(postgresql.Connections, "run", noted(postgresql.Connections.run, 1))
    for source in (SQLSource(sqlite, TABLE, "key"), SQLSource(postgres, TABLE, "key", schema=SCHEMA)):

        async def main(source=source):
            await source.fetch({"k1": ["age"]})
            database = source._database
            if source.url == sqlite:
                database._rows = noted(database._rows, 2)
            statements.clear()
            reply = await source.fetch({"k1": ["age", "chol"], "k2": ["age"], "k'; --": ["age"]})
            await source.close()
            return reply

        reply = asyncio.run(main())
        assert reply == {
            "k1": {"age": FRAME.age[1], "chol": FRAME.chol[1]},
            "k2": {"age": FRAME.age[2], "chol": None},
        }
        (text,) = [each if isinstance(each, str) else each.decode() for each in statements]
        assert "k1" not in text
        assert "--" not in text.replace(TABLE.replace('"', '""'), "")


def test_sql_cannot_write_and_makes_no_database(sqlite, postgres, tmp_path):
    with pytest.raises(InquiryError, match="no file is at the address"):
        fetch(SQLSource(f"sqlite:///{tmp_path}/new.db", "t", "key"), {"a": ["age"]})
    assert not list(tmp_path.iterdir())
    write = "create table new_table (a int)"
    ways = {
        sqlite: lambda database: database.file.call(lambda raw: raw.execute(write)),
        postgres: lambda database: database.connections.run(write.encode(), []),
    }
    for source in (SQLSource(sqlite, TABLE, "key"), SQLSource(postgres, TABLE, "key", schema=SCHEMA)):

        async def main(source=source):
            await source.fetch({"k1": ["age"]})
            try:
                await ways[source.url](source._database)
            finally:
                await source.close()

        with pytest.raises(Exception, match=r"readonly|read-only"):
            asyncio.run(main())


def test_a_source_that_is_down_or_hangs_when_sources_open_is_left_to_its_policy(monkeypatch):
    class Hangs(TableSource):
        async def connect(self, _places):
            await asyncio.sleep(60)

    class IsDown(TableSource):
        async def connect(self, _places):
            raise OSError("hunter2")

    monkeypatch.setattr("costframe.sources.trips._OPENING", 0.01)
    for kind in (Hangs, IsDown):
        with Sources({"all": Lookup(kind(FRAME, "key"), NAMES)}) as found:
            assert found.open(TREE) is found
            assert found.failures.keys() == {"all"}
            assert "hunter2" not in found.failures["all"]
            assert predict_one(TREE, found, key="k1").cost == REPORT.per_row[1]


class Service(http.server.BaseHTTPRequestHandler):
    """JSON documents, and all that a service can do wrong."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        key = self.path.removeprefix("/people/").partition("?")[0]
        self.server.seen.append((self.path, self.headers.get("x-token")))
        status, headers, body = self.server.odd.get(key, (None, {}, b""))
        if status is None:
            status, body = (200, json.dumps({"v": ROWS[key]}).encode()) if key in ROWS else (404, b"")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def service():
    pytest.importorskip("httpx", reason="needs httpx")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.seen, server.odd, server.daemon_threads = [], {}, True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_http_follows_no_foreign_redirect_reads_no_endless_reply_and_quotes_keys(service):
    here = f"http://127.0.0.1:{service.server_port}"
    service.odd = {
        "far": (302, {"location": "http://localhost:1/people/k1"}, b""),
        "other-scheme": (302, {"location": "https://127.0.0.1/people/k1"}, b""),
        "near": (302, {"location": "/people/k1"}, b""),
        "circle": (302, {"location": "/people/circle"}, b""),
        "long": (200, {}, b" " * 3000),
        "packed": (200, {"content-encoding": "gzip"}, b"x"),
        "garbage": (200, {}, b"<html>"),
        "deep": (200, {}, b"[" * 1500),
        "double": (200, {}, b'{"v": 1, "v": 2}'),
        "broken": (500, {}, b""),
        "..%2F..%2Fadmin%3Fa%3D1": (200, {}, b'{"v": {"age": 7}}'),
    }
    service.seen.clear()
    source = HTTPSource(f"{here}/people/{{key}}", {"x-token": "hunter2"}, most_bytes=2000, places="fields")
    keys = [*(key for key in service.odd if "%" not in key), "nobody", "..", "../../admin?a=1"]
    reply = fetch(source, {key: ["/v/age"] for key in keys})
    assert reply["near"] == {"/v/age": FRAME.age[1]}
    assert reply["../../admin?a=1"] == {"/v/age": 7}
    assert "nobody" not in reply
    for key, why in {
        "far": "another host",
        "other-scheme": "another host",
        "circle": "more than 3 times",
        "long": "more than 2,000 bytes",
        "packed": "compresses",
        "garbage": "else than JSON",
        "deep": "else than JSON",
        "double": "else than JSON",
        "..": "can stand in an address",
    }.items():
        assert why in str(reply[key]), key
    assert {sent for _, sent in service.seen} == {"hunter2"}
    assert all("fields=%2Fv%2Fage" in path for path, _ in service.seen if path.startswith("/people/long"))
    assert "hunter2" not in repr(source)
    for url in ("ftp://host/{key}", "http://{key}/x", "http://host/x"):
        with pytest.raises(ParameterError, match="url"):
            HTTPSource(url)


def test_a_key_that_no_source_is_asked_for_costs_nothing(postgres):
    source = SQLSource(postgres, TABLE, "number", schema=SCHEMA)
    with Sources({"all": Lookup(source, list(NAMES), policy=Policy(on_failure="missing"))}) as sources:
        ends = dict(predict_stream(tree(), sources, ["x", 1.5, 10**30, 10**6]))
    assert [ends[key].failed_cost for key in ("x", 1.5, 10**30)] == [0.0, 0.0, 0.0]
    assert ends[10**6].failed_cost > 0.0  # was asked for, and is not there


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, {"7": 7, "-7": -7, 7.0: 7}, ["0007", "+7", "7.0", "7e0", " 7", "7_0", "\u0667", "-0", "", 7.5]),
        (float, {"7": 7.0, "7.0": 7.0, "1e+22": 1e22, 7: 7.0}, ["07", "7.00", "1e0", "nan", "12345678901234567890123"]),
        (Decimal, {"1.50": Decimal("1.5"), "-7": Decimal(-7)}, ["07", "1e0", "+1", "1.", "nan"]),
        (
            date,
            {"2024-01-05": date(2024, 1, 5), datetime(2024, 1, 5): date(2024, 1, 5)},  # noqa: DTZ001
            ["20240105", "2024-1-5", datetime(2024, 1, 5, 10)],  # noqa: DTZ001
        ),
        (datetime, {"2024-01-05 10:00:00": datetime(2024, 1, 5, 10)}, ["2024-01-05", "2024-01-05 10:00"]),  # noqa: DTZ001
        (str, {7: "7", "0007": "0007"}, [None]),
    ],
)
def test_a_text_is_the_value_that_is_printed_so(kind, good, bad):
    assert {key: as_type(key, kind) for key in good} == good
    for key in bad:
        with pytest.raises(InquiryError, match="expected a key"):
            as_type(key, kind)


def test_a_float_that_several_whole_numbers_round_to_is_no_key():
    with Sources({"all": Lookup(TableSource({name: [0.5] for name in NAMES}), list(NAMES))}) as found:
        ends = dict(predict_stream(TREE, found, [2.0**53, 0.0]))
    assert "several whole numbers" in str(ends[2.0**53])
    assert ends[0.0].acquired


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_sql_names_what_is_wrong(request, database):
    url, schema = request.getfixturevalue(database), SCHEMA if database == "postgres" else None
    key = {"sqlite": "a", "postgres": "00000000-0000-0000-0000-000000000001"}[database]
    for name, column, place, why in [
        ("patients", "key", "age", "no table 'patients'"),
        ("double", "key", "ege", r"'double': no column 'ege'; it has 'key', 'age'"),
        ("double", "id", "age", "no column 'id'"),
    ]:
        with pytest.raises(InquiryError, match=why):
            fetch(SQLSource(url, name, column, schema=schema), {key: [place]})
    reply = fetch(SQLSource(url, "double", "key", schema=schema), {key: ["age"], "x": ["age"]})
    assert "two rows" in str(reply[key])
    assert "x" not in reply or "expected a key of type UUID, got 'x'" in str(reply["x"])
    found = fetch(SQLSource(url, TABLE, "number", schema=schema), {1: ["age"], "2": ["age"], "x": ["age"]})
    assert [found[key] for key in (1, "2")] == [{"age": FRAME.age[i]} for i in (1, 2)]
    with pytest.raises(InquiryError, match="no table 'double' in the schema 'nowhere'"):
        fetch(SQLSource(url, "double", "key", schema="nowhere"), {key: ["age"]})


def test_keys_have_the_type_of_their_column(sqlite):
    """In SQLite each value has its own, where the column has none."""
    wanted = {key: ["age"] for key in ("0007", "7", "01", "3", 2**63, str(2**63), None, b"x")}
    reply = fetch(SQLSource(sqlite, "untyped", "key"), wanted)
    assert (reply["0007"], reply["7"]) == ({"age": 1.0}, {"age": 2.0})
    assert not {str(2**63), b"x", "01"} & reply.keys()
    assert all("expected a key" in str(reply[key]) for key in (2**63, None))
    assert str(reply["3"]) == "two rows have this key"
    reply = fetch(TableSource({"key": [7, 8], "age": [0.5, 1.5]}, "key"), dict.fromkeys(["7", 8, "0007"], ("age",)))
    assert (reply["7"], reply[8]) == ({"age": 0.5}, {"age": 1.5})
    assert str(reply["0007"]) == "expected a key of type int, got '0007'"
    twice = fetch(TableSource({"key": ["a", "a"], "age": [0, 1]}, "key"), {"a": ["age"]})
    assert str(twice["a"]) == "2 rows have this key"


def test_a_file_names_sources_and_keeps_secrets_in_the_environment(tmp_path, monkeypatch, sqlite):
    monkeypatch.setenv("FEATURES", sqlite)
    FRAME.to_csv(tmp_path / "rest.csv", index=False)
    path = tmp_path / "sources.toml"
    path.write_text(
        f"[sources.blood]\nkind = 'sql'\nurl = '$FEATURES'\ntable = '{TABLE}'\nkey = 'key'\nresource = 'blood'\n"
        "on_failure = 'without'\ntimeout = 20.0\n"
        "[sources.rest]\nkind = 'table'\npath = 'rest.csv'\nkey = 'key'\nmissing = ['n/a']\n"
        "features = { age = 'age', scan = { place = 'scan', type = 'number' } }\n"
    )
    with Sources.load(path, COSTS) as found:
        assert found.lookups["blood"].features.keys() == {"chol", "pulse"}
        assert found.lookups["blood"].policy == Policy("without", timeout=20.0)
        assert found.lookups["rest"].features["scan"].missing == ("n/a",)
        assert predict_one(TREE, found, key="k1").cost == REPORT.per_row[1]
    text = path.read_text()
    for old, new, why in [
        ("'sql'", "'sqll'", "kind of source 'sqll'"),
        ("$FEATURES", "$NOWHERE", "environment variable NOWHERE is not set"),
        ("table = ", "tabel = ", "'tabel'"),
        ("'blood'\non", "'blod'\non", "'blod'"),
        ("'number'", "'numbr'", "'scan': type"),
        ("[sources.blood]", "[sources.blood", "expected valid TOML"),
    ]:
        path.write_text(text.replace(old, new))
        with pytest.raises(cf.CostframeError, match=why):
            Sources.load(path, COSTS)


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry-after": "120"}, 120.0),
        (429, {"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10.0),
        (429, {"retry-after": "9" * 5000}, 0.0),
        (503, {"retry-after": "2"}, 2.0),
        (500, {"retry-after": "2"}, 0.0),
    ],
)
def test_http_says_how_long_it_wants_to_be_left_alone(status, headers, wait):
    from costframe.sources.http import check_status

    answer = pytest.importorskip("httpx", reason="needs httpx").Response(status, headers=headers)
    with pytest.raises(TripError, match=f"^the service answered with status {status}") as caught:
        check_status(answer)
    assert caught.value.wait == wait


def test_a_service_that_is_busy_is_waited_for(service):
    service.odd = {"k1": (429, {"retry-after": "3600"}, b""), "k2": (429, {"retry-after": "1"}, b"")}
    source = HTTPSource(f"http://127.0.0.1:{service.server_port}/people/{{key}}")
    policy = Policy(retries=1, backoff=0.0)
    with Sources({"all": Lookup(source, {name: f"/v/{name}" for name in NAMES}, policy=policy)}) as found:
        with pytest.raises(SourceError, match="status 429, and asks to wait 3600 s, but the time limit is 10 s"):
            predict_one(TREE, found, key="k1")
        threading.Timer(0.3, service.odd.clear).start()
        assert predict_one(TREE, found, key="k2").cost == REPORT.per_row[2]


class Ending(http.server.BaseHTTPRequestHandler):
    """A service that answers once, and ends the connection when the next request is on its way."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.seen.append(self.path)
        if getattr(self, "answered", False):
            self.close_connection = True
            return
        self.answered = True
        self.send_response(200)
        self.send_header("content-length", "8")
        self.end_headers()
        self.wfile.write(b'{"a": 1}')


def test_a_connection_that_a_service_ends_is_opened_anew_before_a_row_fails():
    pytest.importorskip("httpx", reason="needs httpx")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ending) as server:
        server.seen, server.daemon_threads = [], True
        threading.Thread(target=server.serve_forever, daemon=True).start()

        async def main():
            source = HTTPSource(f"http://127.0.0.1:{server.server_port}/{{key}}")
            replies = [await source.fetch({key: ["a"]}) for key in "xyz"]
            await source.close()
            return replies

        assert asyncio.run(main()) == [{key: {"a": 1}} for key in "xyz"]
        assert server.seen == ["/x", "/y", "/y", "/z", "/z"]
        server.shutdown()


@pytest.mark.parametrize("url", ["mysql://me:hunter2@host/x", "me:hunter2@host", "sqlite://"])
def test_addresses_that_are_none_are_refused_without_their_passwords(url):
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    with pytest.raises(ParameterError, match="url") as caught:
        SQLSource(url, "t", "key")
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_down_is_a_failure_without_its_password():
    pytest.importorskip("psycopg", reason="needs psycopg")
    down = SQLSource("postgresql://me:hunter2@127.0.0.1:1/x", "t", "key")
    assert "hunter2" not in repr(down)
    with Sources({"all": Lookup(down, NAMES)}) as found, pytest.raises(SourceError) as caught:
        predict_one(TREE, found, key="k1")
    assert "hunter2" not in str(caught.value)
