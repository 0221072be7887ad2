"""Spans of rounds and counters of rows: they equal the reports, and hold no value, key or secret."""

from collections import Counter

import pytest
from live_cases import Doing, Plain, sources, table, tree

from costframe.sources import Lookup, Policy, PrometheusCounters, Sources, predict_one, predict_stream, trace_rounds

FRAME, TREE = table(), tree()


@pytest.fixture
def spans():
    """Yield a provider, and a function that returns the spans that have ended."""
    pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, exporter.get_finished_spans
    provider.shutdown()


def every_third(trip, _wanted, values):
    if trip % 3 == 0:
        raise OSError("postgresql://me:hunter2@host is down")
    return {key: (OSError("hunter2") if key in {"k4", "k9"} else row) for key, row in values.items()}


def watched(provider, blood, **policy):
    lookups = {
        "blood": Lookup(blood, ["chol", "pulse"], policy=Policy(**policy)),
        "rest": Lookup(Plain(FRAME), ["age", "scan"]),
    }
    return Sources(lookups, trace_rounds(provider))


def numbers(registry):
    """Return the counters' values by name and label."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }


@pytest.mark.parametrize("policy", ["raise", "missing", "without"])
def test_counters_equal_the_reports(policy):
    client = pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    registry, found = client.CollectorRegistry(), sources(FRAME, Doing(FRAME, every_third), on_failure=policy)
    counters = PrometheusCounters(found, registry=registry)
    assert set(numbers(registry).values()) == {0}
    with found:
        ends = [end for _, end in predict_stream(TREE, found, FRAME.key, in_flight=7, observe=counters, max_cost=40.0)]
        trips = found.trips
    reasons = Counter(getattr(end, "reason", "failed") for end in ends)
    failed = Counter("blood" for end in ends for _ in end.failures)
    assert failed["blood"] > 0
    expected = {("costframe_rows_total", reason): count for reason, count in reasons.items()}
    expected |= {("costframe_trips_total", name): made for name, made in trips.items()}
    expected |= {("costframe_failures_total", name): failed[name] for name in ("blood", "rest")}
    for name in ("cost", "failed_cost"):
        expected["costframe_" + name + "_total", "unit"] = sum(getattr(end, name) for end in ends)  # in their order
    assert numbers(registry) == expected


def test_every_lookups_part_of_a_round_is_a_span(spans):
    provider, ended = spans
    failing = []

    def some_fail(trip, wanted, values):
        bad = set(list(wanted)[: trip - 1])
        failing.append(len(bad))
        return {key: (OSError("hunter2") if key in bad else row) for key, row in values.items()}

    blood = Doing(FRAME, some_fail)
    with watched(provider, blood, on_failure="missing") as found:
        list(predict_stream(TREE, found, FRAME.key, in_flight=20))
        rest = found.lookups["rest"].source
    assert failing == [0, 1, 2]
    rows = [span for span in ended() if span.attributes["costframe.lookup"] == "blood"]
    assert [span.attributes["costframe.failed"] for span in rows] == failing
    assert [span.status.is_ok for span in rows] == [True, False, False]
    assert sum(span.attributes["costframe.keys"] for span in rows) * 2 == len(blood.asked)
    others = [span for span in ended() if span.attributes["costframe.lookup"] == "rest"]
    assert sum(span.attributes["costframe.keys"] for span in others) == len(rest.asked)
    assert len(rows) + len(others) == len(ended()) == sum(found.trips.values())
    for span in ended():
        assert span.name == "costframe.round"
        assert span.attributes.keys() == {"costframe.lookup", "costframe.keys", "costframe.failed"}
        assert not any(word in span.to_json() for word in ("hunter2", "k1", "chol", "OSError"))


def test_spans_are_children_of_the_callers_and_parents_of_the_sources(spans):
    provider, ended = spans
    tracer = provider.get_tracer("a service")

    async def answer(_trip, _wanted, values):
        with tracer.start_as_current_span("select"):
            return values

    with watched(provider, Doing(FRAME, answer)) as found, tracer.start_as_current_span("request") as request:
        for key in FRAME.key[:10]:
            predict_one(TREE, found, key=key)
    by_id = {span.context.span_id: span for span in ended()}
    selects = [span for span in ended() if span.name == "select"]
    assert selects
    for span in selects:
        part = by_id[span.parent.span_id]
        assert (part.name, part.attributes["costframe.lookup"]) == ("costframe.round", "blood")
        assert part.parent.span_id == request.context.span_id
