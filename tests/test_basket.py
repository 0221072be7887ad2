"""Prices of features with the resources that they need: exact, by rows and by sets, against sums over names."""

from itertools import combinations

import numpy as np
import pytest
from naive_costs import full_cost

import costframe as cf
from costframe.core.prices.basket import price_exactly
from costframe.sets import SetPrices

COSTS = cf.CostModel.from_dict(
    {
        "features": {
            "a": 0.1,
            "b": {"cost": 0.2, "needs": ["blood"]},
            "c": {"cost": 0.0, "needs": ["blood", "scan"]},
            "d": {"cost": 0.7, "needs": ["scan"]},
        },
        "resources": {
            "visit": 1.1,
            "blood": {"cost": 2.3, "needs": ["visit"]},
            "scan": {"cost": 5, "needs": ["visit"]},
        },
    }
)
PRICES = COSTS.select(tuple("abcd"))
SETS = [list(chosen) for size in range(5) for chosen in combinations(range(4), size)]


@pytest.mark.parametrize("chosen", SETS)
def test_all_ways_to_price_a_set_agree(chosen):
    wanted = full_cost(COSTS, ["abcd"[f] for f in chosen])
    row = np.isin(np.arange(4), chosen)[np.newaxis]
    exact = PRICES.exact()
    assert exact.money(price_exactly(exact, PRICES.direct_needs, chosen)) == pytest.approx(wanted, rel=1e-15)
    assert PRICES.of_set(np.array(chosen, np.int64)) == pytest.approx(wanted, rel=1e-15)
    assert PRICES.of_rows(row) == pytest.approx([wanted], rel=1e-15)
    assert SetPrices.of(PRICES, np.inf).of_set(chosen) == pytest.approx(wanted, rel=1e-15)


def test_resources_paid_before_cost_nothing_with_all_that_they_need():
    exact, needs = PRICES.exact(), PRICES.direct_needs
    paid = needs.of_features([1])
    assert exact.money(price_exactly(exact, needs, [1, 3], paid)) == pytest.approx(0.2 + 0.7 + 5)
