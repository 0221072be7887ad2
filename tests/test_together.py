"""Sums and models depend neither on the order of rows nor on workers that hold parts; reports of parts merge."""

from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import costframe as cf
from costframe import engine
from costframe.core.sums import exact_mean, sum_products
from costframe.core.tables.row_hashes import number_copies
from costframe.core.workers import ALONE
from costframe.plugin import DataError, ParameterError, exact_sum, sum_over_rows, to_grid
from costframe.testing import run_together, strategies

# --- sums ---

finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40)


@given(finite, st.randoms())
def test_exact_sums_and_scales_depend_neither_on_order_nor_on_workers(values, random):
    whole = sum(map(Fraction, values), Fraction(0))
    shuffled, cut = np.array(random.sample(values, len(values)), np.float64), random.randint(0, len(values))
    try:
        expected = float(whole)
    except OverflowError:
        expected = np.inf if whole > 0 else -np.inf
    assert exact_sum(shuffled) == expected
    parts = shuffled[:cut], shuffled[cut:]
    assert run_together(2, lambda each: exact_sum(parts[each.rank], each)) == [expected, expected]
    values = np.array(values)
    counts = np.full(len(values), 2**22 // len(values))  # leave some 40 bits for sums
    bits, scales = int(counts.sum()).bit_length(), np.empty((2, 2))
    for each, scale in zip((values, shuffled), scales, strict=True):
        engine.pack(each, each[:0], counts, bits, 0, np.empty((len(values), 1), np.int64), scale)
    if np.isnan(scales[0, 0]):
        assert sum(map(abs, map(Fraction, values))) >= 2**1023
        return
    assert scales[0, 0] == scales[1, 0]
    assert sum(abs(int(np.rint(each * scales[0, 0]))) for each in values) < 2 ** (62 - bits)


@pytest.mark.parametrize("last", [5e-324, -5e-324, 0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "values",
    [[1.0, 2.0**-53], [1.0, 3 * 2.0**-53], [1.7e308, 9.9e307], [2.0**1023, 2.0**1023, -(2.0**970)], [2.0**-1022]],
)
def test_exact_sums_round_halves_to_even_once(values, sign, last):
    values = [*(sign * each for each in values), last]
    try:
        expected = float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        expected = sign * np.inf
    assert exact_sum(np.array(values)) == expected


@given(st.lists(st.just(0.0) | st.floats(1e-75, 1e30), min_size=1, max_size=40), st.randoms())
def test_sums_of_weights_on_a_grid_are_exact(values, random):
    grid, order = to_grid(np.array(values)), random.sample(range(len(values)), len(values))
    assert np.allclose(grid, values, rtol=0, atol=max(values) * 2.0**-40)
    assert np.cumsum(grid[order])[-1] == exact_sum(grid)
    assert exact_mean(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == 1.5
    assert np.isnan(exact_sum(np.array([np.inf, -np.inf])))


@given(st.integers(0, 999))
def test_accurate_sums_do_not_depend_on_order(seed):
    rng = np.random.default_rng(seed)
    left, right, order = rng.normal(size=(200, 3)) * 1e3, rng.exponential(size=(200, 2)) ** 4, rng.permutation(200)
    sums, whole = sum_products(left, right), (left * 2**20).astype(np.int64)
    np.testing.assert_allclose(sums, left.T @ right, rtol=1e-9, atol=1e-6)
    np.testing.assert_array_equal(sum_products(left[order], right[order]), sums)
    np.testing.assert_array_equal(sum_over_rows(whole.astype(float)), [float(sum(map(int, c))) for c in whole.T])


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 4), st.integers(0, 100))
def test_copies_are_numbered_over_all_workers(values, count, seed):
    hashes = np.array(values, np.uint64) * np.uint64(3689348814741910323)
    dealt = np.random.default_rng(seed).integers(0, count, len(hashes))
    numbers = run_together(count, lambda workers: number_copies(hashes[dealt == workers.rank], workers))
    together = np.empty(len(hashes), np.int64)
    for rank, each in enumerate(numbers):
        together[dealt == rank] = each
    for value in np.unique(hashes):
        assert sorted(together[hashes == value]) == list(range(np.count_nonzero(hashes == value)))


# --- models ---

N, D = 500, 6
COSTS = cf.CostModel.of({
    "features": {f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] * (f > 3), "once": 3.0 * f} for f in range(D)},
    "resources": {"r": 0.7}, "split": 0.01, "reuse": 0.001, "learner": 0.002,
})  # fmt: skip


