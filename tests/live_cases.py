"""Sources that fail on purpose, tables and models for tests of live prediction, and servers."""

import asyncio
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from costframe import Answer, CostModel, Route, StageTree, WeakLearnerBank
from costframe.sources import Lookup, Policy, Source, Sources

NAMES = ("age", "chol", "pulse", "scan")
COSTS = CostModel.of(
    {
        "features": {
            "age": {"cost": 1.0, "time": 2.0},
            "chol": {"cost": 2.0, "needs": ["blood"], "time": 5.0},
            "pulse": {"cost": 1.0, "needs": ["blood"], "time": 1.0},
            "scan": {"cost": 50.0, "time": 30.0},
        },
        "resources": {"blood": {"cost": 3.0, "needs": ["visit"], "time": 20.0}, "visit": {"cost": 4.0, "time": 10.0}},
    }
)


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(rows, 4)), columns=list(NAMES)).assign(key=[f"k{i}" for i in range(rows)])


def tree():
    """A chain: age alone decides some rows; others pay for blood, and the last for the scan."""
    bank = WeakLearnerBank.columns(NAMES)
    one = [[1.0], [0.5], [1.0]]
    stages = (
        Route([0], one[:1], 0.0, 0.5, 1.0, 2, 1),
        Answer([0], one[:1], [0.1], "sigmoid"),
        Route([1, 2], one[:2], 0.0, 0.0, 1.0, 3, 4),
        Answer([0, 1, 2], one, [0.2], "sigmoid"),
        Answer([0, 1, 3], one, [0.3], "sigmoid"),
    )
    return StageTree(bank, stages, costs=COSTS)


def fetch(source, wanted):
    """Return what one trip to a source gives; close it."""

    async def main():
        try:
            return await source.fetch(wanted)
        finally:
            await source.close()

    return asyncio.run(main())


class Plain(Source):
    """Rows of a frame, that counts what it was asked; subclasses fail."""

    def __init__(self, frame):
        self.rows = {row["key"]: row for row in frame.to_dict("records")}
        self.asked, self.trips, self.open = [], 0, 0

    def values(self, wanted):
        return {key: {p: self.rows[key][p] for p in places} for key, places in wanted.items() if key in self.rows}

    async def fetch(self, wanted):
        self.trips += 1
        self.asked += [(key, place) for key, places in wanted.items() for place in places]
        self.open += 1
        try:
            return await self.answer(wanted)
        finally:
            self.open -= 1

    async def answer(self, wanted):
        return self.values(wanted)


class Doing(Plain):
    """A source that does what a function of the number of its trip and of the wanted values does."""

    def __init__(self, frame, does):
        super().__init__(frame)
        self.does = does

    async def answer(self, wanted):
        reply = self.does(self.trips, wanted, self.values(wanted))
        return await reply if asyncio.iscoroutine(reply) else reply


def sources(frame, blood=None, **policy):
    """Two lookups: blood with a policy, and the rest, which never fails."""
    blood = Plain(frame) if blood is None else blood
    return Sources(
        {
            "blood": Lookup(blood, ["chol", "pulse"], policy=Policy(**policy)),
            "rest": Lookup(Plain(frame), ["age", "scan"]),
        }
    )


def check_end(frame, key, end, policy, cap=None):
    """Whatever failed, a row's answer is that of the values that came, its cost the price of these, once."""
    if isinstance(end, Exception):
        assert policy == "raise", end
        return
    came = set(end.acquired)
    assert end.cost == pytest.approx(COSTS.full_cost(list(came)) if came else 0.0)
    if cap is not None:
        assert end.cost <= cap
        return
    known = {name: frame[name][int(key[1:])] for name in came}
    missing = {name: np.nan for name in end.failures if name not in came} if policy == "missing" else {}
    left = [name for name in NAMES if name not in came | missing.keys()]
    again = tree().inquire(COSTS, known=known | missing, unavailable=left)
    assert not again.needs
    assert again.answer.value == end.value


# --- servers ---------------------------------------------------------------------------------------------------------


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _wait_for(port, process):
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.skip("needs a server, and the one of this system does not start")


@contextlib.contextmanager
def redis_url():
    """The address of a Redis server: that of the machine, or one started for the test."""
    redis = pytest.importorskip("redis", reason="needs redis")
    with contextlib.suppress(redis.RedisError), redis.Redis("127.0.0.1", 6379) as client:
        client.ping()
        yield "redis://127.0.0.1:6379/0"
        return
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("needs a Redis server")
    port = _free_port()
    process = subprocess.Popen(  # noqa: S603 - a server of this system
        [program, "--port", str(port), "--save", "", "--bind", "127.0.0.1"], stdout=-3
    )
    try:
        _wait_for(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


def _as_owner(folder):
    """What to start a server with that refuses to run as root, which then can read and write the folder."""
    if os.geteuid() != 0:
        return []
    shutil.chown(folder, "postgres")
    for each in (folder, *folder.parents):
        if each == Path(tempfile.gettempdir()):
            break
        each.chmod(each.stat().st_mode | 0o011)
    return ["runuser", "-u", "postgres", "--"]


@contextlib.contextmanager
def postgres_url(folder):
    """The address of a PostgreSQL server: that of the machine, or one started for the test."""
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    for user in ("", "postgres@"):
        url = f"postgresql://{user}127.0.0.1/test"
        with contextlib.suppress(psycopg.Error), psycopg.connect(url, connect_timeout=3):
            yield url
            return
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb") or (programs and programs[-1] / "initdb")
    if not found:
        pytest.skip("needs a PostgreSQL server")
    home, port = Path(found).parent, _free_port()
    as_user = _as_owner(folder)
    subprocess.run([*as_user, home / "initdb", "-D", folder / "pg", "-A", "trust", "-U", "postgres"], check=True)  # noqa: S603
    where = ["-D", folder / "pg", "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
    process = subprocess.Popen([*as_user, home / "postgres", *where])  # noqa: S603
    try:
        _wait_for(port, process)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def pgbouncer_url(folder, server, mode):
    """The address of a pgbouncer with its usual settings before a PostgreSQL server, with one connection to it."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("needs pgbouncer")
    info = pytest.importorskip("psycopg", reason="needs psycopg").conninfo.conninfo_to_dict(server)
    user, port = info.get("user", getpass.getuser()), _free_port()
    at = f"host={info['host']} port={info.get('port', 5432)} user={user}"
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{info['dbname']} = {at}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 1\n"
    )
    as_user = _as_owner(folder)
    process = subprocess.Popen([*as_user, program, "-q", folder / "pgbouncer.ini"])  # noqa: S603
    try:
        _wait_for(port, process)
        yield f"postgresql://{user}@127.0.0.1:{port}/{info['dbname']}"
    finally:
        process.terminate()
        process.wait()
