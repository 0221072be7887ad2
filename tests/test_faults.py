"""Servers that fail: no wrong answer, no lost row, no double charge, no hang past the deadline, nothing left open."""

import asyncio
import contextlib
import http.server
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fault_proxy import FAULTS, FaultProxy
from hypothesis import given, settings
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, check_end, postgres_url, redis_url, table, tree
from test_source_kinds import SCHEMA, Service

import costframe as cf
from costframe.errors import SourceError
from costframe.plugin import ParameterError
from costframe.sources import (
    CallSource,
    HTTPSource,
    InquiryLog,
    Lookup,
    Policy,
    RedisSource,
    Sources,
    SQLSource,
    TableSource,
    audit,
    event_loop,
    predict_stream_async,
)

FRAME, TREE = table(20), tree()
KEYS = FRAME.key.tolist()
REPORT = TREE.cost(FRAME[list(NAMES)], COSTS, rounds=True)
KINDS = ("postgres", "redis", "http")
POLICIES = ("raise", "missing", "without")
PATIENCE = 20.0  # far more than any deadline here, far less than a hang


class Place:
    """A server behind a proxy that fails."""

    def __init__(self, proxy, make, place, sessions=lambda: 0):
        self.proxy, self.make, self.place, self.sessions = proxy, make, place, sessions

    def sources(self, **policy):
        features = {name: self.place.format(name) for name in NAMES}
        policy = {"timeout": 0.2, "backoff": 0.01} | policy
        return Sources({"all": Lookup(self.make(self.proxy.port), features, policy=Policy(**policy))})

    def check_nothing_is_open(self):
        wait_until(lambda: self.proxy.open == 0, lambda: f"{self.proxy.open} connections are open")
        wait_until(lambda: self.sessions() == 0, lambda: f"{self.sessions()} sessions at the server")


@contextlib.contextmanager
def postgres(folder):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    with postgres_url(folder) as url, psycopg.connect(url, autocommit=True) as client:
        client.execute(f"drop table if exists {SCHEMA}")
        client.execute(
            f"create table {SCHEMA} (key text primary key, age float8, chol float8, pulse float8, scan float8)"
        )
        with client.cursor() as cursor:
            rows = FRAME[["key", *NAMES]].itertuples(index=False)
            cursor.executemany(f"insert into {SCHEMA} values (%s, %s, %s, %s, %s)", [tuple(row) for row in rows])  # noqa: S608 - our name
        info = client.info
        with FaultProxy(info.port) as proxy:
            plain = f"sslmode=disable&gssencmode=disable&application_name={SCHEMA}"
            address = f"postgresql://{info.user}@127.0.0.1:{{}}/{info.dbname}?{plain}".format
            count = f"select count(*) from pg_stat_activity where application_name = '{SCHEMA}'"  # noqa: S608 - our name
            yield Place(
                proxy,
                lambda port: SQLSource(address(port), SCHEMA, "key"),
                "{}",
                lambda: client.execute(count).fetchone()[0],
            )
        client.execute(f"drop table {SCHEMA}")


@contextlib.contextmanager
def redis(_folder):
    library = pytest.importorskip("redis", reason="needs redis")
    with redis_url() as url, library.Redis.from_url(url) as client:
        for row in FRAME.to_dict("records"):
            client.hset(f"{SCHEMA}:{row['key']}", mapping={name: repr(row[name]) for name in NAMES})
        with FaultProxy(client.connection_pool.connection_kwargs["port"]) as proxy:
            yield Place(proxy, lambda port: RedisSource(f"redis://127.0.0.1:{port}", SCHEMA + ":{key}"), "{}")
        client.delete(*client.keys(f"{SCHEMA}:*"))


class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads, odd = 100, True, {}

    def handle_error(self, *_):
        pass


@contextlib.contextmanager
def web(_folder):
    pytest.importorskip("httpx", reason="needs httpx")
    with Server(("127.0.0.1", 0), Service) as server:
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with FaultProxy(server.server_port) as proxy:
            yield Place(proxy, lambda port: HTTPSource(f"http://127.0.0.1:{port}/people/{{key}}"), "/v/{}")
        server.shutdown()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Each kind's server, started when a test asks for it."""
    with contextlib.ExitStack() as stack:
        found = {}

        def place(kind):
            if kind not in found:
                begin = {"postgres": postgres, "redis": redis, "http": web}[kind]
                found[kind] = stack.enter_context(begin(tmp_path_factory.mktemp(kind)))
            found[kind].proxy.fail(None)
            return found[kind]

        yield place


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "rows.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        FRAME.to_sql("people", connection, index=False)
    return path


