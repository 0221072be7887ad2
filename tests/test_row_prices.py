"""Reports at prices that differ by row, such as tokens: the sum over what each row acquired."""

import numpy as np
import pytest
from live_cases import COSTS, NAMES, table, tree

import costframe as cf
from costframe.errors import ParameterError

X = table(50)[list(NAMES)].to_numpy()
RNG = np.random.default_rng(0)
SCAN, AGE = RNG.integers(0, 900, 50) / 10, RNG.integers(0, 30, 50) / 10


def test_each_row_pays_its_own_price_of_what_it_acquires():
    report = tree().cost(X)
    costs = report.at_row_prices({"scan": SCAN, "age": AGE})
    for row in range(len(X)):
        own = COSTS.to_dict()
        own["features"]["scan"]["cost"], own["features"]["age"]["cost"] = SCAN[row], AGE[row]
        assert costs[row] == tree().cost(X[row : row + 1], cf.CostModel.from_dict(own)).per_row[0]
    assert np.array_equal(report.at_row_prices({}), report.per_row)
    assert np.array_equal(report.at_row_prices({"scan": np.full(50, 50.0)}), report.per_row)


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ({"blood": SCAN}, "'blood' is a resource"),
        ({"scans": SCAN}, "expected features of .*, got 'scans'"),
        ({"scan": SCAN[1:]}, "'scan': expected 50 finite numbers >= 0"),
        ({"scan": -SCAN}, "'scan': expected 50 finite numbers >= 0"),
        ({"scan": np.full(50, np.nan)}, "'scan': expected 50 finite numbers >= 0"),
        ({"scan": "dear"}, "'scan': expected 50 finite numbers >= 0"),
        (3.0, "prices: expected"),
    ],
)
def test_prices_that_rows_cannot_have_are_refused(prices, words):
    with pytest.raises(ParameterError, match=words):
        tree().cost(X).at_row_prices(prices)


def test_rows_that_go_all_ways_have_no_prices_of_their_own():
    soft = cf.ExpectedCost(COSTS, routing="soft", steepness=1.0, acquisition="learner").evaluate(tree(), X)
    with pytest.raises(ParameterError, match="by row need rows"):
        soft.at_row_prices({"scan": SCAN})
