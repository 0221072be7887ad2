"""Counters of a service for Prometheus, where that is installed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from costframe.sources import PrometheusCounters, Sources

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATHS = ("/", "/next", "/predict", "/model", "/health", "/metrics", "/openapi.json")
_SHARED = "PROMETHEUS_MULTIPROC_DIR"  # a folder in which processes of one service add up
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)


class Meters:
    """Requests by path and status, their seconds, and rows of sources; nothing without Prometheus."""

    def __init__(self) -> None:
        try:
            import prometheus_client
        except ImportError:
            self._registry: Any = None
            return
        self._client, self._registry = prometheus_client, prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "requests", "Requests.", ["path", "status"], namespace="costframe", registry=self._registry
        )
        self._seconds = prometheus_client.Histogram(
            "request_seconds", "Seconds until the reply.", ["path"],
            namespace="costframe", registry=self._registry, buckets=_SECONDS,
        )  # fmt: skip

    def count_rows(self, sources: Sources) -> PrometheusCounters | None:
        """Return the counters of rows of some sources, to be given to drivers."""
        return None if self._registry is None else PrometheusCounters(sources, registry=self._registry)

    def text(self) -> str:
        """Return all counters as Prometheus reads them, of all processes of the service."""
        if self._registry is None:
            raise HTTPException(404, "this needs prometheus_client, which is not installed: costframe[prometheus]")
        registry = self._registry
        if _SHARED in os.environ:
            from prometheus_client import multiprocess

            registry = self._client.CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return str(self._client.generate_latest(registry).decode())

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Return the application with its requests counted."""
        return app if self._registry is None else _Counted(app, self._requests, self._seconds)


class _Counted:
    """An application whose requests are counted."""

    def __init__(self, app: ASGIApp, requests: Any, seconds: Any) -> None:
        self._app = app
        self._requests = requests
        self._seconds = {path: seconds.labels(path) for path in (*PATHS, "other")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        path = scope["path"] if scope["path"] in PATHS else "other"

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            self._requests.labels(path, status).inc()
            self._seconds[path].observe(time.perf_counter() - began)
