"""Outputs added one at a time, against a twin that makes every number anew at each step."""

import naive_linear
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.stagewise import fitting
from costframe.stagewise.fitting import forward_select
from costframe.stagewise.normal import NormalEquations

pytestmark = pytest.mark.engine

seeds = st.integers(0, 2**32 - 1)


def equations(rng, n_outputs, n_labels, n_sums, n=60):
    """Outputs of which the last ones are sums of two others, in any order; labels that a few of them explain."""
    H = rng.standard_normal((n, n_outputs))
    for c in range(n_outputs - n_sums, n_outputs):
        H[:, c] = H[:, rng.choice(n_outputs - n_sums, 2)] @ rng.uniform(0.5, 2, 2)
    H = H[:, rng.permutation(n_outputs)] * rng.uniform(0.2, 5, n_outputs)
    y = H @ (rng.standard_normal((n_outputs, n_labels)) * (rng.random((n_outputs, 1)) < 0.5))
    y += 0.5 * rng.standard_normal((n, n_labels))
    H, y = H - H.mean(axis=0), y - y.mean(axis=0)
    variance = float((y**2).mean(axis=0).sum())
    return NormalEquations(H.T @ H / n, H.T @ y / n, np.zeros(n_outputs), np.zeros(n_labels), variance)


def offered(rng, n_outputs, n_rows, scale):
    """A price of its own for each output, so that there are no ties; shared ones, some zero, some partly paid."""
    shared = rng.random((5, n_outputs)) < rng.random((5, 1))
    member = sparse.csr_array(np.vstack([np.eye(n_outputs), shared]).astype(float))
    price = rng.uniform(0.5, 1.5, n_outputs + 5) * scale
    price[n_outputs:] *= rng.choice([0.0, 1.0, 5.0], 5)
    whole = SampledPrices.whole(PricedGroups(member, price), rng.dirichlet(np.ones(n_rows)))
    patterns = rng.integers(0, 2**64, whole.reads.shape, np.uint64)
    some = rng.integers(0, 3, (member.nnz, 1))  # rows, all rows, or none, but always all for what is its own
    some[:n_outputs] = 1
    reads = np.where(some == 0, whole.reads & patterns, np.where(some == 1, whole.reads, np.uint64(0)))
    paid = rng.integers(0, 2**64, whole.paid.shape, np.uint64) * rng.integers(0, 2, (n_outputs + 5, 1), np.uint64)
    paid[:n_outputs] = 0
    return SampledPrices(whole.groups, reads, paid, whole.mass)


@given(
    seeds, st.integers(3, 12), st.integers(1, 3), st.sampled_from([1, 40, 150]), st.booleans(),
    st.sampled_from([1e-4, 1e-2, 0.1, 1.0, 1e100]), st.sampled_from([0.0, 1e-14, 1e-3, 1.0]),
    st.sampled_from([1, 2, 50]),
)  # fmt: skip
def test_outputs_are_those_of_the_twin(seed, n_outputs, n_labels, n_rows, sums, scale, ridge, patience):
    rng = np.random.default_rng(seed)
    normal = equations(rng, n_outputs, n_labels, rng.integers(1, n_outputs - 1) if sums else 0)
    prices = offered(rng, n_outputs, n_rows, scale)
    if rng.random() < 0.5:
        prices = prices.restrict(np.argsort(rng.random(n_outputs)))
    before = [one.copy() for one in (normal.gram, normal.right, prices.paid, prices.offers)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_PATIENCE", patience)
        found = forward_select(normal, prices, ridge)
    np.testing.assert_array_equal(found, naive_linear.forward_select(normal, prices, ridge, patience))
    for one, other in zip(before, (normal.gram, normal.right, prices.paid, prices.offers), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_factor_that_grows_is_that_of_the_twin():
    """More outputs are added than the factor has rows at first."""
    rng = np.random.default_rng(3)
    normal = equations(rng, 90, 2, 5, n=200)
    prices = SampledPrices.whole(PricedGroups(sparse.csr_array(np.eye(90)), rng.uniform(0, 0.04, 90)))
    found = forward_select(normal, prices, 1e-3)
    assert 20 < found.sum() < 64
    np.testing.assert_array_equal(found, naive_linear.forward_select(normal, prices, 1e-3, 50))


def test_equals_go_to_the_first_and_nothing_is_worth_anything():
    member = sparse.csr_array(np.eye(3))
    normal = NormalEquations(np.ones((3, 3)), np.ones((3, 1)), np.zeros(3), np.zeros(1), 1.0)
    for price, kept in ((0.1, [True, False, False]), (0.6, [False] * 3)):
        prices = SampledPrices.whole(PricedGroups(member, np.full(3, price)))
        assert forward_select(normal, prices, 0.0).tolist() == kept
    useless = NormalEquations(np.eye(3), np.zeros((3, 1)), np.zeros(3), np.zeros(1), 1.0)
    assert not forward_select(useless, SampledPrices.whole(PricedGroups(member, np.zeros(3))), 0.0).any()
    empty = NormalEquations(np.empty((0, 0)), np.empty((0, 1)), np.empty(0), np.zeros(1), 1.0)
    nobody = SampledPrices.whole(PricedGroups(sparse.csr_array((2, 0), dtype=np.float64), np.ones(2)))
    assert forward_select(empty, nobody, 0.0).shape == (0,)


def test_what_shares_a_dear_feature_is_found_together():
    """No output alone is worth the feature that all read; added with patience, all together are."""
    member = sparse.csr_array(np.ones((1, 10)))
    normal = NormalEquations(np.eye(10), np.full((10, 1), 1.0), np.zeros(10), np.zeros(1), 10.0)
    assert forward_select(normal, SampledPrices.whole(PricedGroups(member, np.array([4.9]))), 0.0).all()
    assert not forward_select(normal, SampledPrices.whole(PricedGroups(member, np.array([5.1]))), 0.0).any()


def test_where_nothing_is_worth_its_price_money_goes_farthest(monkeypatch):
    """The last two share a feature that is worth it for both; patience for two steps has no room for the first."""
    member = sparse.csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    prices = SampledPrices.whole(PricedGroups(member, np.array([1.8, 0.8])))
    normal = NormalEquations(np.eye(3), np.array([[1.2], [1.0], [1.0]]), np.zeros(3), np.zeros(1), 4.0)
    for patience, kept in ((1, [False] * 3), (2, [False, True, True])):
        monkeypatch.setattr(fitting, "_PATIENCE", patience)
        assert forward_select(normal, prices, 0.0).tolist() == kept


@pytest.mark.parametrize(("left", "kept"), [(1e-8, True), (1e-10, False)])
def test_what_is_all_but_a_sum_of_others_is_left_out(left, kept):
    alike = np.sqrt(1 - left)
    gram, right = np.array([[1.0, alike], [alike, 1.0]]), np.array([[2.0], [2 * alike - 1e-4]])
    normal = NormalEquations(gram, right, np.zeros(2), np.zeros(1), 4.0)
    free = SampledPrices.whole(PricedGroups(sparse.csr_array(np.eye(2)), np.zeros(2)))
    assert forward_select(normal, free, 0.0).tolist() == [True, kept]
