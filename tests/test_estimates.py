"""Estimates on rows that were not seen: folds, what chance adds, and paths that estimate themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import COSTS, some_rows

import costframe as cf
from costframe.choices import Point
from costframe.choices.optimism import correct_choice
from costframe.plugin import ParameterError, Traits
from costframe.study import path_folds
from costframe.study.estimates import Estimate, estimate_on_rows, join_folds, model_variance
from costframe.study.fitted import Fitted
from costframe.study.folds import folds_of, halves_of
from costframe.study.objective import BILL
from costframe.study.paths import fit_along
from costframe.study.progress import silent
from costframe.study.rows import StudyRows
from costframe.study.trial import Trial
from costframe.training.influences import influence
from costframe.training.scoring import score_named


class Binary:
    """A fitted model, as far as scores ask it."""

    classes_ = np.array([0, 1])


def rows(n, seed=0, *, queries=None):
    X, y = some_rows(n, seed)
    return StudyRows(X, y, None, queries)


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


def test_when_there_are_folds():
    assert len(folds_of(rows(2000), rows(999, 1), None, classes=True)) == 5
    assert folds_of(rows(2000), rows(1000, 1), None, classes=True) == ()
    assert folds_of(rows(60), rows(20, 1), 0, classes=True) == ()
    rare = rows(60)
    rare.y[:] = 0
    rare.y[:4] = 1
    assert folds_of(rare, StudyRows(rare.X[8:20], rare.y[8:20]), None, classes=True) == ()
    frame = StudyRows(pd.DataFrame(rare.X), rare.y)
    assert folds_of(frame, StudyRows(rare.X, rare.y), None, classes=False) == ()  # which are not of a kind
    assert len(folds_of(frame, StudyRows(pd.DataFrame(rare.X), rare.y), None, classes=False)) == 5
    with pytest.raises(ParameterError, match="cv: expected 0, or a whole number >= 3, got 2"):
        folds_of(rows(60), rows(20), 2, classes=True)


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


def test_folds_count_by_their_weight_or_queries():
    rng = np.random.default_rng(0)
    given = evolve(rows(100), weight=np.where(np.arange(100) == 7, 300.0, rng.integers(0, 3, 100)))
    p, places = rng.random(100), np.array_split(rng.permutation(100), 5)
    joined = join_folds([estimate_on_rows("accuracy", given.take(f), Binary, p[f]) for f in places], places, 0.0)
    assert joined.score == pytest.approx(score_named("accuracy")(given.y, p, given.weight, None))
    queries = np.repeat(np.arange(10), [80, 2, 2, 2, 2, 2, 2, 2, 3, 3])
    grades = rng.permutation(100) % 3
    grades[np.unique(queries, return_index=True)[1]] = 1  # each query counts
    ranked = StudyRows(given.X, grades, qid=queries)
    places = [np.flatnonzero(queries % 5 == k) for k in range(5)]
    joined = join_folds([estimate_on_rows("precision@2:1", ranked.take(f), None, p[f]) for f in places], places, 0.0)
    assert joined.score == pytest.approx(score_named("precision@2:1")(ranked.y, p, None, queries))


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


def test_what_chance_adds_to_the_least_bill_is_taken_off():
    """Forty models with equal errors, whose rows pay 1 in 30 % of the cases: the least bill seems lower than it is."""
    corrected = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        paid = 1.0 * (rng.random((40, 150)) < 0.3)
        found = [evolve(fitted(0.0, p.mean(), np.zeros(150)), spent=(p - p.mean()) / 150) for p in paid]
        least = int(np.argmin(paid.mean(axis=1)))
        corrected.append(paid[least].mean() - correct_choice(found, BILL)[least].point.score)
        assert correct_choice(found)[least].point.score == 0.0
    assert np.mean(corrected) == pytest.approx(0.3, abs=0.015)


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

    def estimate(score, out, model, predict, _donors):
        judged.append((values(out.X), len(given)))
        return estimate_on_rows(score, out, model, predict(out.X))

    monkeypatch.setattr(path_folds, "estimate_in_service", estimate)
    divided = folds_of(train, valid, folds, classes=True)
    found = fit_along(Trial("cegb", make, train, valid, None, "roc_auc", folds=divided), 4, None, silent).fits
    assert given[0] == values(train.X, valid.X)  # of the models themselves
    assert {count for _, count in judged} == set(range(2, 2 + (folds or 2)))
    assert not any(out & given[count - 1] for out, count in judged)
    assert set.union(*(out for out, _ in judged)) == (given[0] if folds else values(valid.X))
    assert {len(each.influence) for each in found} == {200 if folds else 80}


@pytest.mark.parametrize("unit", [None, "qid", "groups"])
def test_halves_of_valid_stop_and_estimate_in_turn(unit):
    train, valid, numbers = rows(60), rows(80, 1), np.repeat(np.arange(40), 2)
    one, other = halves_of(train, valid if unit is None else evolve(valid, **{unit: numbers}), classes=unit != "qid")
    np.testing.assert_array_equal(np.sort(np.concatenate([one.place, other.place])), np.arange(80))
    for half, rest in ((one, other), (other, one)):
        assert half.train is train
        np.testing.assert_array_equal(half.out.X, valid.X[half.place])
        np.testing.assert_array_equal(half.valid.X, valid.X[rest.place])
        assert unit or abs(half.out.y.sum() - valid.y.sum() / 2) <= 1
    assert unit is None or not set(numbers[one.place]) & set(numbers[other.place])
