"""Frontiers of any estimators: by joblib, of other libraries, and of fitted models."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import COSTS, some_rows
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from study_cases import StudyRows, folds_by

import costframe as cf
from costframe import CostframeError, FittedEstimator
from costframe.choices import Frontier, Point
from costframe.datasets import Dataset
from costframe.plugin import ParameterError

FEW = {"n_estimators": 5}
PRICES = cf.CostModel.from_dict(COSTS)


def timeless(frontier):
    return [evolve(point, seconds=0.0) for point in frontier]


def held_out(n=200):
    X, y = some_rows(n, seed=1)
    return {"X_val": X, "y_val": y}


def fit(estimators, n=150, **more):
    return Frontier.fit(estimators, *some_rows(n), **{"costs": PRICES, "cv": 0} | held_out() | more)


def test_fitting_an_estimator_is_sweeping_its_algorithm():
    data = Dataset.from_arrays(*some_rows(200), COSTS, feature_names=list("abcd"), name="rows")
    train, valid, test = map(data.part, ("train", "valid", "test"))
    swept = Frontier.sweep(data, ["miser", "cegb"], points=4, parameters=FEW, references=False)
    fitted = Frontier.fit(
        [cf.MiserClassifier(data.costs, **FEW), cf.CEGBClassifier(data.costs, **FEW)],
        train.X, train.y, X_val=valid.X, y_val=valid.y, X_test=test.X, y_test=test.y, points=4,
    )  # fmt: skip
    assert timeless(fitted) == timeless(swept)
    assert (fitted.unit, fitted.full_cost, fitted.score_name) == (swept.unit, swept.full_cost, swept.score_name)


def test_tasks_of_joblib_change_nothing():
    estimators = {
        "one": cf.MiserClassifier(**FEW),
        "two": cf.MiserClassifier(n_estimators=3),
        "line": LogisticRegression(),
    }
    told = []
    alone = fit(estimators, tradeoffs=[0.0, 0.1])
    with joblib.parallel_config(backend="threading"):
        beside = fit(estimators, tradeoffs=[0.0, 0.1], n_jobs=2, progress=lambda *event: told.append(event[:2]))
    assert timeless(beside) == timeless(alone)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {told[-1][0]}
    X = held_out()["X_val"]
    for point in alone:
        np.testing.assert_array_equal(beside.model(point.name).predict(X), alone.model(point.name).predict(X))


@pytest.mark.parametrize("labels", [(0, 1), ("b", "a")])
def test_costs_and_scores_of_other_libraries_are_those_of_their_models(labels):
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm")
    X, y = some_rows(150)
    y, (X_val, y_val) = np.array(labels)[y], held_out().values()
    y_val = np.array(labels)[y_val]
    given = [lightgbm.LGBMClassifier(n_estimators=3, verbose=-1), make_pipeline(StandardScaler(), LogisticRegression())]
    frontier = Frontier.fit(given, X, y, X_val=X_val, y_val=y_val, costs=PRICES, scoring="accuracy", cv=0)
    for point, model in zip(frontier, given, strict=True):
        model.fit(X, y)
        adopted = frontier.model(point)
        assert isinstance(adopted, FittedEstimator)
        np.testing.assert_array_equal(adopted.predict(X_val), model.predict(X_val))
        assert point.cost == cf.ExpectedCost(PRICES).evaluate(cf.adopt(model, list("abcd")), X_val).mean
        assert point.tradeoff == 0
    assert frontier.points[1].cost == PRICES.full_cost() == frontier.full_cost
    assert frontier["Pipeline-1"] is frontier.points[1]


def test_fitted_models_are_measured_as_they_are():
    X, y = some_rows(150)
    miser = cf.MiserClassifier(PRICES, 0.01, **FEW).fit(X, y)
    loaded = FittedEstimator(miser.predictor_, "classifier")
    frontier = fit({"tree": miser.predictor_, "loaded": loaded, "line": LogisticRegression()}, cv=3)
    one, other, _ = frontier
    assert evolve(one, algorithm="", name="", seconds=0) == evolve(other, algorithm="", name="", seconds=0)
    assert one.cost == miser.cost(held_out()["X_val"]).mean
    assert [len(moved) for moved in frontier.influences] == [200, 200, 350]  # folds repeat the line only
    dear = fit({"tree": miser.predictor_}, costs=dict.fromkeys("abcd", 7.0))
    assert dear.full_cost == 28
    assert dear.model("tree-1").cost(X).mean == miser.predictor_.cost(X, dict.fromkeys("abcd", 7.0)).mean


def test_columns_in_another_order_are_refused_without_names():
    X, y = some_rows(150)
    line = cf.adopt(LogisticRegression().fit(X, y), list("dcba"))
    with pytest.raises(
        ParameterError, match="'model' reads 'd', 'c', 'b', 'a', the columns of X are 'a', 'b', 'c', 'd'"
    ):
        fit([line])
    names = {"X_val": pd.DataFrame(held_out()["X_val"], columns=list("dcba"))}
    frontier = Frontier.fit([line], pd.DataFrame(X, columns=list("dcba")), y, costs=PRICES, cv=0, **held_out() | names)
    assert frontier.full_cost == PRICES.full_cost()


def test_a_splitter_divides_the_rows_in_their_given_order():
    X = np.arange(12.0)[:, np.newaxis]
    order = np.random.default_rng(0).permutation(12)
    train, valid = (StudyRows(X[part], X[part, 0]) for part in (order[:8], order[8:]))
    folds = folds_by(train, valid, KFold(4), order)
    assert [sorted(fold.out.y.tolist()) for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert sorted(folds[0].valid.y.tolist()) == [3, 4, 5]
    for fold in folds:
        np.testing.assert_array_equal(np.append(train.y, valid.y)[fold.place], fold.out.y)
        assert len(fold.train.y) == 6


def test_choices_within_a_budget_and_within_a_share():
    frontier = Frontier(some_points(40), "roc_auc", "CAD", 50.0)
    assert frontier.best().cost == 39
    assert frontier.best(budget=20.5).cost == 20
    assert frontier.recommended(budget=20.5).cost == 19  # .01 below
    assert frontier.cheapest(0.05).score >= 0.95 * frontier.best().score
    assert frontier.cheapest(0.05).cost == 35
    assert frontier.cheapest(0) is frontier.best()
    with pytest.raises(ParameterError, match="within: expected a number between 0 and 1"):
        frontier.cheapest(1)
    with pytest.raises(ParameterError, match="budget: expected a number >= 0"):
        frontier.best(-1)


@pytest.mark.parametrize(
    ("estimators", "more", "text"),
    [
        (["miser"], {}, "estimators: expected estimators, or fitted models .*, got 'miser'"),
        ([LogisticRegression], {}, "got the class LogisticRegression; call it"),
        ([KNeighborsClassifier()], {"sample_weight": np.ones(150)}, "KNeighborsClassifier takes no sample weights"),
        ([LogisticRegression(C=-1)], {}, "estimators: 'LogisticRegression' cannot be fitted: The 'C' parameter"),
        ([LogisticRegression(), StandardScaler()], {}, r"got StandardScaler\(\), which predicts nothing"),
        ([LogisticRegression(), LinearRegression()], {}, "is a classifier, 'LinearRegression' is a regressor"),
        ([cf.MiserClassifier({"a": 1})], {}, "costs: the prices of 'miser' differ from the given costs"),
        ([LogisticRegression()], {"qid_test": [1]}, "qid_test: has no effect without X_test and y_test"),
        ([LogisticRegression()], {"X_test": np.ones((3, 4)), "y_test": [0, 1, 7]}, "y: expected one of the classes"),
        ([LogisticRegression()], {"cv": "five"}, "cv: expected 0, or a whole number >= 3"),
        ([LogisticRegression()], {"scoring": "roc_au"}, "scoring: expected .*mean 'roc_auc' or 'roc_auc_ovr' or"),
    ],
)
def test_what_a_fit_refuses(estimators, more, text):
    with pytest.raises(CostframeError, match=text):
        fit(estimators, **more)


def some_points(count, algorithm="miser"):
    rest = (None, None, None, 0.0)
    return tuple(
        Point(algorithm, 0.1, 0.5 + i / 100, 0.015, float(i), *rest, i, 1, 1.0, 0.1, name=f"{algorithm}-{i}")
        for i in range(count)
    )


def test_methods_take_a_point_or_its_name():
    rows = tuple(np.random.default_rng(0).normal(size=(3, 9)) / 100)
    frontier = Frontier(some_points(3), "roc_auc", "CAD", 50.0, models=("x", "y", None), influences=rows)
    assert list(frontier) == list(frontier.points)
    assert len(frontier) == 3
    one, other = frontier.points[1:]
    foreign = evolve(one, score=0.123)
    for method in ("rank", "score_interval", "interval", "influence", "file", "has_model", "model", "__getitem__"):
        assert np.all(getattr(frontier, method)("miser-1") == getattr(frontier, method)(one))
        with pytest.raises(
            ParameterError, match=r"expected the name of one, such as 'miser-0'.*did you mean 'miser-1'"
        ):
            getattr(frontier, method)("mser-1")
    assert frontier.difference("miser-1", "miser-2") == frontier.difference(one, other)
    for method in ("influence", "file", "has_model", "model"):
        with pytest.raises(ParameterError, match="point: expected one of this frontier's"):
            getattr(frontier, method)(foreign)


def test_a_fit_that_reads_nothing_is_scored_as_the_constant_it_is():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.5, "ill", "well")
    costs = cf.CostModel.of({"a": 0.4, "b": 1.0}, errors={"ill": {"well": 4.0}, "well": {"ill": 3.0}})
    data = Dataset.from_arrays(X, y, costs, feature_names=["a", "b"], name="rows")
    frontier = Frontier.sweep(data, ["cegb"], parameters={"n_estimators": 20})
    seen = np.concatenate([data.part("train").y, data.part("valid").y])
    constants = [point for point in frontier if not point.n_features]
    assert constants  # or nothing is tested; on fewer rows, fits at one of their tradeoffs buy `a`
    for point in constants:
        assert frontier.bill(point) == pytest.approx(4.0 * np.mean(seen == "ill"), abs=0.02)
        assert frontier.bill_error(point) == pytest.approx(4.0 * np.std(seen == "ill") / np.sqrt(len(seen)), rel=0.05)
    assert frontier.cheapest().n_features  # its bill is lower than the constant's
