"""Start the service and its peer, and print how soon they answer, at what cost, and how many they answer a second.

    DATABASE_URL=postgresql://user@127.0.0.1/test python load.py service peer
    DATABASE_URL=postgresql://user@127.0.0.1/test python load.py service=cells peer=cells-peer

The tables of prepare.py are written into that database; without one the service alone runs, on SQLite.
"""

import argparse
import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from prepare import prepare

import costframe as cf

DATA = cf.datasets.load("breast-cancer")
MALIGNANT = DATA.part("test").y == "malignant"
DEADLINE, IN_FLIGHT = "500ms", "16"  # of a patient, and patients at once
FULL = DATA.costs.full_cost()


@contextmanager
def started(folder: Path, address: str, app: str = "service", image: str = "") -> Iterator[tuple[str, float, int]]:
    """Start an app, here or in a container; yield its address, the seconds to its first answer and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, command = f"http://127.0.0.1:{port}", [sys.executable, "-m"]
    if image:
        command = ["docker", "run", "--rm", "--network=host", f"--env=DATABASE_URL={address}", image]
    if app == "service":
        where = "." if image else str(folder)
        command += ["costframe", "serve", f"{where}/cells.model", "--source", f"{where}/sources.toml"]
        command += ["--deadline", DEADLINE, "--in-flight", IN_FLIGHT, "--port", str(port)]
    else:
        command += ["uvicorn", f"{app}:app", "--log-level", "warning", "--port", str(port)]
    environment = os.environ | {"FOLDER": str(folder), "DATABASE_URL": address}
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=Path(__file__).parent, env=environment)  # noqa: S603 - our own service
    try:
        with httpx.Client(trust_env=False, timeout=10.0) as http:
            while time.perf_counter() - began < 60.0:
                with suppress(httpx.TransportError):
                    http.post(f"{url}/predict", json={"key": 0}).raise_for_status()
                    break
                if process.poll() is not None:
                    raise SystemExit(f"{app} does not start")
                time.sleep(0.005)
        yield url, time.perf_counter() - began, port
    finally:
        process.terminate()
        process.wait()


def used(port: int) -> tuple[float, float]:
    """Return the resident megabytes and the processor seconds of the process that serves a port."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = command.read_bytes().split(b"\0")
            if str(port).encode() in words and b"docker" not in words:
                resident = int(command.with_name("statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
                times = command.with_name("stat").read_text().rsplit(")")[-1].split()[11:13]
                found.append((resident / 1e6, sum(map(int, times)) / os.sysconf("SC_CLK_TCK")))
    return max(found)


async def ask(url: str, requests: int, clients: int) -> tuple[list[float], list[dict[str, Any]], int]:
    """Send requests from so many clients; return seconds and texts of the answers, and how many were refused."""
    left, seconds, answers, refused = iter(range(requests)), list[float](), list[dict[str, Any]](), 0
    certificates = ssl.create_default_context()  # made once: it takes longer than a request

    async def client() -> None:
        nonlocal refused
        async with httpx.AsyncClient(base_url=url, timeout=30.0, trust_env=False, verify=certificates) as http:
            for i in left:
                patient = i % len(MALIGNANT)
                began = time.perf_counter()
                reply = await http.post("/predict", json={"key": patient})
                if reply.status_code == httpx.codes.OK:
                    seconds.append(time.perf_counter() - began)
                    answers.append(reply.json() | {"patient": patient})
                else:
                    refused += 1  # too many at once, or nothing came in time
                    await asyncio.sleep(float(reply.headers["retry-after"]))

    await asyncio.gather(*(client() for _ in range(clients)))
    return seconds, answers, refused


def describe(answers: list[dict[str, Any]]) -> str:
    """Return what patients got right, and the means of money, values and rounds."""
    each = list({answer["patient"]: answer for answer in answers}.values())
    right = sum((answer["label"] == "malignant") == MALIGNANT[answer["patient"]] for answer in each)
    cost, values, rounds = np.mean([[a.get("cost", FULL), len(a["acquired"]), a["rounds"]] for a in each], axis=0)
    return f"{right} of {len(each)} right, paid {cost:.2f} of {FULL:g}, {values:.1f} values in {rounds:.2f} rounds"


def measure(asked: argparse.Namespace, folder: Path, address: str, app: str, image: str) -> None:
    """Print the figures of one app."""
    starts, worked = [], []
    for _ in range(asked.starts):
        with started(folder, address, app, image) as (_, seconds, port):
            starts.append(seconds)
            worked.append(used(port)[1])
    size = ["docker", "image", "inspect", "--format={{.Size}}", image]
    print(f"{app}: {int(subprocess.check_output(size)) / 1e6:.0f} MB" if image else app)  # noqa: S603 - docker
    waited = f"{np.median(starts):.2f} s ({min(starts):.2f} to {max(starts):.2f} of {len(starts)} starts)"
    print(f"  first answer after {waited}, {np.median(worked):.2f} s of processor time")
    with started(folder, address, app, image) as (url, _, port):
        for clients in asked.clients:
            began, before = time.perf_counter(), used(port)[1]
            times, answers, refused = asyncio.run(ask(url, asked.requests, clients))
            rate, work = len(times) / (time.perf_counter() - began), (used(port)[1] - before) / len(times)
            p50, p99 = 1000 * np.quantile(times, [0.5, 0.99])
            print(f"  {clients} clients: p50 {p50:.1f} ms, p99 {p99:.1f} ms, {rate:.0f} answers/s, {refused} refused, "
                  f"{1000 * work:.1f} ms of processor time each")  # fmt: skip
        print(f"  {describe(answers)}; {used(port)[0]:.0f} MB resident")


def main() -> None:
    """Measure each app."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apps", nargs="*", default=["service"], help="service or peer, or APP=IMAGE in a container")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--starts", type=int, default=7, help="starts, of which the median is printed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        address = prepare(Path(name), os.environ.get("DATABASE_URL", ""))
        for app, _, image in (each.partition("=") for each in asked.apps):
            measure(asked, Path(name), address, app, image)


if __name__ == "__main__":
    main()
