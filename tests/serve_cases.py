"""What tests of the service share: models behind it, and a driver that talks to it as a caller does."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import pandas as pd
from cli_cases import MAIN

import costframe as cf
from costframe.core.storage.loading import load_fitted
from costframe.serve.model_file import ModelFile, ServedModel

PRICES = {
    "features": {
        "age": 0,
        "glucose": {"cost": 1, "needs": ["blood"]},
        "iron": {"cost": 2, "needs": ["blood"]},
        "scan": 25,
    },
    "resources": {"blood": 5},
    "unit": "CHF",
}
NAMES = ("age", "glucose", "iron", "scan")
HANGS = 600  # seconds after which a wait is an error of the test


def rows(count=300, seed=0):
    """Return rows of four features, with empty cells, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)).round(3)
    y = np.where(X @ [0.5, 1.0, 0.3, 2.0] + 0.5 * rng.normal(size=count) > 0, "ill", "well")
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


def model(algorithm="cegb", **settings):
    """Return a classifier of prices and labels."""
    X, y = rows()
    settings = {"tradeoff": 1e-3} | settings
    frame = pd.DataFrame(X, columns=list(NAMES))
    return cf.estimator(algorithm, costs=cf.CostModel.of(PRICES), **settings).fit(frame, y)


def serve_file(path, spare=None, **settings):
    """Return a service of the model in a file."""
    from costframe.serve.service import Service

    def read(path):
        fitted = load_fitted(path)
        prices = fitted.costs_ or cf.CostModel.uniform(fitted.predictor_.feature_names)
        return ServedModel.of(fitted, prices, path.name)

    return Service(ModelFile(path, read, spare), **settings)


def client(service, **more):
    """Return a client of the application, which has not begun."""
    from starlette.testclient import TestClient

    from costframe.serve.app import make_app

    return TestClient(make_app(service), base_url="http://localhost", raise_server_exceptions=False, **more)


def post(http, path, **content):
    """Post an object of JSON; return the reply's object, of a status that is expected."""
    expected = content.pop("status", 200)
    response = http.post(path, json=content)
    assert response.status_code == expected, response.text
    return response.json()


def talk(http, row, **start):
    """Ask until the answer; return all steps."""
    steps = [post(http, "/next", **start)]
    while steps[-1]["answer"] is None:
        told = {ask["name"]: row[ask["name"]] for ask in steps[-1]["asks"]}
        steps.append(post(http, "/next", state=steps[-1]["state"], values=told))
    return steps


@contextmanager
def started(*arguments):
    """Start the service; yield a client, and the process."""
    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", MAIN, "serve", *map(str, arguments), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=HANGS) as http:
            ends = time.monotonic() + HANGS
            while time.monotonic() < ends:
                with suppress(httpx.TransportError):
                    http.get("/health")
                    break
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.1)
            yield http, process
    finally:
        process.terminate()
        process.wait(HANGS)
        process.stderr.close()
