"""`costframe serve` as a process: it starts, several processes answer alike, and it ends; it refuses by name."""

from __future__ import annotations

import math
import socket

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


def test_a_request_that_never_ends_keeps_it_from_neither_serving_nor_ending(path):
    with started(path) as (http, process):
        address = (http.base_url.host, http.base_url.port)
        head = b"POST /next HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        with socket.create_connection(address, timeout=30) as slow, socket.create_connection(address) as huge:
            slow.sendall(head % 20 + b"{")
            huge.sendall(head % (1 << 40))
            assert b" 413 " in huge.recv(1000)  # before anything of it came
            with socket.create_connection(address) as gone:
                gone.sendall(head % 20 + b"{")
            assert http.get("/health").json()["status"] == "ok"
            process.terminate()
            assert process.wait(30) in {0, -15}
            assert b" 503 " in slow.recv(1000)
        assert "Traceback" not in process.stderr.read()


def test_a_port_that_is_taken_is_named(path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for workers in ("1", "2"):
            arguments = ["serve", str(path), "--port", port, "--workers", workers]
            text = refused(CliRunner().invoke(costframe, arguments))
            assert f"--port {port}: cannot listen there: Address already in use" in text
            assert "serving" not in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--key-file", "none"], "none: cannot be read"),
        (["--host", "0.0.0.0"], "--allow-host"),  # noqa: S104 - refused
        (["--source", "none.toml"], "none.toml"),
        (["--deadline", "1s"], "--deadline goes with --source"),
        (["--port", "0"], "--port"),
        (["--host", "no host"], "cannot listen there"),
        (["--allow-host", "example.org:80"], "--allow-host: expected a name without port"),
        (["--allow-host", "*.example.org"], "--allow-host: expected a name without port"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_what_it_cannot_serve_is_refused(path, arguments, text):
    assert text in refused(CliRunner().invoke(costframe, ["serve", str(path), *arguments]))


def test_a_model_that_is_none_is_refused(tmp_path):
    (tmp_path / "no.model").write_bytes(b"no model")
    assert "no.model" in refused(CliRunner().invoke(costframe, ["serve", str(tmp_path / "no.model")]))
