"""Sums that rows are taken from are those of the rows that are left."""

import numpy as np
import pytest
from cronus_cases import COSTS, NAMES, bank_rows, boosted, table, whole
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.normal import NormalEquations, WeightedSums
from costframe_cronus.by_exact_cost import initialize
from costframe_cronus.train import CascadeSettings


def outputs_of(H):
    return BankOutputs.of(cf.WeakLearnerBank.columns([f"x{f}" for f in range(H.shape[1])]), H)


def assert_equal_sums(found, H, y, weight):
    """Compare in units of deviations with sums over rows written out, as exact as they can be."""
    w = weight / weight.sum()
    target_mean, mean = w @ y, w @ H
    about, y = H - mean, y - target_mean
    gram, right, variance = (about.T * w) @ about, (about.T * w) @ y, float(w @ np.square(y).sum(axis=1))
    varies = np.ptp(H[w > 0], axis=0) > 0
    np.testing.assert_array_equal(found.varies, varies)
    unit = np.where(varies, np.sqrt(np.diag(gram)), 1.0)
    of_target = np.sqrt(variance) if variance > 0 else 1.0
    np.testing.assert_allclose(found.gram / np.outer(unit, unit), gram / np.outer(unit, unit), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.right / (unit[:, None] * of_target), right / (unit[:, None] * of_target),
                               rtol=0, atol=1e-9)  # fmt: skip
    np.testing.assert_allclose((found.mean - mean) / unit, 0, atol=1e-9 + 1e-14 * np.abs(mean / unit).max())
    np.testing.assert_allclose(found.target_mean, target_mean, rtol=0, atol=1e-9 * of_target)
    assert found.target_variance == pytest.approx(variance, rel=1e-9)


def bank(rng, n):
    """Outputs of all sizes, far from zero, constant, constant but on few rows, and repeated."""
    H = rng.standard_normal((n, 6)) @ rng.standard_normal((6, 9)) * 10.0 ** rng.integers(-3, 4, 9)
    H[:, :3] += 100 * np.abs(H[:, :3]).max(axis=0)
    few = np.where(np.arange(n) < rng.integers(1, n), rng.standard_normal(n), 0.25)
    return np.column_stack([H, H[:, [0, 4, 4]], np.full(n, 1.5), np.zeros(n), few])


shares = st.sampled_from([0.02, 0.1, 0.5, 0.85, 0.99])


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.lists(shares, min_size=1, max_size=10), st.integers(1, 2), st.booleans())
def test_what_is_left_is_as_if_summed_directly(seed, stages, n_labels, soft):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    H, y, weight = bank(rng, n), rng.standard_normal((n, n_labels)), rng.uniform(0.2, 3, n)
    outputs = outputs_of(H)
    sums = WeightedSums.of(outputs, y, weight)
    for share in stages:
        lost = 10.0 ** rng.uniform(-14, 0, n) if soft else 1.0
        weight = weight * (1.0 - lost * (rng.random(n) > share))
        if np.count_nonzero(weight) < 3:
            return
        sums = sums.left(weight)
        np.testing.assert_allclose(sums.weight, weight, rtol=1e-8, atol=1e-8 * weight.mean())
        assert_equal_sums(sums.normal, H, y, sums.weight)
        direct = NormalEquations.of(outputs, y, sums.weight)
        unit = np.where(direct.varies, direct.deviation, 1.0)
        np.testing.assert_allclose((sums.normal.gram - direct.gram) / np.outer(unit, unit), 0, atol=1e-9)


@pytest.fixture
def summed(monkeypatch):
    """Count the rows whose products are taken."""
    taken, products = [], BankOutputs.products

    def counted(self, weight, values):
        taken.append(np.count_nonzero(weight))
        return products(self, weight, values)

    monkeypatch.setattr(BankOutputs, "products", counted)
    return taken


def test_products_are_taken_of_the_fewer_rows(summed):
    rng = np.random.default_rng(0)
    H, y = rng.standard_normal((1000, 5)), rng.standard_normal((1000, 1))
    sums = WeightedSums.of(outputs_of(H), y, np.ones(1000))
    weight = np.ones(1000)
    weight[:200] = 0.5
    weight[200:300] = 1e-11  # as good as nothing
    weight[300:] -= 1e-11  # as good as before
    sums = sums.left(weight)
    assert summed == [1000, 300]
    sums = sums.left(np.where(np.arange(1000) < 850, 0.0, weight))
    assert summed == [1000, 300, 150]  # 750 changed: those left are fewer
    sums.left(sums.weight)
    assert summed == [1000, 300, 150, 0]


def test_rows_matter_again_when_others_lose_more(summed):
    rng = np.random.default_rng(0)
    H, y = rng.standard_normal((1000, 5)), rng.standard_normal((1000, 1))
    weight = np.where(np.arange(1000) < 100, 1e-11, 1.0)
    sums = WeightedSums.of(outputs_of(H), y, np.ones(1000)).left(weight)
    weight[100:] = 1e-12
    sums = sums.left(weight)
    assert summed == [1000, 100, 1000]
    assert_equal_sums(sums.normal, H, y, weight)


def test_an_output_that_hardly_varies_any_more_is_summed_anew(summed):
    rng = np.random.default_rng(0)
    H, y = rng.standard_normal((1000, 5)), rng.standard_normal((1000, 1))
    H[100:, 2] = 7.0
    H[100:, 4] *= 1e-6
    sums = WeightedSums.of(outputs_of(H), y, np.ones(1000)).left((np.arange(1000) >= 100) * 1.0)
    assert summed == [1000, 100, 900]
    assert_equal_sums(sums.normal, H, y, sums.weight)
    np.testing.assert_array_equal(sums.normal.varies, np.arange(5) != 2)
    weight = (np.arange(1000) >= 200) * 1.0
    sums = sums.left(weight)
    assert summed == [1000, 100, 900, 100]  # what is constant already is no reason
    assert_equal_sums(sums.normal, H, y, weight)


@pytest.mark.parametrize("rejected", [0.1, 0.5])
def test_cascades_are_those_of_direct_sums(monkeypatch, rejected):
    X, y = table(1, 1500)
    bank = boosted()
    groups = PricedGroups.of_bank(bank, COSTS.select(NAMES))
    rows = bank_rows(BankOutputs.of(bank, X), 2.0 * y - 1, np.ones(len(X)), np.where(y == 1, 3.5, 1))
    chosen = CascadeSettings(tradeoff=2e-3, n_stages=5, rejected=rejected)
    found = initialize(rows, whole(groups), chosen)
    monkeypatch.setattr(WeightedSums, "left", lambda self, weight: WeightedSums.of(self.outputs, self.target, weight))
    direct = initialize(rows, whole(groups), chosen)
    assert len(direct.weights) > 2
    np.testing.assert_array_equal(found.weights != 0, direct.weights != 0)
    np.testing.assert_allclose(found.weights, direct.weights, rtol=0, atol=1e-6 * np.abs(direct.weights).max())
    np.testing.assert_allclose(found.threshold, direct.threshold, rtol=0, atol=1e-6)
