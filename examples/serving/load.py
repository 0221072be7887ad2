"""Start the service on loopback, ask it from many clients at once, and print how long answers took, and why."""

import argparse
import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import httpx
import numpy as np
from prepare import prepare

import costframe as cf
from costframe.sources import Sources, TableSource

PATIENTS = 113


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """Start the service, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, command = (
        f"http://127.0.0.1:{port}",
        [sys.executable, "-m", "uvicorn", "service:app", "--log-level", "warning"],
    )
    process = subprocess.Popen(  # noqa: S603 - our own service
        [*command, "--port", str(port)], cwd=Path(__file__).parent, env=os.environ | {"FOLDER": str(folder)}
    )
    try:
        for _ in range(600):
            with suppress(httpx.TransportError):
                httpx.get(f"{url}/metrics/", timeout=10.0).raise_for_status()
                break
            if process.poll() is not None:
                raise SystemExit("the service does not start")
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


async def ask(url: str, requests: int, clients: int) -> tuple[list[float], Counter[str]]:
    """Send requests from so many clients; return the seconds of those answered, and the reasons of all."""
    left, seconds, reasons = iter(range(requests)), list[float](), Counter[str]()

    certificates = ssl.create_default_context()  # made once: it takes longer than a request

    async def client() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=30.0, trust_env=False, verify=certificates) as http:
            for i in left:
                began = time.perf_counter()
                reply = await http.get(f"/patients/{i % PATIENTS}")
                if reply.status_code == httpx.codes.OK:
                    seconds.append(time.perf_counter() - began)
                    reasons[reply.json()["reason"]] += 1
                else:
                    reasons["refused"] += 1  # too many at once, or nothing came in time
                    await asyncio.sleep(float(reply.headers["retry-after"]))

    await asyncio.gather(*(client() for _ in range(clients)))
    return seconds, reasons


async def own_share(folder: Path, rows: int) -> float:
    """Return the processor's seconds that a row takes with its values at hand, all else being as in the service."""
    model, data = cf.load(folder / "cells.model"), cf.datasets.load("breast-cancer")
    table = TableSource(dict(zip(data.feature_names, data.part("test").X.T, strict=True)))
    served = Sources.load(folder / "sources.toml").lookups
    async with Sources({name: attrs.evolve(each, source=table) for name, each in served.items()}) as sources:
        for i in range(-20, rows):
            if i == 0:  # those before compiled
                began = time.thread_time()
            await cf.predict_one_async(model, sources, key=i % PATIENTS, deadline=10.0)
        return (time.thread_time() - began) / rows


def quantiles(seconds: list[float]) -> str:
    """Return the median and the 99th percentile in milliseconds."""
    p50, p99 = 1000 * np.quantile(seconds, [0.5, 0.99])
    return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        with started(folder) as url:
            for clients in parsed.clients:
                began = time.perf_counter()
                seconds, reasons = asyncio.run(ask(url, parsed.requests, clients))
                rate = len(seconds) / (time.perf_counter() - began)
                told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
                print(f"{clients} clients: {quantiles(seconds)}, {rate:.0f} answers/s ({told})")
        print(f"costframe's own share: {1000 * asyncio.run(own_share(folder, parsed.requests)):.2f} ms a row")


if __name__ == "__main__":
    main()
