"""Times beside prices: the latency of rows, and prices in time."""

import asyncio
import selectors
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Plain, sources, table, tree

import costframe as cf
from costframe import Answer, StageTree, WeakLearnerBank
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.latency import latencies
from costframe.core.predictors.replay import replay_rounds
from costframe.errors import SourceError
from costframe.plugin import CostModelError, ParameterError, TreeTable
from costframe.sources import Lookup, Sources, TableSource, measure, predict_one_async, predict_stream_async
from costframe.testing import strategies

FRAME, TREE = table(), tree()


def naive_latency(costs, rounds):
    """Simulate fetches: each ends its own time after all that it needs; a round ends with its last fetch.

    What stays, once it is there, is not gone to again; other resources take their round time in further rounds.
    """
    prices, there, total = {each.name: each for each in (*costs.features, *costs.resources)}, set(), 0.0

    def takes(name):
        price = prices[name]
        again = name in there and price.round_time is not None
        return price.round_time if again else price.time

    def goes_to(name):
        return [need for need in prices[name].needs if need not in there or prices[need].round_time != 0.0]

    def ends(name):
        return takes(name) + max(map(ends, goes_to(name)), default=0.0)

    def needed(name):
        return set(prices[name].needs).union(*(needed(need) for need in prices[name].needs))

    for names in rounds:
        trips = {tuple(sorted(prices[name].needs)) for name in names}
        total += max(map(ends, names)) + costs.trip_time * len(trips)
        there |= set().union(*map(needed, names))
    return total


def rounds_of(model, row, costs, **terms):
    """Return the features of each round of an inquiry."""
    inquiry, rounds = model.inquire(costs, **terms), []
    while inquiry.needs:
        rounds.append(inquiry.needs)
        inquiry.supply({name: row[model.feature_names.index(name)] for name in inquiry.needs})
    return rounds


def test_rounds_follow_one_another_and_fetches_of_one_round_run_side_by_side():
    report = TREE.cost(FRAME[list(NAMES)], COSTS, latency=True)
    for i, row in enumerate(FRAME[list(NAMES)].to_numpy()):
        assert report.latency[i] == pytest.approx(naive_latency(COSTS, rounds_of(TREE, row, COSTS)))
    assert set(report.latency) == {2.0, 2.0 + 10 + 20 + 5, 2.0 + 10 + 20 + 5 + 30}
    assert report.latency_quantiles((0.0, 1.0)).tolist() == [2.0, 67.0]


@st.composite
def timed_costs(draw, names):
    times, resources = st.integers(0, 100).map(float), {}
    for r in range(draw(st.integers(0, 4))):
        further = draw(st.sampled_from([None, 0.0, 7.0]))
        resources[f"r{r}"] = {
            "cost": 1.0,
            "time": draw(times),
            "needs": [name for name in resources if draw(st.booleans())],
        } | ({} if further is None else {"round_time": further})
    features = {
        name: {"cost": 1.0, "time": draw(times), "needs": [r for r in resources if draw(st.booleans())]}
        for name in names
    }
    return cf.CostModel.of({"features": features, "resources": resources, "trip_time": draw(times) + 1.0})


@given(st.data())
def test_latencies_of_rounds_agree_with_their_naive_twin(data):
    names = tuple(f"f{f}" for f in range(4))
    costs = data.draw(timed_costs(names))
    asked = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    numbers = {number: at + 1 for at, number in enumerate(sorted(set(asked) - {0}))}
    rounds = np.array([[numbers.get(number, 0) for number in asked]], np.int32)
    by_round = [[f for f, at in zip(names, rounds[0], strict=True) if at == k + 1] for k in range(len(numbers))]
    found = latencies(AskedRounds(np.arange(4), rounds), costs, names)
    assert found.tolist() == [pytest.approx(naive_latency(costs, by_round))]


@st.composite
def models(draw):
    names = draw(strategies.feature_names())
    if draw(st.booleans()):
        return draw(strategies.planned_predictors(names)), draw(strategies.rows(len(names)))
    return draw(strategies.stage_trees(draw(strategies.banks(names)))), draw(strategies.rows(len(names)))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@given(models(), st.data())
def test_rows_of_tables_ask_in_the_rounds_of_their_inquiries(case, data):
    model, X = case
    costs = data.draw(timed_costs(model.feature_names))
    asked = {"acquisition": data.draw(st.sampled_from(["path", "learner"]))}
    asked["max_cost"] = data.draw(st.none() | st.sampled_from([0.0, 2.0, 1e6]))
    asked["unavailable"] = data.draw(st.just(()) | st.sets(st.sampled_from(model.feature_names)))
    report = model.cost(X, costs, rounds=True, latency=True, **asked)
    rounds = [rounds_of(model, row.tolist(), costs, **asked) for row in X]
    assert report.rounds.tolist() == list(map(len, rounds))
    assert report.latency == pytest.approx([naive_latency(costs, each) for each in rounds])


def drawn_tree(rng, n_features, n_splits=9):
    """A tree of random splits."""
    feature, threshold, missing_left, left, right, leaves = [-1], [0.0], [False], [-1], [-1], [0]
    for _ in range(n_splits):
        node = leaves.pop(rng.integers(len(leaves)))
        feature[node], threshold[node] = int(rng.integers(n_features)), float(rng.normal())
        missing_left[node], left[node], right[node] = bool(rng.integers(2)), len(feature), len(feature) + 1
        leaves += [len(feature), len(feature) + 1]
        for values, empty in ((feature, -1), (threshold, 0.0), (missing_left, False), (left, -1), (right, -1)):
            values += [empty, empty]
    return TreeTable.single(feature, threshold, missing_left, left, right, rng.normal(size=(len(feature), 1)))


