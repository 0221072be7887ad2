"""Links: what they give for all sizes of scores, and in what order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.core.stages.stages import apply_link

numbers = st.floats(allow_nan=False) | st.floats(-2, 2) | st.floats(-1e-12, 1e-12)
levels = st.integers(0, 20).map(float)


def ranked(score, level=0.0):
    return float(apply_link("ranked", np.array([[score]]), level)[0, 0])


@given(st.floats(allow_nan=False, allow_infinity=False), levels)
def test_ranked_answers_are_the_formula(score, level):
    s = Fraction(score)
    exact = Fraction(level) + s / (2 * (1 + abs(s)))
    tiny = 0.0 if level else 1e-308  # of numbers that have no reciprocal nothing is left
    assert ranked(score, level) == pytest.approx(float(exact), rel=1e-15, abs=tiny)


@given(numbers, numbers, levels)
def test_ranked_answers_are_finite_and_in_the_order_of_their_scores(one, other, level):
    low, high = sorted((one, other))
    values = ranked(low, level), ranked(high, level)
    assert level - 0.5 <= values[0] <= values[1] <= level + 0.5


@given(st.floats(-1e308, 1e308))
def test_neighbors_do_not_change_places(score):
    assert ranked(score) <= ranked(np.nextafter(score, np.inf))


@given(st.floats(allow_nan=False), st.floats(-1e9, 1e9), levels)
def test_no_score_lifts_a_row_above_a_higher_level(low, high, level):
    assert ranked(low, level) <= ranked(-np.inf, level + 1) < ranked(high, level + 1)


def test_a_score_of_nan_stays_nan():
    assert np.isnan(ranked(np.nan, 3.0))
    assert (ranked(np.inf, 3.0), ranked(-np.inf, 3.0), ranked(0.0, 3.0)) == (3.5, 2.5, 3.0)


def test_of_ranked_answers_predictions_are_the_scores():
    """Below 1.5 the score is large and the level low."""
    low, high = cf.Answer([0], [1e3], [0.0], "ranked", 0.0), cf.Answer([0], [-1.0], [0.0], "ranked", 1.0)
    model = cf.StageTree(cf.WeakLearnerBank.columns(["a"]), (cf.Route([0], [1.0], 0.0, 1.5, 1.0, 1, 2), low, high))
    X = [[1.0], [1.5], [2.0], [-1.0]]
    np.testing.assert_allclose(model.predict(X), [500 / 1001, 750 / 1501, 2 / 3, -500 / 1001])
    np.testing.assert_array_equal(model.decision_function(X), model.predict(X))
    alone = cf.StageTree(cf.WeakLearnerBank.columns(["a"]), (low,))
    np.testing.assert_array_equal(alone.decision_function(X), alone.predict(X))
