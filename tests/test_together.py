"""Workers with parts of the rows train the model of one worker with all rows, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.core.tables.row_hashes import number_copies
from costframe.core.workers import ALONE
from costframe.testing.parts import run_together

N, D = 700, 6
COSTS = cf.CostModel.of(
    {
        "features": {
            f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] if f > 3 else [], "once": 3.0 * f} for f in range(D)
        },
        "resources": {"r": 0.7},
        "split": 0.01,
        "reuse": 0.001,
        "learner": 0.002,
    }
)


def table(kind, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, D)) < 0.05, np.nan, rng.normal(size=(n, D)))
    X[:, 1] = rng.integers(0, 4, n)
    X[: n // 10] = X[n // 10 : 2 * (n // 10)]  # some rows are there twice
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=n)
    y = {"Classifier": score > 0, "Classes": np.digitize(score, [-1.0, 1.0]), "Regressor": 10 * score}.get(kind)
    return X, np.digitize(score, [0.0, 2.0]) if y is None else y, rng.random(n) + 0.1, np.sort(rng.integers(0, 60, n))


def deal(n, count, seed, qid=None):
    """Deal rows, or whole queries, to workers, of whom the first has none if there are several."""
    rng = np.random.default_rng(seed)
    of_group = rng.integers(min(count - 1, 1), count, n if qid is None else qid.max() + 1)
    return of_group if qid is None else of_group[qid]


def fitted(model, workers, data, valid, parts=(slice(None), slice(None))):
    """Fit a model on this worker's part of the rows."""
    (X, y, weight, qid), (X_val, y_val, weight_val, qid_val), (here, there) = data, valid, parts
    more = {} if qid is None else {"qid": qid[here], "qid_val": qid_val[there]}
    weights = {} if weight is None else {"sample_weight": weight[here], "sample_weight_val": weight_val[there]}
    others = {"X_val": X_val[there], "y_val": y_val[there], **weights, **more}
    return model.fit_part(workers, X[here], y[here], **others)


def assert_same(one, other, X):
    one, other = one.predictor_, other.predictor_
    assert len(one.bank) == len(other.bank)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.array_equal(one.cost(X, COSTS).per_row, other.cost(X, COSTS).per_row)
    assert np.array_equal(one.predict(X, max_cost=0.5), other.predict(X, max_cost=0.5))


MODELS = {
    "miser": lambda kind: getattr(cf, f"Miser{kind}")(COSTS, tradeoff=1e-3, n_estimators=10),
    "cegb": lambda kind: getattr(cf, f"CEGB{kind}")(COSTS, tradeoff=1e-3, n_estimators=8, n_iter_no_change=3),
    "drawn": lambda kind: getattr(cf, f"CEGB{kind}")(
        COSTS, tradeoff=1e-3, n_estimators=8, subsample=0.6, max_features=0.5, max_leaves=8
    ),
    "monotone": lambda kind: getattr(cf, f"CEGB{kind}")(
        COSTS, n_estimators=6, growth="breadth", monotone_constraints={"x0": 1}, scoring="r2"
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, kind)
            for name in ("miser", "cegb", "drawn")
            for kind in ("Classifier", "Classes", "Regressor", "Ranker")
        ),
        ("monotone", "Regressor"),
    ],
)
def test_parts_train_the_model_of_all_rows(name, kind, weighted):
    data, valid = table(kind), table(kind, 1, 300)
    if not weighted:
        data, valid = ((X, y, None, qid) for X, y, _, qid in (data, valid))
    if kind != "Ranker":
        data, valid = ((X, y, weight, None) for X, y, weight, _ in (data, valid))

    def make():
        return MODELS[name](kind.replace("Classes", "Classifier"))

    whole = fitted(make(), ALONE, data, valid)
    dealt = [deal(len(X), 3, 3, qid) for X, _, _, qid in (data, valid)]
    for part in run_together(3, lambda w: fitted(make(), w, data, valid, [each == w.rank for each in dealt])):
        assert_same(whole, part, data[0])
        for (measure, values), others in zip(
            whole.evals_result_["validation"].items(), part.evals_result_["validation"].values(), strict=True
        ):  # scores of other libraries add up rows in their order
            assert np.allclose(values, others, rtol=1e-12) if measure == "r2" else values == others


