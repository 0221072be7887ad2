"""Linear starts: they are trees of a bank, do not depend on the order of rows, and find what is linear."""

import numpy as np
import pytest

from costframe.core.learners.bank import WeakLearnerBank
from costframe.training.data import Rows
from costframe.trees.boosting.folds import boost_folds
from costframe.trees.boosting.grower import bin_rows
from costframe.trees.boosting.linear_start import LinearStart
from costframe.trees.boosting.losses import LogisticLoss, SquaredLoss, loss_for
from costframe.trees.settings import TreeSettings

LOSSES = {"squared": SquaredLoss(), "logistic": LogisticLoss(), "softmax": loss_for(3)}


def drawn(kind, n=400, seed=0):
    random = np.random.default_rng(seed)
    X = np.column_stack([random.normal(size=n), random.integers(0, 3, n), random.normal(size=n), np.ones(n)])
    X[random.random(n) < 0.1, 0] = np.nan
    signal = np.nan_to_num(X[:, 0]) + X[:, 1]
    y = {
        "squared": signal + random.normal(size=n),
        "logistic": (signal + random.logistic(size=n) > 1).astype(np.int64),
        "softmax": np.clip(np.rint(signal + random.normal(size=n)), 0, 2).astype(np.int64),
    }[kind]
    rows = Rows(X, y, np.ones(n))
    return rows, bin_rows(rows, TreeSettings(max_bins=255))


def fitted(kind, **more):
    rows, data = drawn(kind, **more)
    return rows, data, LinearStart.fit(data, rows, LOSSES[kind], np.arange(len(rows), dtype=np.int32))


@pytest.mark.parametrize("kind", LOSSES)
def test_its_trees_score_as_it_does(kind):
    rows, data, start = fitted(kind)
    names = tuple("abcd")
    bank = WeakLearnerBank.from_trees(start.trees(data.mapper), names)
    outputs = bank.outputs(rows.X)
    width = len(start.intercept)
    summed = start.intercept + outputs.reshape(len(rows), -1, width).sum(axis=1)
    np.testing.assert_allclose(summed, start.scores(data), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_order_of_rows_changes_nothing(kind):
    rows, data, start = fitted(kind)
    order = np.random.default_rng(1).permutation(len(rows))
    other = rows.take(order)
    again = LinearStart.fit(data.take_rows(order), other, LOSSES[kind], np.arange(len(rows), dtype=np.int32))
    np.testing.assert_array_equal(again.scores(data), start.scores(data))


@pytest.mark.parametrize("kind", LOSSES)
def test_values_beyond_all_rows_move_a_score_no_further(kind):
    rows, data, start = fitted(kind)
    far = np.tile(np.nanmedian(rows.X, axis=0), (4, 1))
    far[:, 0] = [np.nanmax(rows.X[:, 0]), 1e300, np.nanmin(rows.X[:, 0]), -1e300]
    scores = start.scores(data.mapper.transform(far))
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[2], scores[3])


def test_classes_that_are_separable_stay_finite():
    X = np.linspace(-1, 1, 200)[:, np.newaxis]
    rows = Rows(X, (X[:, 0] > 0).astype(np.int64), np.ones(200))
    data = bin_rows(rows, TreeSettings(max_bins=255))
    start = LinearStart.fit(data, rows, LogisticLoss(), np.arange(200, dtype=np.int32))
    scores = start.scores(data)[:, 0]
    assert np.isfinite(scores).all()
    assert ((scores > 0) == (rows.y == 1)).all()


def test_boosting_from_it_is_calmer_on_a_weak_linear_signal():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 5))
    y = (random.random(2000) < 1 / (1 + np.exp(2 - X @ [0.3, 0.25, 0.2, 0.15, 0.1]))).astype(np.int64)
    rows, fold = Rows(X, y, np.ones(2000)), np.arange(2000) % 4
    data = bin_rows(rows, TreeSettings(max_bins=255))
    settings = TreeSettings(max_leaves=8, n_estimators=100, n_iter_no_change=20, learning_rate=0.08)
    plain, linear = (boost_folds(data, rows, LogisticLoss(), fold, settings, linear=way) for way in (False, True))
    assert linear.loss < plain.loss
    trees, answer = linear.whole()
    bank = WeakLearnerBank.from_trees(trees, tuple("abcde"))
    assert len(bank) == len(answer.learners)
    assert np.isfinite(linear.scores).all()
