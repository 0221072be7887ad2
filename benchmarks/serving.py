"""Measures `costframe serve`: requests a second, their quantiles, and the server's own time, over conversations.

    python benchmarks/serving.py [--workers 2] [--connections 16] [--seconds 10]

The model has 100 trees on the embedded data. Each connection talks about one row after another by `/next`, with
reasons, from this process; the server's own time is that of its counters. On a machine that others use too, the
processor time of the server's processes for a request is what can be compared; it is read from /proc, on Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import costframe as cf

HEAD = b"POST /next HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
PARTS = ("sum", "count")
DATA = cf.datasets.load("breast-cancer")


async def converse(port: int, rows: list[dict[str, float]], until: float, seconds: list[float]) -> int:
    """Talk about one row after another on one connection until a time; add the seconds of each request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ended = 0
    while time.perf_counter() < until:
        row, asked = rows[ended % len(rows)], dict[str, Any]()
        while True:
            body = json.dumps(asked).encode()
            began = time.perf_counter()
            writer.write(HEAD % len(body) + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            assert length is not None  # noqa: S101 - a reply of ours has it
            reply = json.loads(await reader.readexactly(int(length[1])))
            seconds.append(time.perf_counter() - began)
            if reply["answer"] is not None:
                break
            asked = {"state": reply["state"], "values": {ask["name"]: row[ask["name"]] for ask in reply["asks"]}}
        ended += 1
    writer.close()
    return ended


async def load(port: int, connections: int, duration: float) -> tuple[list[float], int]:
    """Return the seconds of all requests, and how many rows have ended."""
    names, seconds = DATA.feature_names, list[float]()
    rows = [dict(zip(names, row, strict=True)) for row in DATA.part("test").X.tolist()]
    until = time.perf_counter() + duration
    ended = await asyncio.gather(*(converse(port, rows[i:] + rows[:i], until, seconds) for i in range(connections)))
    return seconds, sum(ended)


def own_seconds(port: int) -> float:
    """Return the mean seconds that the server itself took for a request to /next."""
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    total, count = (
        sum(
            float(value)
            for value in re.findall(rf'^costframe_request_seconds_{part}{{path="/next"}} (.*)$', text, re.MULTILINE)
        )
        for part in ("sum", "count")
    )
    return total / count


def processor_seconds(pid: int) -> float:
    """Return the processor time so far of a process and of those that it started; NaN where the system has no /proc."""
    try:
        pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        ticks = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13] for one in pids]
    except OSError:
        return math.nan
    return sum(int(user) + int(system) for user, system in ticks) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        path, train = Path(folder) / "cells.model", DATA.part("train")
        cf.save(cf.estimator("cegb", costs=DATA.costs, tradeoff=2e-3, n_estimators=100).fit(train.X, train.y), path)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        command = [sys.executable, "-m", "costframe", "serve", str(path), "--port", str(port)]
        process = subprocess.Popen([*command, "--workers", str(asked.workers)])  # noqa: S603 - our own command
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            asyncio.run(load(port, asked.connections, 1.0))
            before = processor_seconds(process.pid)
            seconds, ended = asyncio.run(load(port, asked.connections, asked.seconds))
            worked = 1000 * (processor_seconds(process.pid) - before) / len(seconds)
            p50, p99 = 1000 * np.quantile(seconds, [0.5, 0.99])
            rates = f"{len(seconds) / asked.seconds:.0f} requests and {ended / asked.seconds:.0f} rows a second"
            own = f"{1000 * own_seconds(port):.2f} ms of the server's own, {worked:.3f} ms of processors a request"
            print(f"{rates}, p50 {p50:.1f} ms, p99 {p99:.1f} ms, {own}")
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
