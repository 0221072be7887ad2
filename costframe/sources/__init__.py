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
from costframe.sources.fields import Field
from costframe.sources.kinds.calls import CallSource
from costframe.sources.kinds.http import HTTPSource
from costframe.sources.kinds.redis import RedisSource
from costframe.sources.kinds.sql import SQLSource
from costframe.sources.kinds.tables import TableSource, read_source
from costframe.sources.logs import Audit, InquiryLog, audit
from costframe.sources.lookup import Lookup
from costframe.sources.measuring import measure
from costframe.sources.policy import Policy
from costframe.sources.predictions import Predictions
from costframe.sources.source import KeyRefusedError, Source
from costframe.sources.sources import Sources
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
