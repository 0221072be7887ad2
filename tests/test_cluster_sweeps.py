"""Sweeps over the workers of a dask cluster find the points that they find here; the page's code runs on one, too."""

import subprocess
import sys

import numpy as np
import pytest
from attrs import evolve
from test_pages import ROOT, blocks_of

import costframe as cf
from costframe.core.errors import ParameterError

pytest.importorskip("dask", reason="needs dask")
pytest.importorskip("distributed", reason="needs distributed")
pytest.importorskip("xgboost", reason="needs xgboost")


def points_of(frontier):
    return sorted((evolve(point, seconds=0.0) for point in frontier), key=lambda point: point.name)


def test_a_sweep_over_a_cluster_finds_the_points_of_one_here(client, tmp_path):
    data = cf.datasets.load("breast-cancer")
    asked = {"algorithms": ["miser", "cegb"], "tradeoffs": [1e-2], "folds": 0}
    asked["parameters"] = {"n_estimators": 5}
    here = cf.Frontier.sweep(data, **asked)
    assert points_of(cf.Frontier.sweep(data, **asked, cluster=client)) == points_of(here)
    kept = cf.Frontier.sweep(data, **asked, cluster=client.scheduler.address, directory=tmp_path / "run")
    assert points_of(kept) == points_of(here)
    X = data.part("test").X
    for point in here:
        model = kept.model(point.name)
        assert kept.file(point.name).parent == tmp_path / "run" / "models"
        assert np.array_equal(model.predict_proba(X), here.model(point).predict_proba(X))


def test_the_error_of_an_algorithm_is_its_own(client):
    wrong = {"algorithms": ["miser", "cegb"], "tradeoffs": [1e-3], "folds": 0, "parameters": {"max_leaves": 4.5}}
    with pytest.raises(ParameterError, match="max_leaves"):
        cf.Frontier.sweep("breast-cancer", **wrong, cluster=client)


def test_what_is_no_cluster_is_refused():
    with pytest.raises(ParameterError, match="cluster: expected a dask client, or an address"):
        cf.Frontier.sweep("breast-cancer", ["miser"], cluster=2)
    with pytest.raises(ParameterError, match="no scheduler of dask at 'nowhere"):
        cf.Frontier.sweep("breast-cancer", ["miser"], cluster="nowhere://here")


def test_the_code_of_the_page_runs(tmp_path):
    """In a process of its own, without a client of other tests."""
    blocks = blocks_of((ROOT / "docs" / "more-rows.md").read_text(encoding="utf-8"))
    code = "\n".join(text for language, text in blocks if language == "python")
    assert "over_cluster" in code
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=900)  # noqa: S603 - our own text
