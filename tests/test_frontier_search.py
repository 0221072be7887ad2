"""Searches for the best model within a budget."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from frontier_cases import COSTS, some_rows
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.frontier import BudgetSearch
from costframe.frontier.search import UselessBudgetWarning
from costframe.training.scoring import score_named


def test_budget_search_stays_within_its_budget():
    X, y = some_rows()
    X_val, y_val = some_rows(200, seed=1)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=30), 8.0, points=6)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    assert search.cost(X_val).mean == search.best_point_.cost <= 8.0
    assert search.best_point_ == search.frontier_.recommended(8.0)
    assert search.score(X_val, y_val) == search.best_estimator_.score(X_val, y_val)
    assert search.best_point_.score > 0.7
    np.testing.assert_array_equal(search.predict(X_val), search.best_estimator_.predict(X_val))
    np.testing.assert_array_equal(search.predict_proba(X_val), search.best_estimator_.predict_proba(X_val))
    assert search.predictor_ is search.best_estimator_.predictor_
    assert search.n_features_in_ == 4
    assert list(search.classes_) == [0, 1]
    assert search.best_point_.test_score is None
    assert cf.plot.FrontierDisplay(search.frontier_).to_bytes().startswith(b"\x89PNG")
    assert ",,,0.0," in search.frontier_.to_csv()


@pytest.mark.parametrize("task", ["classification", "regression", "ranking"])
def test_budget_search_holds_rows_out_itself(task):
    X, y = some_rows(300)
    frame = pd.DataFrame(X, columns=list("dcba")[::-1])
    qid = np.repeat(np.arange(30), 10)
    more = {"qid": qid} if task == "ranking" else {}
    estimator = cf.estimator("miser", task, costs=COSTS, n_estimators=10)
    search = BudgetSearch(estimator, 6.0, points=4).fit(frame, y, **more)
    again = clone(search).fit(frame, y, **more)
    assert search.best_point_.cost <= 6.0
    np.testing.assert_array_equal(search.predict(frame), again.predict(frame))
    assert hasattr(search, "predict_proba") == (task == "classification")


@pytest.mark.parametrize(
    ("task", "scoring"),
    [
        *(("classification", scoring) for scoring in ("f1", "log_loss", "neg_log_loss", "average_precision")),
        ("regression", "rmse"),
        *(("ranking", scoring) for scoring in ("precision@3", "precision@2:1", "average_precision@10", "ndcg@3")),
    ],
)
def test_every_score_chooses_models_by_path_and_by_early_stopping(task, scoring):
    X, y = some_rows(300)
    more = {"qid": np.repeat(np.arange(50), 6)} if task == "ranking" else {}
    values = {"X_val": X[200:], "y_val": y[200:], **({"qid_val": more["qid"][200:]} if more else {})}
    first = {name: queries[:200] for name, queries in more.items()}
    estimator = cf.estimator("cegb", task, costs=COSTS, n_estimators=10, n_jobs=1)
    search = BudgetSearch(estimator, 8.0, scoring=scoring, points=4, cv=0).fit(X[:200], y[:200], **first, **values)
    expected = {"log_loss": "neg_log_loss", "rmse": "neg_root_mean_squared_error"}.get(scoring, scoring)
    assert search.frontier_.score_name == expected
    nothing = next(point for point in search.frontier_.points if point.n_features == 0)
    assert search.best_point_.score > nothing.score
    found = score_named(scoring)(y[200:], search.predictor_.predict(X[200:]), None, values.get("qid_val"))
    assert found == pytest.approx(search.best_point_.score, abs=0.01)  # which is corrected for the choice
    stopped = clone(estimator).set_params(tradeoff=1e-3, scoring=scoring, n_estimators=60, n_iter_no_change=5)
    assert stopped.fit(X[:200], y[:200], **first, **values).n_iter_ < 60


def test_a_grade_that_no_row_has_is_no_score():
    X, y = some_rows(300)
    search = BudgetSearch(cf.estimator("cegb", "ranking", costs=COSTS, n_estimators=5), 8.0, scoring="precision@3:9")
    with pytest.raises(DataError, match="no row is relevant for precision@3:9, the highest grade is 1"):
        search.fit(X, y, qid=np.repeat(np.arange(50), 6))


def test_the_f1_of_a_constant_does_not_blur_that_of_models():
    """F1 of the constant jumps between 0 and 2/3, as folds have more or fewer positives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=300) > 0).astype(int)
    search = BudgetSearch(cf.estimator("boosting", n_estimators=30), 4.0, scoring="f1").fit(X, y)
    assert search.best_point_.score > 0.6
    assert search.best_point_.score_error < 0.15


