"""Fixtures: a place to run the command line in, tables as files, plugins as installed, and a cluster of dask."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from joblib.externals.loky import get_reusable_executor

from costframe.cli.commands import costframe
from costframe.core.machine import limit_threads
from costframe.core.plugins.registry import registry
from costframe.report.frontier_display import FrontierDisplay


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, in 80 columns, in this process alone unless it has a time limit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def invoke(*arguments):
        with limit_threads(1):
            return CliRunner().invoke(costframe, [str(a) for a in arguments])

    return invoke


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures of frontiers blank, where no test looks at them: they take most of the time of `compare`."""
    blank = {"png": b"\x89PNG", "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>'}
    monkeypatch.setattr(FrontierDisplay, "to_files", lambda _self, *kinds, **_size: [blank[kind] for kind in kinds])


@pytest.fixture
def patients(tmp_path):
    """Write a small table and its prices; return their paths."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    frame = pd.DataFrame(X, columns=["age", "chol", "scan"])
    frame["ill"] = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    folder = tmp_path / "given"
    folder.mkdir()
    frame.to_csv(folder / "patients.csv", index=False)
    prices = 'unit = "CAD"\n[features]\nage = 1.0\nchol = { cost = 2.0, needs = ["blood"] }\nscan = 50.0\n'
    (folder / "prices.toml").write_text(prices + "[resources]\nblood = 3.0\n")
    return folder / "patients.csv", folder / "prices.toml"


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Write a table on which all is quick; return its path."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    frame["ill"] = np.where(frame["a"] > 0, "yes", "no")
    path = tmp_path_factory.mktemp("small") / "small.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")  # an idle cluster keeps a tenth of a core busy
def cluster():
    for module in ("dask", "distributed", "xgboost"):
        pytest.importorskip(module, reason=f"needs {module}")
    from cluster_cases import cluster_of_two

    with cluster_of_two() as started:
        yield started


@pytest.fixture
def client(cluster):
    """Give a client, the current one, of the cluster that a module's tests share, with both of its workers."""
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install plugins as pip would, given the name of each and its module's text; return the folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    names = []

    def install(name, text):
        (folder / f"{name}_plugin.py").write_text(text)
        names.append(f"{name}_plugin")
        info = folder / f"{name}_tools-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-tools\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[costframe]\n{name} = {name}_plugin\n")
        importlib.invalidate_caches()
        registry.cache_clear()
        get_reusable_executor().shutdown()  # processes that joblib keeps know what was installed when they began
        return folder

    yield install
    get_reusable_executor().shutdown(wait=True)  # its processes would know these plugins in later tests
    registry.cache_clear()
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def table(tmp_path):
    """Write a frame, or a text, to a file; return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        elif name.endswith(".parquet"):
            content.to_parquet(path)
        else:
            content.to_csv(path, index=False)
        return path

    return write
