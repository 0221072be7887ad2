"""No budget falls off a cliff: algorithms are fitted within sets of features that promise more than their models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from few_rounds import few_rounds
from score_cases import score_named
from sklearn.base import clone
from study_cases import FITS

import costframe as cf
from costframe import StageTree
from costframe.choices import BudgetSearch, Frontier
from costframe.datasets import Dataset
from costframe.study import promising_sets

NAMES = tuple(f"dear{f}" for f in range(4)) + tuple(f"cheap{f}" for f in range(3))
PRICES = {
    "unit": "EUR",
    "features": {f"dear{f}": {"cost": 0.5, "needs": ["bureau"]} for f in range(4)}
    | {f"cheap{f}": 2.0 for f in range(3)},
    "resources": {"bureau": 20.0},
}
COSTS = cf.CostModel.from_dict(PRICES)
FEW, FEW_TREES = {"n_estimators": 15}, {"n_estimators": 15, "max_depth": 3}
SETTINGS = {
    "adapt": {"n_estimators": 30},
    "cegb": FEW,
    "cstc": FEW_TREES | {"inflation": 3.0, "ridge": 0.1},
    "miser": FEW,
    "planner": {"max_tries": 30, "n_sets": 6},
}


def cliff(n=900, seed=0):
    """Draw rows whose labels depend strongly on what is behind a dear resource, and weakly on three cheap features."""
    random = np.random.default_rng(seed)
    cause = random.normal(size=n)
    dear = cause[:, None] + 0.3 * random.normal(size=(n, 4))
    cheap = 0.35 * cause[:, None] + random.normal(size=(n, 3))
    return np.hstack([dear, cheap]), (cause + 0.2 * random.normal(size=n) > 0).astype(int)


def searched(name, budget, X, y, **more):
    settings = SETTINGS.get(name, FEW_TREES)
    few = {} if name in {"planner", "adapt"} else {"tradeoffs": [0.0, 0.01, 0.1]}
    return BudgetSearch(cf.estimator(name, costs=COSTS, **settings), budget, **few | more).fit(X, y)


@pytest.mark.parametrize("name", ["cegb", pytest.param("cstc", marks=pytest.mark.deep)])
def test_a_budget_below_a_dear_resource_buys_what_is_useful(name):
    X, y = cliff()
    search = searched(name, 12.0, X, y, cv=0)
    fresh, labels = cliff(3000, seed=1)
    assert 0 < search.cost(fresh).mean <= 12
    assert search.best_point_.cost <= 12
    assert score_named("roc_auc")(labels, search.predictor_.predict(fresh), None, None) > 0.62
    assert len(search.frontier_.points) <= 40


def test_a_sweep_fills_gaps_and_searches_once(monkeypatch):
    X, y = cliff()
    data = Dataset.from_arrays(X, y, COSTS, feature_names=list(NAMES), task="classification")
    calls = []
    search = promising_sets._search
    monkeypatch.setattr("costframe.study.promising_sets._search", lambda *args: calls.append(1) or search(*args))
    told = []
    frontier = Frontier.sweep(data, ["miser", "cegb"], points=6, cv=0, parameters=FEW,
                              progress=lambda *event: told.append(event))  # fmt: skip
    assert len(calls) == 1
    assert told[-1][0] == told[-1][1]
    for name in ("miser", "cegb"):
        own = [point for point in frontier.points if point.algorithm == name]
        low = [point for point in own if 0 < point.cost < 12]
        assert 1 <= len(low) <= FITS
        assert own[0].tradeoff == 0
        assert own[0].cost > 12  # the plain model stays the first
        for point in low:
            assert frontier.model(point).cost(data.part("test").X).mean == point.test_cost


READERS = [
    *(("adapt", {"variant": variant}) for variant in ("gbrt", "lin")),
    ("l1-gate", {}),
    *(("early-exit", FEW), ("cegb", FEW), ("planner", {"max_tries": 20})),
    ("cstc", {"bank": "columns"}),
]


@pytest.mark.parametrize(("name", "given"), READERS)
def test_what_trains_within_a_set_reads_nothing_else(name, given):
    X, y = cliff(400)
    X[::7, 4], X[::5, 5], X[::3, 0] = np.nan, np.nan, np.nan
    frame = pd.DataFrame(X, columns=list(NAMES))
    is_of_columns = not {"columns", "lin"}.isdisjoint(map(str, given.values()))
    takes_categories = "categorical_features" in cf.estimator(name).get_params() and not is_of_columns
    if takes_categories:
        for column in ("dear1", "cheap1"):
            frame[column] = pd.cut(frame[column], 5, labels=list("abcde"))
    model = cf.estimator(name, costs=COSTS, tradeoff=0.0, **given).reading_only((4, 5))
    with few_rounds():
        model.fit(frame[:300], y[:300], X_val=frame[300:], y_val=y[300:])
    report = model.cost(frame)
    assert not report.acquired[:, [0, 1, 2, 3, 6]].any()
    if isinstance(model.predictor_, StageTree):
        assert set(model.predictor_.layout.used.tolist()) <= {4, 5}
    assert report.acquired[:, [4, 5]].any()
    elsewhere = frame.assign(dear0=7.0, cheap2=-1.0)
    assert (model.predictor_.predict(elsewhere) == model.predictor_.predict(frame)).all()


def test_a_clone_reads_no_more():
    X, y = cliff(200)
    for columns in ((4, 5), ()):
        copy = clone(cf.estimator("miser", costs=COSTS, tradeoff=0.0, **FEW).reading_only(columns))
        assert set(np.flatnonzero(copy.fit(X, y).cost(X).acquired.any(axis=0))) == set(columns)
    assert clone(cf.estimator("miser", costs=COSTS, tradeoff=0.0, **FEW)).fit(X, y).cost(X).mean > 20
