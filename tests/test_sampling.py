"""Folds, halves, samples and rows held out: told by what is in the rows, the same in any order of them."""

from hashlib import blake2b

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe import CostModel
from costframe.core.tables.row_draws import sample_rows, shuffle_kinds
from costframe.core.tables.row_hashes import digest_rows
from costframe.plugin import DataError, Rows, Sampling, TrainingData

NAMES = ("b", "c", "a")


def data_of(X, y, weight=None, qid=None, n_classes=0, names=NAMES):
    rows, costs = Rows(X, y, np.ones(len(y)) if weight is None else weight, qid), CostModel.uniform(names)
    return TrainingData(rows, None, costs, costs.select(names), n_classes)


def folds_of(data, count):
    numbers, fold, half = Sampling(data).folds(data.train, count)
    rows = data.train
    return list(zip(numbers.tolist(), rows.y.tolist(), rows.weight.tolist(), fold.tolist(), half.tolist(), strict=True))


@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(0, 3), st.booleans(), st.integers(0, 10**6))
def test_folds_do_not_depend_on_order(n, n_classes, queries, seed):
    random, n_classes = np.random.default_rng(seed), 0 if n_classes == 1 else n_classes
    X, y = random.integers(0, 3, (n, 3)).astype(float), random.integers(0, max(n_classes, 1), n)
    weight, order = random.choice([1.0, 2.0, 0.3], n), random.permutation(n)
    qid = random.integers(0, 12, n) if queries and n_classes == 0 else None
    expected = sorted(folds_of(data_of(X, y, weight, qid, n_classes), 4))
    queries = None if qid is None else qid[order]
    assert sorted(folds_of(data_of(X[order], y[order], weight[order], queries, n_classes), 4)) == expected


def test_a_few_equal_rows_share_a_fold_and_many_are_spread():
    X = np.concatenate([np.zeros((3, 3)), np.ones((30, 3)), np.arange(120.0).reshape(40, 3) + 5])
    _, fold, half = Sampling(data_of(X, np.zeros(73))).folds(data_of(X, np.zeros(73)).train, 3)
    assert np.ptp(fold[:3]) == np.ptp(half[:3]) == 0
    assert np.bincount(fold[3:33]).tolist() == [10, 10, 10]
    assert np.bincount(fold).min() > 20


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 30), st.integers(0, 10**6))
def test_samples_are_the_first_rows_by_their_keys(values, most, seed):
    random = np.random.default_rng(seed)
    first, second = np.array(values, np.uint64) // np.uint64(3), random.random(len(values)).round(1)
    chosen = Sampling.least((first, second), most)
    found = list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))
    assert found == sorted(zip(first.tolist(), second.tolist(), strict=True))[:most]


def test_a_row_that_is_there_often_does_not_fill_a_sample():
    values = np.repeat(np.arange(5.0), 1000)
    data = data_of(np.column_stack([values, values, values]), np.zeros(5000))
    chosen = Sampling(data).sample(data.train, 500)
    assert np.bincount(chosen.X[:, 0].astype(int), minlength=5).min() > 50
    rows, mass, shares = sample_rows(values[:, np.newaxis], None, 4)
    assert shares.shape == (4, 0)
    assert sorted(rows[:, 0]) == sorted(set(rows[:, 0]))
    assert mass.tolist() == [1000.0] * 4


@pytest.mark.parametrize("d", [0, 1, 14, 15, 16, 31, 40])
def test_digests_of_rows_are_those_of_blake2b(d):
    """Blocks of the digest have 16 values, of which the label is the last."""
    rng = np.random.default_rng(d)
    X, y, columns = rng.choice([0.0, -0.0, np.nan, -np.nan, np.inf, 1.5], (60, d)), rng.integers(0, 2, 60), np.arange(d)
    table = np.column_stack([X[:, columns[::-1]], y]) + 0.0
    table[np.isnan(table)] = np.nan
    expected = [int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest(), "big") for row in table]
    assert digest_rows(X, columns[::-1], y).tolist() == expected


def test_items_are_shuffled_within_their_kinds():
    kinds = np.array([2, 0, 2, 2, 0, 5])
    place, first = shuffle_kinds(kinds, np.random.default_rng(0))
    assert sorted(place[kinds == 0]) == [0, 1]
    assert sorted(place[kinds == 2]) == [2, 3, 4]
    assert first.tolist() == [2, 0, 2, 2, 0, 5]
    assert len({tuple(shuffle_kinds(kinds, np.random.default_rng(seed))[0]) for seed in range(50)}) == 12


# --- rows held out to choose by ----------------------------------------------------------------------------------


