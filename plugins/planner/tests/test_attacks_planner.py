"""Hostile tables, labels, weights and prices: a planner that is right, or an error that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from costframe.core.errors import DataError, ParameterError
from costframe.sets.archive import SetArchive
from costframe.sets.prices import SetPrices
from costframe.training.data import Rows
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.folds import boost_folds, regress_many
from costframe.trees.boosting.losses import LogisticLoss, SquaredLoss
from costframe.trees.settings import TreeSettings
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor


def boosted(leaves, rows, step, l2=1.0, n_rounds=500, patience=20):
    return TreeSettings(
        max_leaves=leaves,
        min_samples_leaf=rows,
        learning_rate=step,
        l2_regularization=l2,
        n_estimators=n_rounds,
        n_iter_no_change=patience,
    )


QUICK = {"max_tries": 8, "n_estimators": 20, "n_sets": 5, "max_leaves": 4, "n_jobs": 1}


def table(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_classes_of_one_row_each(n):
    X, _ = table(n)
    model = PlannerClassifier(**QUICK).fit(X, np.arange(n))
    np.testing.assert_allclose(model.predict_proba(X), 1 / n)


@pytest.mark.parametrize("queries", [1, 2, 4])
def test_few_queries_are_dealt_row_by_row(queries):
    X, _ = table()
    model = PlannerRanker(**QUICK).fit(X, np.abs(X[:, 0].round()), qid=np.arange(len(X)) % queries)
    assert model.cost(X).mean == 1
    assert np.corrcoef(model.predict(X), np.abs(X[:, 0]))[0, 1] > 0.8


def test_queries_of_one_part_only_are_refused():
    X, _ = table()
    grades, queries = np.abs(X[:, 0].round()), np.arange(len(X)) // 10
    with pytest.raises(DataError, match=r"qid_val: expected the query of each row, as for qid, got None"):
        PlannerRanker(**QUICK).fit(X, grades, qid=queries, X_val=X, y_val=grades)
    with pytest.raises(DataError, match=r"qid: expected the query of each row, as for qid_val, got None"):
        PlannerRanker(**QUICK).fit(X, grades, X_val=X, y_val=grades, qid_val=queries)


@pytest.mark.parametrize("exponent", [-240, 40, 130, 240])
def test_the_unit_of_labels_does_not_matter(exponent):
    X, _ = table()
    y, unit, fold = X[:, 0] + X[:, 1], 2.0**exponent, np.arange(len(X)) % 4
    data, shape = BinMapper.fit(X).transform(X), boosted(4, 5, 0.1, n_rounds=20)
    plain, scaled = (boost_folds(data, Rows(X, z, np.ones(len(X))), SquaredLoss(), fold, shape) for z in (y, y * unit))
    assert plain.scores.std() > 0.3
    np.testing.assert_array_equal(scaled.scores, plain.scores * unit)

    rows, losses = Rows(X, y, np.ones(len(X))), np.stack([X[:, 0] ** 2, X[:, 1] ** 2], axis=1)
    plain, scaled = (regress_many(data, rows, each, fold % 2, shape) for each in (losses, losses * unit * unit))
    assert plain.predictions.std() > 0.3
    np.testing.assert_array_equal(scaled.predictions, plain.predictions * unit * unit)
    np.testing.assert_array_equal(scaled.trees.values, plain.trees.values * unit * unit)


@pytest.mark.parametrize("size", [1e-30, 1e39])
def test_labels_of_unusual_size_are_learned(size):
    X, _ = table()
    y = (X[:, 0] + X[:, 1]) * size
    model = PlannerRegressor(tradeoff=1e-2 * size * size, **QUICK).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.cost(X).mean == 2


@pytest.mark.parametrize("size", [1e-300, 1e100, 1e300])
def test_labels_and_weights_whose_squares_are_no_numbers_are_refused(size):
    X, y = table()
    with pytest.raises(DataError, match=r"^y: expected numbers of a size between"):
        PlannerRegressor(**QUICK).fit(X, X[:, 0] * size)
    with pytest.raises(DataError, match=r"^sample_weight_val: expected numbers of a size between"):
        PlannerClassifier(**QUICK).fit(X, y, X_val=X, y_val=y, sample_weight_val=np.full(len(X), size))


def test_leaves_of_more_rows_than_there_are():
    X, y = table()
    model = PlannerClassifier(**{**QUICK, "min_samples_leaf": 2**62}).fit(X, y)
    assert model.cost(X).mean == 0


def test_the_least_prices_that_there_are():
    X, y = table()
    model = PlannerClassifier([5e-324] * 4, **QUICK).fit(X, y)
    plain = PlannerClassifier([1.0] * 4, 0.0, **QUICK).fit(X, y)
    assert len(model.predictor_.stops) > 2
    assert (model.predictor_.predict(X, tradeoff=0) > 0.5).mean() == pytest.approx(plain.predict(X).mean(), abs=0.1)


def test_scoring_is_checked_before_training(monkeypatch):
    X, y = table()
    monkeypatch.setattr(SetArchive, "search", lambda *_: pytest.fail("trained"))
    for scoring in ("zzz", 5):
        with pytest.raises(ParameterError, match="scor"):
            PlannerClassifier(**QUICK).fit_path(X, y, scoring=scoring)


def test_odd_tradeoffs_of_a_point_are_refused():
    path = PlannerClassifier(**QUICK).fit_path(*table())
    for tradeoff in (-1, float("nan"), "a", None):
        with pytest.raises(ParameterError, match=r"^tradeoff: expected a number >= 0"):
            path.at(tradeoff)


def test_as_many_resources_as_features_are_searched_in_few_sets():
    d = 60
    prices = SetPrices(np.ones(d), np.ones(d), np.eye(d, dtype=bool), 1.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, d))
    rows, fold = Rows(X, (X[:, 7] > 0).astype(np.int64), np.ones(50)), np.arange(50) % 2
    data, shape = BinMapper.fit(X).transform(X), boosted(4, 5, 0.2, n_rounds=3, patience=None)
    archive = SetArchive(data, rows, LogisticLoss(), fold, fold, (0,), prices, shape)
    archive.search(10)
    assert len(archive.found) < 50
    assert any(each == {7} for each in archive.found)


def test_the_cost_of_a_point_is_what_reports_call_the_mean():
    X, y = table()
    costs = {"features": {f"x{f}": {"cost": 1.0, "once": 60.0 * (f < 2)} for f in range(4)}}
    path = PlannerClassifier(costs, **QUICK).fit_path(X, y)
    alone = [point for point in path.points if point.stop >= 0]
    reports = [path.predictor(point).cost(X) for point in alone]
    assert max(report.fixed for report in reports) == 120
    for point, report in zip(alone, reports, strict=True):
        assert point.cost == pytest.approx(report.mean)
        assert point.objective_cost == pytest.approx(report.mean + report.fixed / len(X))


def test_labels_beyond_all_doubles_are_refused():
    X, _ = table(10)
    with pytest.raises(DataError, match=r"^y: expected numbers, got a whole number beyond all doubles"):
        PlannerRegressor(**QUICK).fit(X, [10**400] * 10)


def test_features_that_split_nowhere_are_left_out_at_once():
    d = 30
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    rows, fold = Rows(X, (X[:, 3] + X[:, 4] > 0).astype(np.int64), np.ones(400)), np.arange(400) % 2
    prices = SetPrices(np.ones(d), np.zeros(0), np.zeros((d, 0), bool), 1.0)
    data, shape = BinMapper.fit(X).transform(X), boosted(4, 20, 0.2, n_rounds=5, patience=None)
    archive = SetArchive(data, rows, LogisticLoss(), fold, fold, (0, 1), prices, shape)
    archive._try(archive._neighbors(frozenset(range(d))))
    used = frozenset(np.flatnonzero(np.diagonal(archive.gain)).tolist())
    assert {3, 4} <= used < frozenset(range(d))
    assert archive.found[used].loss == archive.found[frozenset(range(d))].loss
