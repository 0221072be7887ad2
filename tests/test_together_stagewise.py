"""Gates are the same from any number of workers, whatever their parts of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from costframe.core.accurate_sums import sum_over_rows, sum_products
from costframe.core.cost.draws import draw_rows, hash_rows
from costframe.core.errors import ParameterError
from costframe.core.workers import ALONE
from costframe.testing.parts import run_together
from costframe_adapt import AdaptClassifier

NAMES = tuple("abcde")
COSTS = {
    "features": {name: {"cost": 0.2 * f + 0.1, "needs": ["r"] if f > 2 else []} for f, name in enumerate(NAMES)},
    "resources": {"r": 0.7},
    "split": 0.01,
}


def table(kind, n):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, len(NAMES)))
    X[:, 1] = np.round(X[:, 1], 1)
    score = X[:, 0] + 0.7 * X[:, 1] - X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.03] = np.nan
    edges = {"numbers": None, "two": [0.4], "three": [-0.5, 0.7], "grades": [-0.5, 0.7, 1.5]}[kind]
    y = score if edges is None else np.digitize(score, edges)
    weight = rng.integers(1, 4, n).astype(float)
    return X, y, {"qid": np.sort(rng.integers(0, n // 5, n))} if kind == "grades" else {"sample_weight": weight}


def parts_of(count, n, seed, qid=None):
    """Deal rows, or queries; of several parts, the second is empty."""
    part = np.random.default_rng(seed).integers(0, count, n if qid is None else int(qid.max()) + 1)
    part[part == 1] = 0
    part = part if qid is None else part[qid]
    return [np.flatnonzero(part == number) for number in range(count)]


def fit_parts(make, X, y, others, count, seed=0):
    parts = parts_of(count, len(X), seed, others.get("qid"))

    def fit(workers):
        own = parts[workers.rank]
        return make().fit_part(workers, X[own], y[own], **{name: values[own] for name, values in others.items()})

    return run_together(count, fit)


def check_alike(make, kind, n, count, tolerance=1e-9):
    X, y, others = table(kind, n)
    one = make().fit(X, y, **others)
    expected, cost = one.predictor_.decision_function(X), one.cost(X).per_row
    for model in fit_parts(make, X, y, others, count):
        assert len(model.bank_) == len(one.bank_) > 0
        assert (model.bank_.F != one.bank_.F).nnz == 0
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(model.predictor_.decision_function(X), expected, rtol=0, atol=tolerance * scale)
        np.testing.assert_allclose(model.cost(X).per_row, cost, rtol=0, atol=tolerance)


def expensive(X, y):
    return FrozenEstimator(RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y))


@pytest.mark.filterwarnings("ignore::costframe.adoption.given.fitted_model.PrefittedWarning")
@pytest.mark.parametrize(
    ("kind", "settings", "count"),
    [
        ("two", {}, 3),
        ("two", {"full_share": 0.4}, 2),
        ("three", {"recipe": "paper", "full_share": 0.3}, 2),
        ("two", {"full_share": 0}, 7),
    ],
)
def test_linear_gates(kind, settings, count):
    model = None if settings.get("full_share") == 0 else expensive(*table(kind, 200)[:2])
    check_alike(lambda: AdaptClassifier(COSTS, 1e-2, variant="lin", expensive=model, **settings), kind, 200, count)


@pytest.mark.filterwarnings("ignore::costframe.adoption.given.fitted_model.PrefittedWarning")
@pytest.mark.parametrize(
    ("settings", "count"), [({}, 3), ({"recipe": "paper", "full_share": 0.3}, 2), ({"full_share": 0}, 7)]
)
def test_boosted_gates_to_the_last_bit(settings, count):
    model = None if settings.get("full_share") == 0 else expensive(*table("two", 250)[:2])
    check_alike(lambda: AdaptClassifier(COSTS, 1e-2, n_estimators=4, expensive=model, **settings), "two", 250, count, 0)


def test_what_trains_on_one_machine_only_is_refused_by_name():
    X, y, others = table("two", 60)
    X = np.nan_to_num(X)
    with pytest.raises(ParameterError, match=r"expensive: RandomForestClassifier is not fitted"):
        fit_parts(lambda: AdaptClassifier(COSTS, expensive=RandomForestClassifier()), X, y, others, 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 999), st.integers(1, 300), st.integers(1, 60), st.sampled_from([2, 3, 7]))
def test_draws_do_not_depend_on_parts(seed, n, most, count):
    rng = np.random.default_rng(seed)
    X, weight = rng.integers(0, 9, (n, 2)).astype(float), rng.random(n)
    parts = parts_of(count, n, seed)

    def drawn(workers, own):
        draw = draw_rows(hash_rows(X[own].T, len(own)), weight[own], most, workers)
        return np.column_stack([draw.of(X[own]), draw.share])

    one = drawn(ALONE, np.arange(n))
    for other in run_together(count, lambda workers: drawn(workers, parts[workers.rank])):
        order = [np.lexsort(each.T) for each in (one, other)]
        np.testing.assert_allclose(other[order[1]], one[order[0]], rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 999), st.sampled_from([2, 3, 7]))
def test_accurate_sums_do_not_depend_on_parts(seed, count):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(200, 3)) * 1e3, rng.exponential(size=(200, 2)) ** 4
    parts = parts_of(count, 200, seed)
    one = sum_products(left, right)
    np.testing.assert_allclose(one, left.T @ right, rtol=1e-9, atol=1e-6)
    for found in run_together(
        count, lambda workers: sum_products(left[own := parts[workers.rank]], right[own], workers)
    ):
        np.testing.assert_array_equal(found, one)
    exact = [float(sum(map(int, column))) for column in (left * 2**20).astype(np.int64).T]
    np.testing.assert_array_equal(sum_over_rows((left * 2**20).astype(np.int64).astype(float)), exact)


def test_a_search_asks_all_workers_and_ends_with_one_result_or_error():
    def ask_thrice(ask):
        return [ask(number) for number in range(3)]

    answers = run_together(
        3, lambda workers: workers.search(ask_thrice, lambda number: workers.total(np.array([number + workers.rank])))
    )
    assert answers == [[3.0, 6.0, 9.0]] * 3
    assert run_together(3, lambda workers: workers.once(lambda: workers.rank)) == [0, 0, 0]
    with pytest.raises(ZeroDivisionError):
        run_together(3, lambda workers: workers.once(lambda: 1 // 0))
