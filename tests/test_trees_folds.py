"""Boosting on folds: trees are the grower's, scores are out of fold, many targets are fitted at once."""

import numpy as np
import pytest

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.training.data import Rows
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.boost import boost
from costframe.trees.boosting.folds import boost_folds, regress_many
from costframe.trees.boosting.losses import loss_for
from costframe.trees.growing.grow import grow_tree
from costframe.trees.settings import TreeSettings

pytestmark = pytest.mark.engine


def boosted(leaves, rows, step, l2=1.0, n_rounds=500, patience=20):
    return TreeSettings(
        max_leaves=leaves,
        min_samples_leaf=rows,
        learning_rate=step,
        l2_regularization=l2,
        n_estimators=n_rounds,
        n_iter_no_change=patience,
    )


def drawn(n=400, classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5)).round(1)
    X[random.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + 0.5 * random.normal(size=n)
    y = signal if classes == 0 else np.digitize(signal, np.linspace(-1, 1, classes + 1)[1:-1])
    return Rows(X, y, np.ones(n)), BinMapper.fit(X).transform(X)


def model_of(fitted):
    trees, answer = fitted.whole()
    return StageTree(WeakLearnerBank.from_trees(trees, [f"x{f}" for f in range(5)]), (answer,))


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_those_of_the_boosting_loop(classes, weighted):
    rows, data = drawn(classes=classes)
    if weighted:
        rows = Rows(rows.X, rows.y, np.random.default_rng(1).random(len(rows)) + 0.5)
    loss, shape = loss_for(classes), boosted(8, 10, 0.1, 1.0, 5, None)
    fitted = boost_folds(data, rows, loss, np.arange(len(rows)) % 4, shape)

    def grow(gradients, hessians):
        hessians = None if not weighted and classes == 0 else hessians
        return grow_tree(data, gradients, hessians, max_leaves=8, min_samples_leaf=10, min_hessian_leaf=1e-3, l2=1.0)

    twin, _ = boost(rows, loss, grow, n_rounds=5, step=0.1)
    trees, _ = fitted.whole()
    names = [f"x{f}" for f in range(5)]
    expected = TreeTable.concatenate(twin.tables)
    assert np.array_equal(trees.first, expected.first)
    assert np.array_equal(trees.feature, expected.feature)
    assert np.array_equal(trees.threshold, expected.threshold)
    own, expected = (each.decision_function(rows.X) for each in (model_of(fitted), twin.finish(names)))
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-5)


def test_scores_are_those_of_the_ensemble_without_the_fold():
    rows, data = drawn()
    even = np.concatenate([np.flatnonzero(rows.y == k)[:90] for k in (0, 1)])  # so all folds have the same constant
    rows, data = rows.take(even), data.take_rows(even)
    fold = np.arange(len(rows)) % 3
    fitted = boost_folds(data, rows, loss_for(2), fold, boosted(8, 10, 0.2))
    assert 0 < fitted.n_rounds < 500
    for number in range(3):
        left, out = np.flatnonzero(fold != number), fold == number
        shape = boosted(8, 10, 0.2, n_rounds=fitted.n_rounds, patience=None)
        alone = boost_folds(data.take_rows(left), rows.take(left), loss_for(2), fold[left], shape)
        np.testing.assert_allclose(model_of(alone).decision_function(rows.X[out]), fitted.scores[out, 0], atol=1e-9)
    assert fitted.loss == pytest.approx(loss_for(2).mean(rows.y, fitted.scores))


def test_labels_of_a_fold_have_no_part_in_its_scores():
    rows, data = drawn()
    fold, shape = np.arange(len(rows)) % 3, boosted(8, 10, 0.2, 1.0, 10, None)
    first = np.flatnonzero((fold == 0) & (rows.y == 0))[:5]
    second = np.flatnonzero((fold == 0) & (rows.y == 1))[:5]
    y = rows.y.copy()
    y[first], y[second] = 1, 0  # the share of ones stays, and with it the constant
    before, after = (
        boost_folds(data, each, loss_for(2), fold, shape, judged=[0], whole=False).scores
        for each in (rows, Rows(rows.X, y, rows.weight))
    )
    assert np.array_equal(before[fold == 0], after[fold == 0])


def test_threads_change_nothing():
    rows, data = drawn()
    one, two = (
        boost_folds(data, rows, loss_for(2), np.arange(len(rows)) % 3, boosted(8, 10, 0.2), n_threads=n) for n in (1, 2)
    )
    assert np.array_equal(one.scores, two.scores)


def test_a_rare_class_is_not_overshot():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 1))
    y = (X[:, 0] > np.quantile(X[:, 0], 0.99)).astype(int)
    rows, data = Rows(X, y, np.ones(len(y))), BinMapper.fit(X).transform(X)
    fitted = boost_folds(data, rows, loss_for(2), np.arange(len(y)) % 3, boosted(16, 20, 0.2))
    assert fitted.n_rounds > 5
    assert fitted.loss < 0.01


def test_regressions_of_many_numbers_predict_each():
    rows, data = drawn(2000, classes=0)
    x = np.nan_to_num(rows.X)
    targets = np.stack([x[:, 0], -2 * x[:, 0] + x[:, 1], np.abs(x[:, 2])], axis=1)
    fold = np.arange(len(rows)) % 2
    found = regress_many(data, rows, targets, fold, boosted(8, 20, 0.2, 1.0, 60))
    for t in range(3):
        assert np.corrcoef(found.predictions[:, t], targets[:, t])[0, 1] > 0.9
    changed = targets.copy()
    changed[np.flatnonzero(fold == 0)[:2]] += [[1.0], [-1.0]]  # the means stay
    again = regress_many(data, rows, changed, fold, boosted(8, 20, 0.2, 1.0, 60), whole=False)
    assert np.allclose(found.predictions[fold == 0], again.predictions[fold == 0])
    assert not np.allclose(found.predictions[fold == 1], again.predictions[fold == 1])
