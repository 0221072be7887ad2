"""Figures of service: what copies differ by, whose tests complete rows, and where valid contradicts folds."""

import numpy as np
import pytest
from attrs import evolve
from drawn_records import ERRORS, NAMES, PRICES, draw_records

import costframe as cf
from costframe.plugin import Traits
from costframe.records.completion import fill, find_donors
from costframe.records.made import Records
from costframe.study.estimates import Estimate, surely_differ
from costframe.study.folds import folds_of
from costframe.study.held_out import HeldOut
from costframe.study.rows import StudyRows
from costframe.study.score_choice import choose_error_cost
from costframe.study.service import pool_estimates
from costframe.study.trial import Trial

COSTS = cf.CostModel.of(PRICES | ERRORS)


def records(n, seed=0, history="label"):
    drawn = draw_records(history, n, seed)
    return StudyRows(drawn.seen, drawn.y).with_records(COSTS, NAMES, by_class=True)


def test_copies_differ_by_as_much_as_a_mean_over_few_donors_may_be_off():
    def share(seed, had=40, n=800):
        X, tested = np.random.default_rng(seed).normal(size=(n, 2)), np.arange(n) < had
        seen = np.where(np.column_stack([np.ones(n, bool), tested]), X, np.nan)
        made = Records.of_cells(~np.isnan(seen), ("a", "b"))
        copies = find_donors(seen, np.zeros(n), made, by_class=True, copies=40)
        means = [fill(seen, donors, made)[~tested, 1].mean() for donors in copies]
        return np.var(means, ddof=1) / (X[tested, 1].var(ddof=1) / had)

    assert 0.9 < np.mean([share(seed) for seed in range(10)]) < 1.5


def test_more_donors_give_what_they_had_and_are_not_completed_themselves():
    rows, others = records(200), records(300, 1)
    alone, among = list(rows.completed()), list(rows.completed(others))
    assert len(alone) == len(among)
    had = {side: set(values.X[:, 2][~np.isnan(values.X[:, 2])]) for side, values in (("own", rows), ("more", others))}
    for copy in alone:
        assert set(copy.X[:, 2]) <= had["own"]
    for copy in among:
        assert np.array_equal(copy.y, rows.y)
        assert not copy.lacks_tests
        assert set(copy.X[:, 2]) & had["more"]
        seen = ~np.isnan(rows.X[:, 2])
        assert np.array_equal(copy.X[seen], rows.X[seen])


def test_rows_that_lack_no_test_take_from_nobody():
    drawn = draw_records("label", 100, 0)
    rows = StudyRows(drawn.X, drawn.y).with_records(COSTS, NAMES, by_class=True)
    assert [copy is rows for copy in rows.completed(records(100, 1))] == [True]


@pytest.mark.parametrize("traits", [Traits(trains_on_validation=True), Traits(searches_thresholds=True)])
def test_rows_that_a_model_of_a_fold_learned_from_are_no_donors(traits):
    model = cf.estimator("cegb", costs=COSTS)
    fold = folds_of(records(100), records(50, 1), 3, classes=True)[0]
    assert Trial.more_donors(fold, model) is fold.valid
    model.traits = traits
    assert Trial.more_donors(fold, model) is None


def estimate(score, error, n, seed=0):
    """Return an estimate whose error is that of its rows."""
    moved = np.random.default_rng(seed).normal(size=n)
    return Estimate(score, error, moved * error / np.sqrt(moved @ moved))


def test_estimates_of_different_models_surely_differ():
    one = estimate(0.7, 0.01, 300)
    assert surely_differ(one, estimate(0.75, 0.015, 100, 1))
    assert not surely_differ(one, estimate(0.73, 0.015, 100, 1))
    assert not surely_differ(evolve(one, error=0.05), estimate(0.75, 0.015, 100, 1))  # models of folds vary as much
    assert not surely_differ(one, evolve(estimate(0.9, 0.01, 100), influence=None))
    shared = evolve(one, influence=one.influence[-100:], error=float(np.linalg.norm(one.influence[-100:])))
    assert surely_differ(one, evolve(shared, score=0.7 + 2.7 * np.sqrt(0.01**2 - shared.error**2)))


def test_donors_of_two_folds_count_twice_where_folds_are_joined_and_half_in_what_these_differ_by():
    copies = [estimate(score, 0.01, 400, seed) for seed, score in enumerate((0.7, 0.75, 0.8, 0.75))]
    between = (1 + 1 / 4) * np.var([copy.score for copy in copies], ddof=1)
    rows = np.square(np.mean([copy.influence for copy in copies], axis=0)).sum()
    for turns in (1.0, 2.0):
        pooled = pool_estimates(copies, turns)
        assert pooled.error == pytest.approx(np.sqrt(0.01**2 + between / turns))
        assert np.square(pooled.influence).sum() == pytest.approx(rows + turns * between, rel=0.15)


@pytest.mark.parametrize(("lacking", "learned", "folds", "own"), [
    (True, False, -40.0, True),
    (True, True, -40.0, False),
    (False, False, -40.0, False),
    (True, False, None, False),
])  # fmt: skip
def test_valid_has_the_last_word_where_it_contradicts_folds_of_records(lacking, learned, folds, own):
    train = draw_records("columns", 600, 5)
    model = cf.estimator("linear", costs=COSTS).fit(train.X, train.y)
    drawn = draw_records("label", 400, 6)
    valid = records(400, 6) if lacking else StudyRows(drawn.X, drawn.y).with_records(COSTS, NAMES, by_class=True)
    rows = HeldOut(valid, None, choose_error_cost(COSTS, "classification", np.arange(2), NAMES))
    itself = rows.measure("linear", model, 0.0, 0.0).point.score
    given = itself + 0.1 if folds is None else folds
    point = rows.measure("linear", model, 0.0, 0.0, estimate(given, 1.0, 1000), learned_from_valid=learned).point
    assert point.score == (itself if own else given)
