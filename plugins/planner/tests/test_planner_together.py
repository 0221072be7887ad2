"""The planner's models depend neither on the order of rows nor on how rows are dealt to workers, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.workers import ALONE
from costframe.testing.parts import run_together
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor

N, D = 260, 5
COSTS = cf.CostModel.of(
    {
        "features": {
            f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] if f > 2 else [], "once": 3.0 * f} for f in range(D)
        },
        "resources": {"r": 0.7},
    }
)
KINDS = {
    "classifier": PlannerClassifier,
    "classes": PlannerClassifier,
    "regressor": PlannerRegressor,
    "ranker": PlannerRanker,
}


def table(kind, seed=0, n=N):
    """Draw rows, some of them twice, and some of them many times; a column of few values may hold categories."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, D)) < 0.05, np.nan, rng.normal(size=(n, D)))
    X[:, 1] = rng.integers(0, 4, n)
    score = np.nan_to_num(X[:, 0] + X[:, 2] * X[:, 3]) + (X[:, 1] == 2) + 0.5 * rng.normal(size=n)
    y = {
        "classifier": score > 0,
        "classes": np.digitize(score, [-0.5, 1.0]),
        "regressor": 10 * score,
        "ranker": np.digitize(score, [0.0, 1.5]),
    }[kind]
    source = np.arange(n)
    source[: n // 10], source[-n // 10 :] = n // 2, source[n // 4 : n // 4 + n // 10]
    return X[source], y[source], rng.choice([0.5, 1.0, 1.75], n), rng.integers(0, 25, n) if kind == "ranker" else None


def fit(kind, workers, data, here, **more):
    X, y, weight, qid = (None if each is None else each[here] for each in data)
    usual = {"tradeoff": 0.02, "n_estimators": 6, "max_tries": 6, "n_sets": 4, "max_leaves": 4}
    model = KINDS[kind](COSTS, **usual | more)
    return model.fit_part(workers, X, y, weight, **({} if qid is None else {"qid": qid}))


def assert_same(one, other, X):
    plan, again = one.predictor_, other.predictor_
    features, others = ([tuple(stop.features) for stop in each.stops] for each in (plan, again))
    assert features == others
    for bank, others in ((plan.bank, again.bank), (plan.gains_bank, again.gains_bank)):
        assert len(bank) == len(others)
        assert np.array_equal(bank.trees.threshold, others.trees.threshold)
        assert np.array_equal(bank.trees.values, others.trees.values)
    assert np.array_equal(plan.decision_function(X), again.decision_function(X))
    assert np.array_equal(plan.cost(X, COSTS).per_row, again.cost(X, COSTS).per_row)
    assert np.array_equal(one.predict(X, max_cost=0.9), other.predict(X, max_cost=0.9))


def deal(data, count, seed):
    """Deal rows, or whole queries, to workers, of whom the first has none if there are several."""
    rng, qid = np.random.default_rng(seed), data[3]
    of_group = rng.integers(min(count - 1, 1), count, len(data[0]) if qid is None else qid.max() + 1)
    return of_group if qid is None else of_group[qid]


@pytest.fixture(params=[True, False], ids=["models are dealt", "rows are dealt"])
def _dealt(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr("costframe_planner.problem._MOST_BYTES", 0)


@pytest.mark.usefixtures("_dealt")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_and_the_dealing_of_rows_have_no_effect(kind, weighted):
    X, *others = table(kind)
    data = (X, *others) if weighted else (X, others[0], None, others[2])
    whole = fit(kind, ALONE, data, slice(None))
    assert len(whole.predictor_.stops) > 2
    order = np.random.default_rng(1).permutation(len(X))
    assert_same(whole, fit(kind, ALONE, data, order), X)
    for count in (2, 3):
        dealt = deal(data, count, count)
        for part in run_together(count, lambda w, dealt=dealt: fit(kind, w, data, dealt == w.rank)):
            assert_same(whole, part, X)


@settings(max_examples=6)
@given(st.sampled_from([1, 2, 3, 7]), st.integers(0, 10**6), st.sampled_from(sorted(KINDS)))
def test_any_dealing_trains_the_same_plan(count, seed, kind):
    data = table(kind, seed % 3, 130)
    whole = fit(kind, ALONE, data, slice(None))
    dealt = np.random.default_rng(seed).integers(0, count, 130 if data[3] is None else 25)
    dealt = dealt if data[3] is None else dealt[data[3]]
    for part in run_together(count, lambda workers: fit(kind, workers, data, dealt == workers.rank)):
        assert_same(whole, part, data[0])


@pytest.mark.usefixtures("_dealt")
@pytest.mark.parametrize("kind", ["classifier", "ranker"])
def test_samples_of_rows_do_not_depend_on_the_dealing(kind, monkeypatch):
    import costframe_planner.models
    import costframe_planner.planner

    monkeypatch.setattr(costframe_planner.planner, "_QUICK_ROWS", 90)
    monkeypatch.setattr(costframe_planner.models, "_ROWS_TO_TRY", 70)
    X, y, _, qid = data = table(kind)
    data = X, y, None, qid
    whole, order = fit(kind, ALONE, data, slice(None), max_leaves=None), np.random.default_rng(1).permutation(N)
    assert_same(whole, fit(kind, ALONE, data, order, max_leaves=None), X)
    dealt = deal(data, 3, 0)
    for part in run_together(3, lambda workers: fit(kind, workers, data, dealt == workers.rank, max_leaves=None)):
        assert_same(whole, part, X)


@pytest.mark.parametrize(
    "more", [{"categorical_features": [1]}, {"tradeoff": 0.0}], ids=["categories", "one model of all features"]
)
def test_other_plans_too(more):
    data = table("regressor")
    whole = fit("regressor", ALONE, data, slice(None), **more)
    for part in run_together(2, lambda workers: fit("regressor", workers, data, slice(workers.rank, None, 2), **more)):
        assert_same(whole, part, data[0])


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_paths_measure_the_rows_of_all_workers(scoring, by_rows, monkeypatch):
    if by_rows:
        monkeypatch.setattr("costframe_planner.problem._MOST_BYTES", 0)
    X, y, weight, _ = table("classifier")

    def path(workers, here):
        model = PlannerClassifier(COSTS, n_estimators=6, max_tries=6, n_sets=3, max_leaves=4)
        model._workers = workers
        later = slice(here.start, 80, here.step)
        held = {"X_val": X[later], "y_val": y[later], "sample_weight_val": weight[later]}
        path = model.fit_path(X[here], y[here], weight[here], **held, scoring=scoring)
        return path.points, path.plain()

    whole = path(ALONE, slice(0, None))
    parts = run_together(2, lambda workers: path(workers, slice(workers.rank, None, 2)))
    for points, _ in parts:
        for point, other in zip(whole[0], points, strict=True):
            assert (point.loss, point.cost, point.objective_cost) == (other.loss, other.cost, other.objective_cost)
            assert point.score == pytest.approx(other.score, rel=1e-12)
    best = [each[1] for each in (whole, *parts)]
    assert best[0].error == pytest.approx(best[1].error, rel=1e-9)
    moved = np.sort(np.concatenate([each.influence for each in best[1:]]) if by_rows else best[1].influence)
    assert np.allclose(moved, np.sort(best[0].influence), rtol=1e-9, atol=1e-15)


def test_a_base_model_trains_on_one_machine():
    from sklearn.linear_model import LinearRegression

    data = table("regressor")
    with pytest.raises(ParameterError, match="base: trains on one machine"):
        run_together(
            2,
            lambda workers: fit(
                "regressor", workers, data, slice(None), base=LinearRegression(), n_estimators=None, max_leaves=None
            ),
        )
