"""The boosting loop: sizes of labels and weights, and what watches it."""

import numpy as np
import pytest

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.training.data import Rows
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting import boost as boosting
from costframe.trees.boosting import losses
from costframe.trees.boosting.boost import boost
from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.grow import grow_tree


def draw(n=300, n_classes=0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) if n_classes else y


def fit(X, y, weight=None, loss=None, monitor=None, *, n_rounds=20, n_threads=1):
    """Training scores of an ensemble whose trees take hessians as they come, and its number of rounds."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    data = BinMapper.fit(X).transform(X)
    ensemble, best = boost(
        Rows(X, y, weight),
        loss or SquaredLoss(),
        lambda g, h: grow_tree(data, g, h, max_leaves=6),
        n_rounds=n_rounds,
        step=0.3,
        monitor=monitor,
        n_threads=n_threads,
    )
    return ensemble.finish(list("abcd"), best).decision_function(X), best


@pytest.mark.parametrize("weight", [1e-70, 1e-50, 1e-40, 1e-3, 1e3, 1e38, 1e70])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_equal_weights_of_any_size_change_nothing(weight, n_classes):
    X, y = draw(n_classes=n_classes)
    loss = {0: SquaredLoss(), 2: LogisticLoss(), 3: SoftmaxLoss(3)}[n_classes]
    plain, n_rounds = fit(X, y, loss=loss)
    weighted, n_weighted_rounds = fit(X, y, np.full(len(y), weight), loss=loss)
    assert n_rounds == n_weighted_rounds == 20
    assert weighted == pytest.approx(plain, rel=1e-4, abs=1e-4)
    power = 2.0 ** np.round(np.log2(weight))
    assert np.array_equal(fit(X, y, np.full(len(y), power), loss=loss)[0], plain)


@pytest.mark.parametrize("exponent", [-240, -150, 100, 126, 240])
def test_labels_of_any_size_give_the_same_model_in_their_unit(exponent):
    X, y = draw()
    unit = 2.0**exponent
    weight = np.random.default_rng(1).random(len(y))
    assert np.array_equal(fit(X, y * unit)[0], fit(X, y)[0] * unit)
    assert np.array_equal(fit(X, y * unit, weight)[0], fit(X, y, weight)[0] * unit)


@pytest.mark.parametrize("size", [1e-300, 1e-76, 1e76, 1e300])
def test_what_is_no_size_to_reckon_with_is_refused_by_name(size):
    X, y = draw()
    with pytest.raises(DataError, match=r"y: expected numbers of a size between 1e-75 and 1e\+75"):
        fit(X, np.sign(y) * size)
    with pytest.raises(DataError, match=r"sample_weight: expected numbers of a size .* the largest is 1e"):
        fit(X, y, np.full(len(y), size))
    for name, rows in (
        ("y", Rows(X, np.sign(y) * size, np.ones(300))),
        ("sample_weight", Rows(X, y, np.full(300, size))),
    ):
        with pytest.raises(DataError, match=f"{name}_val: expected numbers of a size"):
            watch(rows, "loss")


def test_labels_of_zero_are_a_constant():
    X, y = draw()
    scores, n_rounds = fit(X, 0 * y)
    assert n_rounds == 0
    assert not scores.any()


def test_threads_reach_the_loss(monkeypatch):
    X, y = draw(n_classes=3)
    plain, _ = fit(X, y, loss=SoftmaxLoss(3), n_rounds=2)
    threads, real = [], losses.run_parallel
    monkeypatch.setattr(losses, "run_parallel", lambda f, parts, n: threads.append(n) or real(f, parts, n))
    monkeypatch.setattr(losses, "_ROWS_PER_STRIP", 37)
    monkeypatch.setattr(losses, "_ROWS_WORTH_THREADS", len(X))
    assert np.array_equal(fit(X, y, loss=SoftmaxLoss(3), n_rounds=2, n_threads=2)[0], plain)
    assert threads == [2, 2]


def watch(rows, scoring, patience=3):
    prices = cf.CostModel.uniform(list("abcd")).select(list("abcd"))
    loss = SquaredLoss() if rows.y.dtype.kind == "f" else LogisticLoss()
    return Monitor(rows, loss, prices, 0.0, patience, scoring)


@pytest.mark.parametrize("value", [np.nan, np.float32(np.nan), None, "0.5", 1j, [0.5], np.array([0.5]), np.bool_])
@pytest.mark.parametrize("late", [False, True])
def test_a_score_that_is_no_number_is_refused(value, late):
    X, y = draw()
    values = iter([0.1, 0.2] if late else [])
    monitor = watch(Rows(X, y, np.ones(300)), lambda _y, _p: next(values, value))
    with pytest.raises(
        (ParameterError, DataError), match=r"scoring: expected a score that is a number|score: make_scorer"
    ):
        fit(X, y, monitor=monitor)


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_a_named_score_without_a_value_is_refused():
    X, y = draw(n_classes=2)
    ones = y == 1
    monitor = watch(Rows(X[ones], y[ones], np.ones(ones.sum())), "roc_auc")
    with pytest.raises(ParameterError, match="scoring: expected a score that is a number"):
        fit(X, y, loss=LogisticLoss(), monitor=monitor)


def test_a_named_score_of_other_labels_is_refused():
    for n_classes, name in ((0, "f1"), (2, "ndcg@5")):
        X, y = draw(n_classes=n_classes)
        with pytest.raises(ParameterError, match=f"scoring: .*, not '{name}'"):
            fit(
                X, y, loss=LogisticLoss() if n_classes else SquaredLoss(), monitor=watch(Rows(X, y, np.ones(300)), name)
            )


@pytest.mark.parametrize(
    "kind", [float, np.float32, np.array, int, bool, lambda value: -np.inf if value < 4 else value]
)
def test_scores_of_any_kind_of_number_are_watched(kind):
    X, y = draw()
    values = iter([1, 5, 3, 2, 1, 0])
    assert fit(X, y, monitor=watch(Rows(X, y, np.ones(300)), lambda _y, _p: kind(next(values))))[1] == (
        kind is not bool
    )


@pytest.mark.parametrize("size", [2.0**-200, 2.0**200])
def test_validation_labels_of_any_size_are_watched(size):
    X, y = draw()
    found = [
        fit(X, y * unit, monitor=watch(Rows(X[::2], y[::2] * unit, np.ones(150)), "loss"))[1] for unit in (1, size)
    ]
    assert found[0] == found[1] > 0


def test_the_loop_ends_when_nothing_is_split():
    X, y = draw()
    assert (
        boosting.boost(
            Rows(X, y, np.ones(300)),
            SquaredLoss(),
            lambda g, h: grow_tree(BinMapper.fit(X[:, :1] * 0).transform(X[:, :1] * 0), g, h),
            n_rounds=5,
            step=1.0,
        )[1]
        == 0
    )


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_weight_of_two_is_a_row_given_twice_even_where_splits_tie(seed, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, 4)).astype(float)
    y = rng.integers(0, n_classes or 5, 40).astype(np.int64 if n_classes else np.float64)
    weight = rng.integers(1, 6, 40)
    loss = {0: SquaredLoss(), 2: LogisticLoss(), 3: SoftmaxLoss(3)}[n_classes]
    data = BinMapper.fit(X)
    trees = []
    for given in (np.arange(40), np.repeat(np.arange(40), weight)):
        w = weight.astype(float) if len(given) == 40 else np.ones(len(given))
        binned = data.transform(X[given])
        grow = lambda g, _, w=w, binned=binned: grow_tree(binned, g, w, max_depth=3, growth="breadth")  # noqa: E731
        ensemble, _ = boost(Rows(X[given], y[given], w), loss, grow, n_rounds=3, step=0.3)
        trees.append(ensemble)
    for table, other in zip(*(each.tables for each in trees), strict=True):
        assert table.feature.tolist() == other.feature.tolist()
        assert table.threshold.tolist() == other.threshold.tolist()
        assert table.values == pytest.approx(other.values, rel=1e-9, abs=1e-12)
