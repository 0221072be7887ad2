"""Marks of rows, against sets and sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe import engine
from costframe.trees.growing.prices import OncePrices

pytestmark = pytest.mark.engine

seeds = st.integers(0, 2**32 - 1)


def draw_marks(rng, n, words):
    """Marks as words and as bool (n, items)."""
    marks = rng.integers(0, 2**64, (n, words), np.uint64) | rng.integers(0, 2**64, (1, words), np.uint64)
    bits = np.unpackbits(marks.view(np.uint8).reshape(n, words, 8), axis=2, bitorder="little")
    return marks, bits.reshape(n, 64 * words).astype(bool)


@given(seeds, st.integers(1, 3), st.sampled_from([0, 1, 3, 254, 255, 256, 511, 600]))
def test_marks_are_counted_and_weighed(seed, words, m):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 600, words)
    rows = np.sort(rng.permutation(600)[:m]).astype(np.int32)
    weight = rng.integers(0, 99, 600).astype(float)
    counts, sums = np.empty(64 * words), np.empty(64 * words)
    engine.sum_marks(marks, rows, weight[:0], counts)
    engine.sum_marks(marks, rows, weight, sums)
    assert counts.tolist() == bits[rows].sum(axis=0).tolist()
    assert sums.tolist() == (weight[rows, None] * bits[rows]).sum(axis=0).tolist()


@given(seeds, st.integers(1, 400))
def test_a_bit_that_all_rows_have_weighs_what_the_rows_weigh(seed, n):
    rng = np.random.default_rng(seed)
    weight, rows = rng.uniform(0.1, 3, 500), np.sort(rng.choice(500, n, replace=False)).astype(np.int32)
    sums = np.empty(64)
    engine.sum_marks(np.full((500, 1), 5, np.uint64), rows, weight, sums)
    total = 0.0
    for row in rows.tolist():
        total += float(weight[row])
    assert [engine.weigh_rows(rows, weight), sums[0], sums[1], sums[2]] == [total, total, 0.0, total]


@given(seeds, st.integers(1, 2))
def test_rows_that_pass_through_pay_for_what_is_new(seed, words):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 9, words)
    items, wanted = draw_marks(rng, 4, words)
    rows, cost = np.array([0, 2, 7, 8], np.int32), rng.integers(0, 8, 64 * words).astype(float)
    per_row, features = np.empty(4), np.empty(4)
    engine.price_marks(marks, rows, items, cost, 30, per_row, features)
    new = wanted & ~bits[rows]
    assert per_row.tolist() == (new * cost).sum(axis=1).tolist()
    assert features.tolist() == new[:, :30].sum(axis=1).tolist()
    bits[rows] |= wanted
    assert np.array_equal(marks, np.packbits(bits, axis=1, bitorder="little").view(np.uint64))


def test_prices_are_charged_in_loss():
    money, once = np.array([0.0, 1.0, 2.0, 1e303, 0.0, 4.0]), np.array([0.0, 0.5, 0.0, 1e303, 9.0, 9.0])
    prices, state = np.empty(6), OncePrices(np.zeros(6)).state()
    state = state._replace(tradeoff=0.25, once=once, once_paid=np.arange(6) > 3)
    engine.charge(engine.Prices(*state), money, prices)
    assert prices.tolist() == [0.0, 0.375, 0.5, 1e300, 0.0, 1.0]
    infinite = np.array([0.0, np.inf, np.inf, np.inf, 0.0, np.inf])
    engine.charge(engine.Prices(*state._replace(tradeoff=0.0)), infinite, prices)
    assert prices.tolist() == [0.0] * 6