@given(st.integers(0, 1 << 30), st.sampled_from([3, 30, 70]))
def test_boosted_trees_ask_in_the_rounds_of_their_inquiries(seed, n_features):
    """Of more features than a word has bits too, with rows that miss values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, n_features))
    X[rng.random(X.shape) < 0.1] = np.nan
    names = tuple(f"f{f}" for f in range(n_features))
    bank = WeakLearnerBank.from_trees(TreeTable.concatenate([drawn_tree(rng, n_features) for _ in range(12)]), names)
    model = StageTree(bank, [Answer(range(12), np.ones((12, 1)), [0.0])])
    terms = model.row_terms()
    asked, replayed = model.asked_rounds(X, terms), replay_rounds(model, X, terms)
    rounds = np.zeros((2, *X.shape), int)
    rounds[0][:, asked.columns], rounds[1][:, replayed.columns] = asked.rounds, replayed.rounds
    assert np.array_equal(*rounds)
    assert n_features == 3 or rounds.max() > 1


def test_times_are_kept_in_files_and_models(tmp_path):
    COSTS.save(tmp_path / "costs.toml")
    assert cf.CostModel.load(tmp_path / "costs.toml") == COSTS
    cf.save(TREE, tmp_path / "m")
    assert cf.load(tmp_path / "m").costs == COSTS


def test_rows_of_trees_without_tests_ask_for_nothing():
    """A root that is a leaf tests nothing."""
    model = cf.CEGBClassifier(n_estimators=3, tradeoff=1e9).fit(np.arange(40.0)[:, None], np.arange(40) % 2).predictor_
    assert not model.cost(np.zeros((3, 1)), dict.fromkeys(model.feature_names, 1.0), rounds=True).rounds.any()


def test_no_rows_have_no_latencies():
    report = TREE.cost(np.empty((0, len(NAMES))), latency=True)
    assert report.latency.shape == (0,)
    assert np.isnan(report.latency_quantiles([0.5, 0.9])).tolist() == [True, True]


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
    monkeypatch.setattr("costframe.cli.cost.MOST_ROWS", 20)
    assert "(of 15 evenly spaced rows)" in run("cost", "m", "t.csv").stdout


# --- the clock of drivers --------------------------------------------------------------------------------------------


class SimulatedTime(selectors.DefaultSelector):
    """A selector that skips the time that an event loop would wait."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


def run_simulated(task):
    """Return what a coroutine of the loop's clock returns, without its waits."""
    time = SimulatedTime()
    loop = asyncio.SelectorEventLoop(time)
    loop.time = lambda: time.now
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(task(loop.time))


class Service(Plain):
    """A source whose trips take milliseconds, and so does each place; some keep what they made for a key."""

    def __init__(self, frame, trip, own, *, keeps=False):
        super().__init__(frame)
        self.trip, self.own, self.keeps, self.made = trip, own, keeps, set()

    async def answer(self, wanted):
        ready = self.keeps and wanted.keys() <= self.made
        self.made |= wanted.keys()
        slowest = max(self.own[place] for places in wanted.values() for place in places)
        await asyncio.sleep((self.trip * (not ready) + slowest) / 1000)
        return self.values(wanted)


def three_rounds():
    """A chain of trees and columns that goes to the blood's service twice."""
    bank = WeakLearnerBank.columns(NAMES)
    one = [[1.0]]
    stages = (
        cf.Route([1], one, 0.0, 0.0, 1.0, 2, 1),
        Answer([1], one, [0.0]),
        cf.Route([0, 3], [[1.0], [1.0]], 0.0, 0.0, 1.0, 3, 4),
        Answer([0], one, [0.0]),
        Answer([2], one, [0.0]),
    )
    return StageTree(bank, stages)


@pytest.mark.parametrize("keeps", [False, True])
def test_predicted_latencies_are_what_drivers_wait(keeps):
    stays = {"round_time": 0.0} if keeps else {}
    own = {"age": 2.0, "chol": 5.0, "pulse": 7.0, "scan": 30.0}
    served = {"blood": ("chol", "pulse"), "rest": ("age", "scan")}
    costs = cf.CostModel.of(
        {
            "features": {f: {"cost": 1.0, "time": own[f], "needs": [of]} for of in served for f in served[of]},
            "resources": {
                "blood": {"cost": 3.0, "time": 40.0} | stays,
                "rest": {"cost": 0.0, "time": 10.0},
            },
        }
    )
    model, X = three_rounds(), FRAME[list(NAMES)]
    report = model.cost(X, costs, rounds=True, latency=True)
    assert set(report.rounds) == {1, 2, 3}
    blood, rest = Service(FRAME, 40.0, own, keeps=keeps), Service(FRAME, 10.0, own)
    lookups = {"blood": Lookup(blood, served["blood"]), "rest": Lookup(rest, served["rest"])}

    async def wait_for_each(clock):
        waited = []
        async with Sources(lookups) as both:
            for key in FRAME["key"]:
                begun = clock()
                await predict_one_async(model, both, costs, key=key)
                waited.append(1000 * (clock() - begun))
        return waited

    assert run_simulated(wait_for_each) == pytest.approx(report.latency)
    blood.made.clear()

    async def wait_in_streams(clock):
        begun, waited = clock(), {}
        async with Sources(lookups) as both:
            async for key, end in predict_stream_async(model, both, FRAME["key"][:1], costs):
                waited[key] = 1000 * (clock() - begun)
                assert end.rounds == report.rounds[0]
        return waited

    assert run_simulated(wait_in_streams) == {"k0": pytest.approx(report.latency[0])}
    twice = 40.0 + 5.0 + 30.0 + 10.0 + (0.0 if keeps else 40.0) + 7.0
    assert report.latency.max() == pytest.approx(twice)


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
