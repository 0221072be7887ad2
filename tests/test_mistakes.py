"""Counts of wrong answers behind stated bills, and intervals whose law knows counts."""

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import chi2

import costframe as cf
from costframe.choices import Frontier, Point
from costframe.choices.intervals import interval_of_counts
from costframe.study.mistakes import count_mistakes, mistakes_in_words
from costframe.training.error_costs import ERROR_COST
from costframe.training.scoring import error_cost, with_labels

ERRORS = cf.CostModel.of({"features": {"a": 1.0}}, errors={"ill": {"well": 50.0}, "well": {"ill": 2.0}}).errors
MODEL = Point("cegb", 0.1, -2.0, 1.0, 3.0, None, None, None, 0.0, 1, 1, 1.0, 0.0)
LABELS = np.array(["ill", "well"])


@pytest.mark.parametrize("count", [1, 3, 17, 400])
def test_intervals_of_counts_are_the_exact_ones_of_a_poisson_law(count):
    low, high = interval_of_counts(count / 100, np.sqrt(count) / 100, 1 / 100)
    assert low == pytest.approx(chi2.ppf(0.05, 2 * count) / 200)
    assert high == pytest.approx(chi2.ppf(0.95, 2 * count + 2) / 200)
    assert high - count / 100 > count / 100 - low


def test_without_a_wrong_answer_one_of_the_dearest_may_yet_come():
    assert interval_of_counts(0.0, 0.0, 0.5) == (0.0, pytest.approx(0.5 * chi2.ppf(0.95, 2) / 2))
    assert interval_of_counts(0.0, 0.0, 0.0) == (0.0, 0.0)
    assert interval_of_counts(1e9, 1e-9, 0.0) == pytest.approx((1e9, 1e9))


@pytest.mark.parametrize(("dear", "cheap"), [(3.0, 40.0), (10.0, 10.0), (0.5, 5.0)])
def test_intervals_of_few_dear_errors_hold_nine_times_of_ten(dear, cheap):
    rng, rows, prices = np.random.default_rng(0), 1000, np.array([50.0, 2.0])
    counts = rng.poisson([dear, cheap], (4000, 2))
    means, errors = counts @ prices / rows, np.sqrt(counts @ prices**2) / rows
    ends = np.array([interval_of_counts(*each, prices[0] / rows) for each in zip(means, errors, strict=True)])
    true = np.array([dear, cheap]) @ prices / rows
    below, above = np.mean(ends[:, 1] < true), np.mean(ends[:, 0] > true)
    assert below <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert below + above <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 4000)


def test_wrong_answers_are_counted_by_class_and_answer():
    score = with_labels(error_cost(ERRORS, ["a"]), LABELS)
    y, healthy = np.array([0, 0, 0, 1, 1, 1]), np.array([0.99, 0.97, 0.1, 0.2, 0.99, 0.99])  # dear to miss: above 0.96
    assert count_mistakes(score, y, healthy).tolist() == [[0.0, 2.0], [1.0, 0.0]]
    assert count_mistakes("accuracy", y, healthy) is None
    found = np.array([[0.0, 17.4, 0.0], [40.0, 0.0, 0.2], [3.0, 2.0, 0.0]])
    told = "3 of class c answered as a, 17 of class a answered as b, 40 of class b answered as a, 2 others"
    assert mistakes_in_words(found, ["a", "b", "c"]) == told
    assert mistakes_in_words(np.zeros((2, 2)), LABELS) == "no wrong answer"
    assert mistakes_in_words(None, None) == ""


def test_the_interval_of_a_bill_is_wider_above_and_joins_both_parts():
    moved = np.zeros(100)
    moved[:4] = 0.5
    rare, paid = MODEL, evolve(MODEL, cost_error=2.0)
    frontier = Frontier((rare, paid), ERROR_COST, "unit", 10.0, influences=(moved, moved), spent=(None, None))
    low, high = frontier.bill_interval(rare)
    assert (low, high) == pytest.approx([3.0 + end for end in interval_of_counts(2.0, 1.0, 0.5)])
    assert high - 5.0 > 1.645 > 5.0 - low > 0
    wider = frontier.bill_interval(paid)
    assert wider[0] == pytest.approx(5.0 - np.hypot(5.0 - low, 1.645 * 2.0))
    assert wider[1] == pytest.approx(5.0 + np.hypot(high - 5.0, 1.645 * 2.0))
