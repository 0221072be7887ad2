"""Sentences about a choice, intervals that hold, and buys: no more is claimed than the rows support."""

from __future__ import annotations

from functools import partial

import frontier_cases
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from costframe.choices import Frontier
from costframe.choices.buys import next_buys
from costframe.choices.intervals import score_interval
from costframe.choices.sentences import describe_choice, describe_few_rows, describe_recommendation
from costframe.choices.tables import distinct_points
from costframe.study.estimates import NINE_OF_TEN
from costframe.training.influences import influence, standard_error
from costframe.training.scoring import score_named

point = partial(frontier_cases.point, score_error=0.02)


def frontier_of(shares, costs, n=400):
    """Models that are right in a share of rows, mostly the same rows."""
    rng = np.random.default_rng(0)
    luck, points, moved = rng.random(n), [], []
    for number, (share, cost) in enumerate(zip(shares, costs, strict=True)):
        right = np.where(rng.random(n) < 0.02, rng.random(n), luck) < share
        moved.append(influence("accuracy", np.ones(n, int), right * 1.0))
        more = {"score_error": standard_error(moved[-1]), "n_features": int(cost > 0)}
        points.append(point(right.mean(), cost, number / 10, **more))
    return Frontier(tuple(points), "accuracy", "CAD", 100.0, influences=tuple(moved))


scores, errors = st.floats(0.0, 1.0), st.floats(1e-6, 0.5)


@given(scores, scores, errors, st.floats(0, 1))
def test_intervals_have_the_score_end_at_the_best_value_and_rise_with_the_score(one, other, error, lacked):
    low, high = score_interval(point(one, 1, score_error=error, rows_lacked=lacked), 1.0)
    assert low < one <= high + 1e-12
    assert high <= 1.0
    assert one - low >= NINE_OF_TEN * error - 1e-12
    if one < other:
        assert low <= score_interval(point(other, 1, score_error=error), 1.0)[0] + 1e-12