def table(kind, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, D)) < 0.05, np.nan, rng.normal(size=(n, D)))
    X[:, 1] = rng.integers(0, 4, n)
    X[: n // 10] = X[n // 10 : 2 * (n // 10)]  # some rows are there twice
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=n)
    y = {"Classifier": score > 0, "Classes": np.digitize(score, [-1.0, 1.0]), "Regressor": 10 * score}.get(kind)
    return X, np.digitize(score, [0.0, 2.0]) if y is None else y, rng.random(n) + 0.1, np.sort(rng.integers(0, 60, n))


def assert_same(one, other, X):
    one, other = one.predictor_, other.predictor_
    assert len(one.bank) == len(other.bank)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.array_equal(one.cost(X, COSTS).per_row, other.cost(X, COSTS).per_row)
    assert np.array_equal(one.predict(X, max_cost=0.5), other.predict(X, max_cost=0.5))


DRAWN = {"subsample": 0.6, "max_features": 0.5, "max_leaves": 8}
MODELS = {
    "miser": lambda kind: getattr(cf, f"Miser{kind}")(COSTS, tradeoff=1e-3, n_estimators=8),
    "cegb": lambda kind: getattr(cf, f"CEGB{kind}")(COSTS, tradeoff=1e-3, n_estimators=6, n_iter_no_change=3),
    "drawn": lambda kind: getattr(cf, f"CEGB{kind}")(COSTS, tradeoff=1e-3, n_estimators=6, **DRAWN),
    "monotone": lambda kind: getattr(cf, f"CEGB{kind}")(
        COSTS, n_estimators=6, growth="breadth", monotone_constraints={"x0": 1}, scoring="r2"
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("miser", "Classifier"), ("miser", "Ranker"), ("cegb", "Classes"), ("cegb", "Regressor"), ("drawn", "Classes"),
        ("drawn", "Ranker"), ("monotone", "Regressor"),
    ],
)  # fmt: skip
def test_parts_train_the_model_of_all_rows_in_any_order(name, kind, weighted):
    data, valid = table(kind), table(kind, 1, 200)

    def fit(workers, here, there):
        more = {"X_val": valid[0][there], "y_val": valid[1][there]}
        if kind == "Ranker":
            more |= {"qid": data[3][here], "qid_val": valid[3][there]}
        if weighted:
            more |= {"sample_weight": data[2][here], "sample_weight_val": valid[2][there]}
        model = MODELS[name](kind.replace("Classes", "Classifier"))
        return model.fit_part(workers, data[0][here], data[1][here], **more)

    def deal(qid):
        """Deal rows, or whole queries, to workers, of whom the first has none."""
        of_group = np.random.default_rng(3).integers(1, 3, 1000)
        return of_group[qid if kind == "Ranker" else np.arange(len(qid))]

    whole, dealt = fit(ALONE, slice(None), slice(None)), [deal(each[3]) for each in (data, valid)]
    for part in run_together(3, lambda w: fit(w, *[each == w.rank for each in dealt])):
        assert_same(whole, part, data[0])
        (measure, values), *_ = whole.evals_result_["validation"].items()
        others = part.evals_result_["validation"][measure]
        if measure == "r2":  # scores of other libraries add up rows in their order
            np.testing.assert_allclose(values, others, rtol=1e-12)
        else:
            assert values == others
    if kind != "Ranker":
        assert_same(whole, fit(ALONE, np.random.default_rng(0).permutation(N), slice(None)), data[0])


@pytest.mark.parametrize("n", [300, 1500])
def test_wide_tables_whose_histograms_are_not_all_kept_too(n):
    X = np.random.default_rng(0).normal(size=(n, 1100))

    def fit(workers, here):
        model = cf.CEGBClassifier(n_estimators=3, max_leaves=5, tradeoff=1e-4)
        return model.fit_part(workers, X[here], (X[:, 0] + X[:, 700] > 0)[here])

    whole = fit(ALONE, slice(None))
    for part in run_together(2, lambda workers: fit(workers, np.arange(n) % 2 == workers.rank)):
        assert np.array_equal(whole.decision_function(X), part.decision_function(X))


