"""SQL, Redis, HTTP and files of sources: every kind gives the same rows, and refuses what it must not do."""

import asyncio
import http.server
import json
import os
import sqlite3
import subprocess
import sys
import threading
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from live_cases import COSTS, NAMES, postgres_url, redis_url, table, tree

import costframe as cf
from costframe.core.errors import InquiryError, ParameterError, PluginError, SourceError
from costframe.sources import (
    CallSource,
    HTTPSource,
    Lookup,
    Policy,
    RedisSource,
    Sources,
    SQLSource,
    TableSource,
    predict_one,
    predict_stream,
)
from costframe.sources.source import TripError, as_type

FRAME, TREE = table().assign(number=range(60)), tree()
REPORT = TREE.cost(FRAME[list(NAMES)], COSTS, rounds=True)
TABLE = 'odd "table"; drop table x --'  # names are quoted, whatever they hold
ROWS = FRAME.set_index("key").to_dict("index")
SCHEMA = f"costframe_{os.getpid()}"  # of this process: others may test on the same server


def agree(make, keys, place="{}".format):
    """Predict all rows from two lookups of a kind: costs, rounds and answers are the report's."""
    lookups = {
        "blood": Lookup(make(), {name: place(name) for name in ("chol", "pulse")}),
        "rest": Lookup(make(), {name: place(name) for name in ("age", "scan")}),
    }
    with Sources(lookups) as found:
        ends = list(predict_stream(TREE, found, keys, in_flight=25))
        trips = found.trips
        with pytest.raises(SourceError, match="no row for the key"):
            predict_one(TREE, found, key="nobody" if isinstance(keys[0], str) else 10**6)
    ends = dict(ends)
    for i, key in enumerate(keys):
        assert ends[key].cost == REPORT.per_row[i]
        assert ends[key].value == REPORT.predictions[i]
    assert max(trips.values()) <= 3 * REPORT.rounds.max()


def fetch(source, wanted):
    async def main():
        try:
            return await source.fetch(wanted)
        finally:
            await source.close()

    return asyncio.run(main())


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    path = tmp_path_factory.mktemp("sql") / "a b%.db"
    with sqlite3.connect(path) as connection:
        FRAME.to_sql(TABLE, connection, index=False)
        connection.execute("create table double (key text, age double)")
        connection.execute("insert into double values ('a', 1), ('a', 2), ('b', null)")
        connection.execute("create table untyped (key, age double)")
        connection.execute("insert into untyped values ('0007', 1), (7, 2)")
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    with postgres_url(tmp_path_factory.mktemp("postgres")) as url:
        engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(f"drop schema if exists {SCHEMA} cascade"))
            connection.execute(sqlalchemy.text(f"create schema {SCHEMA}"))
        with engine.begin() as connection:
            FRAME.to_sql(TABLE, connection, index=False, schema=SCHEMA)
            connection.execute(sqlalchemy.text(f"create table {SCHEMA}.double (key uuid, age numeric)"))
            rows = [{"key": "00000000-0000-0000-0000-000000000001", "age": age} for age in (1, 2)]
            connection.execute(sqlalchemy.text(f"insert into {SCHEMA}.double values (cast(:key as uuid), :age)"), rows)  # noqa: S608
        yield url
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(f"drop schema {SCHEMA} cascade"))
        engine.dispose()


@pytest.mark.parametrize("key", ["key", "number"])
@pytest.mark.parametrize(("database", "schema"), [("sqlite", None), ("postgres", SCHEMA)], ids=["sqlite", "postgres"])
def test_sql_gives_what_the_report_says(request, database, schema, key):
    url = request.getfixturevalue(database)
    agree(lambda: SQLSource(url, TABLE, key, schema=schema), FRAME[key].tolist())


async def later(key, _places):
    return ROWS.get(key)


