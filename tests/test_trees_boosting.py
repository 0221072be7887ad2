"""The boosting loop, on folds and from linear starts, and banks whose trees pay: sizes, orders, and what watches it."""

import numpy as np
import pytest
from attrs import evolve
from bank_cases import COSTS, NAMES, table

import costframe as cf
from costframe import StageTree, WeakLearnerBank
from costframe.plugin import DataError, ParameterError, Rows, TreeTable, loss_for
from costframe.training.losses import LogisticLoss, SquaredLoss
from costframe.trees import BinMapper, BoostedFolds, BoostingRun, ManyFolds, Monitor, TreeSettings
from costframe.trees.banks import train_priced_bank
from costframe.trees.grow import grow_tree
from costframe.trees.linear_start import LinearStart


def draw(n=300, n_classes=0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) if n_classes else y


def boost(rows, loss, grow, *, n_rounds, step, monitor=None):
    settings = TreeSettings(n_estimators=n_rounds, learning_rate=step)
    run = BoostingRun.begin(rows, loss, settings)
    for _ in run.rounds(settings, until=monitor):
        run.add_round(grow)
    return run.ensemble, run.best_round(monitor)


def fit(X, y, weight=None, n_classes=0, monitor=None):
    """Training scores of an ensemble whose trees take hessians as they come, and its number of rounds."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    data = BinMapper.fit(X).transform(X)
    grow = lambda g, h: grow_tree(data, g, h, max_leaves=6)  # noqa: E731
    ensemble, best = boost(Rows(X, y, weight), loss_for(n_classes), grow, n_rounds=20, step=0.3, monitor=monitor)
    return ensemble.finish(list("abcd"), best).decision_function(X), best


@pytest.mark.parametrize("weight", [1e-70, 1e70])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_equal_weights_of_any_size_change_nothing(weight, n_classes):
    X, y = draw(n_classes=n_classes)
    plain, n_rounds = fit(X, y, n_classes=n_classes)
    weighted, n_weighted_rounds = fit(X, y, np.full(len(y), weight), n_classes)
    assert n_rounds == n_weighted_rounds == 20
    assert weighted == pytest.approx(plain, rel=1e-4, abs=1e-4)
    power = 2.0 ** np.round(np.log2(weight))
    assert np.array_equal(fit(X, y, np.full(len(y), power), n_classes)[0], plain)


def watch(rows, scoring):
    prices = cf.CostModel.uniform(list("abcd")).select(list("abcd"))
    return Monitor(rows, loss_for(0 if rows.y.dtype.kind == "f" else 2), prices, 0.0, 3, scoring)


@pytest.mark.parametrize("exponent", [-240, 240])
def test_labels_of_any_size_give_the_same_model_in_their_unit(exponent):
    X, y = draw()
    unit, weight = 2.0**exponent, np.random.default_rng(1).random(len(y))
    assert np.array_equal(fit(X, y * unit, weight)[0], fit(X, y, weight)[0] * unit)
    rounds = [fit(X, y * u, monitor=watch(Rows(X[::2], y[::2] * u, np.ones(150)), "loss"))[1] for u in (1, unit)]
    assert rounds[0] == rounds[1] > 0
    scores, n_rounds = fit(X, 0 * y)
    assert n_rounds == 0
    assert not scores.any()
    rows, fold, settings = Rows(X, y, weight), np.arange(len(y)) % 4, TreeSettings(max_leaves=4, n_estimators=9)
    data = BinMapper.fit(X).transform(X)
    plain, scaled = (
        BoostedFolds.fit(data, Rows(X, z, weight), SquaredLoss(), fold, settings).scores for z in (y, y * unit)
    )
    assert plain.std() > 0.1
    np.testing.assert_array_equal(scaled, plain * unit)
    targets = np.stack([y, X[:, 1] ** 2], axis=1)
    plain, scaled = (ManyFolds.fit(data, rows, each, fold % 2, settings) for each in (targets, targets * unit))
    assert plain.predictions.std() > 0.1
    np.testing.assert_array_equal(scaled.predictions, plain.predictions * unit)
    np.testing.assert_array_equal(scaled.trees.values, plain.trees.values * unit)


@pytest.mark.parametrize("size", [1e-76, 1e300])
def test_what_is_no_size_to_reckon_with_is_refused_by_name(size):
    X, y = draw()
    with pytest.raises(DataError, match=r"y: expected numbers of a size between 1e-75 and 1e\+75"):
        fit(X, np.sign(y) * size)
    with pytest.raises(DataError, match=r"sample_weight: expected numbers of a size .* the largest is 1e"):
        fit(X, y, np.full(len(y), size))
    with pytest.raises(DataError, match="y_val: expected numbers of a size"):
        watch(Rows(X, np.sign(y) * size, np.ones(300)), "loss")
    with pytest.raises(DataError, match="sample_weight_val: expected numbers of a size"):
        watch(Rows(X, y, np.full(300, size)), "loss")


@pytest.mark.parametrize(("kind", "best"), [(np.float32, 1), (np.array, 1), (bool, 0)])
def test_scores_of_any_kind_of_number_are_watched_and_what_is_none_is_refused(kind, best):
    X, y = draw()
    rows = Rows(X, y, np.ones(300))
    values = iter([1, 5, 3, 2, 1, 0])
    assert fit(X, y, monitor=watch(rows, lambda _y, _p: kind(next(values))))[1] == best
    for value in (np.nan, "0.5", np.array([0.5])):
        values = iter([0.1, 0.2])
        monitor = watch(rows, lambda _y, _p, values=values, value=value: next(values, value))
        with pytest.raises((ParameterError, DataError), match=r"expected a score that is a number|score: make_scorer"):
            fit(X, y, monitor=monitor)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_of_two_is_a_row_given_twice_even_where_splits_tie(seed, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, 4)).astype(float)
    y = rng.integers(0, n_classes or 5, 40).astype(np.int64 if n_classes else np.float64)
    weight, data, trees = rng.integers(1, 6, 40), BinMapper.fit(X), []
    for given in (np.arange(40), np.repeat(np.arange(40), weight)):
        w = weight.astype(float) if len(given) == 40 else np.ones(len(given))
        binned = data.transform(X[given])
        grow = lambda g, _, w=w, binned=binned: grow_tree(binned, g, w, max_depth=3, growth="breadth")  # noqa: E731
        trees.append(boost(Rows(X[given], y[given], w), loss_for(n_classes), grow, n_rounds=3, step=0.3)[0])
    for one, other in zip(*(each.tables for each in trees), strict=True):
        assert one.feature.tolist() == other.feature.tolist()
        assert one.threshold.tolist() == other.threshold.tolist()
        assert one.values == pytest.approx(other.values, rel=1e-9, abs=1e-12)


# --- folds -------------------------------------------------------------------------------------------------------


def boosted(leaves, rows, step, n_rounds=500, patience=20):
    return TreeSettings(
        max_leaves=leaves, min_samples_leaf=rows, learning_rate=step, l2_regularization=1.0, n_estimators=n_rounds,
        n_iter_no_change=patience,
    )  # fmt: skip


def drawn(n=400, classes=2):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5)).round(1)
    X[random.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + 0.5 * random.normal(size=n)
    y = signal if classes == 0 else np.digitize(signal, np.linspace(-1, 1, classes + 1)[1:-1])
    return Rows(X, y, np.ones(n)), BinMapper.fit(X).transform(X)


def model_of(fitted):
    trees, answer = fitted.whole()
    return StageTree(WeakLearnerBank.from_trees(trees, [f"x{f}" for f in range(5)]), (answer,))


@pytest.mark.engine
@pytest.mark.parametrize(("classes", "weighted"), [(0, False), (0, True), (2, True), (3, False)])
def test_trees_are_those_of_the_boosting_loop(classes, weighted):
    rows, data = drawn(classes=classes)
    if weighted:
        rows = Rows(rows.X, rows.y, np.random.default_rng(1).random(len(rows)) + 0.5)
    loss = loss_for(classes)
    fitted = BoostedFolds.fit(data, rows, loss, np.arange(len(rows)) % 4, boosted(8, 10, 0.1, 5, None))

    def grow(gradients, hessians):
        hessians = None if not weighted and classes == 0 else hessians
        return grow_tree(data, gradients, hessians, max_leaves=8, min_samples_leaf=10, min_hessian_leaf=1e-3, l2=1.0)

    twin, _ = boost(rows, loss, grow, n_rounds=5, step=0.1)
    trees, expected = fitted.whole()[0], TreeTable.concatenate(twin.tables)
    for name in ("first", "feature", "threshold"):
        assert np.array_equal(getattr(trees, name), getattr(expected, name), equal_nan=name == "threshold")
    twin = twin.finish([f"x{f}" for f in range(5)])
    own, expected = (each.decision_function(rows.X) for each in (model_of(fitted), twin))
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-5)


@pytest.mark.engine
def test_scores_are_those_of_the_ensemble_without_the_fold_with_any_threads():
    rows, data = drawn()
    even = np.concatenate([np.flatnonzero(rows.y == k)[:90] for k in (0, 1)])  # so all folds have the same constant
    rows, data = rows.take(even), data.take_rows(even)
    fold = np.arange(len(rows)) % 3
    fitted = BoostedFolds.fit(data, rows, loss_for(2), fold, boosted(8, 10, 0.2))
    assert 0 < fitted.n_rounds < 500
    for number in range(3):
        left, out = np.flatnonzero(fold != number), fold == number
        shape = boosted(8, 10, 0.2, fitted.n_rounds, None)
        alone = BoostedFolds.fit(data.take_rows(left), rows.take(left), loss_for(2), fold[left], shape)
        np.testing.assert_allclose(model_of(alone).decision_function(rows.X[out]), fitted.scores[out, 0], atol=1e-9)
    assert fitted.loss == pytest.approx(loss_for(2).mean(rows.y, fitted.scores))
    again = BoostedFolds.fit(data, rows, loss_for(2), fold, boosted(8, 10, 0.2), n_threads=2)
    assert np.array_equal(again.scores, fitted.scores)


@pytest.mark.engine
def test_nested_scores_are_those_after_the_rounds_that_other_folds_choose():
    rows, data = drawn(160, classes=2)
    rows = Rows(
        rows.X, np.random.default_rng(3).permutation(rows.y), rows.weight
    )  # noise: few rounds, not all the same
    fold, loss, most = np.arange(len(rows)) % 4, loss_for(2), 6
    nested = BoostedFolds.fit(data, rows, loss, fold, boosted(4, 5, 0.2, most, most)).nested
    shapes = [boosted(4, 5, 0.2, count, None) for count in range(most + 1)]
    scores = [BoostedFolds.fit(data, rows, loss, fold, shape).scores for shape in shapes]
    losses = np.array([[loss.by_row(rows.y, each)[fold == f].sum() for each in scores] for f in range(4)])
    chosen = [np.delete(losses, f, axis=0).sum(axis=0).argmin() for f in range(4)]
    assert len(set(chosen)) > 1
    for f, count in enumerate(chosen):
        np.testing.assert_allclose(nested.scores[fold == f], scores[count][fold == f], atol=1e-12)
        assert nested.least[f] == pytest.approx(np.delete(losses, f, axis=0).sum(axis=0).min())
    assert BoostedFolds.fit(data, rows, loss, fold, shapes[2]).nested is None


@pytest.mark.engine
def test_a_rare_class_is_not_overshot():
    X = np.random.default_rng(0).normal(size=(4000, 1))
    y = (X[:, 0] > np.quantile(X[:, 0], 0.99)).astype(int)
    rows, data = Rows(X, y, np.ones(len(y))), BinMapper.fit(X).transform(X)
    fitted = BoostedFolds.fit(data, rows, loss_for(2), np.arange(len(y)) % 3, boosted(16, 20, 0.2))
    assert fitted.n_rounds > 5
    assert fitted.loss < 0.01


@pytest.mark.engine
def test_regressions_of_many_numbers_predict_each_out_of_fold():
    rows, data = drawn(1000, classes=0)
    x = np.nan_to_num(rows.X)
    targets = np.stack([x[:, 0], -2 * x[:, 0] + x[:, 1], np.abs(x[:, 2])], axis=1)
    fold = np.arange(len(rows)) % 2
    found = ManyFolds.fit(data, rows, targets, fold, boosted(8, 20, 0.2, 60))
    for t in range(3):
        assert np.corrcoef(found.predictions[:, t], targets[:, t])[0, 1] > 0.9
    changed = targets.copy()
    changed[np.flatnonzero(fold == 0)[:2]] += [[1.0], [2.0]]  # means move too
    again = ManyFolds.fit(data, rows, changed, fold, boosted(8, 20, 0.2, 60))
    for shares in (np.ones(3), np.array([0.0, 0.5, 1.0])):
        a, b = (each.shrunk(shares).predictions for each in (found, again))
        assert np.allclose(a[fold == 0], b[fold == 0], rtol=1e-12)
        assert not np.allclose(a[fold == 1], b[fold == 1], rtol=1e-6)


@pytest.mark.engine
@pytest.mark.parametrize("n_threads", [1, 3])
def test_regressions_of_many_numbers_stop_where_rows_left_out_gain_no_more(n_threads):
    rows, data = drawn(1000, classes=0)
    random, x = np.random.default_rng(0), np.nan_to_num(rows.X)
    fold = np.arange(len(rows)) % 3

    def lost(targets, settings):
        found = ManyFolds.fit(data, rows, targets, fold, settings, n_threads=n_threads)
        return ((targets - found.predictions) ** 2).sum(), found

    settings = boosted(8, 20, 0.2, 40)
    noise = random.normal(size=(len(rows), 3))
    weak = noise + 0.5 * x[:, :1]
    for targets, least, most in ((noise, 0, 2), (weak, 2, 30)):
        of_all, _ = lost(targets, evolve(settings, n_iter_no_change=None))
        by_rounds = {
            count: lost(targets, evolve(settings, n_iter_no_change=None, n_estimators=count))[0]
            for count in range(1, 31)
        }
        stopped, found = lost(targets, evolve(settings, n_iter_no_change=6))
        assert least <= len(found.trees) <= most
        assert stopped <= min([((targets - found.means[found.place]) ** 2).sum(), *by_rounds.values()]) * (1 + 1e-12)
        assert stopped < of_all


# --- linear starts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_linear_start_is_trees_in_any_order_of_rows_and_flat_beyond_them(classes):
    random, n = np.random.default_rng(0), 400
    X = np.column_stack([random.normal(size=n), random.integers(0, 3, n), random.normal(size=n), np.ones(n)])
    X[random.random(n) < 0.1, 0] = np.nan
    signal = np.nan_to_num(X[:, 0]) + X[:, 1] + random.normal(size=n)
    y = signal if classes == 0 else np.digitize(signal, np.linspace(-1, 3, classes + 1)[1:-1])
    rows, data, everyone = Rows(X, y, np.ones(n)), BinMapper.fit(X).transform(X), np.arange(n, dtype=np.int32)
    start = LinearStart.fit(data, rows, loss_for(classes), everyone)
    outputs = WeakLearnerBank.from_trees(start.trees(data.mapper), tuple("abcd")).outputs(X)
    summed = start.intercept + outputs.reshape(n, -1, len(start.intercept)).sum(axis=1)
    np.testing.assert_allclose(summed, start.scores(data), rtol=0, atol=1e-9)
    order = random.permutation(n)
    again = LinearStart.fit(data.take_rows(order), rows.take(order), loss_for(classes), everyone)
    np.testing.assert_array_equal(again.scores(data), start.scores(data))
    far = np.tile(np.nanmedian(X, axis=0), (4, 1))
    far[:, 0] = [np.nanmax(X[:, 0]), 1e300, np.nanmin(X[:, 0]), -1e300]
    scores = start.scores(data.mapper.transform(far))
    np.testing.assert_array_equal(scores[[0, 2]], scores[[1, 3]])


def test_a_linear_start_of_separable_classes_is_finite_and_calmer_on_a_weak_linear_signal():
    X = np.linspace(-1, 1, 200)[:, np.newaxis]
    rows, data = Rows(X, (X[:, 0] > 0).astype(np.int64), np.ones(200)), BinMapper.fit(X).transform(X)
    scores = LinearStart.fit(data, rows, LogisticLoss(), np.arange(200, dtype=np.int32)).scores(data)[:, 0]
    assert ((scores > 0) == (rows.y == 1)).all()
    assert np.isfinite(scores).all()
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 5))
    y = (random.random(1000) < 1 / (1 + np.exp(2 - X @ [0.3, 0.25, 0.2, 0.15, 0.1]))).astype(np.int64)
    rows, data = Rows(X, y, np.ones(1000)), BinMapper.fit(X).transform(X)
    fold, shape = np.arange(1000) % 4, boosted(8, 20, 0.08, 100)
    plain, linear = (BoostedFolds.fit(data, rows, LogisticLoss(), fold, shape, linear=way) for way in (False, True))
    assert linear.loss < plain.loss


# --- banks -------------------------------------------------------------------------------------------------------


def bank(X, y, tradeoff, n_classes=2, **settings):
    return train_priced_bank(Rows(X, y, np.ones(len(X))), COSTS.select(NAMES), n_classes, tradeoff, **settings)


@pytest.mark.parametrize(("n_classes", "loss"), [(0, "squared"), (2, "logistic"), (3, "softmax")])
def test_at_no_tradeoff_the_trees_of_a_bank_are_plain_and_at_a_huge_one_there_are_none(n_classes, loss):
    X, y = table(1, 400)
    y = np.digitize(X[:, 0] + X[:, 4], [-0.5, 0.8]) if n_classes == 3 else y * 1.0 if n_classes == 0 else y
    found = bank(X, y, 0.0, n_classes, n_estimators=15)
    plain = cf.train_bank(X, y, loss=loss, n_estimators=15, feature_names=NAMES)
    np.testing.assert_allclose(found.outputs(X), plain.outputs(X), atol=1e-12)
    assert len(bank(X, y, 1e300, n_classes)) == 0
    assert bank(X, y, 1e-4, n_classes).F.nnz > bank(X, y, 1e-2, n_classes).F.nnz > 0