class Stubborn(ClassifierMixin, BaseEstimator):
    """Reads its first column whatever that costs."""

    def __init__(self, costs=None, tradeoff=0.0):
        self.costs = costs
        self.tradeoff = tradeoff

    def fit(self, X, y, **_validation):
        self.n_features_in_ = X.shape[1]
        self.costs_ = cf.CostModel.of(self.costs, list("abcd"))
        self.classes_ = np.unique(y)
        bank = WeakLearnerBank.columns(list("abcd"), [0])
        self.predictor_ = StageTree(bank, [Answer([0], [[1.0]], [0.0], "sigmoid")], self.costs_)
        return self

    def predict(self, X):
        return self.classes_[(self.predictor_.predict(X) > 0.5).astype(int)]


@pytest.mark.parametrize("folds", [0, 3])
def test_budget_search_warns_where_the_budget_buys_nothing(folds):
    X, y = some_rows(300)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=8), 0.2, points=5, cv=folds)
    with pytest.warns(
        UselessBudgetWarning, match=r"nothing within 0.2 CAD beats the constant .*: miser, \S+ CAD per row"
    ):
        search.fit(X, y)
    assert search.best_point_.n_features == 0
    affordable = clone(search).set_params(budget=search.frontier_.useful().cost)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessBudgetWarning)
        affordable.fit(X, y)
    assert affordable.best_point_.n_features > 0


def test_budget_search_names_the_cheapest_where_nothing_fits():
    X, y = some_rows(100)
    search = BudgetSearch(Stubborn(COSTS), 0.5, points=3)
    with pytest.raises(ParameterError, match=r"at most 0\.5 CAD per row; the cheapest found costs 1 "):
        search.fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ParameterError, match="budget"):
        BudgetSearch(Stubborn(COSTS), -1).fit(X, y)
    with pytest.raises(ParameterError, match="both or neither"):
        BudgetSearch(Stubborn(COSTS), 1).fit(X, y, X_val=X)


def test_weights_count_in_the_search():
    X, y = some_rows(150)
    weight = np.where(np.arange(150) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(150), weight.astype(int))
    one, other = (BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=8), 5.0, points=4, cv=0) for _ in "ab")
    one.fit(X, y, weight, X_val=X, y_val=y, sample_weight_val=weight)
    other.fit(X[twice], y[twice], X_val=X[twice], y_val=y[twice])
    assert one.best_point_.cost == pytest.approx(other.best_point_.cost)
    assert one.best_point_.score == pytest.approx(other.best_point_.score, abs=0.2 * other.best_point_.score_error)
    assert one.best_point_.score_error == pytest.approx(other.best_point_.score_error, rel=0.05)


def test_a_score_that_does_not_exist_is_refused():
    X, y = some_rows(100)
    search = asked(estimator=cf.estimator("miser", "regression", costs=COSTS, n_estimators=3))
    with pytest.raises(CostframeError), pytest.warns(UserWarning, match="R\\^2"):
        search.fit(X, y, X_val=X[:1], y_val=y[:1])