@pytest.mark.parametrize(
    "source",
    [
        TableSource(FRAME, "key"),
        CallSource(later, each=True),
        CallSource(lambda wanted: {key: ROWS[key] for key in wanted if key in ROWS}),
    ],
    ids=["table", "each", "all"],
)
def test_tables_and_functions_give_what_the_report_says(source):
    agree(lambda: source, FRAME.key.tolist())


def test_sources_of_sql_may_go_from_loop_to_loop(sqlite):
    found = Sources({"all": Lookup(SQLSource(sqlite, TABLE, "key"), NAMES)})

    async def main():
        async with found:
            return await asyncio.gather(*(cf.predict_one_async(TREE, found, key=key) for key in FRAME.key[:4]))

    for _ in range(2):
        assert [end.cost for end in asyncio.run(main())] == REPORT.per_row[:4].tolist()


def test_an_interrupt_of_sqlite_meets_only_the_trip_that_was_cancelled(sqlite):
    source, began, goes_on, returned, late = SQLSource(sqlite, TABLE, "key"), *(threading.Event() for _ in "1234")

    class Connection:
        connection = property(lambda self: self)
        dbapi_connection = property(lambda self: self)
        __enter__ = connect = lambda self: self

        def __exit__(self, *_):
            returned.set()

        def interrupt(self):
            goes_on.set()
            if returned.wait(0.3):
                late.set()  # others may have it by now

    async def main():
        await source.fetch({"k1": ["age"]})
        database = source._database
        database._engine, engine = Connection(), database._engine
        task = asyncio.ensure_future(database.call(lambda _: (began.set(), goes_on.wait(20))))
        await asyncio.to_thread(began.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        database._engine = engine
        await source.close()

    asyncio.run(main())
    assert goes_on.is_set()
    assert not late.is_set()


def test_a_trip_is_one_select_that_gives_no_row_what_it_does_not_want(sqlite, postgres):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    for source in (SQLSource(sqlite, TABLE, "key"), SQLSource(postgres, TABLE, "key", schema=SCHEMA)):
        statements = []

        async def main(source=source, statements=statements):
            await source.fetch({"k1": ["age"]})
            engine = source._database._engine
            engine = getattr(engine, "sync_engine", engine)
            sqlalchemy.event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2:4]))
            reply = await source.fetch({"k1": ["age", "chol"], "k2": ["age"], "k'; --": ["age"]})
            await source.close()
            return reply

        reply = asyncio.run(main())
        assert reply == {
            "k1": {"age": FRAME.age[1], "chol": FRAME.chol[1]},
            "k2": {"age": FRAME.age[2], "chol": None},
        }
        ((text, _),) = statements
        assert "k1" not in text
        assert "--" not in text.replace(TABLE.replace('"', '""'), "")


def test_sql_cannot_write_and_makes_no_database(sqlite, postgres, tmp_path):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    with pytest.raises(Exception, match="no file is at the address"):
        fetch(SQLSource(f"sqlite:///{tmp_path}/new.db", "t", "key"), {"a": ["age"]})
    assert not list(tmp_path.iterdir())
    for source in (SQLSource(sqlite, TABLE, "key"), SQLSource(postgres, TABLE, "key", schema=SCHEMA)):

        async def main(source=source):
            await source.fetch({"k1": ["age"]})
            try:
                statement = sqlalchemy.text("create table new_table (a int)")
                await source._database.call(lambda connection: connection.execute(statement))
            finally:
                await source.close()

        with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"readonly|read-only"):
            asyncio.run(main())


def test_keys_beyond_64_bits_fail_alone(sqlite):
    wanted = {key: ["age"] for key in ("0007", "7", 2**63, str(2**63), None, b"x")}
    reply = fetch(SQLSource(sqlite, "untyped", "key"), wanted)
    assert (reply["0007"], reply["7"]) == ({"age": 1.0}, {"age": 2.0})
    assert (str(2**63) in reply, b"x" in reply) == (False, False)
    assert all("expected a key" in str(reply[key]) for key in (2**63, None))


