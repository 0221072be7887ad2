"""Tests of mean losses: exact for counts, valid for bounded losses; sequences that share delta."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.promises.bounds import bets_on, betting_p, binomial_p, paired_p, upper_bound
from costframe.promises.losses import ANY, COUNTS, Losses
from costframe.promises.sequences import certified


@pytest.mark.parametrize(("count", "n", "limit"), [(0, 5, 0.1), (2, 7, 0.4), (7, 7, 0.9), (3, 12, 0.03)])
def test_p_values_of_counts_are_sums_of_the_binomial_law(count, n, limit):
    exact = sum(math.comb(n, k) * limit**k * (1 - limit) ** (n - k) for k in range(count + 1))
    assert binomial_p(count, n, limit) == pytest.approx(exact, rel=1e-9)


@given(st.integers(1, 40), st.floats(0.02, 0.98), st.floats(0.02, 0.5))
def test_counts_at_the_limit_are_certified_with_a_probability_of_at_most_delta(n, limit, delta):
    chances = [math.comb(n, k) * limit**k * (1 - limit) ** (n - k) for k in range(n + 1)]
    wrong = sum(chance for k, chance in enumerate(chances) if binomial_p(k, n, limit) <= delta)
    assert wrong <= delta * (1 + 1e-9)


@pytest.mark.parametrize("limit", [-0.1, 0.0, 0.04, 0.2])
@pytest.mark.parametrize("n", [15, 40])
def test_pairs_at_the_limit_are_certified_with_a_probability_of_at_most_delta(n, limit):
    """By the whole trinomial law, also where the difference is larger than the limit."""
    p = {(b, c): paired_p(b, c, n, limit) for b in range(n + 1) for c in range(n + 1 - b)}
    for delta in (0.05, 0.1, 0.2):
        region = [pair for pair, value in p.items() if value <= delta]
        for difference in (limit, limit + 0.03):
            for share in np.linspace(abs(difference), min(1.0, abs(difference) + 0.7), 41):
                worse, better = (share + difference) / 2, (share - difference) / 2
                laws = (
                    math.comb(n, b) * math.comb(n - b, c) * worse**b * max(better, 0) ** c * (1 - share) ** (n - b - c)
                    for b, c in region
                )
                assert sum(laws) <= delta + 1e-9


def p_of_bets(losses, limit, delta, variance=None):
    return betting_p(losses, limit, bets_on(losses, limit, delta, variance))


def test_pairs_are_nearly_as_tight_as_a_normal_test():
    r = np.random.default_rng(0)
    losses = r.choice([0.0, 0.5, 1.0], 2000, p=[0.01, 0.98, 0.01])
    worse, better = (int((losses == value).sum()) for value in (1.0, 0.0))
    exact = upper_bound(lambda limit: paired_p(worse, better, 2000, 2 * limit - 1), 0.1, float(losses.mean()))
    assert 1.2816 < (exact - losses.mean()) / losses.std() * math.sqrt(2000) < 1.35


def test_without_rows_nothing_is_certified():
    none = np.zeros(0)
    assert binomial_p(0, 0, 0.5) == p_of_bets(none, 0.5, 0.1) == 1.0
    empty = Losses(none, 0.5, 0.0, 1.0, COUNTS, rows=0, draws=np.zeros(0, np.int64))
    assert empty.bound(0.1) == 1.0
    assert empty.margin == -np.inf


LAWS = {  # values and their probabilities, some at the ends of what bets can stand
    "counts": ([0, 1], [0.95, 0.05]),
    "thirds": ([0, 1 / 3, 2 / 3, 1], [0.7, 0.12, 0.08, 0.1]),
    "rare and large": ([0.02, 1], [0.99, 0.01]),
    "narrow": (np.linspace(0.2, 0.4, 21), np.full(21, 1 / 21)),
    "mostly one": ([0, 0.9, 1], [0.1, 0.1, 0.8]),
    "nearly never": ([0, 1], [0.999, 0.001]),
    "constant": ([0.3], [1.0]),
}
VARIANCES = {"untold": None, "far too small": 1e-5, "far too large": 0.25}


def mean_of(law):
    return float(np.dot(*LAWS[law]))


def draw(law, r, n):
    values, chances = LAWS[law]
    return r.choice(np.asarray(values, np.float64), n, p=chances)


@pytest.mark.parametrize(("law", "told"), [*product(LAWS, VARIANCES)])
@pytest.mark.parametrize("draws", [150, pytest.param(4000, marks=pytest.mark.deep)])
def test_a_mean_at_the_limit_is_rejected_with_a_probability_of_at_most_delta(law, told, draws):
    r = np.random.default_rng([*law.encode()])
    p = [p_of_bets(draw(law, r, 300), mean_of(law), 0.1, VARIANCES[told]) for _ in range(draws)]
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 2 * math.sqrt(0.09 / draws)


@pytest.mark.parametrize("law", [name for name, (values, _) in LAWS.items() if len(values) < 5])
@pytest.mark.parametrize("delta", [0.1, 0.3])
@pytest.mark.parametrize("told", VARIANCES)
def test_by_all_sequences_of_few_losses_no_p_value_is_too_small_too_often(law, delta, told):
    values, chances = (np.asarray(each, np.float64) for each in LAWS[law])
    found = []
    for drawn in product(range(len(values)), repeat=5):
        p = p_of_bets(values[[*drawn]], mean_of(law), delta, VARIANCES[told])
        found.append((p, float(np.prod(chances[[*drawn]]))))
    p, chance = np.array(sorted(found)).T
    assert (np.cumsum(chance) <= p + 1e-9).all()


@pytest.mark.parametrize(("law", "n"), [("thirds", 667), ("thirds", 6000), ("narrow", 2000)])
def test_bets_reject_nearly_as_often_as_a_normal_test_of_known_variance(law, n):
    values, chances = LAWS[law]
    deviation = math.sqrt(np.dot(np.square(values), chances) - mean_of(law) ** 2)
    error = deviation / math.sqrt(n)
    r, limit, wins = np.random.default_rng(0), mean_of(law) + 2 * error, []
    for _ in range(300):
        losses = draw(law, r, n)
        steady = np.full(n, math.sqrt(2 * math.log(10) / n) / deviation)  # best for growth, of known variance
        aims = p_of_bets(losses, limit, 0.1, deviation**2)
        wins.append((aims <= 0.1, betting_p(losses, limit, steady) <= 0.1, losses.mean() + 1.2816 * error <= limit))
    aimed, steady, normal = np.mean(wins, axis=0)
    assert normal - 0.08 < aimed <= normal + 0.03
    assert aimed > steady + 0.05


def test_bets_rest_on_the_losses_before_alone():
    r = np.random.default_rng(0)
    for n in (300, 5000):
        losses = r.random(n)
        changed = losses.copy()
        changed[n // 2 :] = 1 - changed[n // 2 :]
        one, other = (bets_on(each, 0.5, 0.1) for each in (losses, changed))
        assert (one[: n // 2 + 1] == other[: n // 2 + 1]).all()
        assert (one != other).any()


def any_losses(values, limit):
    return Losses(values, limit, 0.0, 1.0, ANY, len(values), np.arange(len(values)))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("away", [-1.0, 1.0, 4.0])
def test_a_bound_is_below_the_limit_just_where_it_is_certified_and_holds(law, away):
    values, chances = LAWS[law]
    error = math.sqrt(max(np.dot(np.square(values), chances) - mean_of(law) ** 2, 1e-6) / 300)
    limit, r, low, draws = mean_of(law) + away * error, np.random.default_rng(1), 0, 40
    for _ in range(draws):
        losses = any_losses(draw(law, r, 300), limit)
        bound = losses.bound(0.1)
        assert (bound <= limit) == (losses.p_value(0.1) <= 0.1)
        low += bound < mean_of(law) - 1e-9
    assert low <= 0.1 * draws + 2 * math.sqrt(0.09 * draws)


def test_a_bound_far_below_the_limit_is_found():
    losses = any_losses(draw("thirds", np.random.default_rng(0), 1000), 0.5)
    normal = losses.mean + 1.2816 * losses.values.std() / math.sqrt(1000)
    assert losses.mean < losses.bound(0.1, variance=losses.variance) < normal + 0.02


@given(st.floats(0.05, 0.9), st.floats(0.01, 0.09))
def test_the_p_value_of_given_bets_falls_with_the_limit(limit, more):
    losses = draw("thirds", np.random.default_rng(3), 200)
    bets = bets_on(losses, 0.25, 0.1)
    assert betting_p(losses, limit + more, bets) <= betting_p(losses, limit, bets) + 1e-12


def test_one_sequence_ends_with_the_first_model_that_is_not_certified():
    p, asked = [0.01, 0.09, 0.1, 0.11, 0.0], []

    def ask(number):
        asked.append(number)
        return p[number]

    assert certified([range(5)], ask, 0.1) == [0, 1, 2]
    assert asked == [0, 1, 2, 3]


def test_sequences_share_delta_and_one_that_ends_leaves_its_share():
    p = [0.04, 0.06, 0.03, 0.08, 0.09]
    assert certified([[1, 0], [2, 3]], p.__getitem__, 0.1) == [2]  # 0.05 each: 0.06 and 0.08 are above
    assert certified([[0], [2, 3, 1]], p.__getitem__, 0.1) == [0, 2, 3, 1]  # the first one ends
    assert certified([[0], [0, 4]], p.__getitem__, 0.1) == [0, 4]
    assert certified([], p.__getitem__, 0.1) == certified([[]], p.__getitem__, 0.1) == []
