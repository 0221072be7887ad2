"""The kernels of marks, against sets and sums."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from costframe.trees.growing.marks_kernels import (
    charge,
    count_marks,
    divide_account,
    mark_rows,
    price_leaf,
    price_marks,
    weigh_marks,
    weigh_rows,
)

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
    count_marks(marks, rows, counts)
    weigh_marks(marks, rows, weight, sums)
    assert counts.tolist() == bits[rows].sum(axis=0).tolist()
    assert sums.tolist() == (weight[rows, None] * bits[rows]).sum(axis=0).tolist()


@given(seeds, st.integers(1, 2), st.booleans())
def test_rows_are_marked_unless_all_have_paid(seed, words, all_paid):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 20, words)
    rows, items = np.array([2, 3, 19], np.int32), np.unique(rng.integers(0, 64 * words, 3))
    given_bits = np.zeros(words, np.uint64)
    for item in items:
        given_bits[item // 64] |= np.uint64(1) << np.uint64(item % 64)
    paid, before = np.where(np.isin(np.arange(64 * words), items) & all_paid, 3.0, 1.0), marks.copy()
    by_all = np.full(64 * words, 5.0)
    mark_rows(marks, rows, given_bits, items, 3.0, paid, by_all)
    assert by_all.tolist() == [5.0 + 2 * (item in items and not all_paid) for item in range(64 * words)]
    assert paid.tolist() == [3.0 if item in items else 1.0 for item in range(64 * words)]
    bits[np.ix_(rows, items)] = True
    expected = before if all_paid else np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    assert np.array_equal(marks, expected)


@given(seeds)
def test_a_leaf_pays_what_its_rows_owe(seed):
    rng = np.random.default_rng(seed)
    needs = [sorted(rng.permutation(5)[: rng.integers(0, 4)].tolist()) for _ in range(3)]
    paid, cost = rng.integers(0, 8, 5).astype(float), rng.integers(0, 8, 5).astype(float)
    per_split, again, money = rng.integers(0, 8, 3).astype(float), rng.integers(0, 8, 3).astype(float), np.empty(3)
    begin = np.cumsum([0, *map(len, needs)])
    items = np.array([item for some in needs for item in some], np.int64)
    price_leaf(paid, 9.0, per_split, cost, begin, items, again, 0.5, money)
    for f in range(3):
        owed = sum(cost[item] * (9.0 - paid[item]) for item in needs[f])
        assert money[f] == owed + 9.0 * per_split[f] + 9.0 * 0.5 + again[f] * paid[f]


@given(seeds, st.integers(1, 400))
def test_a_bit_that_all_rows_have_weighs_what_the_rows_weigh(seed, n):
    rng = np.random.default_rng(seed)
    weight, rows = rng.uniform(0.1, 3, 500), np.sort(rng.choice(500, n, replace=False)).astype(np.int32)
    sums = np.empty(64)
    weigh_marks(np.full((500, 1), 5, np.uint64), rows, weight, sums)
    total = 0.0
    for row in rows.tolist():
        total += float(weight[row])
    assert [weigh_rows(rows, weight), sums[0], sums[1], sums[2]] == [total, total, 0.0, total]


@given(seeds, st.booleans(), st.booleans())
def test_an_account_is_divided_between_children(seed, weighted, all_paid):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 20, 1)
    order = rng.permutation(20).astype(np.int32)
    parent, small, large = order[:14], order[:5], order[5:14]
    w = rng.integers(1, 9, 20) / 4 if weighted else np.ones(20)
    bits[parent[:, None], np.arange(3)] |= all_paid
    marks = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    cost, again, split = rng.integers(0, 8, 64) / 4, rng.integers(0, 8, 3) / 4, rng.integers(0, 8, 3) / 4
    begin, items = np.array([0, 1, 3, 5]), np.array([0, 0, 1, 0, 2])
    paid, money = np.full((3, 64), 7.0), np.full((3, 3), 7.0)
    paid[2] = (w[parent, None] * bits[parent]).sum(axis=0)
    weights = tuple(float(w[each].sum()) for each in (parent, small, large))
    divide_account(
        marks, small, w if weighted else w[:0], weights, (0, 2), 3, split, cost, begin, items, again, paid, money
    )
    for slot, rows in ((0, small), (2, large)):
        expected = (w[rows, None] * bits[rows]).sum(axis=0)
        assert paid[slot, :3].tolist() == expected[:3].tolist()
        for f, needed in enumerate(([0], [0, 1], [0, 2])):
            owed = sum(cost[item] * (w[rows].sum() - expected[item]) for item in needed)
            assert money[slot, f] == split[f] * w[rows].sum() + again[f] * expected[f] + owed
    assert (paid[1] == 7).all()
    assert (money[1] == 7).all()


@given(seeds, st.integers(1, 2))
def test_rows_that_pass_through_pay_for_what_is_new(seed, words):
    rng = np.random.default_rng(seed)
    marks, bits = draw_marks(rng, 9, words)
    items, wanted = draw_marks(rng, 4, words)
    rows, cost = np.array([0, 2, 7, 8], np.int32), rng.integers(0, 8, 64 * words).astype(float)
    per_row, features = np.empty(4), np.empty(4)
    price_marks(marks, rows, items, cost, 30, per_row, features)
    new = wanted & ~bits[rows]
    assert per_row.tolist() == (new * cost).sum(axis=1).tolist()
    assert features.tolist() == new[:, :30].sum(axis=1).tolist()
    bits[rows] |= wanted
    assert np.array_equal(marks, np.packbits(bits, axis=1, bitorder="little").view(np.uint64))


def test_prices_are_charged_in_loss():
    money, once = np.array([0.0, 1.0, 2.0, 1e303, 0.0, 4.0]), np.array([0.0, 0.5, 0.0, 1e303, 9.0, 9.0])
    prices = np.empty(6)
    charge(money, once, np.arange(6) > 3, 0.25, 1e300, prices)
    assert prices.tolist() == [0.0, 0.375, 0.5, 1e300, 0.0, 1.0]
    charge(np.array([0.0, np.inf, np.inf, np.inf, 0.0, np.inf]), once, np.arange(6) > 3, 0.0, 1e300, prices)
    assert prices.tolist() == [0.0] * 6