def test_sql_names_what_is_wrong(sqlite, postgres):
    with pytest.raises(InquiryError, match="no table 'patients'"):
        fetch(SQLSource(sqlite, "patients", "key"), {"a": ["age"]})
    with pytest.raises(InquiryError, match=r"'double': no column 'ege'; it has 'key', 'age'"):
        fetch(SQLSource(sqlite, "double", "key"), {"a": ["ege"]})
    with pytest.raises(InquiryError, match=r"no column 'id'"):
        fetch(SQLSource(sqlite, "double", "id"), {"a": ["age"]})
    reply = fetch(SQLSource(sqlite, "double", "key"), {"a": ["age"], "b": ["age"], "c": ["age"]})
    assert isinstance(reply["a"], InquiryError)
    assert (reply["b"], "c" in reply) == ({"age": None}, False)
    one = "00000000-0000-0000-0000-000000000001"
    reply = fetch(SQLSource(postgres, "double", "key", schema=SCHEMA), {one: ["age"], "x": ["age"]})
    assert "two rows" in str(reply[one])
    assert "expected a key of type UUID, got 'x'" in str(reply["x"])
    for url in ("", "mysql://me:hunter2@host/x", "sqlite://", "me:hunter2@host"):
        with pytest.raises(ParameterError, match="url") as caught:
            SQLSource(url, "t", "key")
        assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(SQLSource("postgresql://me:hunter2@host/x", "t", "key"))


def test_a_table_may_be_named_with_its_schema_or_found_by_the_options_of_the_address(postgres, sqlite, monkeypatch):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")

    async def settings(source, names):
        try:
            await source.connect(["age"])
            texts = [sqlalchemy.text(f"show {name}") for name in names]
            return await source._database.call(lambda each: [each.execute(text).scalar() for text in texts])
        finally:
            await source.close()

    asked = ("search_path", "statement_timeout", "default_transaction_read_only")
    path = f"?options=-csearch_path%3D{SCHEMA}"
    for more, expected in [
        (path, [SCHEMA, "0", "on"]),
        (f"{path}%20-cdefault_transaction_read_only%3Doff", [SCHEMA, "0", "on"]),
        (f"{path}&options=-cstatement_timeout%3D7s", [SCHEMA, "7s", "on"]),
    ]:
        assert asyncio.run(settings(SQLSource(postgres + more, "double", "key"), asked)) == expected
    monkeypatch.setenv("PGOPTIONS", f"-c search_path={SCHEMA}")
    assert asyncio.run(settings(SQLSource(postgres, "double", "key"), asked)) == [SCHEMA, "0", "on"]
    monkeypatch.delenv("PGOPTIONS")
    agree(lambda: SQLSource(postgres, f"{SCHEMA}.{TABLE}", "key"), FRAME.key.tolist())
    assert fetch(SQLSource(sqlite, "main.double", "key"), {"b": ["age"]}) == {"b": {"age": None}}
    for source, why in [
        (SQLSource(postgres, "double", "key"), "no table 'double' in the search path; give its schema"),
        (SQLSource(postgres, "nowhere.double", "key"), "no table 'nowhere.double'$"),
        (SQLSource(postgres, "double", "key", schema="nowhere"), "no table 'double' in the schema 'nowhere'"),
        (SQLSource(sqlite, "double", "key", schema="nowhere"), "no table 'double' in the schema 'nowhere'"),
        (SQLSource(sqlite, "nowhere.double", "key"), "no table 'nowhere.double'$"),
    ]:
        with pytest.raises(InquiryError, match=why):
            fetch(source, {"b": ["age"]})
    with pytest.raises(ParameterError, match="schema: expected a text, got 3"):
        SQLSource(sqlite, "double", "key", schema=3)


