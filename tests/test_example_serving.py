"""The example service: it starts, answers and refuses as it says, and so does its peer."""

import asyncio
import importlib
import re
import sys
from pathlib import Path

import pytest
from live_cases import postgres_url

import costframe as cf

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "serving"


@pytest.fixture
def load(monkeypatch):
    """Return the example's script of load."""
    for module in (
        "starlette",
        "uvicorn",
        "httpx",
        "lightgbm",
        "sqlalchemy",
        "prometheus_client",
        "opentelemetry.trace",
    ):
        pytest.importorskip(module, reason=f"needs {module}")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield importlib.import_module("load")
    for name in ("load", "prepare"):
        sys.modules.pop(name, None)


def test_the_service_answers_what_the_report_says(load, tmp_path):
    import httpx

    address = load.prepare(tmp_path)
    model, data = cf.load(tmp_path / "cells.model"), cf.datasets.load("breast-cancer")
    rows = data.part("test").X
    report = model.cost(rows, rounds=True)
    with load.started(tmp_path, address) as (url, _, port), httpx.Client(base_url=url, trust_env=False) as http:
        seconds, answers, refused = asyncio.run(load.ask(url, 113, 4))
        metrics = http.get("/metrics").text
        nobody = http.post("/predict", json={"key": 10**6})
        megabytes, processor_seconds = load.used(port)
    answers.sort(key=lambda answer: answer["patient"])
    assert [answer["cost"] for answer in answers] == report.per_row.tolist()
    chances = [{each["label"]: each["probability"] for each in answer["probabilities"]} for answer in answers]
    assert [chance["malignant"] for chance in chances] == report.predictions.tolist()
    assert [answer["rounds"] for answer in answers] == report.rounds.tolist()
    assert {(answer["reason"], "failures" in answer) for answer in answers} == {("complete", False)}
    paid = float(re.search(r"^costframe_cost_total\{.*\} (.*)$", metrics, re.MULTILINE)[1])
    assert paid == pytest.approx(sum(answer["cost"] for answer in answers) + answers[0]["cost"])  # of the first answer
    assert (nobody.status_code, nobody.json()["error"]) == (503, "no source gave anything about this row")
    assert (len(seconds), refused) == (113, 0)
    assert megabytes > 10
    assert processor_seconds > 0
    right = (model.predict(rows) == data.part("test").y).sum()
    assert load.describe(answers).startswith(f"{right} of 113 right, paid {report.mean:.2f} of 43.5, ")


def test_its_peer_fetches_everything_from_postgresql(load, tmp_path, tmp_path_factory):
    import lightgbm
    import psycopg

    with postgres_url(tmp_path_factory.mktemp("server")) as address:
        load.prepare(tmp_path, address)
        with load.started(tmp_path, address, "peer") as (url, _, _):
            _, answers, _ = asyncio.run(load.ask(url, 20, 4))
        with load.started(tmp_path, address) as (url, _, _):
            _, ours, _ = asyncio.run(load.ask(url, 20, 4))
        with psycopg.connect(address) as connection:
            connection.execute("drop table cells_outlines, cells_textures")
    peer, rows = (
        lightgbm.Booster(model_file=tmp_path / "lightgbm.txt"),
        cf.datasets.load("breast-cancer").part("test").X,
    )
    assert {answer["patient"]: answer["probability"] for answer in answers} == dict(enumerate(peer.predict(rows[:20])))
    assert load.describe(answers).endswith("paid 43.50 of 43.5, 30.0 values in 1.00 rounds")
    assert {answer["reason"] for answer in ours} == {"complete"}