@settings(max_examples=15)
@given(st.integers(1, 7), st.integers(0, 10**6), st.sampled_from(["miser", "cegb"]), st.booleans())
def test_any_dealing_trains_the_same_model(count, seed, name, weighted):
    X, y, weight, _ = table("Classifier", seed % 5, 200)
    weight = weight if weighted else np.ones(200)
    dealt = np.random.default_rng(seed).integers(0, count, 200)

    def fit(workers, here):
        return (
            MODELS[name]("Classifier")
            .set_params(n_iter_no_change=None)
            .fit_part(workers, X[here], y[here], sample_weight=weight[here])
        )

    whole = fit(ALONE, slice(None))
    for part in run_together(count, lambda workers: fit(workers, dealt == workers.rank)):
        assert_same(whole, part, X)


@pytest.mark.parametrize("n", [300, 1500])
def test_wide_tables_too(n):
    """Their histograms are not all kept; those of few rows not at all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1100))
    y = X[:, 0] + X[:, 700] > 0

    def fit(workers, here):
        model = cf.CEGBClassifier(n_estimators=3, max_leaves=5, tradeoff=1e-4)
        return model.fit_part(workers, X[here], y[here])

    whole = fit(ALONE, slice(None))
    for part in run_together(2, lambda workers: fit(workers, np.arange(n) % 2 == workers.rank)):
        assert np.array_equal(whole.decision_function(X), part.decision_function(X))


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


@pytest.mark.parametrize(
    "kind",
    [
        "BoostingClassifier",
        "ReweightedClassifier",
        "CronusClassifier",
        "CronusRanker",
        "CSTCRegressor",
        "PlannerClassifier",
        "AdaptClassifier",
    ],
)
def test_what_trains_on_one_machine_says_so(kind):
    X, y, *_ = table("Classifier")
    with pytest.raises(ParameterError, match=f"{kind}: trains on one machine only; collect the rows or a sample"):
        run_together(2, lambda workers: getattr(cf, kind)(COSTS).fit_part(workers, X, y))


def test_a_setting_that_does_not_train_together_says_so():
    X, y, *_ = table("Classifier")
    with pytest.raises(ParameterError, match="warm_start"):
        run_together(2, lambda workers: cf.CEGBClassifier(COSTS, warm_start=True).fit_part(workers, X, y))


@pytest.mark.parametrize("kind", ["CEGBClassifier", "CEGBRegressor", "MiserClassifier"])
def test_rows_must_be_somewhere(kind):
    X, y, *_ = table("Classifier")
    with pytest.raises(DataError, match="X: expected rows, no worker has any"):
        run_together(2, lambda workers: getattr(cf, kind)(COSTS).fit_part(workers, X[:0], y[:0]))


def test_the_largest_weight_of_all_workers_counts():
    X, y, weight, _ = table("Classifier")
    weight = np.where(np.arange(N) % 2, 1e-300, weight)

    def fit(workers, here):
        return MODELS["miser"]("Classifier").fit_part(workers, X[here], y[here], sample_weight=weight[here])

    whole = fit(ALONE, slice(None))
    for part in run_together(2, lambda workers: fit(workers, slice(workers.rank, None, 2))):
        assert_same(whole, part, X)


def test_the_error_of_one_worker_ends_all():
    X, y, *_ = table("Regressor")
    wrong = np.where(np.arange(N) == 601, np.nan, y)
    with pytest.raises(DataError, match="NaN or infinity"):
        run_together(2, lambda w: cf.MiserRegressor(COSTS).fit_part(w, X[w.rank :: 2], (y, wrong)[w.rank][w.rank :: 2]))
