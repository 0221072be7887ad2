"""Frontiers of any estimators: by joblib, of other libraries, and of fitted models."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import joblib
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import COSTS, some_rows
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.datasets import Dataset
from costframe.frontier import Frontier, Point
from costframe.frontier.rows import Rows, folds_by

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
    swept = Frontier.sweep(data, ["miser", "cegb"], points=4, parameters=FEW)
    fitted = Frontier.fit(
        [cf.MiserClassifier(data.costs, **FEW), cf.CEGBClassifier(data.costs, **FEW)],
        train.X, train.y, X_val=valid.X, y_val=valid.y, X_test=test.X, y_test=test.y, points=4,
    )  # fmt: skip
    assert timeless(fitted) == timeless(swept)
    assert (fitted.unit, fitted.full_cost, fitted.score_name) == (swept.unit, swept.full_cost, swept.score_name)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_tasks_of_joblib_change_nothing(backend):
    estimators = {
        "one": cf.MiserClassifier(**FEW),
        "two": cf.MiserClassifier(n_estimators=3),
        "line": LogisticRegression(),
    }
    told = []
    alone = fit(estimators, tradeoffs=[0.0, 0.1])
    with joblib.parallel_config(backend=backend):
        beside = fit(estimators, tradeoffs=[0.0, 0.1], n_jobs=2, progress=lambda *event: told.append(event[:2]))
    assert timeless(beside) == timeless(alone)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {told[-1][0]}
    X = held_out()["X_val"]
    for point in alone:
        np.testing.assert_array_equal(beside.model(point.name).predict(X), alone.model(point.name).predict(X))


def test_a_tradeoff_is_said_only_of_models_that_have_one():
    told = []
    frontier = fit([LogisticRegression()], progress=lambda *event: told.append(event[2]))
    assert [text.partition(":")[0] for text in told] == ["LogisticRegression"] * 2
    with pytest.raises(ParameterError, match=r"the cheapest found costs 17.5 \(LogisticRegression\)$"):
        frontier.best(1.0)
    told.clear()
    with_one = fit([cf.MiserClassifier(**FEW)], tradeoffs=[0.01], progress=lambda *event: told.append(event[2]))
    assert all(text.startswith("miser at tradeoff 0.01") for text in told)
    assert with_one.points[0].tradeoff == 0.01


@pytest.mark.parametrize("labels", [(0, 1), ("b", "a")])
def test_costs_and_scores_of_other_libraries_are_those_of_their_models(labels):
    import lightgbm

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


def test_regressors_and_rankers_of_other_libraries():
    import lightgbm

    X, y = some_rows(120)
    line = Frontier.fit([LinearRegression()], X, X[:, 0] + y, costs=PRICES, cv=0)
    assert (line.score_name, len(line)) == ("r2", 1)
    qid = np.tile(np.arange(12), 10)
    ranker = lightgbm.LGBMRanker(n_estimators=3, min_child_samples=2, verbose=-1)
    ranked = Frontier.fit([ranker, LinearRegression()], X, y, qid=qid, costs=PRICES, cv=0)
    assert ranked.score_name == "ndcg@5"
    assert ranked.best().score > 0.6
    assert ranked.model("LGBMRanker-1").kind == "ranker"


def test_labels_are_names_of_algorithms_and_distinct():
    few = [cf.MiserClassifier(**FEW), DecisionTreeClassifier(max_depth=1), cf.MiserClassifier(n_estimators=2)]
    frontier = fit(few, tradeoffs=[0.0, 0.01])
    assert {point.algorithm for point in frontier} == {"miser", "miser-2", "DecisionTreeClassifier"}
    assert len({point.name for point in frontier}) == len(frontier)
    own = sorted((p.cost, p.name) for p in frontier if p.algorithm == "miser")
    assert [name for _, name in own] == ["miser-1", "miser-2"]


def test_one_failure_leaves_the_other_estimators():
    told = {}
    frontier = fit({"bad": SVC(), "good": LogisticRegression()}, failed=told.__setitem__)
    assert [point.name for point in frontier] == ["good-1"]
    assert "'bad'" in str(told["bad"])


@pytest.mark.parametrize(
    ("estimators", "more", "text"),
    [
        ([], {}, "estimators: expected at least one, got none"),
        (["miser"], {}, "estimators: expected estimators, or fitted models .*, got 'miser'"),
        ([LogisticRegression], {}, "got the class LogisticRegression; call it"),
        ({1: LogisticRegression()}, {}, "expected labels that are texts, got 1"),
        ([SVC()], {}, "estimators: 'SVC': expected a classifier with predict_proba, SVC has none"),
        ([KNeighborsClassifier()], {"sample_weight": np.ones(150)}, "KNeighborsClassifier takes no sample weights"),
        ([LogisticRegression(C=-1)], {}, "estimators: 'LogisticRegression' cannot be fitted: The 'C' parameter"),
        ([KMeans()], {}, r"regressors or rankers, got KMeans\(\), of the type 'clusterer'"),
        (make_pipeline(StandardScaler()), {}, "regressors or rankers, got Pipeline.*, which predicts nothing"),
        ([LogisticRegression(), StandardScaler()], {}, r"got StandardScaler\(\), which predicts nothing"),
        (LogisticRegression, {}, "got the class LogisticRegression; call it"),
        ([LogisticRegression(), LinearRegression()], {}, "is a classifier, 'LinearRegression' is a regressor"),
        ([cf.MiserClassifier({"a": 1})], {}, "costs: the prices of 'miser' differ from the given costs"),
        ([LogisticRegression()], {"costs": [1.0, 2.0]}, "costs"),
        ([LogisticRegression()], {"n_jobs": 0}, "n_jobs: expected a whole number other than 0"),
        ([LogisticRegression()], {"X_test": np.ones((3, 4))}, "X_test and y_test: expected both or neither"),
        ([LogisticRegression()], {"qid_test": [1]}, "qid_test: has no effect without X_test and y_test"),
        ([LogisticRegression()], {"X_test": np.ones((3, 4)), "y_test": [0, 1, 7]}, "y: has labels 7, the model's"),
        ([LogisticRegression()], {"cv": "five"}, "cv: expected 0, or a whole number >= 3"),
        ([LogisticRegression()], {"scoring": "roc_au"}, "scoring: expected .*mean 'roc_auc' or 'roc_auc_ovr' or"),
        ([LogisticRegression()], {"scoring": max}, "scoring: expected the name of a score, .*, got max"),
        ([LogisticRegression()], {"scoring": "r2"}, "scoring: classification of 2 classes has"),
    ],
)  # fmt: skip
def test_what_a_fit_refuses(estimators, more, text):
    with pytest.raises(CostframeError, match=text):
        fit(estimators, **more)


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
    train, valid = (Rows(X[part], X[part, 0]) for part in (order[:8], order[8:]))
    folds = folds_by(train, valid, KFold(4), order)
    assert [sorted(fold.out.y.tolist()) for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert sorted(folds[0].valid.y.tolist()) == [3, 4, 5]
    for fold in folds:
        np.testing.assert_array_equal(np.append(train.y, valid.y)[fold.place], fold.out.y)
        assert len(fold.train.y) == 6


@pytest.mark.parametrize(
    ("splitter", "text"),
    [
        (ShuffleSplit(4), "cv: expected a splitter that holds out each row once, as KFold does, got ShuffleSplit"),
        (KFold(2), "cv: expected at least 3 parts, got 2 of KFold"),
        (KFold(4), "cv: expected a splitter that holds out whole queries, as GroupKFold does, got KFold"),
        (3.5, "cv: Expected"),
    ],
)
def test_splitters_that_divide_otherwise_are_refused(splitter, text):
    rows = Rows(np.zeros((12, 1)), np.zeros(12), None, np.arange(12) % 3)
    with pytest.raises(ParameterError, match=text):
        folds_by(rows.take(np.arange(6)), rows.take(np.arange(6, 12)), splitter, np.arange(12))
    assert len(folds_by(rows.take(np.arange(6)), rows.take(np.arange(6, 12)), GroupKFold(3), np.arange(12))) == 3


def test_labels_are_numbered_as_the_model_numbers_them():
    class Model:
        classes_ = np.array(["z", "a"])

    assert Rows(np.zeros((3, 1)), ["a", "z", "a"]).codes(Model).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="y: has labels 'b', the model's classes are 'z', 'a'"):
        Rows(np.zeros((2, 1)), ["a", "b"]).codes(Model)


def some_points(count, algorithm="miser"):
    return tuple(
        Point(
            algorithm,
            0.1,
            0.5 + i / 100,
            0.015,
            float(i),
            None,
            None,
            None,
            0.0,
            i,
            1,
            1.0,
            0.1,
            name=f"{algorithm}-{i}",
        )
        for i in range(count)
    )


def test_choices_within_a_budget_and_within_a_share():
    frontier = Frontier(some_points(40), "roc_auc", "CAD", 50.0)
    assert frontier.best().cost == 39
    assert frontier.best(budget=20.5).cost == 20
    assert frontier.recommended(budget=20.5).cost == 19  # .01 below
    assert frontier.cheapest(0.05).score >= 0.95 * frontier.best().score
    assert frontier.cheapest(0.05).cost == 35
    assert frontier.cheapest(0) is frontier.best()
    for wrong in (1, -0.1, "a", None):
        with pytest.raises(ParameterError, match="within: expected a number between 0 and 1"):
            frontier.cheapest(wrong)
    with pytest.raises(ParameterError, match="budget: expected a number >= 0"):
        frontier.best(-1)


def test_points_are_found_by_name():
    frontier = Frontier(some_points(3), "roc_auc", "CAD", 50.0, models=("x", "y", "z"))
    assert list(frontier) == list(frontier.points)
    assert len(frontier) == 3
    assert frontier["miser-1"] is frontier.points[1]
    assert frontier.model("miser-2") == frontier.model(frontier.points[2]) == "z"
    with pytest.raises(
        ParameterError, match=r"expected the name of one, such as 'miser-0', 'miser-1', .*, got 'cegb-1'"
    ):
        frontier["cegb-1"]
    with pytest.raises(ParameterError, match=r"got 'mser-1' \(did you mean 'miser-1' or"):
        frontier["mser-1"]


def test_methods_take_a_point_or_its_name():
    rows = tuple(np.random.default_rng(0).normal(size=(3, 9)) / 100)
    frontier = Frontier(some_points(3), "roc_auc", "CAD", 50.0, models=("x", "y", None), influences=rows)
    one, other = frontier.points[1:]
    foreign = evolve(one, score=0.123)
    for method in ("rank", "score_interval", "interval", "influence", "file", "has_model", "model", "__getitem__"):
        assert np.all(getattr(frontier, method)("miser-1") == getattr(frontier, method)(one))
        for wrong in ("mser-1", "", 1, None):
            with pytest.raises(ParameterError, match="point: expected the name of one, such as 'miser-0'"):
                getattr(frontier, method)(wrong)
    for method in ("difference", "difference_error"):
        assert getattr(frontier, method)("miser-1", "miser-2") == getattr(frontier, method)(one, other)
        with pytest.raises(ParameterError, match="did you mean 'miser-2'"):
            getattr(frontier, method)("miser-1", "miser2")
        with pytest.raises(ParameterError, match="point: expected one of this frontier's"):
            getattr(frontier, method)(foreign, other)
    for method in ("influence", "file", "has_model", "model"):
        with pytest.raises(ParameterError, match="point: expected one of this frontier's"):
            getattr(frontier, method)(foreign)


def test_the_frame_has_the_columns_of_the_csv(monkeypatch):
    frontier = Frontier(some_points(3), "roc_auc", "CAD", 50.0)
    frame = frontier.to_frame()
    assert {*frame.columns, "name"} == set(frontier.to_csv().partition("\n")[0].split(","))
    assert frame.loc["miser-2", "cost"] == 2.0
    assert frame["test_score"].isna().all()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas; to_csv gives the same table"):
        frontier.to_frame()


def test_the_text_of_a_frontier_has_the_points_that_matter():
    few = Frontier(some_points(3), "roc_auc", "minutes\n\x1b[31m", 50.0)
    assert repr(few).split("\n")[:2] == [
        "Frontier(3 points of 1 algorithm, roc_auc 0.5 to 0.52 at 0 to 2 minutes\\n\\x1b[31m)",
        "  recommended: miser-1, roc_auc 0.51 \u00b1 0.015 at 1 \u00b1 0 minutes\\n\\x1b[31m, saves 98%",
    ]


class _Cells(HTMLParser):
    """The texts of the cells of each row, and all tags."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        assert not {name for name, _ in attrs} - {"style", "scope"}

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_the_html_of_a_frontier_is_short_and_escaped():
    evil = "<script>alert('1')</script>\u202e"
    html = Frontier(some_points(40, evil), "roc_auc", "<b>CAD", 50.0)._repr_html_()
    assert "<script" not in html
    assert "<b>CAD" not in html
    assert "\u202e" not in html
    cells = _Cells(html)
    assert cells.tags == {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert len(cells.rows) == 1 + 6
    assert html.count("font-weight:bold") == 4  # the cells of the recommended point


def test_the_html_says_why_a_point_is_recommended():
    def recommended(*points, influences=()):
        return Frontier(points, "r2", "CAD", 100.0, influences=influences)._repr_html_().partition("Recommended")[2]

    best, near = (evolve(each, score_error=0.1, n_features=1) for each in some_points(3)[1:])
    best, near = evolve(best, score=0.9, cost=9.0), evolve(near, score=0.89, cost=5.0)
    assert "It is the cheapest within one standard error of the best." in recommended(best, near)
    assert "It is the best of all models." in recommended(best, evolve(near, score=0.1))
    # The same rows lift both, so that the small difference is sure: above its error, and negligible.
    rows = np.full(4, 0.05)
    best, near = (evolve(each, score_error=0.1) for each in (best, evolve(near, score=0.898)))
    alike = recommended(best, near, influences=(rows, rows * 1.001))
    assert "It is the cheapest that is surely within 0.5% of the best." in alike


def test_the_html_says_where_a_constant_is_recommended():
    constant = Frontier(some_points(1), "roc_auc", "CAD", 0.0)._repr_html_()
    assert "its roc_auc is estimated as 0.5000 \u00b1.015. It is a constant, which nothing clearly beats." in constant
    assert "less than" not in constant.partition("Recommended")[2]
    nearly = Frontier(some_points(3), "roc_auc", "CAD", 500.0)._repr_html_()
    assert "&gt;99% less than all features" in nearly
    assert ">>99%" not in nearly
