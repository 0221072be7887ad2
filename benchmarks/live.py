"""Live rows against fetching everything: trips, values and bytes read, time, and money counted at the source.

    python benchmarks/live.py --rows 100000                    # SQLite, PostgreSQL and Redis on this machine
    python benchmarks/live.py --rows 5000 --only sqlite --latency 5

Four lookups of four features each; the later ones tell more and cost more. A planner's model asks for what each row
needs; its peer selects all columns of all tables, one statement a table and block, and predicts with the same model.
Every answer and every cost must be the peer's and the exact report's; the money is also counted from what the source
gave out. Bytes are counted on the wire, in a pass of their own with fewer rows. `--latency` adds milliseconds to each
trip of both, as a service further away has. The last part compares the measured time of single rows with the time that
prices from `measure` predict.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import costframe as cf
from costframe.sources import Lookup, RedisSource, Source, Sources, SQLSource, measure
from costframe.testing.case import expect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUPS = {name: [f"{name}{i}" for i in range(4)] for name in ("form", "account", "bureau", "manual")}
NAMES = [name for group in GROUPS.values() for name in group]
COSTS = cf.CostModel.of(
    {
        "features": {name: {"cost": 0.1, "needs": [of]} for of, names in GROUPS.items() for name in names},
        "resources": {
            "form": {"cost": 0.0},
            "account": {"cost": 1.0},
            "bureau": {"cost": 5.0},
            "manual": {"cost": 20.0},
        },
    }
)
BLOCK = 1000
ADDRESSES = {"postgresql": ("127.0.0.1", 5432), "redis": ("127.0.0.1", 6379)}


def draw(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table and labels: half of the rows are decided by the first lookups."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, len(NAMES))), columns=NAMES)
    score = 2.0 * frame["form0"] + 2.0 * frame["account0"]
    unclear = np.abs(score) < 1.5
    score += unclear * (1.5 * frame["bureau0"] * np.sign(frame["bureau1"]) + (np.abs(score) < 0.4) * frame["manual0"])
    return frame, np.asarray(score + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)


class Metered(Source):
    """A source that counts what it gives out, and may be further away."""

    def __init__(self, inner: Source, latency: float) -> None:
        self.inner, self.latency = inner, latency
        self.replies: list[Any] = []

    async def fetch(self, wanted: Any) -> Any:
        """Fetch, and keep what came."""
        reply = await self.inner.fetch(wanted)
        self.replies.append(reply)
        if self.latency:
            await asyncio.sleep(self.latency / 1000)
        return reply

    def given(self) -> dict[Any, set[str]]:
        """Return the features that each key was given."""
        given: dict[Any, set[str]] = {}
        for reply in self.replies:
            for key, values in reply.items():
                given.setdefault(key, set()).update(place for place, value in values.items() if value is not None)
        return given

    async def close(self) -> None:
        """Close the inner source."""
        await self.inner.close()


class Server:
    """One kind of source: its tables, the sources of live rows, and the peer's way to fetch everything."""

    def __init__(self, kind: str, frame: pd.DataFrame, folder: Path) -> None:
        self.kind = kind
        if kind == "redis":
            import redis

            pipe = redis.Redis(*ADDRESSES[kind]).pipeline(transaction=False)
            for i, row in enumerate(frame.to_dict("records")):
                for of, names in GROUPS.items():
                    pipe.hset(f"bench:{of}:{i}", mapping={name: row[name] for name in names})
                if i % 5000 == 4999:
                    pipe.execute()
            pipe.execute()
            return
        import sqlalchemy as sa

        self.path = folder / "bench.db"
        url = f"sqlite:///{self.path}" if kind == "sqlite" else "postgresql+psycopg://127.0.0.1/test"
        engine = sa.create_engine(url)
        for of, names in GROUPS.items():
            keyed = frame[names].assign(id=np.arange(len(frame)))
            with engine.begin() as connection:
                keyed.to_sql(f"bench_{of}", connection, if_exists="replace", index=False, chunksize=20_000)
                connection.execute(sa.text(f"create unique index bench_{of}_id on bench_{of} (id)"))
                if kind == "postgresql":
                    connection.execute(sa.text(f"analyze bench_{of}"))
        engine.dispose()

    def source(self, of: str, address: tuple[str, int] | None) -> Source:
        """Make the source of one lookup."""
        where = ":".join(map(str, address or ADDRESSES.get(self.kind, ())))
        if self.kind == "redis":
            return RedisSource(f"redis://{where}/0", f"bench:{of}:{{key}}")
        url = f"sqlite:///{self.path}" if self.kind == "sqlite" else f"postgresql://{where}/test"
        return SQLSource(url, f"bench_{of}", "id")

    def everything(self, rows: range, latency: float, address: tuple[str, int] | None) -> Iterator[np.ndarray]:
        """Fetch all values of rows, block by block: float64 (BLOCK, d)."""
        where = address or ADDRESSES.get(self.kind)
        if self.kind == "redis":
            import redis

            client = redis.Redis(*where)
            for block in batched_rows(rows):
                pipe = client.pipeline(transaction=False)
                for i in block:
                    for of, names in GROUPS.items():
                        pipe.hmget(f"bench:{of}:{i}", names)
                values = pipe.execute()
                time.sleep(latency / 1000)
                yield np.array(values, np.float64).reshape(len(block), -1)
            return
        connection = self._connect(where)
        for block in batched_rows(rows):
            parts = []
            for of, names in GROUPS.items():
                columns = ", ".join(["id", *names])
                if self.kind == "sqlite":
                    marks = ",".join("?" * len(block))
                    found = connection.execute(f"select {columns} from bench_{of} where id in ({marks})", block)  # noqa: S608
                else:
                    found = connection.execute(f"select {columns} from bench_{of} where id = any(%s)", [list(block)])  # noqa: S608
                table = np.array(found.fetchall(), np.float64)
                parts.append(table[np.argsort(table[:, 0]), 1:])
                time.sleep(latency / 1000)
            yield np.hstack(parts)

    def _connect(self, where: Any) -> Any:
        if self.kind == "sqlite":
            import sqlite3

            return sqlite3.connect(self.path)
        import psycopg

        return psycopg.connect(host=where[0], port=where[1], dbname="test")


