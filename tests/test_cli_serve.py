"""`costframe serve` as a process: it starts, several processes answer alike, and it ends; it refuses by name."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("starlette", reason="needs starlette")
pytest.importorskip("uvicorn", reason="needs uvicorn")
pytest.importorskip("httpx", reason="needs httpx")
from cli_cases import costframe, refused
from click.testing import CliRunner
from serve_cases import HANGS, NAMES, model, rows, started

import costframe as cf


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "my.model"
    cf.save(model("planner"), path)
    return path


def test_processes_answer_alike_and_share_no_state(path):
    X, _ = rows(3, seed=20)
    fitted = cf.load(path)
    with started(path, "--workers", 2) as (http, _):
        assert http.get("/health").json() == {"status": "ok", "model": "my.model"}
        for row in X:
            values = dict(zip(NAMES, row.tolist(), strict=True))
            told = {name: None if math.isnan(value) else value for name, value in values.items()}
            step = http.post("/next", json={}).json()
            while step["answer"] is None:
                asked = {ask["name"]: told[ask["name"]] for ask in step["asks"]}
                step = http.post(
                    "/next", json={"state": step["state"], "values": asked}, headers={"connection": "close"}
                ).json()
            assert step["answer"]["cost"] == cf.predict_one(fitted, values).cost


def test_it_ends_when_it_is_told_to(path):
    with started(path) as (http, process):
        assert http.get("/").status_code == 200
        process.terminate()
        assert process.wait(HANGS) in {0, -15}
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--key-file", "none"], "none: cannot be read"),
        (["--host", "0.0.0.0"], "--allow-host"),  # noqa: S104 - refused
        (["--source", "none.toml"], "none.toml"),
        (["--deadline", "1s"], "--deadline goes with --source"),
        (["--port", "0"], "--port"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_what_it_cannot_serve_is_refused(path, arguments, text):
    assert text in refused(CliRunner().invoke(costframe, ["serve", str(path), *arguments]))


def test_a_model_that_is_none_is_refused(tmp_path):
    (tmp_path / "no.model").write_bytes(b"no model")
    assert "no.model" in refused(CliRunner().invoke(costframe, ["serve", str(tmp_path / "no.model")]))
