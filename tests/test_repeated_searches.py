"""Estimates of a search that is repeated on rows that it did not choose by: the correction, and what points share."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from frontier_cases import point, some_rows
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.choices import Frontier
from costframe.choices.optimism import correct_choice
from costframe.plugin import DataError
from costframe.study.estimates import Estimate
from costframe.study.fitted import Fitted
from costframe.study.repeated_search import join_bills, join_scores

SCORES = st.lists(st.tuples(st.floats(-2, 0), st.floats(-2, 0)), min_size=1, max_size=6)


def estimate(score, error=0.2, **more):
    return Estimate(score, error, np.full(4, 0.1), rows_lacked=0.1, **more)


@given(SCORES)
def test_a_repeated_search_moves_all_models_that_read_by_one_number(pairs):
    own, repeated = ([estimate(pair[k]) for pair in pairs] for k in (0, 1))
    found = join_scores(own, repeated, [True] * len(pairs))
    moved = np.array([one.score - two.score for one, two in zip(own, found, strict=True)])
    apart = np.subtract(*np.transpose(pairs))
    assert np.ptp(moved) == pytest.approx(0.0, abs=1e-12)
    assert moved[0] == pytest.approx(0.368 * max(apart.mean(), 0.0))  # down, less than half of the way; never up
    assert {one.shared for one in found} == {found[0].shared}
    assert found[0].shared == pytest.approx(np.sqrt(np.mean(apart**2)) / 2)
    assert found[0].error == pytest.approx(np.hypot(0.2, found[0].shared))
    assert {one.rows_lacked for one in found} == {0.0}  # they are of the final models
    assert all(new.influence is old.influence for new, old in zip(found, own, strict=True))


@given(SCORES)
def test_bills_of_a_repeated_search_count_each_with_its_own_difference(pairs):
    own = [estimate(one) for one, _ in pairs]
    repeated = [estimate(two, 0.1, mistakes=np.eye(2)) for _, two in pairs]
    for pair, other, joined in zip(pairs, repeated, join_bills(own, repeated), strict=True):
        assert joined.score == pytest.approx(np.exp(-1) * pair[0] + (1 - np.exp(-1)) * pair[1], abs=1e-3)
        between = np.exp(-1) * (1 - np.exp(-1)) * (pair[0] - pair[1]) ** 2
        assert joined.error**2 == pytest.approx(0.1**2 + between, abs=1e-3)
        assert joined.rows_lacked == 0.0  # it is of the final model
        assert joined.mistakes is other.mistakes  # counted on rows that chose nothing
    assert join_bills([None], repeated[:1]) == repeated[:1]


def test_models_that_nothing_repeats_or_that_read_nothing_stay_what_they_are():
    own = [estimate(-0.5), None, estimate(-0.3)]
    repeated = [estimate(-0.9), estimate(-0.8), estimate(-0.6)]
    constant, alone, paid = join_scores(own, repeated, [False, True, True])
    assert constant is own[0]
    assert alone is repeated[1]
    assert join_scores(own[:1], repeated[:1], [False]) == own[:1]
    assert paid.score == pytest.approx(-0.3 - 0.368 * 0.3)
    groups = join_scores([None, None], repeated[:2], [True, True])  # which own estimates ignore
    assert groups == repeated[:2]


def test_what_two_points_of_a_search_share_is_no_part_of_the_error_of_their_difference():
    moved = [np.array([0.03, -0.03, 0.0]), np.array([0.0, -0.03, 0.03])]
    error = float(np.sqrt(moved[0] @ moved[0] + 0.04**2))
    one, other = (point(score, cost, score_error=error, shared_error=0.04) for score, cost in ((0.8, 1), (0.9, 2)))

    def difference_error(other):
        frontier = Frontier((one, other), "roc_auc", "unit", 2, influences=tuple(moved))
        return frontier.difference(other, one).error

    of_rows = np.linalg.norm(moved[0] - moved[1])
    assert difference_error(other) == pytest.approx(of_rows)
    assert difference_error(evolve(other, algorithm="another")) == pytest.approx(np.hypot(of_rows, 0.04 * np.sqrt(2)))
    free = evolve(other, shared_error=0.0, score_error=float(np.linalg.norm(moved[1])))  # such as a constant
    assert difference_error(free) == pytest.approx(np.hypot(of_rows, 0.04))


def test_a_choice_that_was_repeated_is_not_corrected_again():
    rng = np.random.default_rng(0)
    moved = rng.normal(0, 0.02, (12, 200))
    found = [
        Fitted(evolve(point(0.8 + 0.01 * rng.normal(), k), n_features=1), None, moved[k] - moved[k].mean())
        for k in range(12)
    ]
    repeated = [evolve(one, repeated=True) for one in found]
    assert [one.point.score for one in correct_choice(repeated)] == [one.point.score for one in repeated]
    assert [one.point.score for one in correct_choice(found)] != [one.point.score for one in found]


def sweep(X, y, weight=None, **more):
    planner = cf.PlannerClassifier(max_tries=4, n_sets=3, n_estimators=6, max_leaves=4, n_jobs=1)
    return Frontier.fit({"planner": planner}, X, y, weight, costs=[1, 2, 3, 4], points=4, n_jobs=1, **more)


def test_rows_of_weight_zero_are_no_events_that_repeat_a_search():
    X, y = some_rows(200)
    weight = np.ones(len(y))
    weight[np.flatnonzero(y == 1)[8:]] = 0.0  # eight of a class are too few to hold out
    assert {point.shared_error for point in sweep(X, y, weight)} == {0.0}
    weight[np.flatnonzero(y == 1)[:40]] = 1.0
    assert {point.shared_error for point in sweep(X, y, weight) if point.n_features} != {0.0}


def test_a_score_that_some_outer_fold_lacks_leaves_the_search_its_own_estimates():
    X, y = some_rows(200)

    def accuracy(y_true, y_pred):
        return np.mean(y_true == y_pred) if len(y_true) > 100 else np.nan

    held = {"X_val": X, "y_val": y, "scoring": accuracy}
    assert [point.score for point in sweep(X[:100], y[:100], **held)] == [
        point.score for point in sweep(X[:100], y[:100], cv=0, **held)
    ]
    with pytest.raises(DataError, match=r"there is no make_scorer\(accuracy\) on 60 rows"):
        sweep(X[:100], y[:100], cv=5, **held)
