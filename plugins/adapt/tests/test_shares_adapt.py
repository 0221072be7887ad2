"""The q-step: closed form, its share constraint, and that nothing does better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr, expit

from costframe.gates.gate_curve import SURE
from costframe_adapt.boosting import GateLoss
from costframe_adapt.judge import solve_shares

SHARES = st.sampled_from([None, 0.0, 1e-9, 1e-6, 1e-3, 0.2, 0.5, 0.9, 1.0])
LOSSES = st.one_of(st.floats(0, 20), st.sampled_from([0.0, 1.0, 700.0, 1e6]))


@st.composite
def steps(draw, most=12):
    """Draw A, B, weights and P."""
    n = draw(st.integers(1, most))
    values = [np.array(draw(st.lists(LOSSES, min_size=n, max_size=n))) for _ in range(2)]
    weight = np.array(draw(st.lists(st.sampled_from([1e-6, 0.5, 1.0, 2.0, 1e6]), min_size=n, max_size=n)))
    return *values, weight, draw(SHARES)


def mean_of(q, weight):
    return float(q @ (weight / weight.sum()))


@given(steps())
def test_the_constraint_holds_exactly_and_binds_only_where_it_must(step):
    below, above, weight, full_share = step
    found = solve_shares(below, above, weight, full_share)
    assert ((found >= 0) & (found <= 1 - SURE)).all()
    free = np.clip(expit(below - above), SURE, 1 - SURE)
    mean, unbound = mean_of(found, weight), mean_of(free, weight)
    if full_share == 0:
        assert not found.any()
    elif full_share is None or unbound <= full_share:
        np.testing.assert_array_equal(found, free)
    else:
        assert mean <= full_share * (1 + 1e-12)
        assert mean == pytest.approx(full_share, rel=1e-9, abs=1e-12)


@given(steps())
def test_a_share_that_is_larger_takes_nothing_from_any_row(step):
    below, above, weight, full_share = step
    if full_share is None:
        return
    smaller, larger = (solve_shares(below, above, weight, p) for p in (full_share, min(1.0, 1.5 * full_share)))
    assert (larger >= smaller * (1 - 1e-9)).all()


def objective(q, below, above, weight):
    entropy = entr(q) + entr(1 - q)
    return float((weight / weight.sum()) @ ((1 - q) * below + q * above - entropy))


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0.1, 0.4, 0.8]))
def test_no_other_shares_do_better(seed, full_share):
    rng = np.random.default_rng(seed)
    below, above = 3 * rng.random(8), 3 * rng.random(8)
    weight = rng.uniform(0.2, 3, 8)
    q = solve_shares(below, above, weight, full_share)
    least = objective(q, below, above, weight)
    for size in (1e-3, 0.05, 0.5):
        for _ in range(20):
            other = np.clip(q + size * rng.standard_normal(8), 1e-9, 1 - 1e-9)
            if full_share is not None:  # back inside, where it went too far
                other *= min(1.0, full_share / mean_of(other, weight))
            assert objective(other, below, above, weight) >= least - 1e-12


@given(st.lists(st.floats(-15, 15), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_a_gate_is_grown_by_the_cross_entropy_of_shares(gate, seed):
    gate = np.array(gate)[:, np.newaxis]
    q = np.random.default_rng(seed).uniform(SURE, 1 - SURE, len(gate))
    p, loss = expit(gate[:, 0]), GateLoss()
    naive = -(q * np.log(p) + (1 - q) * np.log1p(-p))
    np.testing.assert_allclose(loss.mean(q, gate), naive.mean(), rtol=1e-8, atol=1e-9)
    gradients, hessians = loss.gradients(q, gate)
    by_hand = len(gate) * (loss.mean(q, gate + 1e-4) - loss.mean(q, gate - 1e-4)) / 2e-4
    np.testing.assert_allclose(gradients.sum(), by_hand, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessians[:, 0], p * (1 - p), rtol=1e-9, atol=1e-15)
