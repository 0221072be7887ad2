"""Rows that are of each class by a share: as labels given to models, and as what trees learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import costframe as cf
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.class_shares import class_shares
from costframe.errors import DataError, ParameterError
from costframe.training.data import Rows
from costframe.training.losses import LogisticLoss, SoftmaxLoss
from costframe.training.shares import ShareLoss


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(2), SoftmaxLoss(4)])
def test_the_loss_of_shares_is_the_mean_of_the_losses_of_labels(loss):
    random, n = np.random.default_rng(0), 50
    k = max(2, loss.n_outputs)
    shares, scores = random.dirichlet(np.ones(k), n), np.asfortranarray(random.normal(size=(n, loss.n_outputs)))
    weight, y = random.uniform(1, 2, n), np.zeros(n, np.int64)
    mixed = ShareLoss(loss, shares)
    labels = [np.full(n, label) for label in range(k)]
    mean = sum(shares[:, label] * loss.by_row(y, scores) for label, y in enumerate(labels))
    np.testing.assert_allclose(mixed.by_row(y, scores), mean, rtol=1e-12)
    assert mixed.mean(y, scores, weight) == pytest.approx(np.average(mean, weights=weight))
    every = [loss.gradients(y, scores) for y in labels]
    for at, found in enumerate(mixed.gradients(y, scores)):
        expected = sum(shares[:, [label]] * every[label][at] for label in range(k))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    rows = Rows(np.empty((n, 0)), y, weight)
    best = np.tile(mixed.baseline(rows), (n, 1))
    slopes = mixed.gradients(y, np.asfortranarray(best))[0]
    np.testing.assert_allclose(weight @ slopes, 0.0, atol=1e-5)  # no constant is better


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(3)])
def test_whole_shares_are_labels(loss):
    random = np.random.default_rng(1)
    y = random.integers(0, max(2, loss.n_outputs), 40)
    rows = Rows(np.empty((40, 0)), y, np.ones(40))
    mixed = ShareLoss(loss, np.eye(max(2, loss.n_outputs))[y])
    np.testing.assert_allclose(mixed.baseline(rows), loss.baseline(rows), rtol=1e-12)


def test_labels_become_shares_in_the_order_of_the_classes():
    classes = np.array(["no", "yes"])
    assert class_shares(["yes", "no"], classes, 2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert class_shares([[0.25, 0.75]], None, 1).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    ("y", "classes", "error", "message"),
    [
        ([0, 1], None, ParameterError, "y: expected None or shares of classes, as the model has no classes"),
        ([0, 1, 0], [0, 1], DataError, r"y: expected one label a row, shape \(2,\), got \(3,\)"),
        ([0, 5], [0, 1], DataError, r"y: expected labels of the model's classes \[0, 1\], got 5"),
        ([[0.5, 0.6], [1.0, 0.0]], [0, 1], DataError, r"y: expected shares >= 0 that sum to one, got \[0.5, 0.6\]"),
        ([[-1.0, 2.0], [1.0, 0.0]], [0, 1], DataError, "y: expected shares >= 0 that sum to one"),
        ([["a", "b"], ["c", "d"]], [0, 1], DataError, r"y: expected shares of classes of the shape \(2, 2\), got <U1"),
        ([[1.0], [1.0]], [0, 1], DataError, r"y: expected shares of classes of the shape \(2, 2\), got float64"),
    ],
)
def test_other_labels_are_refused(y, classes, error, message):
    with pytest.raises(error, match=message):
        class_shares(y, None if classes is None else np.array(classes), 2)


def test_copies_of_a_row_share_its_labels_by_weight():
    X = np.array([[1.0], [2.0], [1.0], [1.0]])
    kept = FallbackRows.of(X, np.array([1.0, 1.0, 2.0, 1.0]), shares=np.eye(2)[[0, 1, 1, 0]])
    found = dict(zip(kept.X[:, 0].tolist(), kept.shares.tolist(), strict=True))
    assert found == {1.0: [0.5, 0.5], 2.0: [0.0, 1.0]}
    assert FallbackRows.of(X, None).shares is None


def test_labels_teach_spare_trees_what_a_model_does_not_know():
    """A model of noise beside one of its features, from which labels follow."""
    random = np.random.default_rng(2)
    X = random.normal(size=(800, 3))
    y, noise = np.where(X[:, 1] > 0, "high", "low"), np.where(random.random(800) < 0.5, "high", "low")
    forest = RandomForestClassifier(30, min_samples_leaf=20, random_state=0, n_jobs=1).fit(X, noise)
    model = cf.adopt(forest, list("abc"))

    def accuracy(predictor):
        return (predictor.labels(X, unavailable="a") == y).mean()

    assert accuracy(model.with_fallbacks(X)) < 0.7
    told = model.with_fallbacks(X, y=y)
    assert accuracy(told) > 0.9
    assert np.array_equal(told.predict(X), model.predict(X))
    shares = np.column_stack([y == "high", y == "low"]).astype(float)
    assert told.digest == model.with_fallbacks(X, y=shares).digest
