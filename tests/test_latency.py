"""Times beside prices: the latency of rows, measured times, and budgets on the time of 95 % of the rows."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import some_rows
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Plain, sources, table, tree

import costframe as cf
from costframe.core.cost.latency import Clock
from costframe.core.errors import CostModelError, ParameterError, SourceError
from costframe.frontier import BudgetSearch, Frontier, Point
from costframe.frontier.choices import Budget, describe_useless_budget
from costframe.frontier.trial import Rows, measure_latency
from costframe.sources import Lookup, Sources, TableSource, measure

FRAME, TREE = table(), tree()
X = FRAME[list(NAMES)]


@given(st.data())
def test_the_clock_agrees_with_its_naive_twin(data):
    """Each fetch ends its own time after all that it needs; a round ends with its last fetch."""
    times, some = st.floats(0, 100), lambda names: [name for name in names if data.draw(st.booleans())]
    resources, features = {}, {}
    for r in range(4):
        resources[f"r{r}"] = {"cost": 1.0, "time": data.draw(times), "needs": some(list(resources))}
    for f in range(4):
        features[f"f{f}"] = {"cost": 1.0, "time": data.draw(times), "needs": some(resources)}
    costs = cf.CostModel.of({"features": features, "resources": resources, "trip_time": data.draw(times)})
    order, cut = data.draw(st.permutations(list(features))), data.draw(st.integers(1, 4))
    prices, there, total, clock = features | resources, set(), 0.0, Clock(costs)

    def ends(name):
        waits = (ends(need) for need in prices[name]["needs"] if need not in there)
        return prices[name]["time"] + max(waits, default=0.0)

    def needed(name):
        return {name}.union(*(needed(need) for need in prices[name]["needs"]))

    for names in filter(None, (order[:cut], order[cut:])):
        clock.add_round(names)
        trips = {tuple(sorted(prices[name]["needs"])) for name in names}
        total += max(map(ends, names)) + costs.trip_time * len(trips)
        there |= set().union(*map(needed, names))
    assert clock.time == pytest.approx(total)


def test_rounds_follow_one_another_and_fetches_of_one_round_run_side_by_side(tmp_path):
    report = TREE.cost(X, COSTS, latency=True)
    assert set(report.latency) == {2.0, 2.0 + 10 + 20 + 5, 2.0 + 10 + 20 + 5 + 30}
    assert report.latency_quantiles((0.0, 1.0)).tolist() == [2.0, 67.0]
    cf.save(TREE, tmp_path / "m")
    assert cf.load(tmp_path / "m").costs == COSTS
    timed = COSTS.as_time()
    assert (timed.unit, timed.full_cost()) == ("ms", 2.0 + 5 + 1 + 30 + 20 + 10)
    assert COSTS.as_time(per_cost=2.0).full_cost() == timed.full_cost() + 2.0 * COSTS.full_cost()
    through = COSTS.through({"age": "age", "chol^2": ("chol",), "chol x scan": ("chol", "scan")})
    assert {price.name: price.time for price in through.resources} == {"chol": 5, "scan": 30, "blood": 20, "visit": 10}


UNTIMED = dict.fromkeys(NAMES, 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TREE.cost(X, UNTIMED, latency=True), "times"),
        (lambda: TREE.cost(X, COSTS, routing="soft", latency=True), "latency"),
        (lambda: cf.CostModel.of({"features": {"a": {"cost": 1.0, "time": -1.0}}}), r"features.a.time"),
        (lambda: Frontier.fit(cf.estimator("miser"), X, np.arange(60) % 2, time_budget=50), "the prices have no times"),
        (lambda: evolve(FRONTIER, points=POINTS[1:]).best(time_budget=39), "39 ms; the quickest found .* 40 ms"),
        (lambda: evolve(FRONTIER, points=POINTS[1:]).best(5, time_budget=45), "5 CAD .* within 45 ms; .* costs 8"),
    ],
)
def test_times_that_are_missing_or_wrong_are_refused(call, words):
    with pytest.raises((ParameterError, CostModelError), match=words):
        call()


# --- measured times ---


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


def test_measured_times_separate_what_is_shared():
    slow = Timed(FRAME, 40.0, {"chol": 5.0, "pulse": 7.0})
    clocks = {"clock": lambda: slow.now, "work_clock": lambda: slow.worked}
    with sources(FRAME, slow) as both:
        measured = measure(both, FRAME["key"], COSTS, **clocks)
        alone = measure(both, FRAME["key"], repeats=1, **clocks)
    times = {price.name: price.time for price in (*measured.features, *measured.resources)}
    assert times == pytest.approx(
        {"age": 0.0, "scan": 0.0, "chol": 5.0, "pulse": 7.0, "blood": 40.0, "visit": 10.0, "rest": 0.0}
    )
    assert measured.full_cost() == COSTS.full_cost()
    assert measured.trip_time == pytest.approx(0.25)  # the median of two lookups, one of which works
    assert np.array_equal(TREE.cost(X, measured).per_row, TREE.cost(X, COSTS).per_row)
    assert (alone.unit, {price.name for price in alone.resources}) == ("ms", {"blood", "rest"})


def test_what_cannot_be_measured_is_refused_and_labels_need_no_model():
    slow = Timed(FRAME, 40.0, {"chol": 5.0, "pulse": 7.0})
    with sources(FRAME, slow) as both, pytest.raises(SourceError, match="no row for the key"):
        measure(both, ["nobody"])
    labels = Lookup(TableSource({"color": ["red", None, "7"]}), ["color"])
    with Sources({"shop": labels}) as shop:
        assert measure(shop, range(3)).names == ("color",)


# --- budgets on time ---

# The best feature is cheap and slow; without it, `b` and `d` are good together.
SLOW = cf.CostModel.of({
    "unit": "CAD",
    "features": {
        "a": {"cost": 0.5, "time": 300.0}, "b": {"cost": 2.0, "time": 2.0, "needs": ["draw"]},
        "c": {"cost": 1.0, "time": 5.0}, "d": {"cost": 10.0, "time": 8.0},
    },
    "resources": {"draw": {"cost": 4.0, "time": 30.0}},
})  # fmt: skip


def point(name, cost, score, latency, p95):
    values = {"tradeoff": 0.1, "score_error": 0.001, "test_score": None, "test_error": None, "test_cost": None}
    values |= {"fixed": 0.0, "n_features": int(cost > 0), "n_learners": 1, "rounds": 1.0, "seconds": 0.1}
    return Point("miser", score=score, cost=cost, latency=latency, latency_p95=p95, name=name, **values)


POINTS = (
    point("nothing", 0.0, 0.5, 0.0, 0.0),
    point("slow", 1.0, 0.8, 290.0, 300.0),
    point("quick", 8.0, 0.85, 20.0, 40.0),
    point("best", 12.0, 0.95, 200.0, 330.0),
    point("dear", 16.0, 0.9, 30.0, 45.0),
)
FRONTIER = Frontier(POINTS, "roc_auc", "CAD", 17.5)


@pytest.mark.parametrize(
    ("budget", "time", "best"),
    [(None, None, "best"), (None, 45, "dear"), (10, 45, "quick"), (11, 330.0, "quick"), (None, 39.9, "nothing")],
)
def test_both_bounds_hold_at_once(budget, time, best):
    assert FRONTIER.best(budget, time_budget=time).name == FRONTIER.recommended(budget, time_budget=time).name == best


def test_a_budget_says_how_much_of_it_is_used_and_when_it_buys_nothing():
    used = [Budget(10, 50).used(POINTS[2]), Budget(None, 50).used(POINTS[3]), Budget(0).used(POINTS[1])]
    assert used == [0.8, 6.6, np.inf]
    assert [Budget(*each).describe("CAD") for each in ((), (10,), (10, 0.5))] == ["", "10 CAD", "10 CAD and 0.5 ms"]
    chosen = FRONTIER.recommended(7, time_budget=50)
    assert describe_useless_budget(FRONTIER, chosen, Budget(7, 50)) == (
        "nothing within 7 CAD and 50 ms beats the constant by more than the error; the cheapest that does: miser, "
        "1 CAD per row, 95 % of the rows within 300 ms, roc_auc 0.8 \u00b1 0.001"
    )
    influences = tuple(np.full(3, number) for number in range(5))
    found = evolve(FRONTIER, models=tuple("abcde"), influences=influences).within_time(45)
    assert [(found.model(p), found.influence(p)[0]) for p in found] == [("a", 0), ("c", 2), ("e", 4)]


def test_latency_is_measured_on_evenly_spaced_rows_with_their_weights():
    bank = cf.WeakLearnerBank.columns(("a", "b", "c", "d"), [0, 1])
    answers = cf.Answer([], np.empty((0, 1)), [0.0]), cf.Answer([0], [[1.0]], [0.0])
    model = cf.StageTree(bank, (cf.Route([1], [1.0], 0.0, 0.0, 1.0, 1, 2), *answers))
    X = np.zeros((4000, 4))
    X[::20, 1] = 1.0  # they go on to `a`, which takes 300 ms after the 32 ms of `b`
    assert measure_latency(model, SLOW, Rows(X, X[:, 0])) == (32 + 0.1 * 300, 332.0)  # every second row
    mean, p95 = measure_latency(model, SLOW, Rows(X, X[:, 0], np.where(X[:, 1] > 0, 1.0, 3.0)))
    assert (mean, p95) == (pytest.approx(32 + 300 * 1 / 28), 32.0)
    assert measure_latency(model, cf.CostModel.uniform(list("abcd")), Rows(X, X[:, 0])) == (None, None)


def test_a_search_within_a_time_leaves_slow_features_out():
    X, y = some_rows(500)
    search = BudgetSearch(cf.estimator("cegb", costs=SLOW, n_estimators=20), time_budget=50.0, points=5, cv=0)
    search.fit(X[:350], y[:350], X_val=X[350:], y_val=y[350:])
    chosen, report = search.best_point_, search.cost(X[350:], latency=True)
    assert chosen.latency == pytest.approx(report.latency.mean())
    assert chosen.latency_p95 == report.latency_quantiles([0.95])[0] <= 50.0
    assert chosen.score > 0.7  # the others begin with `a`, which is cheap
    assert report.by_feature["a"] == 0.0
    assert (search.margin_, search.time_margin_) == (None, 50.0 - chosen.latency_p95)
    assert "below the time budget" in search.summary_
    assert all(buy.point.latency_p95 <= 50 for buy in search.next_buys_)


def test_commands_keep_a_time_budget_and_tell_latencies(run, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr("costframe.cli.cost.MOST_TIMED", 100)
    X, y = some_rows(300)
    path = table(pd.DataFrame(X, columns=list("abcd")).assign(ill=y))
    SLOW.save("p.toml")
    how = (path, "--costs", "p.toml", "--target", "ill", "--folds", 0)
    result = run("compare", *how, "--algorithms", "miser", "--points", 3, "--time-budget", "50ms", "--budget", 17)
    assert "Chosen within 17 CAD and 50 ms: miser-" in result.stdout
    points = pd.read_csv("frontier/points.csv")
    assert f"; {(points.latency_p95 > 50).sum()} slower models left out; " in result.stdout
    model = cf.load("frontier/recommended.model")
    assert model.cost(pd.read_csv(path), latency=True).latency_quantiles([0.95])[0] <= 50.0
    told = " ".join(run("cost", "frontier/recommended.model", path).stdout.split())
    assert "(of 75 evenly spaced rows)" in told
    assert "99 % within" in told
    fitted = run("fit", *how, "--algorithm", "miser", "--time-budget", "0.05s", "--output", "m")
    assert "95 % of the rows wait at most" in " ".join(fitted.stdout.split())
    assert cf.load("m").cost(pd.read_csv(path)).by_feature["a"] == 0.0
    for arguments, text in (
        (["--time-budget", "50"], "expected a time with its unit, such as 50ms or 0.2s, got '50'"),
        (["--time-budget", "50ms"], "time_budget: the prices have no times"),
    ):
        result = run("compare", *arguments, "--output", "other")
        assert result.exit_code == 2
        assert text in " ".join(result.stderr.split())
