"""A table and its sources, for workers too: they import this module, which needs no more than costframe and pandas."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd

from costframe.sources import CallSource, Lookup, Policy, Sources

N, NAMES = 300, list("abcd")
COSTS = {
    "features": {"a": {"cost": 1.1, "needs": ["r"]}, "b": 0.37, "c": {"cost": 0.1, "once": 7.0}, "d": 1.0},
    "resources": {"r": 3.3},
    "split": 0.01,
    "learner": 0.02,
}
rng = np.random.default_rng(0)
X = np.where(rng.random((N, 4)) < 0.05, np.nan, rng.normal(size=(N, 4)))
FRAME = pd.DataFrame(X, columns=NAMES)


def fetch(folder, requests):
    """Give values, and write down the requests; a worker dies at the first request for row 150 if it may."""
    if 150 in requests and (mark := Path(folder, "kill")).exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(folder, f"{os.getpid()}.requests").open("a") as file:
        file.writelines(f"{key} {name}\n" for key, names in requests.items() for name in names)
    return {key: dict(zip(names, FRAME.loc[key, list(names)], strict=True)) for key, names in requests.items()}


def make_sources(folder=None, broken=(), key=None):
    def of_key(key, names):
        if key in broken:
            raise RuntimeError("the source is down")
        return fetch(folder, {key: names})[key] if folder else FRAME.loc[key, list(names)].to_dict()

    policy = Policy(retries=0)
    return Sources({"rows": Lookup(CallSource(of_key, each=True), NAMES, key=key, policy=policy)})


def make_keyed(folder):
    return make_sources(folder, key="patient")


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(_):
    raise OSError("no table")


def load(folder):
    (folder / f"{time.monotonic_ns()}.loaded").touch()
    return X