def batched_rows(rows: range) -> Iterator[Sequence[int]]:
    """Deal rows into blocks."""
    for begin in range(0, len(rows), BLOCK):
        yield list(rows[begin : begin + BLOCK])


def live(model: Any, server: Server, rows: range, latency: float, address: Any = None) -> dict[str, Any]:
    """Predict rows live."""
    meters = {of: Metered(server.source(of, address), latency) for of in GROUPS}
    with Sources({of: Lookup(meters[of], GROUPS[of]) for of in GROUPS}) as sources:
        begun = time.perf_counter()
        ends = dict(cf.predict_stream(model, sources, rows, in_flight=BLOCK))
        seconds = time.perf_counter() - begun
        trips = sources.trips
    price = {feature.name: feature.cost for feature in COSTS.features}
    given = [(of, names) for of, meter in meters.items() for names in meter.given().values()]
    counted = sum(COSTS_OF[of] + sum(price[name] for name in names) for of, names in given)
    values = sum(len(names) for _, names in given)
    return {"ends": ends, "seconds": seconds, "trips": trips, "counted": counted, "values": values}


COSTS_OF = {resource.name: resource.cost for resource in COSTS.resources}


@contextlib.contextmanager
def counted_wire(to: tuple[str, int]) -> Iterator[tuple[tuple[str, int], list[int]]]:
    """Stand between clients and a server, and count the bytes that it sends."""
    counts, listener = [0], socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket, *, counts_bytes: bool) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                counts[0] += len(part) * counts_bytes
                target.sendall(part)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(to)
                for ends, counting in (((client, server), False), ((server, client), True)):
                    threading.Thread(target=pump, args=ends, kwargs={"counts_bytes": counting}, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname(), counts
    finally:
        listener.close()


def wire_bytes(model: Any, server: Server, rows: range) -> tuple[float, float]:
    """Return the bytes a row that the server sends to live rows and to the peer."""
    found = []
    for way in ("live", "everything"):
        with counted_wire(ADDRESSES[server.kind]) as (address, counts):
            if way == "live":
                live(model, server, rows, 0.0, address)
            else:
                list(server.everything(rows, 0.0, address))
            found.append(counts[0] / len(rows))
    return found[0], found[1]


def compare(model: Any, server: Server, frame: pd.DataFrame, latency: float) -> None:
    """Print one server's figures."""
    rows = range(len(frame))
    live(model, server, rows[:200], 0.0)  # compiles kernels
    begun = time.perf_counter()
    peer = np.concatenate(
        [model.predict_proba(pd.DataFrame(block, columns=NAMES)) for block in server.everything(rows, latency, None)]
    )
    everything = time.perf_counter() - begun
    found = live(model, server, rows, latency)
    report = model.cost(frame[NAMES], rounds=True)
    ends = [found["ends"][i] for i in rows]
    expect([end.cost for end in ends] == report.per_row.tolist(), "costs paid are those of the report")
    expect(np.array_equal([end.value for end in ends], peer[:, 1]), "answers are the peer's")
    expect(np.isclose(found["counted"], report.per_row.sum(), rtol=1e-9), "the source gave out what was paid for")
    blocks, most = -(-len(rows) // BLOCK), max(end.rounds for end in ends)
    expect(all(count <= most * blocks for count in found["trips"].values()), "rounds x sources trips at most")
    print(f"{server.kind}: {len(rows):,} rows, blocks of {BLOCK:,}, {latency:g} ms a trip")
    print(f"  paid {found['counted']:,.1f} as counted at the source = the report; everything costs "
          f"{len(rows) * COSTS.full_cost():,.1f}")  # fmt: skip
    trips = sum(found["trips"].values())
    print(f"  trips {trips:,} (at most {most} rounds x {len(GROUPS)} lookups x {blocks:,} blocks); "
          f"values {found['values']:,} of {frame.size:,}")  # fmt: skip
    print(f"  time {found['seconds']:.1f} s, everything {everything:.1f} s: {found['seconds'] / everything:.2f}; "
          f"{1e6 * found['seconds'] / len(rows):.0f} us a row")  # fmt: skip
    if server.kind in ADDRESSES:
        ours, all_of_it = wire_bytes(model, server, rows[:10_000])
        print(f"  bytes a row from the server {ours:,.0f}, everything {all_of_it:,.0f}: {ours / all_of_it:.2f}")


def predict_times(model: Any, server: Server, frame: pd.DataFrame) -> None:
    """Print predicted and measured times of single rows, in turn, so that both see the same noise.

    Predicted are fetches by measured prices, and the model's own time with values at hand.
    """
    values = frame[NAMES].head(100).to_dict("records")
    rows, found = range(min(100, len(frame))), []
    with Sources({of: Lookup(server.source(of, None), GROUPS[of]) for of in GROUPS}) as sources:
        for i in rows:  # statements are compiled when rows first want them
            cf.predict_one(model, sources, key=i)
        for _ in range(7):
            costs = measure(sources, rows[:8], COSTS)
            begun = time.perf_counter()
            for i in rows:
                cf.predict_one(model, sources, key=i)
            measured = 1000 * (time.perf_counter() - begun) / len(rows)
            begun = time.perf_counter()
            for row in values:
                cf.predict_one(model, row)
            own = 1000 * (time.perf_counter() - begun) / len(rows)
            report = model.predictor_.cost(frame.iloc[: len(rows)][NAMES], costs, latency=True)
            predicted = report.latency.mean() + own
            found.append((predicted / measured, predicted, measured))
    found.sort()
    ratio, predicted, measured = found[len(found) // 2]
    print(f"  a single row: predicted {predicted:.2f} ms, measured {measured:.2f} ms: {ratio:.2f}, "
          f"median of {found[0][0]:.2f} to {found[-1][0]:.2f}")  # fmt: skip


def main() -> None:
    """Compare on each server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds added to each trip")
    parser.add_argument("--only", choices=["sqlite", "postgresql", "redis"])
    asked = parser.parse_args()
    table, labels = draw(20_000, 0)
    model = cf.PlannerClassifier(costs=COSTS, random_state=0).fit(table, labels)
    frame, _ = draw(asked.rows, 1)
    with tempfile.TemporaryDirectory() as folder:
        for kind in [asked.only] if asked.only else ["sqlite", "postgresql", "redis"]:
            server = Server(kind, frame, Path(folder))
            compare(model, server, frame, asked.latency)
            predict_times(model, server, frame)


if __name__ == "__main__":
    main()
