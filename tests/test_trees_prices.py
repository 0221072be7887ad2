import numpy as np
import pytest

from costframe.core.errors import ParameterError
from costframe.trees.growing.leaf import Leaf
from costframe.trees.growing.packing import Sums
from costframe.trees.growing.prices import OncePrices


def leaf(rows=(0, 1, 2), depth=1):
    return Leaf(1, depth, 0, np.array(rows, np.int32), Sums(0, 0))


def test_features_and_resources_are_paid_once():
    prices = OncePrices([1.0, 2.0, 4.0], resource_price=[8.0, 16.0], needs=[[1, 0], [1, 1], [0, 0]])
    prices.begin_tree()
    assert prices.prices(leaf()).tolist() == [9, 26, 4]
    assert prices.paid(leaf(), 0)
    assert prices.prices(leaf()).tolist() == [0, 18, 4]
    assert not prices.paid(leaf(), 0)
    assert prices.paid(leaf(), 1)
    prices.begin_tree()  # for good
    assert prices.prices(leaf()).tolist() == [0, 0, 4]


def test_a_split_pays_by_the_weight_of_its_rows_and_the_root_for_the_learner():
    prices = OncePrices([0.0, 0.0], split_price=[0.5, 2.0], root_price=10.0)
    assert prices.prices(leaf(depth=0)).tolist() == [11.5, 16]
    assert prices.prices(leaf()).tolist() == [1.5, 6]
    weighted = OncePrices([0.0, 0.0], split_price=[0.5, 2.0], row_weight=[1.0, 0.0, 3.0])
    assert weighted.prices(leaf()).tolist() == [2, 8]


def test_reuse_is_paid_once_a_tree_by_features_of_earlier_trees():
    prices = OncePrices([1.0, 1.0], reuse_price=0.25)
    prices.begin_tree()
    prices.paid(leaf(), 0)
    assert prices.prices(leaf()).tolist() == [0, 1]  # bought by this very tree
    prices.begin_tree()
    assert prices.prices(leaf()).tolist() == [0.25, 1]
    assert prices.paid(leaf(), 0)
    assert prices.prices(leaf()).tolist() == [0, 1]


def test_a_payment_that_changes_nothing_says_so():
    assert not OncePrices([0.0, 1.0]).paid(leaf(), 0)


def test_at_tradeoff_zero_all_is_free_even_what_adds_up_to_infinity():
    prices = OncePrices([1e308, 1.0], split_price=1e308, tradeoff=0.0)
    assert prices.prices(leaf()).tolist() == [0, 0]
    prices.tradeoff = 2.0
    assert prices.prices(leaf()).tolist() == [1e300, 1e300]


def test_prices_are_copied():
    given = np.array([1.0, 2.0])
    prices = OncePrices(given)
    given[:] = 9
    assert prices.prices(leaf()).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"feature_price": [-1.0]}, "feature_price: must be finite and not negative"),
        ({"feature_price": [np.inf]}, "feature_price: must be finite"),
        ({"feature_price": 1.0}, "feature_price: must be a vector"),
        ({"feature_price": [1.0], "resource_price": [np.nan]}, "resource_price: must be finite"),
        ({"feature_price": [1.0], "resource_price": [1.0]}, r"needs: must have shape \(1, 1\), got \(1, 0\)"),
        ({"feature_price": [1.0], "root_price": -1.0}, "root_price"),
        ({"feature_price": [1.0], "split_price": [1.0, 1.0]}, r"split_price: must be a number or have shape \(1,\)"),
    ],
)
def test_bad_prices_are_refused(arguments, text):
    with pytest.raises(ParameterError, match=text):
        OncePrices(**arguments)
