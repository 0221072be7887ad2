"""The example service: it starts, answers and refuses as it says, and its page quotes it."""

import asyncio
import importlib
import re
import sys
from pathlib import Path

import pytest

import costframe as cf

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "serving"


@pytest.fixture
def load(monkeypatch):
    """Return the example's script of load."""
    for module in (
        "fastapi",
        "uvicorn",
        "httpx",
        "sqlalchemy",
        "prometheus_client",
        "opentelemetry.trace",
    ):
        pytest.importorskip(module, reason=f"needs {module}")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield importlib.import_module("load")
    for name in ("load", "prepare", "service"):
        sys.modules.pop(name, None)


def test_the_service_answers_what_the_report_says(load, tmp_path):
    import httpx

    load.prepare(tmp_path)
    model, rows = cf.load(tmp_path / "cells.model"), cf.datasets.load("breast-cancer").part("test").X
    report = model.cost(rows, rounds=True)
    with load.started(tmp_path) as url, httpx.Client(base_url=url, trust_env=False, timeout=60.0) as http:
        answers = [http.get(f"/patients/{i}").json() for i in range(20)]
        metrics = http.get("/metrics/").text
        nobody = http.get(f"/patients/{10**6}")
        seconds, reasons = asyncio.run(load.ask(url, 20, 4))
    assert [answer["cost"] for answer in answers] == report.per_row[:20].tolist()
    assert [answer["benign"] for answer in answers] == report.predictions[:20].tolist()
    assert [answer["rounds"] for answer in answers] == report.rounds[:20].tolist()
    assert {(answer["reason"], *answer["lacks"]) for answer in answers} == {("complete",)}
    paid = float(re.search(r"^costframe_cost_total\{.*\} (.*)$", metrics, re.MULTILINE)[1])
    assert paid == sum(answer["cost"] for answer in answers)
    assert (nobody.status_code, nobody.json()["detail"]) == (503, "no source gave anything about this patient")
    assert len(seconds) == sum(reasons.values()) == 20
    assert asyncio.run(load.own_share(tmp_path, 20)) > 0


def test_the_page_quotes_the_service():
    (quoted,) = re.findall(
        r'^```python title="examples/serving/service.py"\n(.*?)^```$',
        (ROOT / "docs" / "serving.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert quoted in (EXAMPLE / "service.py").read_text(encoding="utf-8")
