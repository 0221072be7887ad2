"""Spans of rounds for OpenTelemetry, and counters of rows for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from costframe.core.checks import needed
from costframe.core.errors import ParameterError, shown
from costframe.core.predictors.prediction import Prediction
from costframe.sources.live_row import LiveRow
from costframe.sources.sources import Sources, Watch


def trace_rounds(tracer_provider: Any = None) -> Watch:
    """Return a `watch` for `Sources` that makes a span of every lookup's part of a round.

    Its name is "costframe.round", its attributes are ``costframe.lookup``, ``costframe.keys`` and ``costframe.failed``,
    the number of keys that did not get all they wanted; its status is an error if there are any. It is a child of the
    caller's span, also in the sync drivers, and a parent of spans that libraries of databases make.

    Parameters
    ----------
    tracer_provider : opentelemetry.trace.TracerProvider, optional
        None uses the global one.
    """
    trace = needed("opentelemetry.trace", "otel")
    if tracer_provider is not None and not callable(getattr(tracer_provider, "get_tracer", None)):
        raise ParameterError(f"tracer_provider: expected one of OpenTelemetry, got {shown(tracer_provider)}")
    tracer = trace.get_tracer("costframe", tracer_provider=tracer_provider)

    @contextmanager
    def watch(lookup: str, keys: int) -> Iterator[Callable[[int], None]]:
        attributes = {"costframe.lookup": lookup, "costframe.keys": keys}
        with tracer.start_as_current_span("costframe.round", attributes=attributes, record_exception=False) as span:

            def end(failed: int) -> None:
                span.set_attribute("costframe.failed", failed)
                if failed:
                    span.set_status(trace.Status(trace.StatusCode.ERROR))

            yield end

    return watch


class PrometheusCounters:
    """Counters of rows that have ended, equal to what the rows report. Give it to drivers as `observe`.

    ======================================= =========== =============================================================
    counter                                 label       counts
    ======================================= =========== =============================================================
    costframe_rows_total                    reason      rows by the reason of their end; "failed" has no answer
    costframe_cost_total                    unit        `cost` of the rows
    costframe_failed_cost_total             unit        `failed_cost` of the rows: what was asked for in vain
    costframe_failures_total                lookup      values that did not come
    costframe_trips_total                   lookup      trips to the source, retries included: `Sources.trips`
    ======================================= =========== =============================================================

    Parameters
    ----------
    sources : Sources
        Those that the rows come from; their trips count from now on.
    namespace : str
        Beginning of the names; two models in one process need two.
    registry : prometheus_client.CollectorRegistry, optional
        None uses the global one.
    """

    def __init__(self, sources: Sources, *, namespace: str = "costframe", registry: Any = None) -> None:
        client = needed("prometheus_client", "prometheus")
        if not callable(getattr(sources, "fetch", None)):
            raise ParameterError(f"sources: expected Sources, got {shown(sources)}")

        def counter(name: str, label: str, text: str) -> Any:
            into = client.REGISTRY if registry is None else registry
            return client.Counter(name, text, [label], namespace=namespace, registry=into)

        self._rows = counter("rows", "reason", "Rows that have ended.")
        self._cost = counter("cost", "unit", "Price of what came.")
        self._failed_cost = counter("failed_cost", "unit", "Price of what was asked for in vain.")
        self._failures = counter("failures", "lookup", "Values that did not come.")
        self._trips = counter("trips", "lookup", "Trips to sources.")
        self._sources, self._seen = sources, sources.trips
        self._lookup_of = {name: of for of, lookup in sources.lookups.items() for name in lookup.features}
        for lookup in sources.lookups:  # zeros, so that rates begin at once
            self._failures.labels(lookup)
            self._trips.labels(lookup)

    def __call__(self, _key: Any, row: LiveRow, end: Prediction | Exception) -> None:
        """Count one row."""
        self._rows.labels(end.reason if isinstance(end, Prediction) else "failed").inc()
        paid, unit = end if isinstance(end, Prediction) else row, row.terms.costs.unit
        self._cost.labels(unit).inc(paid.cost)
        self._failed_cost.labels(unit).inc(paid.failed_cost)
        for feature in paid.failures:
            self._failures.labels(self._lookup_of[feature]).inc()
        seen, self._seen = self._seen, self._sources.trips
        for lookup, made in self._seen.items():
            if made > seen[lookup]:
                self._trips.labels(lookup).inc(made - seen[lookup])