def wait_until(holds, describe):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, describe()
        time.sleep(0.01)


async def collect(rows):
    return [each async for each in rows]


async def one_by_one(found, keys, **terms):
    async def one(key):
        try:
            return key, await cf.predict_one_async(TREE, found, key=key, **terms)
        except SourceError as error:
            return key, error

    return await asyncio.gather(*map(one, keys))


def one_after_another(found, keys, **terms):
    for key in keys:
        try:
            yield key, cf.predict_one(TREE, found, key=key, **terms)
        except SourceError as error:
            yield key, error


def in_a_loop(make):
    """Run an async driver, and close its sources in its loop; nothing may be left in it."""

    def drive(found, keys, **terms):
        async def main():
            async with found:
                ends = await make(found, keys, **terms)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return ends

        return asyncio.run(main())

    return drive


DRIVERS = {
    "many": lambda found, keys, **terms: list(cf.predict_stream(TREE, found, keys, in_flight=7, **terms)),
    "one": lambda found, keys, **terms: list(one_after_another(found, keys, **terms)),
    "many async": in_a_loop(lambda found, keys, **terms: collect(predict_stream_async(TREE, found, keys, **terms))),
    "one async": in_a_loop(one_by_one),
}


def check(ends, keys, policy, cap=None):
    assert sorted(key for key, _ in ends) == sorted(keys)
    for key, end in ends:
        check_end(FRAME, key, end, policy, cap)


def check_no_thread_nor_task_is_left():
    wait_until(
        lambda: not any(each.name == "costframe-call" for each in threading.enumerate()),
        lambda: str(threading.enumerate()),
    )
    if event_loop._background is not None:
        wait_until(
            lambda: not asyncio.all_tasks(event_loop._background[1]),
            lambda: str(asyncio.all_tasks(event_loop._background[1])),
        )


def check_recovers(predict):
    wait_until(
        lambda: not any(isinstance(end, Exception) or end.failures for _, end in predict()),
        lambda: "it does not recover",
    )


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_fails_and_recovers(places, kind, fault, tmp_path):
    place, number = places(kind), FAULTS.index(fault) + KINDS.index(kind)
    policy, driver = POLICIES[number % 3], list(DRIVERS)[number % 4]
    found, log = place.sources(on_failure=policy, retries=number % 2), InquiryLog(tmp_path / "log.jsonl")
    keys = KEYS[:4] if driver == "one" else KEYS
    with found, log:
        check(DRIVERS["many"](found, keys, observe=log), keys, policy)
        if "async" in driver:
            found.close()
        place.proxy.fail(fault)
        began = time.monotonic()
        ends = DRIVERS[driver](found, keys, deadline=0.3, observe=log)
        assert time.monotonic() - began < PATIENCE
        assert not any(isinstance(end, SourceError) and "hunter" in str(end) for _, end in ends)
        check(ends, keys, policy)
        assert all(isinstance(end, Exception) or end.failures for _, end in ends)
        place.proxy.fail(None)
        check_recovers(lambda: DRIVERS["many"](found, KEYS[:2], observe=log))
    place.check_nothing_is_open()
    check_no_thread_nor_task_is_left()
    replayed = audit(tmp_path / "log.jsonl", TREE)
    assert replayed.agrees, replayed.differences