def test_opened_sources_have_their_connection_and_the_kernels_before_the_first_row(postgres):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    source = SQLSource(postgres, TABLE, "key", schema=SCHEMA)
    events = []

    async def main():
        async with Sources({"all": Lookup(source, NAMES)}) as found:
            assert await found.aopen(TREE, max_cost=100.0) is found
            assert found.trips == {"all": 0}
            sqlalchemy.event.listen(
                source._database._engine.sync_engine, "connect", lambda *_: events.append("connect")
            )
            end = await cf.predict_one_async(TREE, found, key="k1", max_cost=100.0)
            return end.cost

    assert asyncio.run(main()) == REPORT.per_row[1]
    assert events == []


def test_a_fresh_process_that_opens_its_sources_imports_and_compiles_nothing_for_a_row(sqlite, tmp_path):
    cf.save(TREE, tmp_path / "a.model")
    text = (
        "import sys, costframe as cf\n"
        "model = cf.load(sys.argv[1])\n"
        "from costframe.sources import Lookup, Sources, SQLSource\n"
        "found = Sources({'all': Lookup(SQLSource(sys.argv[2], sys.argv[3], 'key'), sys.argv[4:])})\n"
        "found.open(model)\n"
        "before = set(sys.modules)\n"
        "print(cf.predict_one(model, found, key='k1').cost)\n"
        "print(sorted(each for each in set(sys.modules) - before if each.split('.')[0] in {'costframe', 'numba', "
        "'sqlalchemy'}))\n"
        "found.close()\n"
    )
    command = [sys.executable, "-c", text, tmp_path / "a.model", sqlite, TABLE, *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.stdout.splitlines() == [str(REPORT.per_row[1]), "[]"], done.stderr


@pytest.mark.parametrize(
    "source",
    [
        TableSource(FRAME, "key"),
        CallSource({name: FRAME.set_index("key")[name].get for name in NAMES}),
    ],
    ids=["table", "calls"],
)
def test_a_place_that_is_not_there_is_named_when_sources_open(source):
    features = {name: name for name in NAMES} | {"scan": "skan"}
    found = Sources({"all": Lookup(source, features, policy=Policy("without"))})
    with found, pytest.raises(ParameterError, match=r"sources: all: .*'skan'"):
        found.open(TREE)
    with found, pytest.raises(ParameterError, match=r"sources: all: .*'skan'"):
        list(predict_stream(TREE, found, ["k1"]))
    with found:
        found.open(TREE, unavailable=["scan"])  # nobody asks for it
        assert len(list(predict_stream(TREE, found, ["k1"], unavailable=["scan"]))) == 1
    with Sources({"all": Lookup(source, ["age"])}) as few, pytest.raises(ParameterError, match="none serves"):
        few.open(TREE)


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


def test_a_database_that_is_down_is_a_failure_without_its_password():
    pytest.importorskip("psycopg", reason="needs psycopg")
    down = SQLSource("postgresql://me:hunter2@127.0.0.1:1/x", "t", "key")
    found = Sources({"all": Lookup(down, NAMES, policy=Policy("missing"))})
    with found:
        end = predict_one(TREE, found, key="k1")
    assert end.failures
    assert end.cost == 0.0
    strict = Sources({"all": Lookup(down, NAMES)})
    with strict, pytest.raises(SourceError) as caught:
        predict_one(TREE, strict, key="k1")
    assert "hunter2" not in str(caught.value)


def test_redis_gives_what_the_report_says():
    redis = pytest.importorskip("redis", reason="needs redis")
    with redis_url() as url, redis.Redis.from_url(url) as client:
        with client.pipeline() as pipe:
            for row in FRAME.to_dict("records"):
                pipe.hset(f"costframe-test:{row['key']}", mapping={name: repr(row[name]) for name in NAMES})
            pipe.set("costframe-test:text", "no hash")
            pipe.hset("costframe-test:empty", "other", "1")
            pipe.execute()
        try:
            agree(lambda: RedisSource(url, "costframe-test:{key}"), FRAME.key.tolist())
            reply = fetch(RedisSource(url, "costframe-test:{key}"), {key: ["age"] for key in ("text", "empty", "no")})
            assert isinstance(reply["text"], Exception)
            assert (reply["empty"], "no" in reply) == ({"age": None}, False)
        finally:
            client.delete(*client.keys("costframe-test:*"))


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


def test_http_gives_what_the_report_says(service):
    url = f"http://127.0.0.1:{service.server_port}/people/{{key}}"
    agree(lambda: HTTPSource(url), FRAME.key.tolist(), "/v/{}".format)


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
    for url in ("ftp://host/{key}", "http://{key}/x", "http://host{key}/", "http://host/x", 3):
        with pytest.raises(ParameterError, match="url"):
            HTTPSource(url)


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {}, 0.0),
        (429, {"retry-after": "120"}, 120.0),
        (429, {"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10.0),
        (429, {"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        (429, {"retry-after": "soon"}, 0.0),
        (429, {"retry-after": "-1"}, 0.0),
        (429, {"retry-after": "9" * 5000}, 0.0),
        (429, {"retry-after": "Wed, 21 Oct 2015 07:28:10 -0000"}, 0.0),
        (503, {"retry-after": "2"}, 2.0),
        (503, {}, 0.0),
        (500, {"retry-after": "2"}, 0.0),
    ],
)
def test_http_says_how_long_it_wants_to_be_left_alone(status, headers, wait):
    from costframe.sources.http import check_status

    answer = pytest.importorskip("httpx", reason="needs httpx").Response(status, headers=headers)
    with pytest.raises(TripError, match=f"^the service answered with status {status}") as caught:
        check_status(answer)
    assert caught.value.wait == wait
    assert ("asks to wait" in str(caught.value)) == (wait > 0.0)


def test_a_service_that_is_busy_is_waited_for(service):
    wait = {"retry-after": "1"}
    service.odd = {"k1": (429, {"retry-after": "3600"}, b""), "k2": (429, wait, b"")}
    service.seen.clear()
    source = HTTPSource(f"http://127.0.0.1:{service.server_port}/people/{{key}}")
    policy = Policy(retries=1, backoff=0.0)
    with Sources({"all": Lookup(source, {name: f"/v/{name}" for name in NAMES}, policy=policy)}) as found:
        for deadline, limit in ((None, "the time limit is 10 s"), (60.0, "the time limit is 10 s")):
            with pytest.raises(SourceError, match=f"status 429, and asks to wait 3600 s, but {limit}"):
                predict_one(TREE, found, key="k1", **{} if deadline is None else {"deadline": deadline})
        assert len(service.seen) == 2  # it was not asked again
        threading.Timer(0.3, service.odd.clear).start()
        assert predict_one(TREE, found, key="k2").cost == REPORT.per_row[2]
        assert [path for path, _ in service.seen[2:]][:2] == ["/people/k2"] * 2


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
        ("'without'", "'skip'", "on_failure"),
        ("'blood'\non", "'blod'\non", "'blod'"),
        ("'number'", "'numbr'", "'scan': type"),
        ("[sources.blood]", "[sources.blood", "expected valid TOML"),
        ("'rest.csv'", "'rist.csv'", "rist.csv"),
    ]:
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises((ParameterError, PluginError, cf.CostframeError), match=why):
            Sources.load(path, COSTS)
    with pytest.raises(ParameterError, match="cannot be read"):
        Sources.load(tmp_path / "none.toml")


def test_plugins_bring_kinds_of_sources(installed, tmp_path):
    installed(
        "ours",
        "from costframe.hooks import hookimpl\nfrom costframe.sources import CallSource\n"
        "def make(start):\n    return CallSource(lambda wanted: {k: dict.fromkeys(p, start) for k, p in "
        "wanted.items()})\n"
        "@hookimpl\ndef costframe_sources():\n    return {'constant': make}\n",
    )
    path = tmp_path / "sources.toml"
    path.write_text("[sources.all]\nkind = 'constant'\nstart = 0.5\nfeatures = ['age', 'chol', 'pulse', 'scan']\n")
    with Sources.load(path) as found:
        end = predict_one(TREE, found, key="anybody")
    half = TREE.cost(np.full((1, 4), 0.5), COSTS)
    assert end.cost == half.per_row[0]


def test_a_key_that_no_source_is_asked_for_costs_nothing(sqlite):
    policy = Policy(on_failure="missing")
    with Sources({"all": Lookup(SQLSource(sqlite, TABLE, "number"), list(NAMES), policy=policy)}) as sources:
        ends = dict(predict_stream(tree(), sources, ["x", 1.5, 10**30, 10**6]))
    assert [ends[key].failed_cost for key in ("x", 1.5)] == [0.0, 0.0]
    assert ends[10**6].failed_cost > 0.0  # was asked for, and is not there


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, {"7": 7, "-7": -7, 7.0: 7}, ["0007", "+7", "7.0", "7e0", " 7", "7_0", "\u0667", "-0", "", 7.5]),
        (float, {"7": 7.0, "7.0": 7.0, "1e+22": 1e22, 7: 7.0}, ["07", "7.00", "1e0", "nan", "12345678901234567890123"]),
        (Decimal, {"1.50": Decimal("1.5"), "-7": Decimal(-7)}, ["07", "1e0", "+1", "1.", "nan"]),
        (date, {"2024-01-05": date(2024, 1, 5)}, ["20240105", "2024-1-5"]),
        (datetime, {"2024-01-05 10:00:00": datetime(2024, 1, 5, 10)}, ["2024-01-05", "2024-01-05 10:00"]),  # noqa: DTZ001
        (str, {7: "7", "0007": "0007"}, [None]),
    ],
)
def test_a_text_is_the_value_that_is_printed_so(kind, good, bad):
    assert {key: as_type(key, kind) for key in good} == good
    for key in bad:
        with pytest.raises(InquiryError, match="expected a key"):
            as_type(key, kind)