@pytest.mark.parametrize("kind", ["Classes", "Regressor"])
def test_the_tradeoff_that_follows_from_errors_is_that_of_all_rows(kind):
    X, y, weight, _ = table(kind)
    errors = {"squared": 2.0} if kind == "Regressor" else {"0": {"1": 3.1, "2": 7.7}, "1": {"0": 0.3}, "2": {"0": 5.9}}
    costs = cf.CostModel.of(COSTS.to_dict() | {"errors": errors})
    model = getattr(cf, "CEGBRegressor" if kind == "Regressor" else "CEGBClassifier")(costs, n_estimators=3)
    dealt = np.random.default_rng(0).integers(0, 3, N)

    def fit(workers):
        here = dealt == workers.rank
        return clone(model).fit_part(workers, X[here], y[here], weight[here])

    for each in run_together(3, fit):
        assert_same(each, model.fit(X, y, weight), X)
    assert model.training_data(X, y, weight).tradeoff != 1e-3


def test_what_does_not_train_together_says_so():
    X, y, *_ = table("Classifier")
    wrong = np.where(np.arange(N) == 401, np.nan, y)
    for model, X_of, y_of, error, words in (
        (
            cf.CronusClassifier(COSTS),
            [X, X],
            [y, y],
            ParameterError,
            "CronusClassifier: trains on one machine only; co",
        ),
        (cf.PlannerClassifier(COSTS), [X, X], [y, y], ParameterError, "PlannerClassifier: trains on one machine only"),
        (cf.CEGBClassifier(COSTS, warm_start=True), [X, X], [y, y], ParameterError, "warm_start"),
        (cf.CEGBClassifier(COSTS), [X[:0]] * 2, [y[:0]] * 2, DataError, "X: expected rows, no worker has any"),
        (cf.MiserRegressor(COSTS), [X, X], [y, wrong], DataError, "NaN or infinity"),
    ):
        with pytest.raises(error, match=words):
            run_together(2, lambda w, m=model, X=X_of, y=y_of: clone(m).fit_part(w, X[w.rank], y[w.rank]))


# --- reports ---


@settings(max_examples=30)
@given(st.data(), st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_merged_reports_equal_the_report_of_all_rows(data, seed, count, whole):
    names, rng = ("a", "b", "c"), np.random.default_rng(seed)
    tree = data.draw(strategies.stage_trees(data.draw(strategies.banks(names))))
    costs, X = data.draw(strategies.cost_models(names)), rng.normal(size=(60, 3))
    weight = rng.integers(1, 4, 60).astype(float) if whole else rng.random(60) + 0.01
    parts = np.split(np.arange(60), np.sort(rng.integers(0, 61, count - 1)))  # some of them empty
    for how in ({"rounds": True}, {"max_cost": 1.0}, {"routing": "soft"}):
        of_rows = (tree.cost(X[rows], costs, sample_weight=weight[rows], **how) for rows in [*parts, slice(None)])
        *some, report = of_rows
        one, other = (attrs.asdict(each) for each in (cf.CostReport.merge(some), report))
        rtol = 0.0 if whole and "routing" not in how else 1e-12
        for name in ("per_row", "acquired", "rounds", "predictions", "cut", "latency"):
            assert np.array_equal(one[name], other[name])
        for name in ("by_feature", "by_resource", "evaluation"):
            assert one[name].keys() == other[name].keys()
            np.testing.assert_allclose([*one[name].values()], [*other[name].values()], rtol=rtol, atol=0)
        for name in ("mean", "fixed", "by_stage"):
            np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=0)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([], "expected at least one"),
        ([{}, {"costs": [2.0, 2.0]}], "one model at equal prices"),
        ([{}, {"rounds": True}], "some have rounds and others not"),
    ],
)
def test_what_does_not_merge_is_refused(others, words):
    tree = cf.StageTree(cf.WeakLearnerBank.columns(["a", "b"]), [cf.Answer([0], [[1.0]], [0.0])])
    with pytest.raises(ParameterError, match=words):
        cf.CostReport.merge([tree.cost(np.ones((2, 2)), **how) for how in others])
