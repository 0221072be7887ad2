"""No budget falls off a cliff: algorithms are fitted within sets of features that promise more than their models."""

from __future__ import annotations

import contextlib
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.predictors.stage_tree import StageTree
from costframe.datasets import Dataset
from costframe.frontier import BudgetSearch, Frontier
from costframe.frontier.promises import Promises
from costframe.frontier.search import UselessBudgetWarning
from costframe.frontier.set_fits import FITS, FITS_OF_BUDGET
from costframe.sets.archive import search_quickly
from costframe.training.scoring import score_named

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
CLIFFS = ["cegb", "cronus", "cstc", "miser", "reweighted"]


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


@pytest.fixture
def without(monkeypatch):
    """Look at no sets."""
    monkeypatch.setattr(Promises, "of", lambda *_: ())


@pytest.mark.parametrize("name", [*CLIFFS, "adapt", "planner"])
def test_a_budget_below_a_dear_resource_buys_what_is_useful(name):
    X, y = cliff()
    search = searched(name, 12.0, X, y, cv=0)
    fresh, labels = cliff(3000, seed=1)
    assert 0 < search.cost(fresh).mean <= 12
    assert search.best_point_.cost <= 12
    assert score_named("roc_auc")(labels, search.predictor_.predict(fresh), None, None) > 0.62
    assert len(search.frontier_.points) <= 40


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("name", CLIFFS)
def test_without_it_they_fall(name):
    with pytest.warns(UselessBudgetWarning, match="the cheapest that does"):
        search = searched(name, 12.0, *cliff(), cv=0)
    assert search.best_point_.n_features == 0


def test_a_budget_that_buys_nothing_useful_still_says_so():
    with pytest.warns(UselessBudgetWarning, match=r"nothing within 1\.5 EUR beats .* the cheapest that does: miser, "):
        search = searched("miser", 1.5, *cliff(), cv=0)
    assert search.best_point_.cost == 0
    random = np.random.default_rng(0)
    with pytest.warns(UselessBudgetWarning, match="nothing found at any cost does"):
        searched("miser", 12.0, random.normal(size=(400, 7)), random.integers(0, 2, 400), cv=0)


def test_the_command_line_finds_it_too(run, tmp_path):
    X, y = cliff()
    pd.DataFrame(X, columns=list(NAMES)).assign(ill=y).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "costs.json").write_text(json.dumps(PRICES))
    given = ("rows.csv", "--costs", "costs.json", "--target", "ill", "--algorithm", "miser", "--folds", 0)
    result = run("fit", *given, "--budget", 12, "--output", "m")
    assert result.exit_code == 0, result.output
    assert "beats the constant" not in result.stdout
    assert 0 < cf.load(tmp_path / "m").cost(X).mean <= 12


def test_a_sweep_fills_gaps_and_searches_once(monkeypatch):
    X, y = cliff()
    data = Dataset.from_arrays(X, y, COSTS, feature_names=list(NAMES), task="classification")
    calls = []
    search = cf.frontier.promises._search
    monkeypatch.setattr("costframe.frontier.promises._search", lambda *args: calls.append(1) or search(*args))
    told = []
    frontier = Frontier.sweep(data, ["miser", "cegb"], points=6, folds=0, parameters=FEW,
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


@pytest.mark.usefixtures("without")
def test_a_sweep_without_it_has_the_gap():
    X, y = cliff()
    data = Dataset.from_arrays(X, y, COSTS, feature_names=list(NAMES), task="classification")
    assert not [p for p in Frontier.sweep(data, ["miser"], folds=0, parameters=FEW).points if 0 < p.cost < 12]


def test_nothing_is_looked_at_where_there_is_no_need_or_no_price():
    X, y = cliff()
    asked = cf.estimator("miser", costs=COSTS, **FEW)
    strong = cf.estimator("miser", costs=COSTS, n_estimators=100)
    assert len(BudgetSearch(strong, 60.0, tradeoffs=[0.0], cv=0).fit(X, y).frontier_.points) == 1
    computing = {"features": dict.fromkeys(NAMES, 0.0), "split": 1.0}
    free = BudgetSearch(cf.estimator("cegb", costs=computing, **FEW), 1e9, tradeoffs=[0.0], cv=0).fit(X, y)
    assert len(free.frontier_.points) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessBudgetWarning)
        few = BudgetSearch(asked, 12.0, tradeoffs=[0.0, 0.1], cv=0).fit(X[:60], y[:60])
        many = BudgetSearch(asked, 12.0, tradeoffs=[0.0, 0.1], cv=0).fit(X, y)
    within = [sum(1 for p in each.frontier_.points if p.tradeoff == 0) - 1 for each in (few, many)]
    assert within[0] == 0 < within[1] <= FITS_OF_BUDGET


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_other_tasks(task):
    X, y = cliff()
    qid = np.repeat(np.arange(90), 10) if task == "ranking" else None
    split = np.repeat(["train", "valid", "test"], 300)
    data = Dataset.from_arrays(X, y.astype(float), COSTS, feature_names=list(NAMES), task=task, qid=qid, split=split)
    frontier = Frontier.sweep(data, ["miser"], points=4, budget=12.0, folds=0, parameters=FEW)
    assert 0 < frontier.recommended(12.0).cost <= 12


