"""Estimates on rows that were not seen: folds, what chance adds, and paths that estimate themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve, frozen
from frontier_cases import COSTS, some_rows

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.datasets import Dataset
from costframe.frontier import Frontier, Point, paths
from costframe.frontier.estimates import Estimate, correct_choice, estimate_on_rows, join_folds, model_variance
from costframe.frontier.paths import fit_along
from costframe.frontier.rows import Rows, folds_alike, folds_of, halves_of
from costframe.frontier.trial import Fitted, Trial, silent
from costframe.training.data import Traits
from costframe.training.scoring import influence, score_named


class Binary:
    """A fitted model, as far as scores ask it."""

    classes_ = np.array([0, 1])


def rows(n, seed=0, *, queries=None):
    X, y = some_rows(n, seed)
    return Rows(X, y, None, queries)


def test_each_row_is_left_out_once_and_never_seen_where_it_is():
    train, valid = rows(60), rows(20, 1)
    folds = folds_of(train, valid, 5, classes=True)
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.place for fold in folds])), np.arange(80))
    every = np.concatenate([train.X, valid.X])
    for fold in folds:
        np.testing.assert_array_equal(fold.out.X, every[fold.place])
        parts = [{tuple(row) for row in part.X} for part in (fold.train, fold.valid, fold.out)]
        assert [len(part) for part in parts] == [48, 16, 16]
        assert len(set.union(*parts)) == 80
        assert abs(fold.out.y.sum() - np.concatenate([train.y, valid.y]).sum() / 5) <= 1


def test_queries_stay_whole_in_folds():
    queries = np.repeat(np.arange(20), 4)
    train, valid = rows(60, queries=queries[:60]), rows(20, 1, queries=queries[60:])
    folds = folds_of(train, valid, None, classes=False)
    assert len(folds) == 5
    for fold in folds:
        seen = set(fold.train.qid) | set(fold.valid.qid)
        assert len(set(fold.out.qid)) == 4
        assert not set(fold.out.qid) & seen


def test_halves_of_valid_stop_and_estimate_in_turn():
    train, valid = rows(60), rows(41, 1)
    one, other = halves_of(train, valid, classes=True)
    np.testing.assert_array_equal(np.sort(np.concatenate([one.place, other.place])), np.arange(41))
    for half, rest in ((one, other), (other, one)):
        assert half.train is train
        np.testing.assert_array_equal(half.out.X, valid.X[half.place])
        np.testing.assert_array_equal(half.valid.X, valid.X[rest.place])
        assert abs(half.out.y.sum() - valid.y.sum() / 2) <= 1


def test_halves_have_whole_queries_and_groups_and_enough_of_each_class():
    train, numbers = rows(80), np.repeat(np.arange(40), 2)
    kinds = {"qid": False, "groups": True}
    for name, classes in kinds.items():
        valid = evolve(rows(80, 1), **{name: numbers})
        one, other = halves_of(train, valid, classes=classes)
        assert not set(numbers[one.place]) & set(numbers[other.place])
        assert len(one.place) + len(other.place) == 80
    rare = rows(60)
    rare.y[:] = 0
    rare.y[:10] = 1
    assert len(halves_of(train, rare, classes=True)) == 2
    rare.y[0] = 0
    assert halves_of(train, rare, classes=True) == ()
    assert halves_of(train, rows(9), classes=False) == ()


def test_folds_for_what_valid_chooses_keep_its_share():
    train, valid = evolve(rows(60), qid=np.repeat(np.arange(30), 2)), evolve(rows(40, 1), qid=50 + np.arange(40) // 2)
    for each in (replaced := (rows(60), rows(40, 1))), (train, valid):
        folds = folds_alike(*each, classes=each is replaced)
        np.testing.assert_array_equal(np.sort(np.concatenate([fold.place for fold in folds])), np.arange(100))
        for fold in folds:
            assert (len(fold.train.y), len(fold.valid.y), len(fold.out.y)) == (48, 32, 20)
            units = [set(part.X[:, 0] if part.qid is None else part.qid) for part in (fold.train, fold.valid, fold.out)]
            assert not units[0] & units[1]
            assert not units[2] & (units[0] | units[1])
    assert folds_alike(train, rows(10_001), classes=False) == ()
    assert folds_alike(rows(9), rows(0), classes=True) == ()


def test_when_there_are_folds():
    assert len(folds_of(rows(2000), rows(999, 1), None, classes=True)) == 5
    assert folds_of(rows(2000), rows(1000, 1), None, classes=True) == ()
    assert folds_of(rows(60), rows(20, 1), 0, classes=True) == ()
    rare = rows(60)
    rare.y[:] = 0
    rare.y[:4] = 1
    assert folds_of(rare, Rows(rare.X[8:20], rare.y[8:20]), None, classes=True) == ()
    frame = Rows(pd.DataFrame(rare.X), rare.y)
    assert folds_of(frame, Rows(rare.X, rare.y), None, classes=False) == ()  # which are not of a kind
    assert len(folds_of(frame, Rows(pd.DataFrame(rare.X), rare.y), None, classes=False)) == 5
    with pytest.raises(ParameterError, match="folds: expected 0, or a whole number >= 3, got 2"):
        folds_of(rows(60), rows(20), 2, classes=True)
    with pytest.raises(ParameterError, match=r"7 need as many rows of each class, the smallest number .* is 4"):
        folds_of(rare, Rows(rare.X[8:20], rare.y[8:20]), 7, classes=True)


def test_folds_of_one_model_join_to_its_score_on_all_rows():
    given, rng = rows(100), np.random.default_rng(0)
    p = np.clip(given.y * 0.3 + rng.random(100) * 0.7, 0, 1)
    places = np.array_split(rng.permutation(100), 5)
    each = [estimate_on_rows("accuracy", given.take(place), Binary, p[place]) for place in places]
    joined = join_folds(each, places, 0.0)
    assert joined.score == pytest.approx(score_named("accuracy")(given.y, p, None, None))
    right = (p > 0.5) == given.y
    assert joined.error == pytest.approx(np.sqrt(np.var(right) / 100), rel=0.1)
    assert join_folds(each, places, 0.01).error == pytest.approx(np.hypot(joined.error, np.sqrt(0.01 * 6 / 5)))


def test_the_variance_of_models_is_what_rows_do_not_explain():
    rng = np.random.default_rng(0)
    found = [model_variance([Estimate(s, 0.03) for s in rng.normal(0.8, np.hypot(0.03, 0.04), 5)]) for _ in range(500)]
    assert np.mean(found) == pytest.approx(0.04**2, rel=0.15)


def fitted(score, cost, moved):
    point = Point("any", 0.1, score, 0.01, cost, None, None, None, 0.0, 1, 1, 1.0, 0.1)
    return Fitted(point, None, moved)


def test_what_chance_adds_to_the_best_of_many_is_taken_off():
    """Forty models that are right in 70 % of rows each by its own luck: the best seems better than it is."""
    seeming, corrected = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        right = rng.random((40, 150)) < 0.7
        ones = np.ones(150)
        found = [fitted(r.mean(), float(c), influence("accuracy", ones, r * 1.0)) for c, r in enumerate(right)]
        best = int(np.argmax([f.point.score for f in found]))
        seeming.append(found[best].point.score)
        corrected.append(correct_choice(found)[best].point.score)
    assert np.mean(seeming) > 0.76
    assert np.mean(corrected) == pytest.approx(0.7, abs=0.015)


def test_groups_of_rows_find_the_optimism_that_rows_find(monkeypatch):
    rng = np.random.default_rng(0)
    right = rng.random((12, 20_000)) < 0.7
    found = [fitted(r.mean(), float(c), influence("accuracy", np.ones(20_000), r * 1.0)) for c, r in enumerate(right)]
    by_groups = [each.point.score for each in correct_choice(found)]
    monkeypatch.setattr("costframe.frontier.estimates._MOST_UNITS", 20_000)
    by_rows = [each.point.score for each in correct_choice(found)]
    assert by_groups == pytest.approx(by_rows, abs=1e-3)  # errors of scores are 0.003
    assert by_groups != by_rows


def test_one_model_is_not_chosen_by_chance_nor_is_what_cannot_be_compared():
    alone = fitted(0.7, 1.0, influence("accuracy", np.ones(50), np.arange(50) % 3 * 1.0))
    assert correct_choice([alone])[0].point == alone.point
    unknown = fitted(0.7, 2.0, None)
    assert [f.point for f in correct_choice([alone, unknown])] == [alone.point, unknown.point]


def test_the_same_rows_give_the_same_corrections():
    rng = np.random.default_rng(0)
    found = [fitted(0.7, float(c), rng.normal(size=90) / 90) for c in range(9)]
    assert [f.point for f in correct_choice(found)] == [f.point for f in correct_choice(found)]


@pytest.mark.parametrize("folds", [0, 3])
def test_rows_that_choose_the_models_of_a_path_do_not_estimate_them(monkeypatch, folds):
    train, valid = rows(120), rows(80, 1)
    given, judged = [], []

    def values(*parts):
        return {tuple(row) for part in parts for row in part}

    def make(tradeoff):
        model = cf.estimator("cegb", costs=cf.CostModel.from_dict(COSTS), tradeoff=tradeoff, n_estimators=4, n_jobs=1)
        model.traits = Traits(searches_thresholds=True)
        fit_path = model.fit_path

        def note_rows(X, y, **more):
            given.append(values(X, more["X_val"]))
            return fit_path(X, y, **more)

        model.fit_path = note_rows
        return model

    def estimate(score, out, model, predictions):
        judged.append((values(out.X), len(given)))
        return estimate_on_rows(score, out, model, predictions)

    monkeypatch.setattr(paths, "estimate_on_rows", estimate)
    divided = folds_of(train, valid, folds, classes=True)
    found, _ = fit_along(Trial("cegb", make, train, valid, None, "roc_auc", folds=divided), 4, None, silent)
    assert given[0] == values(train.X, valid.X)  # of the models themselves
    assert {count for _, count in judged} == set(range(2, 2 + (folds or 2)))
    assert not any(out & given[count - 1] for out, count in judged)
    assert set.union(*(out for out, _ in judged)) == (given[0] if folds else values(valid.X))
    assert {len(each.influence) for each in found} == {200 if folds else 80}


def test_the_best_of_many_thresholds_is_not_estimated_by_its_luck():
    """Labels that follow from nothing: on the rows that chose them, models seem to know something."""
    rng = np.random.default_rng(1)
    train, valid = (Rows(rng.normal(size=(n, 4)), rng.integers(0, 2, n)) for n in (150, 110))

    def make(tradeoff):
        return cf.estimator("adapt", costs=cf.CostModel.from_dict(COSTS), tradeoff=tradeoff, n_estimators=8, n_jobs=1)

    trial = Trial("adapt", make, train, valid, None, "roc_auc")
    found, front = fit_along(trial, 6, None, silent)
    assert max(score for _, score in front) > 0.6
    honest = [each.point.score for each in found if each.point.n_features]
    assert 0.4 < np.mean(honest) < 0.55


def test_a_table_with_few_validation_rows_has_folds_and_noise_recommends_a_constant():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(
        rng.normal(size=(260, 4)), rng.integers(0, 2, 260), COSTS, feature_names=list("abcd"), name="noise"
    )
    few = {"n_estimators": 15}
    default, folded = (Frontier.sweep(data, ["cegb"], folds=folds, parameters=few) for folds in (None, 5))
    assert folded.recommended().n_features == 0
    assert [evolve(p, seconds=0) for p in default.points] == [evolve(p, seconds=0) for p in folded.points]


def test_fits_at_given_tradeoffs_are_estimated_on_folds_too():
    X, y = some_rows()
    data = Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"))
    few = {"n_estimators": 5}
    alone, folded = (Frontier.sweep(data, ["miser"], [0.0, 0.1], folds=k, parameters=few) for k in (0, 3))
    assert [p.cost for p in alone.points] == [p.cost for p in folded.points]
    assert [p.test_score for p in alone.points] == [p.test_score for p in folded.points]
    assert {len(moved) for moved in folded.influences} == {(data.split != "test").sum()}
    assert folded.points[0].score_error < alone.points[0].score_error  # four times as many rows


@frozen
class Own:
    """A point of a path that estimates itself."""

    cost: float
    score: float
    error: float
    tradeoff: float
    n_rounds: int
    origin: object
    influence: object = None


def test_a_path_that_estimates_itself_is_believed():
    train, valid, test = rows(200), rows(80, 1), rows(100, 2)
    calls = []

    class Path:
        def __init__(self, path):
            self.path, self.points = path, [self.own(point) for point in path.frontier()]

        def own(self, point):
            return Own(
                point.cost + 0.25, point.score - 0.125, 0.03, point.tradeoff, point.n_rounds, point, np.ones(280)
            )

        def frontier(self):
            return self.points

        def plain(self):
            return self.own(self.path.plain())

        def predictor(self, point):
            return self.path.predictor(point.origin)

    def make(tradeoff):
        model = cf.estimator("cegb", costs=cf.CostModel.from_dict(COSTS), tradeoff=tradeoff, n_estimators=5)
        fit_path = model.fit_path

        def own_path(*args, **more):
            calls.append(len(args[1]))
            return Path(fit_path(*args, **more))

        model.fit_path = own_path
        return model

    folds = folds_of(train, valid, 3, classes=True)
    found, _ = fit_along(Trial("own", make, train, valid, test, "roc_auc", folds=folds), 6, None, silent)
    assert calls == [200]  # no folds are fitted
    for each in found:
        assert each.point.score_error == 0.03
        assert (each.influence == 1).all()
        assert each.point.cost >= 0.25
        assert each.point.test_cost == each.model.cost(test.X).mean


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_a_few_rows_are_all_drawn_now_and_then(n):
    rng = np.random.default_rng(0)
    found = [fitted(0.7 + 0.1 * c, float(c), rng.normal(size=n) / n) for c in range(3)]
    assert np.isfinite([f.point.score for f in correct_choice(found)]).all()
