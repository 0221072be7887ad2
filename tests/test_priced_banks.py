"""Banks whose trees pay for what they read: plain at no tradeoff, cheap first, and the same however rows are given."""

import numpy as np
import pytest
from bank_cases import COSTS, NAMES, table

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.training.data import Rows
from costframe.trees.boosting.banks import train_priced_bank

PRICES = COSTS.select(NAMES)


def bank(X, y, tradeoff, n_classes=2, weight=None, **settings):
    rows = Rows(X, y, np.ones(len(X)) if weight is None else weight)
    return train_priced_bank(rows, PRICES, n_classes, tradeoff, **settings)


def price_of(bank, learner):
    read = bank.F.tocsc()[:, [learner]].indices
    return COSTS.full_cost([bank.feature_names[f] for f in read]) if len(read) else 0.0


@pytest.mark.parametrize(("n_classes", "loss"), [(0, "squared"), (2, "logistic"), (3, "softmax")])
def test_at_no_tradeoff_trees_are_plain(n_classes, loss):
    X, y = table(1, 400)
    y = np.digitize(X[:, 0] + X[:, 4], [-0.5, 0.8]) if n_classes == 3 else y * 1.0 if n_classes == 0 else y
    found = bank(X, y, 0.0, n_classes, n_estimators=15)
    plain = cf.train_bank(X, y, loss=loss, n_estimators=15, feature_names=NAMES)
    np.testing.assert_allclose(found.outputs(X), plain.outputs(X), atol=1e-12)


def test_first_trees_are_cheap_and_all_are_together_dearer():
    X, y = table(1, 1500)
    found = bank(X, y, 2e-3)
    prices = [price_of(found, t) for t in range(len(found))]
    tenth = len(prices) // 10
    assert np.mean(prices[:tenth]) < 0.5 * np.mean(prices[-tenth:])
    assert max(prices) > 20  # the lab is paid for once it is worth it
    reads = [bank(X, y, tradeoff).F.nnz for tradeoff in (1e-4, 1e-2, 1.0)]
    assert sorted(reads, reverse=True) == reads


def test_nothing_is_grown_where_nothing_is_worth_its_price():
    X, y = table(1, 300)
    assert len(bank(X, y, 1e6)) == 0
    assert len(bank(X, y, 1e300)) == 0


def test_weights_count_rows():
    X, y = table(2, 200)
    counts = np.arange(200) % 3 + 1
    rows = np.repeat(np.arange(200), counts)
    weighted, repeated = bank(X, y, 1e-3, weight=counts * 1.0), bank(X[rows], y[rows], 1e-3)
    np.testing.assert_allclose(weighted.outputs(X), repeated.outputs(X), atol=1e-10)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_estimators", 0), ("learning_rate", 2.0), ("max_depth", 0), ("max_bins", 1), ("max_features", 0.0)],
)
def test_settings_out_of_range(name, value):
    X, y = table(1, 50)
    with pytest.raises(ParameterError, match=name):
        bank(X, y, 1e-3, **{name: value})
