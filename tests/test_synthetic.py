"""Synthetic data sets: what they are made of, what the best policy pays, and what gates can save."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from naive_costs import full_cost

import costframe as cf
from costframe.plugin import DataError, ParameterError

MAKERS = [cf.datasets.make_parity, cf.datasets.make_selector, cf.datasets.make_coast, cf.datasets.make_islands]
PARITY, SELECTOR, COAST, ISLANDS = MAKERS
CENTERS = np.array([[0, 1.9], [1, 1.9], [1, 0.9], [1, 0]])


def least_perfect_cost(data):
    """The least mean cost of never erring, every distinct row as likely: try each feature next, in each situation."""
    rows, first = np.unique(data.X, axis=0, return_index=True)
    labels, names = data.y[first], data.feature_names

    @cache
    def least(bought, left):
        """What rows `left`, alike in the features `bought`, must still pay in sum."""
        if len({labels[row] for row in left}) == 1:
            return 0.0
        totals = []
        for feature in set(range(len(names))) - bought:
            more = bought | {feature}
            price = full_cost(data.costs, {names[i] for i in more}) - full_cost(data.costs, {names[i] for i in bought})
            parts = [tuple(row for row in left if rows[row, feature] == value) for value in np.unique(rows[:, feature])]
            totals.append(price * len(left) + sum(least(more, part) for part in parts if part))
        return min(totals)

    return least(frozenset(), tuple(range(len(rows)))) / len(rows)


@pytest.mark.parametrize(
    ("make", "given", "n_states", "cost"),
    [
        (PARITY, {"n_rows": 500, "n_noise": 3}, 32, 5.0),
        (SELECTOR, {"n_rows": 2000, "prices": (5.0, 10.0, 20.0, 40.0)}, 64, 19.75),
        (SELECTOR, {"n_rows": 3000, "prices": (2.0, 3.0), "block_size": 2}, 32, 6.0),
    ],
)
def test_no_policy_that_never_errs_pays_less_than_the_perfect_cost(make, given, n_states, cost):
    data = make(**given)
    rows, count = np.unique(data.X, axis=0, return_counts=True)
    assert len(rows) == n_states
    assert count / len(data.X) == pytest.approx(1 / n_states, abs=6 * (n_states * len(data.X)) ** -0.5)
    assert least_perfect_cost(data) == pytest.approx(cost)
    assert data.perfect_cost == cost
    assert data.with_costs(None).perfect_cost is None


@pytest.mark.parametrize(
    ("name", "names", "prices"),
    [
        ("parity", ["sign_a", "sign_b", *(f"noise_{i}" for i in range(6))], [2, 3, *[1] * 6]),
        ("selector-unequal", ["selector", *(f"block{i}_0" for i in range(4))], [1, 5, 10, 20, 40]),
        ("synthetic-1", ["x", "y"], [1, 1]),
        ("synthetic-2", ["x", "y"], [1, 1]),
    ],
)
def test_they_have_names_and_prices(name, names, prices):
    data = cf.datasets.load(name)
    assert (data.name, data.task, data.X.shape) == (name, "classification", (6000, len(names)))
    assert data.feature_names == tuple(names)
    assert [data.costs.full_cost([feature]) for feature in names] == prices
    assert data.y.dtype == np.int64
    assert data.classes == ((-1, 1) if name.startswith("synthetic") else (0, 1))


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_bytes_and_parts_do_not_depend_on_each_other(make):
    first, again = make(50, random_state=7), make(50, random_state=7)
    assert (first.X.tobytes(), first.y.tobytes()) == (again.X.tobytes(), again.y.tobytes())
    assert (first.X != make(50, random_state=8).X).any()
    assert (make(50, random_state=None).X != make(50, random_state=None).X).any()
    other = make(50, n_valid=9, n_test=50, random_state=7)
    assert [len(other.part(part)) for part in ("train", "valid", "test")] == [50, 9, 50]
    for part in ("train", "test"):
        np.testing.assert_array_equal(other.part(part).X, first.part(part).X)
        np.testing.assert_array_equal(other.part(part).y, first.part(part).y)
    assert (first.part("train").X != first.part("test").X).any()


def test_islands_have_their_shares_centers_and_deviation():
    shares = [0.1, 0.2, 0.3, 0.4]
    data = ISLANDS(40_000, n_valid=1, n_test=1, shares=shares, random_state=3).part("train")
    own = np.hypot(*(CENTERS[:, np.newaxis] - data.X).transpose(2, 0, 1)).argmin(axis=0)
    assert (data.y == np.array([-1, 1, -1, 1])[own]).all()
    assert np.bincount(own) / 40_000 == pytest.approx(shares, abs=0.01)
    for cluster, center in enumerate(CENTERS):
        mine = data.X[own == cluster]
        assert mine.mean(axis=0) == pytest.approx(center, abs=0.01)
        assert np.cov(mine.T) == pytest.approx(0.01 * np.eye(2), abs=0.001)


def test_the_coast_has_its_shares_and_lies_where_its_labels_say():
    data = COAST(40_000, shares=(0.2, 0.3, 0.5), random_state=3)
    (x, y), label = data.X.T, data.y
    assert (label * (x - np.cos(np.pi * y)) >= 0.1 - 1e-12).all()
    strip = np.digitize(x - 0.1 * label, [-1, 1])
    assert np.bincount(strip) / len(x) == pytest.approx([0.2, 0.3, 0.5], abs=0.01)
    assert (label[strip == 1] == 1).mean() == pytest.approx(0.5, abs=0.01)


WHOLE, PRICES = "expected a whole number >=", "prices: expected two or more finite prices, none below the selector's 1"


@pytest.mark.parametrize(
    ("makers", "given", "told"),
    [
        (MAKERS, {"n_rows": 0}, f"n_rows: {WHOLE} 1, got 0"),
        (MAKERS, {"n_valid": 2.5}, f"n_valid: {WHOLE} 1"),
        (MAKERS, {"random_state": -1}, f"random_state: {WHOLE} 0"),
        ([PARITY], {"n_noise": -1}, f"n_noise: {WHOLE} 0"),
        ([SELECTOR], {"block_size": 9}, f"block_size: {WHOLE} 1 and <= 8"),
        ([SELECTOR], {"prices": (10.0, np.nan)}, PRICES),
        ([SELECTOR], {"prices": "ab"}, PRICES),
        ([COAST], {"shares": (0.5, 0.5)}, "shares: expected three positive numbers that sum to one, for the "),
        ([ISLANDS], {"shares": (0.5, 0.5, 0.5, -0.5)}, "shares: expected four positive numbers that sum to one, for "),
    ],
)
def test_refusals(makers, given, told):
    for make in makers:
        with pytest.raises(ParameterError, match=told):
            make(**given)


def test_one_row_to_train_on_leaves_a_class_out():
    with pytest.raises(DataError, match=r"^class -?1 has no row in 'train'"):
        COAST(1, n_valid=50, n_test=50)
