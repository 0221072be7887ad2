"""Times beside prices: the latency of rows, and prices in time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Plain, sources, table, tree

import costframe as cf
from costframe.errors import SourceError
from costframe.plugin import CostModelError, ParameterError
from costframe.sources import Lookup, Sources, TableSource, measure

FRAME, TREE = table(), tree()


def naive_latency(costs, rounds):
    """Simulate fetches: each ends its own time after all that it needs; a round ends with its last fetch."""
    prices, there, total = {each.name: each for each in (*costs.features, *costs.resources)}, set(), 0.0

    def ends(name):
        return prices[name].time + max((ends(need) for need in prices[name].needs if need not in there), default=0.0)

    def needed(name):
        return {name}.union(*(needed(need) for need in prices[name].needs))

    for names in rounds:
        trips = {tuple(sorted(prices[name].needs)) for name in names}
        total += max(map(ends, names)) + costs.trip_time * len(trips)
        there |= set().union(*map(needed, names))
    return total


def test_rounds_follow_one_another_and_fetches_of_one_round_run_side_by_side():
    report = TREE.cost(FRAME[list(NAMES)], COSTS, latency=True)
    for i, row in enumerate(FRAME[list(NAMES)].to_numpy()):
        inquiry, rounds = TREE.inquire(COSTS), []
        while inquiry.needs:
            rounds.append(inquiry.needs)
            inquiry.supply(dict(zip(inquiry.needs, row[[NAMES.index(name) for name in inquiry.needs]], strict=True)))
        assert report.latency[i] == pytest.approx(naive_latency(COSTS, rounds))
    assert set(report.latency) == {2.0, 2.0 + 10 + 20 + 5, 2.0 + 10 + 20 + 5 + 30}
    assert report.latency_quantiles((0.0, 1.0)).tolist() == [2.0, 67.0]


@given(st.data())
def test_the_clock_agrees_with_its_naive_twin(data):
    times = st.floats(0, 100)
    resources = {
        f"r{r}": {
            "cost": 1.0,
            "time": data.draw(times),
            "needs": [f"r{q}" for q in range(r) if data.draw(st.booleans())],
        }
        for r in range(4)
    }
    features = {
        f"f{f}": {"cost": 1.0, "time": data.draw(times), "needs": [r for r in resources if data.draw(st.booleans())]}
        for f in range(4)
    }
    costs = cf.CostModel.of({"features": features, "resources": resources, "trip_time": data.draw(times)})
    order = data.draw(st.permutations(list(features)))
    cut = data.draw(st.integers(1, 4))
    rounds = [part for part in (order[:cut], order[cut:]) if part]
    from costframe.core.cost.latency import Clock

    clock = Clock(costs)
    for names in rounds:
        clock.add_round(names)
    assert clock.time == pytest.approx(naive_latency(costs, rounds))


def test_times_are_kept_in_files_and_models(tmp_path):
    COSTS.save(tmp_path / "costs.toml")
    assert cf.CostModel.load(tmp_path / "costs.toml") == COSTS
    cf.save(TREE, tmp_path / "m")
    assert cf.load(tmp_path / "m").costs == COSTS


def test_time_can_be_the_price():
    timed = COSTS.as_time()
    assert (timed.unit, timed.full_cost()) == ("ms", 2.0 + 5 + 1 + 30 + 20 + 10)
    both = COSTS.as_time(per_cost=2.0)
    assert both.full_cost() == timed.full_cost() + 2.0 * COSTS.full_cost()
    report = TREE.cost(FRAME[list(NAMES)], timed)
    assert np.all(report.per_row >= TREE.cost(FRAME[list(NAMES)], COSTS, latency=True).latency - 1e-9)
    with pytest.raises(CostModelError, match="time"):
        cf.CostModel.uniform(NAMES).as_time()
    with pytest.raises(CostModelError, match="per_cost"):
        COSTS.as_time(-1.0)


def test_latency_without_times_or_with_soft_routing_is_refused():
    X = FRAME[list(NAMES)]
    with pytest.raises(ParameterError, match="times"):
        TREE.cost(X, dict.fromkeys(NAMES, 1.0), latency=True)
    with pytest.raises(ParameterError, match="latency"):
        TREE.cost(X, COSTS, routing="soft", latency=True)
    with pytest.raises(ParameterError, match="not requested"):
        TREE.cost(X, COSTS).latency_quantiles()
    with pytest.raises(CostModelError, match=r"features.a.time"):
        cf.CostModel.of({"features": {"a": {"cost": 1.0, "time": -1.0}}})
    assert "latency" in repr(TREE.cost(X, COSTS, latency=True))


def test_prices_through_a_preparation_keep_their_times():
    through = COSTS.through({"age": "age", "chol^2": ("chol",), "chol x scan": ("chol", "scan")})
    times = {price.name: price.time for price in through.resources}
    assert [times[name] for name in ("chol", "scan", "blood", "visit")] == [5.0, 30.0, 20.0, 10.0]
    assert {price.name: price.time for price in through.features}["age"] == 2.0


def test_commands_tell_latencies_of_many_rows_from_some(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    cf.save(TREE, "m")
    FRAME[list(NAMES)].to_csv("t.csv", index=False)
    middle, p95, late = TREE.cost(FRAME[list(NAMES)], latency=True).latency_quantiles([0.5, 0.95, 0.99])
    told = f" median {middle:.4g} ms, 95 % within {p95:.4g} ms, 99 % within {late:.4g} ms"
    assert f"{told}\n" in run("cost", "m", "t.csv").stdout
    assert run("inspect", "m", "t.csv", "--output", "m.html").exit_code == 0
    assert f"95 % of the rows within {p95:.4g} ms" in Path("m.html").read_text()
    monkeypatch.setattr("costframe.cli.cost.MOST_TIMED", 20)
    assert "(of 15 evenly spaced rows)" in run("cost", "m", "t.csv").stdout


class Timed(Plain):
    """A source that takes `first` milliseconds for a new key, each place's own, and half a one of work."""

    def __init__(self, frame, first, own):
        super().__init__(frame)
        self.first, self.own, self.now, self.worked, self.seen = first, own, 0.0, 0.0, set()

    async def answer(self, wanted):
        new = any(key not in self.seen for key in wanted)
        self.seen |= wanted.keys()
        places = {place for wants in wanted.values() for place in wants}
        self.now += (self.first * new + max(self.own[place] for place in places) + 0.5) / 1000
        self.worked += 0.0005
        return self.values(wanted)


