"""A service that says how likely a patient's cells are malignant, and fetches only what this patient's answer needs."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import prometheus_client
from fastapi import FastAPI, HTTPException

import costframe as cf

FOLDER = Path(os.environ.get("FOLDER", "."))  # of prepare.py
IN_FLIGHT = 16  # patients at once; further ones are refused, so that those that wait keep their deadline
DEADLINE = 0.5  # seconds
os.environ.setdefault("DATABASE_URL", f"sqlite:///{(FOLDER / 'patients.db').absolute()}")  # read by sources.toml


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the sources in the loop that uses them, and close them at the end."""
    model, registry = cf.load(FOLDER / "cells.model"), prometheus_client.CollectorRegistry()
    async with cf.sources.Sources.load(FOLDER / "sources.toml", watch=cf.sources.trace_rounds()) as sources:
        await sources.aopen(model)  # connects before anybody waits
        app.state.model, app.state.sources = model, sources
        app.state.counters = cf.sources.PrometheusCounters(sources, registry=registry)
        app.mount("/metrics", prometheus_client.make_asgi_app(registry))
        yield


app = FastAPI(lifespan=lifespan)
app.state.in_flight = 0


@app.get("/patients/{patient}")
async def malignant(patient: int) -> dict[str, Any]:
    """Predict one patient; the answer says what it cost, and why it ended."""
    state = app.state
    if state.in_flight >= IN_FLIGHT:
        raise HTTPException(503, "too many patients at once", {"retry-after": "1"})
    state.in_flight += 1
    try:
        end = await cf.predict_one_async(
            state.model, state.sources, key=patient, deadline=DEADLINE, observe=state.counters
        )
    finally:
        state.in_flight -= 1
    if not end.acquired:
        raise HTTPException(503, "no source gave anything about this patient", {"retry-after": "1"})
    bought = {"values": len(end.acquired), "rounds": end.rounds, "cost": end.cost}
    return {"malignant": float(end.value), **bought, "reason": end.reason, "lacks": end.failures}
