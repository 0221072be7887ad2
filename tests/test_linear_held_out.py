"""Rows held out to choose by: told by what is in them, and by nothing else."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import split_off

NAMES = ("b", "c", "a")


def data_of(X, y, *, weight=None, qid=None, n_classes=2, names=NAMES, valid=None):
    rows = Rows(X, y, np.ones(len(X)) if weight is None else weight, qid)
    costs = cf.CostModel.uniform(names)
    return TrainingData(rows, valid, costs, costs.select(names), n_classes)


def drawn(seed, n=400):
    """Rows with values that are missing, infinite or of either zero; half of them occur several times."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = rng.choice([0.0, -0.0, np.inf])
    y = rng.integers(0, 2, n)
    again = rng.integers(n, size=n // 2)
    return np.concatenate([X, X[again] + 0.0]), np.concatenate([y, y[again]])


def rows_of(rows):
    """What is in rows, one text each; both zeros are one."""
    return [str([*(row + 0.0).tolist(), float(label)]) for row, label in zip(rows.X, rows.y, strict=True)]


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_equal_rows_are_on_one_side(seed):
    X, y = drawn(seed)
    data, out = split_off(data_of(X, y))
    assert out is not data.train
    assert len(out) + len(data.train) == len(X)
    assert 0.1 < len(out) / len(X) < 0.3
    assert not set(rows_of(out)) & set(rows_of(data.train))
    assert sorted(rows_of(out) + rows_of(data.train)) == sorted(rows_of(Rows(X, y, np.ones(len(X)))))


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_and_weights_change_nothing(seed):
    X, y = drawn(seed)
    rng = np.random.default_rng(seed)
    expected = sorted(rows_of(split_off(data_of(X, y))[1]))
    order, weight = rng.permutation(len(X)), rng.uniform(0.1, 9, len(X))
    data, out = split_off(data_of(X[order], y[order], weight=weight[order]))
    assert sorted(rows_of(out)) == expected
    kept = {(one, w) for one, w in zip(rows_of(data.train), data.train.weight, strict=True)}
    assert kept <= {(one, w) for one, w in zip(rows_of(Rows(X, y, weight)), weight, strict=True)}
    turned = [2, 0, 1]
    out = split_off(data_of(X[:, turned], y, names=tuple(NAMES[f] for f in turned)))[1]
    back = Rows(out.X[:, np.argsort(turned)], out.y, out.weight)
    assert sorted(rows_of(back)) == expected


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_a_row_given_twice_is_a_weight_of_two(seed):
    X, y = drawn(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(X))
    for qid in (None, np.arange(len(X)) // 4):
        n_classes = 2 if qid is None else 0
        once = split_off(data_of(X, y, weight=times * 1.0, qid=qid, n_classes=n_classes))[1]
        more = np.repeat(np.arange(len(X)), times)
        often = split_off(data_of(X[more], y[more], qid=None if qid is None else qid[more], n_classes=n_classes))[1]
        assert set(rows_of(often)) == set(rows_of(once))
        assert len(often) == once.weight.sum()


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_rows_of_a_query_stay_together(seed):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.standard_normal((900, 3)), rng.integers(0, 3, 900) * 1.0, rng.permutation(900) // 4
    data, out = split_off(data_of(X, y, qid=qid, n_classes=0))
    assert 20 <= len(set(out.qid)) < 80
    assert not set(out.qid) & set(data.train.qid)
    assert len(out) + len(data.train) == 900
    order, names = rng.permutation(900), rng.permutation(1000)
    again = split_off(data_of(X[order], y[order], qid=names[qid[order]], n_classes=0))[1]
    assert sorted(rows_of(again)) == sorted(rows_of(out))  # whatever queries are called


def test_where_too_few_could_be_held_out_the_training_rows_are_given():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3))
    for y, qid, n_classes in [
        ((np.arange(1000) < 60).astype(int), None, 2),  # a fifth of one class is less than 20
        (rng.integers(0, 2, 1000) * 1.0, np.arange(1000) // 20, 0),  # so it is of 50 queries
        (np.zeros(1000), np.zeros(1000, int), 0),
    ]:
        data = data_of(X, y, qid=qid, n_classes=n_classes)
        found, out = split_off(data)
        assert found is data
        assert out is data.train
    few = np.repeat(X[:30], 40, axis=0)  # many rows, but not many different ones
    y = (few[:, 0] > 0).astype(int)
    assert split_off(data_of(few, y))[1] is not None
    data = data_of(few, y)
    assert split_off(data)[1] is data.train