@pytest.mark.parametrize(("n", "shift"), [(114, 3.3), (60, 2.0)])
def test_intervals_of_high_areas_hold_nine_times_of_ten(n, shift):
    """Normal intervals of scores near one lie too high: they miss twice as often on their lower side."""
    rng, missed, score = np.random.default_rng(0), [], score_named("roc_auc")
    y, truth = (np.arange(n) < n // 3).astype(int), norm.cdf(shift / np.sqrt(2))
    for _ in range(300):
        p = shift * y + rng.normal(size=n)
        error = standard_error(influence("roc_auc", y, p))
        low, high = score_interval(point(score(y, p, None, None), 1, score_error=error), 1.0)
        missed.append((truth < low, truth > high))
    assert (np.mean(missed, axis=0) < 0.085).all()


def test_differences_are_paired_and_know_of_models_that_vary():
    found = frontier_of([0.8, 0.82], [1.0, 2.0])
    one, other = found.points
    paired = found.difference(other, one)
    assert paired.value == other.score - one.score
    assert paired.error < 0.6 * np.hypot(one.score_error, other.score_error)
    assert (paired.high - paired.value, paired.value - paired.low) == pytest.approx([1.645 * paired.error] * 2)
    varying = evolve(found, points=(evolve(one, score_error=0.1), other))
    assert varying.difference(varying.points[0], other).error > 0.095
    assert evolve(found, influences=()).difference(one, other).error == other.score_error


def test_a_recommendation_says_why_a_cheaper_point_of_such_a_score_is_not_taken():
    cheap, sure, best = point(0.82, 1, score_error=0.1), point(0.81, 5), point(0.82, 9)
    found = Frontier((cheap, sure, best), "accuracy", "CAD", 100.0)
    assert found.recommended() == sure
    said = describe_recommendation(found, sure)
    assert said.startswith("the cheapest within one standard error of the best, by the lower ends of intervals")
    without = evolve(found, points=(sure, best))
    assert describe_recommendation(without, sure) == "the cheapest within one standard error of the best"


def test_a_choice_is_within_one_percent_only_if_the_interval_is():
    many = frontier_of([0.90, 0.901], [1.0, 2.0], n=40_000)
    text = describe_choice(many, many.points[0])
    assert "below that of the best model, miser at 2 CAD (90% interval: " in text
    assert text.count("So it is within 1 % of the best.") == 1
    few = frontier_of([0.90, 0.91], [1.0, 2.0], n=120)
    few = evolve(few, points=(evolve(few.points[0], score=0.90), evolve(few.points[1], score=0.905)))
    assert "1 %" not in describe_choice(few, few.points[0])
    worse = frontier_of([0.6, 0.9], [1.0, 2.0])
    assert "So it is more than 1 % below the best." in describe_choice(worse, worse.points[0])
    assert describe_choice(worse, worse.points[1]).endswith("without prices (90% interval: 0.29 above to 0.36 above).")


def test_few_rows_are_warned_of_with_a_number_that_would_do():
    few = frontier_of([0.90, 0.91], [1.0, 2.0], n=120)
    text = describe_few_rows(few, few.points[0])
    assert text.startswith("The estimates rest on 120 rows, too few to tell whether this model is within 1 % of the b")
    enough = frontier_of([0.90, 0.91], [1.0, 2.0], n=3 * int(text.rpartition("about ")[2].rstrip(".").replace(",", "")))
    best = enough.points[1]
    assert describe_few_rows(enough, best, {"ill": 50, "well": 500}) is None
    assert "Of class 'ill' there are only 12 rows" in describe_few_rows(enough, best, {"ill": 12, "well": 500})
    weak = frontier_of([0.5, 0.56], [0.0, 2.0], n=150)
    assert "how much better the best model is than a constant" in describe_few_rows(weak, weak.points[1])
    assert "150 queries" in describe_few_rows(evolve(weak, score_name="precision@5"), weak.points[1])


def test_next_buys_are_the_cheapest_with_certain_gains():
    found = frontier_of([0.6, 0.7, 0.702, 0.8, 0.9], [1.0, 2.0, 3.0, 4.0, 5.0])
    buys = next_buys(found, found.points[0])
    assert [(buy.point, buy.cost) for buy in buys] == [(found.points[1], 1.0), (found.points[3], 3.0)]
    assert buys[0].gain == found.difference(found.points[1], found.points[0])
    assert str(buys[0]).startswith("1 CAD more per row would raise accuracy by 0.")
    assert next_buys(found, found.points[-1]) == ()
    one, other = found.points[1:3]
    (buy,) = next_buys(evolve(found, points=(one, evolve(other, score=one.score + 1e-4)), influences=()), one)
    assert not buy.is_certain
    assert str(buy).endswith("(miser at 3 CAD), which may be chance.")


def test_models_that_are_the_same_have_one_point():
    found = frontier_of([0.5, 0.7, 0.8], [0.0, 1.0, 2.0])
    _, model, best = found.points
    again, moved = evolve(model, algorithm="cegb"), (*found.influences, found.influences[1], found.influences[2] * 1.01)
    doubled = evolve(found, points=(*found.points, again, best), influences=moved)
    assert distinct_points(doubled) == (*found.points, best)  # the last one has other influences


def test_a_less_certain_score_counts_less_and_a_negligible_loss_is_taken_for_a_lower_cost():
    sure, unsure = point(0.90, 5.0, score_error=0.01), point(0.92, 1.0, score_error=0.06)
    found = Frontier((unsure, sure), "accuracy", "CAD", 9.0)
    assert found.best() is found.recommended() is sure
    assert found.non_dominated() == (unsure, sure)
    for shares, n, chosen in (([0.90, 0.902], 200_000, 0), ([0.90, 0.96], 400, 1), ([0.89, 0.902], 200_000, 1)):
        found = frontier_of(shares, [1.0, 2.0], n=n)
        assert found.recommended() is found.points[chosen]