def test_keys_of_a_column_without_a_type_are_texts_and_numbers(tmp_path):
    """In SQLite each value has its type."""
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table people (key, age real)")
        connection.executemany("insert into people values (?, ?)", [(1, 0.5), ("2", 1.5), (3, 2.5), ("3", 3.5)])
    connection.close()
    source = SQLSource(f"sqlite:///{tmp_path}/a.db", "people", "key")
    reply = fetch(source, dict.fromkeys(["1", "2", "3", "01"], ("age",)))
    assert (reply["1"], reply["2"], "01" in reply) == ({"age": 0.5}, {"age": 1.5}, False)
    assert str(reply["3"]) == "two rows have this key"


def test_keys_of_tables_have_the_type_of_their_column():
    reply = fetch(TableSource({"key": [7, 8], "age": [0.5, 1.5]}, "key"), dict.fromkeys(["7", 8, "0007"], ("age",)))
    assert (reply["7"], reply[8]) == ({"age": 0.5}, {"age": 1.5})
    assert str(reply["0007"]) == "expected a key of type int, got '0007'"
    reply = fetch(TableSource({"key": ["7", None], "age": [0.5, 1.5]}, "key"), dict.fromkeys([7, "8"], ("age",)))
    assert reply == {7: {"age": 0.5}}
    assert (
        str(fetch(TableSource({"key": ["a", "a"], "age": [0, 1]}, "key"), {"a": ["age"]})["a"])
        == "2 rows have this key"
    )


def test_a_float_that_several_whole_numbers_round_to_is_no_key():
    with Sources({"all": Lookup(TableSource({name: [0.5] for name in NAMES}), list(NAMES))}) as found:
        ends = dict(predict_stream(TREE, found, [2.0**53, 0.0]))
    assert "several whole numbers" in str(ends[2.0**53])
    assert ends[0.0].acquired