@pytest.mark.parametrize("kind", KINDS)
def test_faults_of_any_order(places, kind):
    place = places(kind)

    @settings(max_examples=max(3, settings.default.max_examples // 20))
    @given(st.data())
    def law(data):
        some = st.lists(st.sampled_from([None] * 6 + [fault for fault in FAULTS if fault != "refused"]), max_size=30)
        policy, driver = data.draw(st.sampled_from(POLICIES)), data.draw(st.sampled_from(list(DRIVERS)))
        cap, deadline = data.draw(st.sampled_from([None, None, 12.0])), data.draw(st.sampled_from([0.3, None]))
        keys = KEYS[: data.draw(st.integers(1, 8))]
        place.proxy.fail(None, data.draw(some))
        with place.sources(on_failure=policy, retries=data.draw(st.integers(0, 2)), timeout=0.1) as found:
            ends = DRIVERS[driver](found, keys, max_cost=cap, deadline=deadline)
        check(ends, keys, policy, cap)
        place.check_nothing_is_open()

    law()


ROWS = FRAME.set_index("key")[list(NAMES)].to_dict("index")


async def all_later(wanted):
    await asyncio.sleep(0.002)
    return {key: ROWS[key] for key in wanted if key in ROWS}


async def each_later(key, _places):
    await asyncio.sleep(0.002)
    return ROWS.get(key)


@pytest.fixture(params=[*KINDS, "sqlite", "function", "each", "table"])
def found(request, places, database):
    """Give sources of a kind; at the end nothing of them is open."""
    kind, policy = request.param, {"timeout": PATIENCE}
    makes = {
        "sqlite": lambda: SQLSource(f"sqlite:///{database}", "people", "key", connections=2),
        "function": lambda: CallSource(all_later),
        "each": lambda: CallSource(each_later, each=True, workers=2),
        "table": lambda: TableSource(FRAME, "key"),
    }
    if kind in KINDS:
        made = places(kind).sources(**policy)
        made.lookups["all"].source.connections = 2
        yield made
        places(kind).check_nothing_is_open()
    else:
        yield Sources({"all": Lookup(makes[kind](), NAMES, policy=Policy(**policy))})
    check_no_thread_nor_task_is_left()


def test_every_kind_gives_what_the_report_says_in_any_loop(found):
    with found:
        ends = dict(cf.predict_stream(TREE, found, KEYS, in_flight=7))
        assert [ends[key].cost for key in KEYS] == REPORT.per_row.tolist()
        assert [ends[key].value for key in KEYS] == REPORT.predictions.tolist()
        assert max(found.trips.values()) <= 3 * REPORT.rounds.max()
        with pytest.raises(SourceError, match="no row for the key"):
            cf.predict_one(TREE, found, key="nobody")
    for _ in range(2):
        assert [end.cost for _, end in DRIVERS["one async"](found, KEYS[:4])] == REPORT.per_row[:4].tolist()


def test_rows_that_are_cancelled_leave_nothing_behind(found):
    """Other rows, later rows, and the same rows again are as if nothing had been, and are paid once."""
    chance = random.Random(0)  # noqa: S311 - no secret

    def start(key):
        return asyncio.ensure_future(cf.predict_one_async(TREE, found, key=key))

    async def main():
        async with found:
            for _ in range(4):
                work = {key: start(key) for key in KEYS}
                for task in chance.sample([*work.values()], 10):
                    await asyncio.sleep(chance.choice([0.0, 0.0, 0.001, 0.003]))
                    task.cancel()
                await asyncio.wait(work.values())
                again = {key: await start(key) if task.cancelled() else task.result() for key, task in work.items()}
                for i, key in enumerate(KEYS):
                    end = again[key]
                    assert (end.value, end.cost) == (REPORT.predictions[i], REPORT.per_row[i])
                    assert (end.failed_cost, end.failures, end.reason) == (0.0, (), "complete")

    asyncio.run(main())


def spoil(path):
    path.write_bytes(b"garbage " * 1000)


@pytest.mark.parametrize(("fault", "driver", "policy"), [("locked", "many", "missing"), ("removed", "one", "without"),
                                                         ("garbage", "many async", "raise")])  # fmt: skip
def test_files_of_sqlite_that_fail(database, fault, driver, policy):
    source = SQLSource(f"sqlite:///{database}", "people", "key")
    with contextlib.closing(sqlite3.connect(database)) as other:
        with Sources({"all": Lookup(source, NAMES, policy=Policy(policy, timeout=0.2))}) as found:
            {"removed": Path.unlink, "garbage": spoil}.get(fault, lambda _: other.execute("begin exclusive"))(database)
            ends = DRIVERS[driver](found, KEYS[:3], deadline=0.3)
            check(list(ends), KEYS[:3], policy)
            assert all(isinstance(end, Exception) or end.failures for _, end in ends)
        other.rollback()
        with contextlib.suppress(ParameterError), found:  # what is not there at the beginning is an error
            assert fault != "locked" or check_recovers(lambda: DRIVERS["many"](found, KEYS[:3])) is None
    check_no_thread_nor_task_is_left()


def test_a_function_that_hangs_keeps_no_process_alive():
    code = (
        "import time, costframe as cf\nfrom live_cases import COSTS, NAMES, tree\n"
        "def hang(key, places):\n    print('called', flush=True)\n    time.sleep(600)\n"
        "from costframe.sources import CallSource, Lookup, Policy, Sources\n"
        "sources = Sources({'all': Lookup(CallSource(hang, each=True), NAMES, policy=Policy('missing'))})\n"
        "import asyncio\ncf.predict_one(tree(), dict.fromkeys(NAMES, 0.0))\n"  # loads the kernels
        "print(asyncio.run(cf.predict_one_async(tree(), sources, key=1, deadline=1.0)).reason)\n"
    )
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["called", "deadline"]
