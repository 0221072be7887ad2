"""Training at prices of further rounds: it counts what reports charge, and its models go less often."""

import numpy as np
import pytest
from attrs import evolve

import costframe as cf
from costframe.plugin import CostModelError, ParameterError

N_FEATURES = 8


def draw_rows(seed, n=400):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, N_FEATURES))
    X[random.random(X.shape) < 0.02] = np.nan
    Z = np.nan_to_num(X)
    score = 2 * Z[:, 0] + np.where(Z[:, 0] > 0, 1.5 * Z[:, 1], 1.5 * Z[:, 2]) + np.where(Z[:, 1] > 0, Z[:, 3], Z[:, 4])
    return X, (random.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def draw_prices(seed):
    """Prices of features that need resources, which need each other; some stay, and some have a price of rounds."""
    random = np.random.default_rng(seed)
    names = [f"r{i}" for i in range(4)]
    needed = [random.choice(names, random.integers(3), replace=False).tolist() for _ in range(N_FEATURES)]
    resources = {}
    for i, name in enumerate(names):
        entry = {"cost": float(random.integers(3)), "needs": [r for r in names[:i] if random.random() < 0.5]}
        entry["round"] = float(random.choice([0.0, 0.7, 3.0]))
        resources[name] = entry | ({"round_time": 0.0} if random.random() < 0.4 else {})
    resources["r0"]["round"] = 1.5
    features = {f"x{i}": {"cost": float(random.random()), "needs": needs} for i, needs in enumerate(needed)}
    computing = {"learner": 0.01, "reuse": 0.02, "split": 0.005}
    return cf.CostModel.of({"features": features, "resources": resources} | computing)


def one_visit(price):
    """Prices of tests that all need one visit."""
    features = {f"x{i}": {"cost": 0.3, "needs": ["visit"]} for i in range(N_FEATURES)}
    return cf.CostModel.of({"features": features, "resources": {"visit": {"cost": 2.0, "round": price}}})


SETTINGS = [
    {},
    {"subsample": 0.6, "max_features": 0.7},
    {"growth": "breadth", "max_depth": 4},
    {"n_jobs": 2, "min_samples_leaf": 5},
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("settings", SETTINGS)
def test_cegb_counts_what_reports_charge(seed, settings):
    X, y = draw_rows(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float) if seed % 2 else None
    labels = y + (np.nan_to_num(X[:, 5]) > 1) if seed % 3 == 2 else y
    costs = draw_prices(seed)
    model = cf.estimator("cegb", task="classification", costs=costs, tradeoff=2e-3, n_estimators=12, **settings)
    model.fit(X, labels, sample_weight=weight)
    report = model.predictor_.cost(X, costs, sample_weight=weight)
    assert model.believed_cost_ == pytest.approx(report.mean, rel=1e-9)
    assert model.predictor_.cost(X, costs).evaluation.total > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["cegb", "miser"])
def test_validation_costs_are_those_of_reports(name, seed):
    X, y = draw_rows(seed)
    V, v = draw_rows(100 + seed, 200)
    costs = draw_prices(seed)
    model = cf.estimator(name, task="classification", costs=costs, tradeoff=1e-3, n_estimators=15)
    model.fit(X, y, X_val=V, y_val=v)
    if model.n_iter_:
        told = model.evals_result_["validation"]["cost"][model.n_iter_ - 1]
        assert told == pytest.approx(model.predictor_.cost(V, costs).mean, rel=1e-9)
    path = cf.estimator(name, task="classification", costs=costs, n_estimators=15).fit_path(X, y, X_val=V, y_val=v)
    for point in path.points[:: max(1, len(path.points) // 7)]:
        assert point.cost == pytest.approx(path.predictor(point).cost(V, costs).mean, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "tradeoff", "n_estimators"), [("cegb", 0.02, 60), ("miser", 0.001, 10), ("miser", 0.003, 30)]
)
def test_models_go_less_often_at_prices_of_rounds(name, tradeoff, n_estimators):
    (X, y), (T, t) = draw_rows(0, 3000), draw_rows(1, 3000)
    reports = {}
    for price in (0.0, 2.0):
        costs = one_visit(price)
        model = cf.estimator(name, task="classification", costs=costs, tradeoff=tradeoff, n_estimators=n_estimators)
        model.fit(X, y)
        reports[price] = model.predictor_.cost(T, one_visit(2.0), rounds=True), model.score(T, t)
    (without, old), (counted, new) = reports[0.0], reports[2.0]
    assert counted.rounds.mean() < 0.9 * without.rounds.mean()
    assert counted.mean < 0.9 * without.mean
    assert new > old - 0.02


def test_continued_training_counts_the_rounds_of_earlier_trees():
    X, y = draw_rows(3)
    costs = draw_prices(3)
    whole = cf.estimator("cegb", task="classification", costs=costs, tradeoff=2e-3, n_estimators=10).fit(X, y)
    parts = cf.estimator("cegb", task="classification", costs=costs, tradeoff=2e-3, n_estimators=4, warm_start=True)
    parts.fit(X, y).set_params(n_estimators=10).fit(X, y)
    assert parts.believed_cost_ == whole.believed_cost_
    assert (parts.decision_function(X) == whole.decision_function(X)).all()
    fresh, labels = draw_rows(4)
    parts.set_params(n_estimators=14).fit(fresh, labels)
    assert parts.believed_cost_ == pytest.approx(parts.predictor_.cost(fresh, costs).mean, rel=1e-9)


def test_what_cannot_count_rounds_refuses_them_by_name():
    X, y = draw_rows(0, 60)
    with pytest.raises(CostModelError, match=r"round: .* does not count further rounds in training"):
        cf.estimator("adapt", task="classification", costs=one_visit(1.0), tradeoff=0.1).fit(X, y)
    with pytest.raises(ParameterError, match="costs: the paper has no prices of the kind 'round'"):
        cf.estimator("miser", task="classification", costs=one_visit(1.0), tradeoff=0.1, recipe="paper").fit(X, y)
    many = {f"r{i}": {"cost": 1.0, "round": 1.0} for i in range(70)}
    features = {f"x{i}": {"cost": 1.0, "needs": list(many)} for i in range(N_FEATURES)}
    costs = cf.CostModel.of({"features": features, "resources": many})
    with pytest.raises(CostModelError, match="round: expected at most 64 resources"):
        cf.estimator("cegb", task="classification", costs=costs, tradeoff=0.1).fit(X, y)
    kept = evolve(costs, resources=tuple(evolve(each, round=0.0) for each in costs.resources))
    cf.estimator("cegb", task="classification", costs=kept, tradeoff=0.1, n_estimators=2).fit(X, y)