def rows_of(rows):
    """What is in rows, one text each; both zeros are one."""
    return [str([*(row + 0.0).tolist(), float(label)]) for row, label in zip(rows.X, rows.y, strict=True)]


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_equal_rows_are_on_one_side_whatever_their_order_weights_and_columns(seed):
    """Of rows with values that are missing, infinite or of either zero, half of which occur several times."""
    rng, n = np.random.default_rng(seed), 400
    X, y, again = np.round(rng.standard_normal((n, 3)), 2), rng.integers(0, 2, n), rng.integers(n, size=n // 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = rng.choice([0.0, -0.0, np.inf])
    X, y = np.concatenate([X, X[again] + 0.0]), np.concatenate([y, y[again]])
    data, out = Sampling(data_of(X, y, n_classes=2)).split_off()
    expected = sorted(rows_of(out))
    assert 0.1 < len(out) / len(X) < 0.3
    assert not set(expected) & set(rows_of(data.train))
    assert sorted(expected + rows_of(data.train)) == sorted(rows_of(Rows(X, y, np.ones(len(X)))))
    order, weight, turned = rng.permutation(len(X)), rng.uniform(0.1, 9, len(X)), [2, 0, 1]
    names = tuple(NAMES[f] for f in turned)
    data, out = Sampling(data_of(X[order][:, turned], y[order], weight[order], n_classes=2, names=names)).split_off()
    back = Rows(out.X[:, np.argsort(turned)], out.y, out.weight)
    assert sorted(rows_of(back)) == expected
    for qid, n_classes in ((None, 2), (np.arange(len(X)) // 4, 0)):
        times = rng.integers(1, 4, len(X))  # a row given twice is a weight of two
        more = np.repeat(np.arange(len(X)), times)
        once = Sampling(data_of(X, y, times * 1.0, qid, n_classes)).split_off()[1]
        often = Sampling(data_of(X[more], y[more], None, None if qid is None else qid[more], n_classes)).split_off()[1]
        assert set(rows_of(often)) == set(rows_of(once))
        assert len(often) == once.weight.sum()


def test_rows_of_a_query_stay_together_whatever_queries_are_called():
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((900, 3)), rng.integers(0, 3, 900) * 1.0, rng.permutation(900) // 4
    data, out = Sampling(data_of(X, y, qid=qid)).split_off()
    assert 20 <= len(set(out.qid)) < 80
    assert not set(out.qid) & set(data.train.qid)
    again = Sampling(data_of(X[::-1], y[::-1], qid=rng.permutation(1000)[qid[::-1]])).split_off()[1]
    assert sorted(rows_of(again)) == sorted(rows_of(out))


def test_where_too_few_could_be_held_out_the_training_rows_are_given():
    rng = np.random.default_rng(0)
    X, few = rng.standard_normal((1000, 3)), np.repeat(rng.standard_normal((25, 3)), 40, axis=0)
    for rows, y, qid, n_classes in [
        (X, (np.arange(1000) < 60).astype(int), None, 2),  # a fifth of one class is less than 20
        (X, rng.integers(0, 2, 1000) * 1.0, np.arange(1000) // 20, 0),  # so it is of 50 queries
        (few, (few[:, 0] > 0).astype(int), None, 2),  # many rows, but not many different ones
    ]:
        data = data_of(rows, y, qid=qid, n_classes=n_classes)
        found, out = Sampling(data).split_off()
        assert found is data
        assert out is data.train


def test_joined_rows_are_training_rows_then_validation_rows_with_queries_apart():
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    data = data_of(X, y, weight=np.ones(3), qid=np.array([0, 0, 1]), names=("a", "b"))
    assert data.joined_rows() is data.train
    valid = Rows(X[:2] + 10, y[:2], np.array([2.0, 3.0]), np.array([0, 1]))
    rows = evolve(data, valid=valid).joined_rows()
    np.testing.assert_array_equal(rows.X, [*X, *(X[:2] + 10)])
    np.testing.assert_array_equal(rows.y, [0, 1, 2, 0, 1])
    np.testing.assert_array_equal(rows.weight, [1, 1, 1, 2, 3])
    np.testing.assert_array_equal(rows.qid, [0, 0, 1, 2, 3])
    labelled = evolve(data, train=evolve(data.train, qid=None, labels=np.array(["n", "y"])), valid=None)
    assert evolve(labelled, valid=evolve(valid, qid=None)).joined_rows().labels.tolist() == ["n", "y"]
    with pytest.raises(DataError, match=r"^qid: expected .* as for qid_val, got None"):
        evolve(labelled, valid=valid).joined_rows()
