"""Sentences about a choice, intervals that hold, and buys: no more is claimed than the rows support."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from costframe.core.errors import printable
from costframe.frontier import Frontier, Point
from costframe.frontier.choices import distinct
from costframe.frontier.estimates import NINE_OF_TEN, score_interval
from costframe.frontier.words import describe_choice, describe_few_rows, next_buys
from costframe.training.scoring import influence, score_named, standard_error

N = 400


def point(score, cost, tradeoff=0.1, *, algorithm="miser", **more):
    values = {"score_error": 0.02, "test_score": score, "test_error": 0.01, "test_cost": cost, "fixed": 0.0}
    values |= {"n_features": 1, "n_learners": 1, "rounds": 1.0, "seconds": 0.1} | more
    return Point(algorithm, tradeoff, score, cost=cost, **values)


def frontier_of(shares, costs, *, n=N, name="accuracy", seed=0, **more):
    """Models that are right in a share of rows, mostly the same rows."""
    rng = np.random.default_rng(seed)
    luck, points, moved = rng.random(n), [], []
    for number, (share, cost) in enumerate(zip(shares, costs, strict=True)):
        right = np.where(rng.random(n) < 0.02, rng.random(n), luck) < share
        moved.append(influence("accuracy", np.ones(n, int), right * 1.0))
        points.append(
            point(right.mean(), cost, number / 10, score_error=standard_error(moved[-1]), n_features=int(cost > 0))
        )
    return Frontier(tuple(points), name, "CAD", 100.0, influences=tuple(moved), **more)


scores, errors = st.floats(0.0, 1.0), st.floats(1e-6, 0.5)


@given(scores, scores, errors, st.floats(0, 1))
def test_intervals_have_the_score_end_at_the_best_value_and_rise_with_the_score(one, other, error, lacked):
    low, high = score_interval(point(one, 1, score_error=error, rows_lacked=lacked), 1.0)
    assert low < one <= high + 1e-12
    assert high <= 1.0
    assert one - low >= NINE_OF_TEN * error - 1e-12
    if one < other:
        assert low <= score_interval(point(other, 1, score_error=error), 1.0)[0] + 1e-12
    small = score_interval(point(0.5, 1, score_error=1e-5), 1.0)
    np.testing.assert_allclose(small, (0.5 - 1.645e-5, 0.5 + 1.645e-5), atol=1e-9)


def test_scores_without_error_or_bound_have_plain_intervals():
    assert score_interval(point(0.7, 1, score_error=0.0), 1.0) == (0.7, 0.7)
    assert score_interval(point(3.0, 1, score_error=1.0), np.inf) == pytest.approx((3 - 1.645, 3 + 1.645))
    negative = score_interval(point(-0.04, 1, score_error=0.03), 0.0)
    assert negative[0] < -0.08
    assert negative[1] == pytest.approx(-((0.2 - 1.645 * 0.03 / 0.4) ** 2))


@pytest.mark.parametrize(("n", "shift"), [(114, 3.3), (114, 2.3), (60, 2.0)])
def test_intervals_of_high_areas_hold_nine_times_of_ten(n, shift):
    """Normal intervals of scores near one lie too high: they miss twice as often on their lower side."""
    rng, missed = np.random.default_rng(0), []
    y, truth = (np.arange(n) < n // 3).astype(int), norm.cdf(shift / np.sqrt(2))
    for _ in range(300):
        p = shift * y + rng.normal(size=n)
        found = point(
            score_named("roc_auc")(y, p, None, None), 1, score_error=standard_error(influence("roc_auc", y, p))
        )
        low, high = score_interval(found, 1.0)
        missed.append((truth < low, truth > high))
    assert (np.mean(missed, axis=0) < 0.085).all()


def test_differences_are_paired_and_know_of_models_that_vary():
    found = frontier_of([0.8, 0.82], [1.0, 2.0])
    one, other = found.points
    paired = found.difference(other, one)
    assert paired.value == other.score - one.score
    assert paired.error < 0.6 * np.hypot(one.score_error, other.score_error)
    assert (paired.low, paired.high) == pytest.approx(
        (paired.value - 1.645 * paired.error, paired.value + 1.645 * paired.error)
    )
    varying = evolve(found, points=(evolve(one, score_error=0.1), other))
    assert varying.difference(varying.points[0], other).error > 0.095
    assert found.difference(one, one).error == 0
    alone = evolve(found, influences=())
    assert alone.difference(one, other).error == other.score_error


def test_a_choice_is_within_one_percent_only_if_the_interval_is():
    many = frontier_of([0.90, 0.901], [1.0, 2.0], n=40_000)
    text = describe_choice(many, many.points[0])
    assert "below that of the best model, miser at 2 CAD (90% interval: " in text
    assert text.count("So it is within 1 % of the best.") == 1
    few = frontier_of([0.90, 0.91], [1.0, 2.0], n=120)
    few = evolve(few, points=(evolve(few.points[0], score=0.90), evolve(few.points[1], score=0.905)))
    assert "1 %" not in describe_choice(few, few.points[0])
    quick = evolve(many, points=tuple(evolve(each, name=f"miser-quick-{each.cost}") for each in many.points))
    assert "trained without prices" in describe_choice(many, many.points[1])
    assert "trained without prices" not in describe_choice(quick, quick.points[1])  # it lacked rows too
    worse = frontier_of([0.6, 0.9], [1.0, 2.0])
    assert "So it is more than 1 % below the best." in describe_choice(worse, worse.points[0])
    assert describe_choice(worse, worse.points[1]).endswith(
        "trained without prices (90% interval: 0.29 above to 0.36 above)."
    )


def test_few_rows_are_warned_of_with_a_number_that_would_do():
    few = frontier_of([0.90, 0.91], [1.0, 2.0], n=120)
    chosen = few.points[0]
    text = describe_few_rows(few, chosen)
    assert text.startswith(
        "The estimates rest on 120 rows, too few to tell whether this model is within 1 % of the best; it"
    )
    needed = int(text.rpartition("about ")[2].rstrip(".").replace(",", ""))
    enough = frontier_of([0.90, 0.91], [1.0, 2.0], n=3 * needed)
    assert "within 1 %" not in (describe_few_rows(enough, enough.points[1]) or "")
    assert describe_few_rows(enough, enough.points[1], {"ill": 50, "well": 500}) is None
    assert "Of class 'ill' there are only 12 rows" in describe_few_rows(
        enough, enough.points[1], {"ill": 12, "well": 500}
    )
    assert describe_few_rows(evolve(few, influences=()), chosen) is None


def test_an_interval_that_is_wide_against_the_gain_over_a_constant_is_warned_of():
    weak = frontier_of([0.5, 0.56], [0.0, 2.0], n=150)
    assert "how much better the best model is than a constant" in describe_few_rows(weak, weak.points[1])
    ranked = evolve(weak, score_name="precision@5")
    assert "150 queries" in describe_few_rows(ranked, ranked.points[1])


def test_next_buys_are_the_cheapest_with_certain_gains():
    found = frontier_of([0.6, 0.7, 0.702, 0.8, 0.9], [1.0, 2.0, 3.0, 4.0, 5.0])
    first = found.points[0]
    buys = next_buys(found, first)
    assert [buy.point for buy in buys] == [found.points[1], found.points[3]]
    assert [buy.cost for buy in buys] == [1.0, 3.0]
    assert buys[0].gain == found.difference(found.points[1], first)
    text = str(buys[0])
    assert text.startswith("1 CAD more per row would raise accuracy by 0.")
    assert text.endswith("(miser at 2 CAD).")
    assert "\u00b1" in text
    assert next_buys(found, found.points[-1]) == ()
    assert len(next_buys(found, first, 9)) == 3


def test_a_gain_below_its_error_is_called_uncertain():
    found = frontier_of([0.7, 0.702], [1.0, 2.0], n=100)
    found = evolve(found, points=(found.points[0], evolve(found.points[1], score=found.points[0].score + 1e-4)))
    (buy,) = next_buys(found, found.points[0])
    assert not buy.is_certain
    assert str(buy).endswith("(miser at 2 CAD), which may be chance.")


def test_models_that_are_the_same_have_one_point():
    found = frontier_of([0.5, 0.7, 0.8], [0.0, 1.0, 2.0])
    constant, model, best = found.points
    again = [
        evolve(constant, algorithm="cegb", score=0.4),
        evolve(model, algorithm="cegb", score=model.score - 0.01),
        best,
    ]
    moved = (*found.influences, np.zeros(9), found.influences[1].copy(), found.influences[2] * 1.01)
    doubled = evolve(found, points=(*found.points, *again), influences=moved)
    assert distinct(doubled) == (constant, model, best, best)  # the last one has other influences
    plain = evolve(found, points=(model, evolve(model, algorithm="cegb"), evolve(model, cost=1.5)), influences=())
    assert distinct(plain) == (plain.points[0], plain.points[2])


def test_a_less_certain_score_counts_less():
    sure, unsure = point(0.90, 5.0, score_error=0.01), point(0.92, 1.0, score_error=0.06)
    found = Frontier((unsure, sure), "accuracy", "CAD", 9.0)
    assert found.best() is sure
    assert found.recommended() is sure
    assert found.non_dominated() == (unsure, sure)


def test_a_loss_that_is_surely_negligible_is_taken_for_a_lower_cost():
    many = frontier_of([0.90, 0.902], [1.0, 2.0], n=200_000)
    cheap, best = many.points
    assert many.rank(best)[0] - many.rank(cheap)[0] > many.difference_error(best, cheap)
    assert many.recommended() is cheap
    few = frontier_of([0.90, 0.96], [1.0, 2.0], n=400)
    assert few.recommended() is few.points[1]
    worse = frontier_of([0.89, 0.902], [1.0, 2.0], n=200_000)
    assert worse.recommended() is worse.points[1]


def test_names_and_units_cannot_control_the_terminal():
    found = frontier_of([0.6, 0.9], [1.0, 2.0])
    found = evolve(found, unit="C\x1bAD", points=tuple(evolve(p, algorithm="a\x1b") for p in found.points))
    texts = [describe_choice(found, found.points[0]), str(next_buys(found, found.points[0])[0])]
    assert all(text == printable(text) for text in texts)
