"""Budgets on time: choices by the latency of 95 % of the rows, alone or beside the cost; latencies of points."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import some_rows
from page_cases import frontier as frontier_of_pages
from page_cases import prices as prices_of_pages
from page_cases import rows as rows_of_pages

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.datasets import Dataset
from costframe.frontier import BudgetSearch, Frontier, Point
from costframe.frontier.budget import Budget, UselessBudgetWarning
from costframe.frontier.trial import Rows, measure_latency
from costframe.frontier.words import describe_useless_budget
from costframe.report.page import frontier_page, render_page

# The best feature is cheap and slow; without it, `b` and `d` are good together.
COSTS = cf.CostModel.of(
    {
        "unit": "CAD",
        "features": {
            "a": {"cost": 0.5, "time": 300.0},
            "b": {"cost": 2.0, "time": 2.0, "needs": ["draw"]},
            "c": {"cost": 1.0, "time": 5.0},
            "d": {"cost": 10.0, "time": 8.0},
        },
        "resources": {"draw": {"cost": 4.0, "time": 30.0}},
    }
)


def point(name, cost, score, latency, p95, **more):
    values = {"tradeoff": 0.1, "score_error": 0.001, "test_score": None, "test_error": None, "test_cost": None}
    values |= {"fixed": 0.0, "n_features": int(cost > 0), "n_learners": 1, "rounds": 1.0, "seconds": 0.1} | more
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
    ("budget", "time_budget", "best"),
    [
        (None, None, "best"),
        (None, 45, "dear"),
        (10, 45, "quick"),
        (16, 330.0, "best"),
        (11, 330.0, "quick"),
        (None, 39.9, "nothing"),
        (0, 0, "nothing"),
    ],
)
def test_both_bounds_hold_at_once(budget, time_budget, best):
    assert FRONTIER.best(budget, time_budget=time_budget).name == best
    assert FRONTIER.recommended(budget, time_budget=time_budget).name == best
    bounds = Budget(budget, time_budget)
    assert bounds.allows(FRONTIER[best])
    assert not any(bounds.allows(each) for each in POINTS if each.score > FRONTIER[best].score)


def test_a_budget_says_how_much_of_it_is_used():
    assert Budget(10, 50).used(POINTS[2]) == 0.8
    assert Budget(None, 50).used(POINTS[3]) == 6.6
    assert Budget(0).used(POINTS[0]) == 1.0
    assert Budget(0).used(POINTS[1]) == np.inf
    assert (bool(Budget()), bool(Budget(0)), bool(Budget(time=0))) == (False, True, True)
    assert [Budget(*each).describe("CAD") for each in ((), (10,), (None, 50.0), (10, 0.5))] == [
        "", "10 CAD", "50 ms", "10 CAD and 0.5 ms"
    ]  # fmt: skip


def test_a_frontier_within_a_time_has_the_models_and_influences_of_its_points():
    influences = tuple(np.full(3, number) for number in range(5))
    found = evolve(FRONTIER, models=tuple("abcde"), influences=influences).within_time(45)
    assert [(p.name, found.model(p), found.influence(p)[0]) for p in found] == [
        ("nothing", "a", 0), ("quick", "c", 2), ("dear", "e", 4)
    ]  # fmt: skip
    assert FRONTIER.within_time(None) is FRONTIER


def test_what_no_model_keeps_is_an_error_that_names_the_nearest():
    some = evolve(FRONTIER, points=POINTS[1:])
    with pytest.raises(
        ParameterError, match=r"time_budget: no model .* within 39 ms; the quickest found .* 40 ms \(mis"
    ):
        some.best(time_budget=39)
    with pytest.raises(
        ParameterError, match=r"budget: .* at most 5 CAD .*95 % of the rows within 45 ms; .* costs 8 \("
    ):
        some.best(5, time_budget=45)
    with pytest.raises(ParameterError, match=r"at most 0.5 CAD per row; the cheapest found costs 1 \("):
        some.best(0.5)
    for wrong in (-1, "50ms", np.nan, True):
        with pytest.raises(ParameterError, match="time_budget: expected a number >= 0"):
            FRONTIER.best(time_budget=wrong)


def test_a_budget_that_buys_nothing_useful_says_so():
    chosen = FRONTIER.recommended(7, time_budget=50)
    assert describe_useless_budget(FRONTIER, chosen, Budget(7, 50)) == (
        "nothing within 7 CAD and 50 ms beats the constant by more than the error; the cheapest that does: miser, "
        "1 CAD per row, 95 % of the rows within 300 ms, roc_auc 0.8 \u00b1 0.001"
    )


def test_latencies_are_in_every_table_and_in_none_without_times(tmp_path):
    assert FRONTIER.to_frame().loc["quick", ["latency", "latency_p95"]].tolist() == [20.0, 40.0]
    assert pd.read_csv(pd.io.common.StringIO(FRONTIER.to_csv())).latency_p95.tolist() == [0, 300, 40, 330, 45]
    assert "40 ms" in FRONTIER._repr_html_()
    assert "95 % within 40 ms" in repr(FRONTIER["quick"])
    FRONTIER.save(tmp_path)
    assert Frontier.load(tmp_path).points == POINTS
    untimed = evolve(FRONTIER, points=tuple(evolve(p, latency=None, latency_p95=None) for p in POINTS))
    assert not {"latency", "latency_p95"} & set(untimed.to_frame())
    for text in (untimed.to_csv(), untimed._repr_html_(), repr(untimed.points)):
        assert not any(word in text for word in ("latency", "within", " ms"))
    with pytest.raises(ParameterError, match="time_budget: the points have no latency"):
        untimed.best(time_budget=50)


def test_latency_is_measured_on_evenly_spaced_rows_with_their_weights():
    bank = cf.WeakLearnerBank.columns(("a", "b", "c", "d"), [0, 1])
    stages = [
        cf.Route([1], [1.0], 0.0, 0.0, 1.0, 1, 2),
        cf.Answer([], np.empty((0, 1)), [0.0]),
        cf.Answer([0], [[1.0]], [0.0]),
    ]
    tree = cf.StageTree(bank, stages)
    X = np.zeros((4000, 4))
    X[::20, 1] = 1.0  # they go on to `a`, which takes 300 ms after the 32 ms of `b`
    assert measure_latency(tree, COSTS, Rows(X, X[:, 0])) == (32 + 0.1 * 300, 332.0)  # every second row
    weight = np.where(X[:, 1] > 0, 1.0, 3.0)
    mean, p95 = measure_latency(tree, COSTS, Rows(X, X[:, 0], weight))
    assert (mean, p95) == (pytest.approx(32 + 300 * 1 / 28), 32.0)
    assert measure_latency(tree, cf.CostModel.uniform(list("abcd")), Rows(X, X[:, 0])) == (None, None)


@pytest.mark.parametrize("name", ["miser", "cegb", "planner"])
def test_a_search_within_a_time_leaves_slow_features_out(name):
    X, y = some_rows(500)
    more = {} if name == "planner" else {"n_estimators": 20}
    search = BudgetSearch(cf.estimator(name, costs=COSTS, **more), time_budget=50.0, points=5, cv=0)
    search.fit(X[:350], y[:350], X_val=X[350:], y_val=y[350:])
    chosen = search.best_point_
    report = search.cost(X[350:], latency=True)
    assert chosen.latency == pytest.approx(report.latency.mean())
    assert chosen.latency_p95 == report.latency_quantiles([0.95])[0] <= 50.0
    assert chosen.score > 0.7  # the others begin with `a`, which is cheap
    assert report.by_feature["a"] == 0.0
    assert (search.margin_, search.time_margin_) == (None, 50.0 - chosen.latency_p95)
    assert "below the time budget" in search.summary_
    assert all(buy.point.latency_p95 <= 50 for buy in search.next_buys_)
    assert any(point.latency_p95 >= 300 for point in search.frontier_)
    both = search.frontier_.recommended(5.0, time_budget=50.0)
    assert both.cost <= 5.0
    assert both.latency_p95 <= 50.0


def test_a_search_approaches_a_time_budget_by_its_tradeoff():
    X, y = some_rows(500)
    times = {"a": 10.0, "b": 11.0, "c": 12.0, "d": 13.0}  # any one is quick enough; trees wait for one after another
    costs = cf.CostModel.of({"features": {name: {"cost": 1.0, "time": time} for name, time in times.items()}})
    estimator = cf.estimator("miser", costs=costs, n_estimators=20)
    search = BudgetSearch(estimator, 4.0, time_budget=25.0, points=2, cv=0).fit(X, y)
    assert len(search.frontier_) > 2
    assert 10.0 <= search.best_point_.latency_p95 <= 25.0
    assert search.best_point_.n_features > 0
    assert search.margin_ == 4.0 - search.best_point_.cost


def test_a_search_that_finds_nothing_in_time_warns():
    X, y = some_rows(300)
    with pytest.warns(UselessBudgetWarning, match="nothing within 1 ms beats the constant"):
        search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=5), time_budget=1.0, points=3, cv=0).fit(
            X, y
        )
    assert search.best_point_.n_features == 0


def test_a_sweep_is_refused_a_time_budget_where_prices_have_no_times():
    X, y = some_rows(100)
    data = Dataset.from_arrays(X, y, dict.fromkeys("abcd", 1.0), feature_names=list("abcd"), name="rows")
    with pytest.raises(ParameterError, match="time_budget: the prices have no times"):
        Frontier.sweep(data, ["miser"], time_budget=50)
    with pytest.raises(ParameterError, match="time_budget: the prices have no times"):
        Frontier.fit(cf.estimator("miser"), X, y, time_budget=50)
    with pytest.raises(ParameterError, match="time_budget: expected a number"):
        Frontier.sweep(data.with_costs(COSTS), ["miser"], time_budget="soon")


def test_a_page_chooses_within_the_time_budget():
    found = frontier_of_pages()
    quick = lambda number: 10.0 if number % 3 else 100.0  # noqa: E731
    timed = evolve(
        found, points=tuple(evolve(p, latency=quick(i) / 2, latency_p95=quick(i)) for i, p in enumerate(found))
    )
    page = frontier_page(timed, rows_of_pages(), prices_of_pages(), title="patients", time_budget=50)
    for choice in page.frontier.choices:
        assert choice.name == timed.recommended(choice.cost, time_budget=50).name
        assert timed[choice.name].latency_p95 == 10.0
    card = next(card for card in page.cards if card.name == page.frontier.choices[-1].name)
    assert ("latency per row", "5 ms", "95 % of the rows within 10 ms") in card.figures
    assert ("chosen models", "have 95 % of the rows within 50 ms") in page.facts
    text = render_page(frontier_page(timed, rows_of_pages(), prices_of_pages(), title="patients", time_budget=50))
    assert "95 % within" in text
    assert "95 % within" not in render_page(frontier_page(found, rows_of_pages(), prices_of_pages(), title="patients"))


@pytest.fixture
def timed(tmp_path):
    """Write a table and prices with times; return their paths."""
    X, y = some_rows(400)
    pd.DataFrame(X, columns=list("abcd")).assign(ill=y).to_csv(tmp_path / "t.csv", index=False)
    COSTS.save(tmp_path / "p.toml")
    return tmp_path / "t.csv", tmp_path / "p.toml"


def test_commands_keep_a_time_budget_and_tell_latencies(run, timed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    table, prices = timed
    how = ("--costs", prices, "--target", "ill")
    result = run(
        "compare",
        table,
        *how,
        "--algorithms",
        "miser",
        "--points",
        4,
        "--folds",
        0,
        "--time-budget",
        "50ms",
        "--budget",
        17,
    )
    assert result.exit_code == 0, result.output
    assert "Chosen within 17 CAD and 50 ms: miser-" in result.stdout
    points = pd.read_csv("frontier/points.csv")
    slower = int((points.latency_p95 > 50).sum())
    assert 0 < slower < len(points)
    assert f"; {slower} slower models left out; " in result.stdout
    model = cf.load("frontier/recommended.model")
    assert model.cost(pd.read_csv(table), latency=True).latency_quantiles([0.95])[0] <= 50.0
    told = run("cost", "frontier/recommended.model", table).stdout
    waits = model.cost(pd.read_csv(table), latency=True)
    middle, p95, late = waits.latency_quantiles([0.5, 0.95, 0.99])
    assert (
        f"  latency {waits.latency.mean():.4g} ms on average, median {middle:.4g} ms, 95 % within {p95:.4g} ms, "
        f"99 % within {late:.4g} ms\n"
    ) in told
    assert run("inspect", "frontier/recommended.model", table, "--output", "m.html").exit_code == 0
    assert f"95 % of the rows within {p95:.4g} ms" in Path("m.html").read_text()
    fitted = run("fit", table, *how, "--algorithm", "miser", "--folds", 0, "--time-budget", "0.05s", "--output", "m")
    assert fitted.exit_code == 0, fitted.output
    assert "95 % of the rows wait at most" in " ".join(fitted.stdout.split())
    assert cf.load("m").cost(pd.read_csv(table)).by_feature["a"] == 0.0


def test_cost_of_many_rows_tells_latencies_of_some(run, timed, monkeypatch):
    monkeypatch.setattr("costframe.cli.cost.MOST_TIMED", 100)
    table, prices = timed
    assert (
        run(
            "fit", table, "--costs", prices, "--target", "ill", "--algorithm", "miser", "--tradeoff", 0, "--output", "m"
        ).exit_code
        == 0
    )
    told = run("cost", "m", table).stdout
    assert "99 % within" in told
    assert "(of 100 evenly spaced rows)" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--time-budget", "50"], "expected a time with its unit, such as 50ms or 0.2s, got '50'"),
        (["--time-budget", "-1ms"], "expected a time"),
        (["--time-budget", "50ms"], "time_budget: the prices have no times"),
    ],
)
def test_a_wrong_time_budget_is_refused_before_any_fit(run, arguments, text):
    for command in (["compare"], ["fit", "breast-cancer", "--algorithm", "miser", "--output", "m"]):
        result = run(*command, *arguments)
        assert result.exit_code == 2
        assert text in " ".join(result.stderr.split())
