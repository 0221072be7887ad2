"""Folds, halves and samples: the same in any order of the rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.prices.costs import CostModel
from costframe.core.tables.row_hashes import sample_rows
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import deal_folds, least_rows, sample_by_hash

COSTS = CostModel.uniform(["a", "b"])


def data_of(X, y, weight=None, qid=None, n_classes=0):
    rows = Rows(X, y, np.ones(len(y)) if weight is None else weight, qid)
    return TrainingData(rows, None, COSTS, COSTS.select(("a", "b")), n_classes)


def folds_of(data, count):
    numbers, fold, half = deal_folds(data.train, data, count)
    rows = data.train
    return list(zip(numbers.tolist(), rows.y.tolist(), rows.weight.tolist(), fold.tolist(), half.tolist(), strict=True))


@given(st.integers(1, 200), st.integers(0, 3), st.booleans(), st.integers(0, 10**6))
def test_folds_do_not_depend_on_order(n, n_classes, queries, seed):
    random, n_classes = np.random.default_rng(seed), 0 if n_classes == 1 else n_classes
    X, y = random.integers(0, 3, (n, 2)).astype(float), random.integers(0, max(n_classes, 1), n)
    weight = random.choice([1.0, 2.0, 0.3], n)
    qid = random.integers(0, 12, n) if queries and n_classes == 0 else None
    expected = sorted(folds_of(data_of(X, y, weight, qid, n_classes), 4))
    order = random.permutation(n)
    queries = None if qid is None else qid[order]
    assert sorted(folds_of(data_of(X[order], y[order], weight[order], queries, n_classes), 4)) == expected


def test_a_few_equal_rows_share_a_fold_and_many_are_spread():
    X = np.concatenate([np.zeros((3, 2)), np.ones((30, 2)), np.arange(80.0).reshape(40, 2) + 5])
    data = data_of(X, np.zeros(len(X)))
    numbers, fold, half = deal_folds(data.train, data, 3)
    assert np.ptp(fold[:3]) == np.ptp(half[:3]) == 0
    assert np.bincount(fold[3:33]).tolist() == [10, 10, 10]
    _, place = np.unique(numbers, return_inverse=True)
    copies = np.bincount(place)
    begin = np.cumsum(np.where(copies > 8, copies, 1)) - np.where(copies > 8, copies, 1)
    assert np.array_equal(fold[33:], begin[place[33:]] % 3)
    assert np.array_equal(half[33:], begin[place[33:]] // 3 % 2)


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 30), st.integers(0, 10**6))
def test_samples_are_the_first_rows_by_their_keys(values, most, seed):
    random = np.random.default_rng(seed)
    first, second = np.array(values, np.uint64) // np.uint64(3), random.random(len(values)).round(1)
    chosen = least_rows((first, second), most)
    found = list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))
    assert found == sorted(zip(first.tolist(), second.tolist(), strict=True))[:most]


def test_a_row_that_is_there_often_does_not_fill_a_sample():
    values = np.repeat(np.arange(5.0), 1000)
    for seed in range(3):  # with other hashes
        data = data_of(np.column_stack([values + seed, values]), np.zeros(5000))
        chosen = sample_by_hash(data.train, data, 500)
        assert np.bincount((chosen.X[:, 0] - seed).astype(int), minlength=5).min() > 50
    rows, mass = sample_rows(values[:, np.newaxis], None, 4)
    assert sorted(rows[:, 0]) == sorted(set(rows[:, 0]))
    assert mass.tolist() == [1000.0] * 4