def timed_sources():
    slow = Timed(FRAME, 40.0, {"chol": 5.0, "pulse": 7.0})
    return slow, sources(FRAME, slow)


def test_measured_times_separate_what_is_shared():
    slow, both = timed_sources()
    with both:
        measured = measure(both, FRAME["key"], COSTS, clock=lambda: slow.now, work_clock=lambda: slow.worked)
    times = {price.name: price.time for price in (*measured.features, *measured.resources)}
    assert times == pytest.approx(
        {"age": 0.0, "scan": 0.0, "chol": 5.0, "pulse": 7.0, "blood": 40.0, "visit": 10.0, "rest": 0.0}
    )
    assert [price.cost for price in measured.features] == [price.cost for price in COSTS.features]
    assert measured.full_cost() == COSTS.full_cost()
    assert measured.trip_time == pytest.approx(0.25)  # the median of two lookups, one of which works
    X = FRAME[list(NAMES)]
    assert np.array_equal(TREE.cost(X, measured).per_row, TREE.cost(X, COSTS).per_row)


def test_measured_times_alone_are_prices_in_milliseconds():
    slow, both = timed_sources()
    with both:
        measured = measure(both, FRAME["key"], repeats=1, clock=lambda: slow.now, work_clock=lambda: slow.worked)
    assert (measured.unit, {price.name: price.cost for price in measured.resources}) == (
        "ms",
        pytest.approx({"blood": 40.0, "rest": 0.0}),
    )
    assert measured.full_cost() == pytest.approx(40.0 + 5 + 7)


def test_labels_are_measured_without_a_model_that_knows_them():
    labels = Lookup(TableSource({"color": ["red", None, "7"]}), ["color"])
    with Sources({"shop": labels}) as shop:
        assert measure(shop, range(3)).names == ("color",)


def test_what_cannot_be_measured_is_refused():
    _, both = timed_sources()
    with both:
        with pytest.raises(ParameterError, match="keys: expected at least one"):
            measure(both, [])
        with pytest.raises(SourceError, match="no row for the key"):
            measure(both, ["nobody"])
        with pytest.raises(CostModelError, match="no price for 'chol'"):
            measure(both, ["k1"], {"age": 1.0})
        with pytest.raises(ParameterError, match="repeats"):
            measure(both, ["k1"], repeats=0)
    with pytest.raises(ParameterError, match="unlike features, got 'age'"):
        measure(Sources({"age": Lookup(TableSource({"age": [1.0]}), ["age"])}), [0])
    with pytest.raises(ParameterError, match="sources: expected Sources"):
        measure({"age": 1.0}, ["k1"])
