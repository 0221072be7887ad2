"""What saves time changes nothing: the relaxation and the skipped stages; and banks that are hard to solve for."""

import naive_cronus
import naive_linear
import numpy as np
import pytest
from cronus_cases import bank_rows, start_at
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise import relaxed
from costframe.stagewise.fitting import fit_at_price, prune
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.relaxed import energies, relax
from costframe_cronus.cronus import CascadeSettings

seeds = st.integers(0, 10_000)


def drawn(seed, n=60, d=25, n_labels=1, prices=(0.0, 0.002, 0.02, 0.1)):
    """Columns that resemble each other as learners; each needs some of five features and perhaps a resource."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + rng.standard_normal((n, d))
    y = np.sign(X[:, :3] @ rng.standard_normal((min(3, d), n_labels)) + rng.standard_normal((n, n_labels)))
    shared = np.vstack([np.eye(d), rng.random((5, d)) < 0.3, rng.random((1, d)) < 0.8]).astype(float)
    groups = PricedGroups(sparse.csr_array(shared), rng.choice(prices, d + 6))
    return X, y, rng.uniform(0.5, 2, n), groups


def outputs_of(X):
    return BankOutputs.of(cf.WeakLearnerBank.columns([f"x{f}" for f in range(X.shape[1])]), X)


@settings(max_examples=60)
@given(seeds, st.integers(1, 2), st.integers(0, 2), st.sampled_from([0.0, 1e-3]), st.sampled_from([1, 7, 60]))
def test_the_relaxation_equals_its_naive_twin(seed, n_labels, n_before, l1, rounds):
    X, y, w, groups = drawn(seed, n_labels=n_labels)
    normal = NormalEquations.of(outputs_of(X), y, w)
    rng = np.random.default_rng(seed)
    earlier = rng.standard_normal((n_before, X.shape[1], n_labels)) * (rng.random((n_before, X.shape[1], 1)) < 0.2)
    d = 0.8 ** np.arange(n_before + 1)
    bought = np.zeros(len(groups.price)) + sum(
        share**2 * energies(groups, one) for share, one in zip(d, earlier, strict=False)
    )
    found = relax(normal, groups, l1, bought, float(d[-1]), rounds=rounds)
    twin = naive_cronus.relax(normal, groups, l1, rounds, relaxed._FLOOR, relaxed._NEGLIGIBLE, earlier, d)
    np.testing.assert_allclose(found, twin, rtol=1e-4, atol=1e-8)
    if not n_before:
        np.testing.assert_array_equal(found, relax(normal, groups, l1, rounds=rounds))


@settings(max_examples=40)
@given(seeds, st.integers(1, 2))
def test_pruning_of_groups_that_overlap_equals_its_naive_twin(seed, n_labels):
    X, y, w, groups = drawn(seed, d=12, n_labels=n_labels)
    start = naive_linear.ridge_fit(X, y, w, np.array([0, 1, 2, 4, 5, 7, 8, 9, 11]), 0.05)
    twin = naive_linear.prune(X, y, w, groups, start, 0.05)
    found = prune(NormalEquations.of(outputs_of(X), y, w), groups, start, 0.05)
    np.testing.assert_allclose(found, twin, rtol=1e-7, atol=1e-11)


def test_sums_are_taken_only_where_a_stage_rejects(monkeypatch):
    X, y, w, groups = drawn(0, prices=(0.1,))
    taken, of = [], NormalEquations.of
    monkeypatch.setattr(NormalEquations, "of", lambda *given: taken.append(1) or of(*given))
    rows = bank_rows(outputs_of(X), y[:, 0], w)
    cascade = start_at(rows, groups, CascadeSettings(1e-4, n_stages=5, inflation=30.0))
    assert len(cascade.weights) in {2, 3, 4}  # the first stages were too dear
    assert len(taken) == len(cascade.weights)


BANKS = {
    "more learners than rows": lambda rng: rng.standard_normal((20, 70)),
    "twins": lambda rng: np.tile(rng.standard_normal((50, 4)), (1, 12)),
    "constants": lambda rng: np.where(np.arange(20) % 3 == 0, rng.standard_normal((50, 20)), 1.5),
    "nothing but constants": lambda _: np.full((50, 3), 1.5),
    "one learner": lambda rng: rng.standard_normal((50, 1)),
    "all sizes": lambda rng: rng.standard_normal((50, 21)) * 10.0 ** np.arange(-10, 11),
}


@pytest.mark.parametrize("prices", [(0.0,), (0.0, 0.01), (0.01,), (1e300,)], ids=str)
@pytest.mark.parametrize("bank", BANKS)
def test_hard_banks(bank, prices):
    rng = np.random.default_rng(0)
    X = BANKS[bank](rng)
    n, d = X.shape
    y, w = np.sign(X[:, 0] - X[:, 0].mean() + 0.1 * rng.standard_normal(n)), np.ones(n)
    _, _, _, groups = drawn(0, d=d, prices=prices)
    outputs = outputs_of(X)
    normal = NormalEquations.of(outputs, y[:, None], w)
    for tradeoff in (0.0, 1e-3, 1e300):
        alone = fit_at_price(normal, SampledPrices.whole(groups), tradeoff, 1e-2)
        rows = bank_rows(outputs, y, w)
        cascade = start_at(rows, groups, CascadeSettings(tradeoff, n_stages=3))
        for weights in (alone, cascade.weights, cascade.threshold, cascade.scores(rows)):
            assert np.isfinite(weights).all()
        if prices[0] * tradeoff > 1 or "nothing" in bank:
            assert not alone.any()
            assert not cascade.weights.any()
        elif prices == (0.0,):
            assert alone.any()
            assert cascade.weights.any()
