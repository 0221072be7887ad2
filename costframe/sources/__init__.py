"""Live prediction: drivers of inquiries, and the sources that values of features come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from costframe.hooks import hookimpl
from costframe.sources.drivers import (
    predict_many,
    predict_one,
    predict_one_async,
    predict_stream,
    predict_stream_async,
)
from costframe.sources.http import HTTPSource
from costframe.sources.local import CallSource, TableSource, read_source
from costframe.sources.logs import Audit, InquiryLog, audit
from costframe.sources.lookups import Field, Lookup, Policy
from costframe.sources.measuring import measure
from costframe.sources.predictions import Predictions
from costframe.sources.redis import RedisSource
from costframe.sources.source import KeyRefusedError, Source
from costframe.sources.sources import Sources
from costframe.sources.sql import SQLSource
from costframe.sources.telemetry import PrometheusCounters, trace_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Audit",
    "CallSource",
    "Field",
    "HTTPSource",
    "InquiryLog",
    "KeyRefusedError",
    "Lookup",
    "Policy",
    "Predictions",
    "PrometheusCounters",
    "RedisSource",
    "SQLSource",
    "Source",
    "Sources",
    "TableSource",
    "audit",
    "measure",
    "predict_many",
    "predict_one",
    "predict_one_async",
    "predict_stream",
    "predict_stream_async",
    "trace_rounds",
]


@hookimpl
def costframe_sources() -> Mapping[str, Callable[..., Any]]:
    """Return the kinds of sources that files can name."""
    return {"sql": SQLSource, "redis": RedisSource, "http": HTTPSource, "table": read_source}
