"""What the planner promises: traps, no cliffs, estimates that hold, and terms that change after training."""

import numpy as np
import pytest

import costframe as cf
from costframe.core.errors import CostModelError
from costframe_planner import PlannerClassifier, PlannerRanker


def parts(name):
    data = cf.datasets.load(name)
    return data, *(data.part(part) for part in ("train", "valid", "test"))


@pytest.mark.parametrize("name", ["parity", "selector", "selector-unequal"])
def test_what_only_tells_together_or_by_a_selector_is_found_at_its_known_cost(name):
    data, train, valid, test = parts(name)
    path = PlannerClassifier(data.costs).fit_path(
        train.X, train.y, X_val=valid.X, y_val=valid.y, scoring="accuracy", tradeoffs=(0.3, 1e-4)
    )
    perfect = [point for point in path.frontier() if point.score == 1]
    assert perfect[0].cost == pytest.approx(data.perfect_cost, rel=0.06)
    report = path.predictor(perfect[0]).cost(test.X)
    assert ((report.predictions > 0.5) == test.y).mean() > 0.995
    assert report.mean == pytest.approx(data.perfect_cost, rel=0.08)


def cliff(n=1500, seed=0):
    """Draw a table whose best features share one dear resource, while three cheap ones tell a little."""
    random = np.random.default_rng(seed)
    cause = random.normal(size=n)
    dear = cause[:, None] + 0.3 * random.normal(size=(n, 4))
    cheap = 0.5 * cause[:, None] + random.normal(size=(n, 3))
    features = {f"dear{f}": {"cost": 0.5, "needs": ["bureau"]} for f in range(4)} | {f"cheap{f}": 2.0 for f in range(3)}
    costs = cf.CostModel.from_dict({"features": features, "resources": {"bureau": 20.0}})
    return np.hstack([dear, cheap]), (cause + 0.2 * random.normal(size=n) > 0).astype(int), costs


def test_a_dear_resource_is_no_cliff():
    X, y, costs = cliff()
    path = PlannerClassifier(costs).fit_path(X, y, scoring="roc_auc")
    below = path.within(12.0)
    assert 2 <= below.cost <= 12
    assert below.score > 0.65
    assert path.within(22.0).score > below.score + 0.15


def test_what_is_estimated_out_of_fold_holds_on_fresh_rows():
    X, y, costs = cliff()
    fresh, labels, _ = cliff(4000, seed=1)
    path = PlannerClassifier(costs).fit_path(X, y, scoring="accuracy")
    for point in path.frontier():
        report = path.predictor(point).cost(fresh)
        score = float(((report.predictions > 0.5) == labels).mean())
        assert abs(score - point.score) < 3.5 * np.hypot(point.error, 0.5 / np.sqrt(len(labels))), point
        assert report.mean == pytest.approx(point.cost, rel=0.1, abs=0.8)  # of 28


def test_prices_tradeoff_caps_and_sources_change_without_training():
    X, y, costs = cliff()
    predictor = PlannerClassifier(costs, tradeoff=2e-3).fit(X, y).predictor_
    assert predictor.cost(X).by_resource["bureau"] > 5
    table = costs.to_dict()
    table["resources"]["bureau"] = 400.0
    dearer = cf.CostModel.from_dict(table)
    assert predictor.cost(X, dearer).acquired[:, :4].sum() == 0
    assert predictor.cost(X, tradeoff=10.0).mean == 0
    out = predictor.cost(X, unavailable={"bureau"})
    assert out.acquired[:, :4].sum() == 0
    assert out.cut.any()
    assert np.isfinite(out.predictions).all()
    assert ((out.predictions > 0.5) == y).mean() > 0.6
    capped = predictor.cost(X, max_cost=7.0)
    assert capped.per_row.max() <= 7.0
    assert ((capped.predictions > 0.5) == y).mean() > 0.6


def test_at_tradeoff_zero_all_rows_get_the_model_of_all_features():
    X, y, costs = cliff(600)
    model = PlannerClassifier(costs, tradeoff=0.0).fit(X, y)
    assert len(model.predictor_.stops) == 1
    assert set(model.cost(X).by_stage) == {1.0}


@pytest.mark.parametrize("word", ["learner", "split", "reuse"])
def test_prices_of_computing_are_refused_by_name(word):
    X, y, costs = cliff(100)
    with pytest.raises(CostModelError, match=word):
        PlannerClassifier(costs.to_dict() | {word: 0.1}).fit(X, y)


def test_rankings_keep_their_queries_together():
    X, y, costs = cliff(600)
    qid = np.repeat(np.arange(60), 10)
    path = PlannerRanker(costs).fit_path(X, y, qid=qid, scoring="ndcg@5")
    fold = path.kept.problem.fold
    assert all(len(np.unique(fold[qid == query])) == 1 for query in np.unique(qid))
    assert path.within(np.inf).score > 0.9
