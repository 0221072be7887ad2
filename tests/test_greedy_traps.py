"""Parity and selector: what they are made of, and that the known best cost is the least that any policy can pay."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from naive_costs import full_cost

import costframe as cf
from costframe.core.errors import ParameterError

MAKERS = [cf.datasets.make_parity, cf.datasets.make_selector]
UNEQUAL = (5.0, 10.0, 20.0, 40.0)


def states(data):
    """Return each distinct row of a data set and its label."""
    rows, first = np.unique(data.X, axis=0, return_index=True)
    return rows, data.y[first]


def least_perfect_cost(data):
    """The least mean cost of never erring, every distinct row as likely: try each feature next, in each situation."""
    rows, labels = states(data)
    names = data.feature_names

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
    ("data", "n_states", "cost"),
    [
        (cf.datasets.make_parity(500, n_noise=3), 32, 5.0),
        (cf.datasets.make_parity(500, n_noise=0), 4, 5.0),
        (cf.datasets.make_selector(2000), 64, 11.0),
        (cf.datasets.make_selector(2000, prices=UNEQUAL), 64, 19.75),
        (cf.datasets.make_selector(500, prices=(1.0, 30.0)), 8, 16.5),
        (cf.datasets.make_selector(3000, prices=(2.0, 3.0), block_size=2), 32, 6.0),
        (cf.datasets.make_selector(5000, prices=(2.0, 3.0, 10.0), block_size=2), 192, 11.0),
    ],
    ids=lambda value: f"{value.name}-{value.X.shape[1]}" if isinstance(value, cf.datasets.Dataset) else None,
)
def test_no_policy_that_never_errs_pays_less_than_the_perfect_cost(data, n_states, cost):
    rows, count = np.unique(data.X, axis=0, return_counts=True)
    assert len(rows) == n_states
    assert count / len(data.X) == pytest.approx(1 / n_states, abs=6 * (n_states * len(data.X)) ** -0.5)
    assert least_perfect_cost(data) == pytest.approx(cost)
    assert data.perfect_cost == cost


@pytest.mark.parametrize(
    ("name", "names", "prices", "perfect"),
    [
        ("parity", ["sign_a", "sign_b", *(f"noise_{i}" for i in range(6))], [2, 3, *[1] * 6], 5.0),
        ("selector", ["selector", *(f"block{i}_0" for i in range(4))], [1, 10, 10, 10, 10], 11.0),
        ("selector-unequal", ["selector", *(f"block{i}_0" for i in range(4))], [1, *UNEQUAL], 19.75),
    ],
)
def test_they_have_names_and_prices(name, names, prices, perfect):
    data = cf.datasets.load(name)
    assert (data.name, data.task, data.X.shape) == (name, "classification", (6000, len(names)))
    assert data.feature_names == tuple(names)
    assert [data.costs.full_cost([feature]) for feature in names] == prices
    assert (data.full_cost, data.perfect_cost) == (sum(prices), perfect)
    assert (data.y.dtype, data.classes) == (np.int64, (0, 1))


def test_a_perfect_cost_belongs_to_its_prices():
    assert cf.datasets.make_parity(50).with_costs(None).perfect_cost is None
    assert cf.datasets.make_coast(50).perfect_cost is None
    assert cf.datasets.make_quadrants(50).perfect_cost == 12.0


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


WHOLE, PRICES = "expected a whole number >=", "prices: expected two or more finite prices, none below the selector's 1"


@pytest.mark.parametrize(
    ("makers", "name", "values", "told"),
    [
        (MAKERS, "n_rows", (0,), f"n_rows: {WHOLE} 1, got 0"),
        (MAKERS, "n_valid", (2.5,), f"n_valid: {WHOLE} 1"),
        (MAKERS, "n_test", (True,), f"n_test: {WHOLE} 1"),
        (MAKERS, "random_state", (-1,), f"random_state: {WHOLE} 0"),
        (MAKERS[:1], "n_noise", (-1, 1.5, None), f"n_noise: {WHOLE} 0"),
        (MAKERS[1:], "block_size", (0, 9, 1.5), f"block_size: {WHOLE} 1 and <= 8"),
        (
            MAKERS[1:],
            "prices",
            ((10.0,), (10.0, 0.5), (10.0, np.nan), (10.0, np.inf), "ab", 3.0, [[1.0], [1, 2]]),
            PRICES,
        ),
    ],
)
def test_refusals(makers, name, values, told):
    for make in makers:
        for value in values:
            with pytest.raises(ParameterError, match=told):
                make(**{name: value})