def test_threads_change_nothing():
    X, y = cliff(500)
    one, two = (
        BudgetSearch(cf.estimator("reweighted", costs=COSTS, n_jobs=n, **FEW_TREES), 12.0, tradeoffs=[0.0, 0.1], cv=0)
        .fit(X, y)
        .frontier_
        for n in (1, 2)
    )
    assert [(p.score, p.cost) for p in one.points] == [(p.score, p.cost) for p in two.points]


READERS = [
    *(("adapt", {"variant": variant}) for variant in ("gbrt", "lin")),
    *((name, FEW) for name in ("boosting", "affordable", "early-exit")),
    ("l1-gate", {}),
    *(("cegb", FEW), ("miser", FEW), ("planner", {"max_tries": 20})),
    *((name, given) for name in ("cronus", "cstc", "reweighted") for given in (FEW_TREES, {"bank": "columns"})),
]


@pytest.mark.parametrize(("name", "given"), READERS)
@pytest.mark.parametrize("tradeoff", [0.0, 0.01])
def test_what_trains_within_a_set_reads_nothing_else(name, given, tradeoff):
    X, y = cliff(400)
    X[::7, 4], X[::5, 5], X[::3, 0] = np.nan, np.nan, np.nan
    frame = pd.DataFrame(X, columns=list(NAMES))
    is_of_columns = not {"columns", "lin"}.isdisjoint(map(str, given.values()))
    takes_categories = "categorical_features" in cf.estimator(name).get_params() and not is_of_columns
    if takes_categories:
        for column in ("dear1", "cheap1"):
            frame[column] = pd.cut(frame[column], 5, labels=list("abcde"))
    model = cf.estimator(name, costs=COSTS, tradeoff=tradeoff, **given).reading_only((4, 5))
    model.fit(frame[:300], y[:300], X_val=frame[300:], y_val=y[300:])
    report = model.cost(frame)
    assert not report.acquired[:, [0, 1, 2, 3, 6]].any()
    if isinstance(model.predictor_, StageTree):
        assert set(model.predictor_.layout.used.tolist()) <= {4, 5}
    if tradeoff == 0:
        assert report.acquired[:, [4, 5]].any()
    elsewhere = frame.assign(dear0=7.0, cheap2=-1.0)
    assert (model.predictor_.predict(elsewhere) == model.predictor_.predict(frame)).all()


@pytest.mark.parametrize(("n_classes", "scoring"), [(2, "roc_auc"), (3, "roc_auc"), (3, "accuracy")])
def test_a_class_that_the_searched_rows_lack(n_classes, scoring):
    X, y = cliff(8000)  # of which every second is searched
    labels = np.zeros(8000, int) if n_classes == 2 else y
    labels[[1, 3, 5]] = n_classes - 1
    fresh = np.arange(300) % n_classes
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, **FEW), 12.0, tradeoffs=[0.0], cv=0, scoring=scoring)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessBudgetWarning)
        with contextlib.suppress(ParameterError):  # the only model may be too dear
            search.fit(X, labels, X_val=X[:300], y_val=fresh)


@pytest.mark.parametrize("columns", [(7,), (-1,), (1.5,), "dear0", ("dear0",), [True] * 7, 3, None, ((1, 2),)])
def test_columns_that_are_none_are_refused(columns):
    with pytest.raises(ParameterError, match=r"columns: expected .*numbers of columns"):
        cf.estimator("miser", costs=COSTS, **FEW).reading_only(columns).fit(*cliff(60))


def test_a_clone_reads_no_more():
    X, y = cliff(200)
    for columns in ((4, 5), ()):
        copy = clone(cf.estimator("miser", costs=COSTS, tradeoff=0.0, **FEW).reading_only(columns))
        assert set(np.flatnonzero(copy.fit(X, y).cost(X).acquired.any(axis=0))) == set(columns)
    assert clone(cf.estimator("miser", costs=COSTS, tradeoff=0.0, **FEW)).fit(X, y).cost(X).mean > 20


def test_many_columns_are_not_searched():
    X, y = cliff(120)
    wide = np.tile(X, (1, 1000))
    model = cf.estimator("miser", **FEW)
    few, many = (search_quickly(model.training_data(wide[:, :width], y), 1) for width in (700, 7000))
    assert few is not None
    assert many is None
