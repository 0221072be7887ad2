"""The planner where wrong answers have prices: it minimizes the bill, of acquisitions and errors together."""

import numpy as np
import pytest

import costframe as cf
from costframe.sets import SetArchive
from costframe_planner import PlannerClassifier, PlannerRegressor

QUICK = {"max_tries": 8, "n_estimators": 20, "n_sets": 5, "max_leaves": 4, "n_jobs": 1}
PRICES = {"alarm": 1.0, "likely": 1.0, "noise": 0.2}


def patients(n=400, seed=0):
    """Draw a rare illness, "2", that only `alarm` shows, and a common one, "1", that `likely` shows better."""
    random = np.random.default_rng(seed)
    y = random.choice(3, n, p=[0.45, 0.45, 0.1])
    alarm = np.where(random.random(n) < 0.95, y == 2, y != 2).astype(float)
    likely = np.where(random.random(n) < 0.95, y == 1, random.random(n) < 0.5).astype(float)
    return np.column_stack([alarm, likely, random.integers(0, 3, n)]), y, PRICES


def bill(model, errors, prices=PRICES):
    X, y, _ = patients(4000, seed=1)
    return model.cost(X, y, costs=cf.CostModel.of(prices, errors=errors)).mean_bill


def test_without_prices_of_errors_the_default_tradeoff_is_a_number():
    X, y, prices = patients()
    by_default, same = (PlannerClassifier(prices, **more, **QUICK).fit(X, y) for more in ({}, {"tradeoff": 1e-3}))
    assert by_default.predictor_.tradeoff == same.predictor_.tradeoff == 1e-3
    assert (by_default.decision_function(X) == same.decision_function(X)).all()


@pytest.mark.parametrize(
    ("missed", "best"),
    [
        (0.5, 0.45 * 0.5 + 0.1 * 0.5),  # an error costs less than any test
        (40.0, 1.0 + 0.09 * 0.05 * 40.0 + 0.5),  # only the alarm is worth its price
    ],
)
def test_what_is_bought_follows_from_what_errors_cost(missed, best):
    X, y, prices = patients()
    errors = {"2": {"0": missed, "1": missed}, "1": {"0": 0.5, "2": 0.5}, "0": {"1": 0.5, "2": 0.5}}
    model = PlannerClassifier(cf.CostModel.of(prices, errors=errors), **QUICK).fit(X, y)
    assert model.predictor_.tradeoff == 1
    assert bill(model, errors) < 1.1 * best
    dearer = {truth: {answer: 100 * price for answer, price in each.items()} for truth, each in errors.items()}
    other = PlannerClassifier(cf.CostModel.of(prices, errors=dearer), **QUICK).fit(X, y)
    assert bill(other, dearer) < 0.9 * bill(model, dearer)


def test_sets_are_searched_by_their_bills(monkeypatch):
    found = []
    search = SetArchive.search_bills
    monkeypatch.setattr(SetArchive, "search_bills", lambda *args: found.append(search(*args)) or found[-1])
    X, y, prices = patients()
    errors = {"2": {"0": 40.0, "1": 40.0}, "1": {"2": 4.0}, "0": {"2": 4.0}}
    PlannerClassifier(cf.CostModel.of(prices, errors=errors), **QUICK).fit(X, y)
    assert 0 in found[0][0]
    assert 1 not in found[0][0]


def test_points_know_what_rows_pay_where_prices_have_errors():
    X, y, prices = patients()
    errors = {"2": {"0": 9.0, "1": 9.0}, "1": {"0": 4.0, "2": 4.0}, "0": {"1": 4.0, "2": 4.0}}
    paths = [
        PlannerClassifier(cf.CostModel.of(prices, errors=each), **QUICK).fit_path(X[:300], y[:300], X_val=X, y_val=y)
        for each in (errors, None)
    ]
    front = paths[0].frontier()
    assert any(point.cost_error for point in front)
    for point in front:
        assert np.linalg.norm(point.spent) == pytest.approx(point.cost_error, rel=0.3)
    assert all(point.spent is None for point in paths[1].frontier())


def test_rows_with_more_at_stake_buy_more():
    X, y, _ = patients(900)
    amount = np.random.default_rng(5).choice([1.0, 100.0], len(X))
    y = (y == 2).astype(int)
    X = np.column_stack([X[:, 0], amount])
    costs = cf.CostModel.of(
        {"alarm": 1.0, "amount": 0.0}, errors={"1": {"0": {"column": "amount"}}, "0": {"1": {"column": "amount"}}}
    )
    report = PlannerClassifier(costs, **QUICK).fit(X, y).cost(X, y)
    assert report.acquired[amount == 100, 0].mean() > 0.95
    assert report.acquired[amount == 1, 0].mean() < 0.05


def test_regressions_pay_per_unit_of_error():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y, prices = X @ [1.0, 1.0], {"a": 1.0, "b": 1.0}
    cheap, dear = (
        PlannerRegressor(cf.CostModel.of(prices, errors={"absolute": price}), **QUICK).fit(X, y)
        for price in (0.1, 100.0)
    )
    assert cheap.cost(X).mean == 0
    assert dear.cost(X).mean > 1.5