def asked(budget=5.0, estimator=None, **settings):
    estimator = cf.estimator("miser", costs=COSTS, n_estimators=3) if estimator is None else estimator
    return BudgetSearch(estimator, budget, **{"points": 2, "cv": 0} | settings)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        *(({"budget": budget}, "budget: expected a number >= 0") for budget in ("a", None, [1], np.nan, True)),
        *(({"points": points}, "points: expected a whole number >= 1") for points in ("a", 2.5, 0)),
        *(({"cv": folds}, "cv: expected 0, or a whole number >= 3") for folds in ("a", 3.5, True, 2)),
        *(({"validation_fraction": v}, "validation_fraction: expected .* 0 and 1") for v in (0, 1, -1, "a", np.nan)),
        *(({"tradeoffs": tradeoffs}, "tradeoffs: expected") for tradeoffs in ((), ["a"], [-1.0], [np.nan], 0.5, "a")),
        ({"random_state": "a"}, "random_state: 'a'"),
        ({"estimator": "miser"}, "estimator: expected one of costframe's, with a tradeoff, got 'miser'"),
        ({"estimator": Stubborn}, "estimator: .* got the class Stubborn; call it"),
        ({"estimator": LogisticRegression()}, "estimator: .* LogisticRegression has none"),
    ],
)
def test_odd_settings_are_refused_by_name(settings, text):
    with pytest.raises(ParameterError, match=text):
        asked(**settings).fit(*some_rows(60))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"y": None}, "y: requires y to be passed, but the target y is None"),
        ({"y": np.arange(20) % 2}, "y: expected one value a row, 60, got 20"),  # else forty rows would be left out
        ({"y": np.arange(70) % 2}, "y: expected one value a row, 60, got 70"),
        ({"y": np.array([None, 1] * 30, object)}, "y: expected labels of one kind"),
        ({"y": np.arange(60) == 7}, "y: no rows can be held out; give X_val and y_val: The least populated"),
        ({"X": None}, "X: expected a table of rows, got NoneType"),
        ({"sample_weight": np.ones(5)}, "sample_weight: expected one value a row, 60, got 5"),
        ({"sample_weight": -1.0}, "sample_weight: expected finite numbers >= 0"),
        ({"sample_weight_val": np.ones(5)}, "sample_weight_val: has no effect without X_val and y_val"),
        ({"qid": np.arange(60) // 6}, "qid: has no effect"),
        ({"X_val": np.ones((9, 4)), "y_val": [0, 1]}, "y_val: expected one value a row, 9, got 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(given, text):
    X, y = some_rows(60)
    with pytest.raises(CostframeError, match=text):
        asked().fit(**{"X": X, "y": y} | given)


def test_one_weight_is_that_of_all_rows():
    X, y = some_rows(100)
    one, other = (asked().fit(X, y, weight).best_point_ for weight in (2.0, np.full(100, 2.0)))
    assert (one.score, one.cost) == (other.score, other.cost)


@pytest.mark.parametrize(
    ("task", "n_classes", "scoring"),
    [
        *(("classification", 3, scoring) for scoring in ("average_precision", "r2", "ndcg@5", "rmse")),
        *(("classification", 2, scoring) for scoring in ("r2", "ndcg@5")),
        *(("regression", 0, scoring) for scoring in ("roc_auc", "accuracy", "f1", "precision@5")),
        *(("ranking", 0, scoring) for scoring in ("roc_auc", "r2", "average_precision")),
    ],
)
def test_scores_of_other_tasks_are_refused(task, n_classes, scoring):
    X, y = some_rows(60)
    labels = np.arange(60) % n_classes if n_classes else y
    search = asked(estimator=cf.estimator("miser", task, costs=COSTS), scoring=scoring)
    with pytest.raises(ParameterError, match=f"scoring: {task}.* has .*, not '{scoring}'"):
        search.fit(X, labels)


def test_a_class_without_a_row_leaves_no_area_under_the_curve():
    X, y = some_rows(90)
    with pytest.raises(DataError, match="score: there is no roc_auc on 60 rows that lack a class"):
        asked(tradeoffs=[0.0], scoring="roc_auc").fit(X, np.arange(90) % 3, X_val=X[:60], y_val=y[:60])


EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows of weight zero count where rows are held out"}


@parametrize_with_checks(
    [BudgetSearch(cf.estimator("miser", n_estimators=2), 1e9, points=2, cv=0)],
    expected_failed_checks=lambda _search: EXPECTED,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::costframe.frontier.search.UselessBudgetWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def several(**settings):
    few = {"dear": cf.MiserClassifier(COSTS, n_estimators=8), "line": LogisticRegression()}
    return BudgetSearch(**{"estimator": few, "budget": 8.0, "tradeoffs": [0.0, 0.01, 0.1], "cv": 0} | settings)


def test_estimators_are_searched_together_and_the_best_is_kept():
    X, y = some_rows(300)
    search = several().fit(X, y)
    assert {point.algorithm for point in search.frontier_} == {"dear", "line"}
    assert search.best_point_ == search.frontier_.recommended(8.0)
    assert search.best_point_.algorithm == "dear"  # the line costs 17.5
    rich = several(budget=20.0, estimator=[cf.MiserClassifier(COSTS, n_estimators=1), LogisticRegression()]).fit(X, y)
    assert rich.best_point_.algorithm == "LogisticRegression"
    trained = rich.best_estimator_
    assert rich.score(X, y) == np.mean(trained.predict(X) == y) > 0.8
    assert rich.cost(X).mean == 17.5
    np.testing.assert_array_equal(rich.predict_proba(X), trained.predict_proba(X))
    assert list(rich.classes_) == [0, 1]


def test_a_search_is_an_estimator_among_others():
    X, y = some_rows(240)
    frame = pd.DataFrame(X, columns=list("abcd"))
    search = several()
    assert search.get_params()["cv"] == 0
    pipeline = make_pipeline(StandardScaler(), clone(search).set_params(budget=9.0)).set_output(transform="pandas")
    assert pipeline.fit(frame, y).score(frame, y) > 0.7
    assert list(pipeline[-1].feature_names_in_) == list("abcd")
    assert cross_val_score(search, X, y, cv=3).min() > 0.6
    assert (
        clone(several(estimator=[LogisticRegression()])).estimator[0].get_params() == LogisticRegression().get_params()
    )


def test_a_splitter_gives_the_folds():
    X, y = some_rows(150)
    one, other = (several(cv=StratifiedKFold(3)).fit(X, y) for _ in "ab")
    assert one.best_point_.score == other.best_point_.score
    assert {len(moved) for moved in one.frontier_.influences} == {150}
    qid = np.arange(150) // 5
    ranked = BudgetSearch(cf.MiserRanker(COSTS, n_estimators=3), 8.0, tradeoffs=[0.0, 0.1], cv=GroupKFold(3))
    assert ranked.fit(X, y, qid=qid).frontier_.score_name == "ndcg@5"
    with pytest.raises(ParameterError, match="whole queries"):
        ranked.set_params(cv=StratifiedKFold(3)).fit(X, y, qid=qid)


def test_the_margin_and_what_a_larger_budget_buys():
    X, y = some_rows(400)
    search = several(budget=1.5, estimator=cf.MiserClassifier(COSTS, n_estimators=20), tradeoffs=None).fit(X, y)
    chosen, frontier = search.best_point_, search.frontier_
    assert search.margin_ == 1.5 - chosen.cost >= 0
    assert 1 <= len(search.next_buys_) <= 3
    for buy in search.next_buys_:
        assert buy.point in frontier.non_dominated()
        assert buy.cost == buy.point.cost - chosen.cost > 0
        assert buy.gain == frontier.difference(buy.point, chosen)
        assert str(buy).startswith(f"{buy.cost:.3g} CAD more per row would raise roc_auc by ")
        assert f"({buy.point.name})" in str(buy)
    first, *others = search.summary_.split("\n")
    assert first.startswith(f"{chosen.name}: roc_auc {chosen.score:.3f} \u00b1")
    assert first.endswith(" CAD per row, both estimates, " + f"{search.margin_:.2f} below the budget")
    assert others == list(map(str, search.next_buys_))
    assert several(budget=99.0).fit(X, y).next_buys_ == ()
