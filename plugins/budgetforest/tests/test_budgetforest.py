"""BudgetRF and BudgetPrune: the kit's laws, given forests, paths, recipes, and settings and prices without effect."""

import numpy as np
import pytest
from kit_cases import parametrize_laws
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier

import costframe as cf
from costframe.plugin import CostModelError, ParameterError
from costframe_budgetforest import BudgetPruneClassifier, BudgetRFClassifier

PRICES = np.array([0.1, 1.0, 2.0, 1.0, 4.0])


@parametrize_laws("budgetrf", settings={"n_estimators": 8})
def test_laws_of_budgetrf(check):
    check()


@parametrize_laws("budgetprune", settings={"n_estimators": 8})
def test_laws_of_budgetprune(check):
    check()


def table(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.digitize(X @ [0.5, 1.0, 0.3, 0.8, 1.2], [-0.8, 0.8][: n_classes - 1])


@pytest.mark.parametrize(("kind", "n_classes"), [(RandomForestClassifier, 2), (ExtraTreesClassifier, 3)])
def test_an_unpruned_forest_of_scikit_learn_is_itself(kind, n_classes):
    X, y = table(n_classes=n_classes)
    forest = kind(10, random_state=0, bootstrap=False, max_depth=4).fit(X, y)
    for model in (forest, cf.adopt(forest), kind(10, random_state=0, bootstrap=False, max_depth=4)):
        found = BudgetPruneClassifier(costs=PRICES, tradeoff=0.0, model=model, random_state=0).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), forest.predict_proba(X), atol=1e-9)
        assert found.cost(X).mean == pytest.approx(cf.adopt(forest).cost(X, costs=PRICES).mean)


def test_pruned_forests_are_pruned_again_and_cost_less():
    X, y = table()
    grown = BudgetRFClassifier(costs=PRICES, tradeoff=0.0, n_estimators=10).fit(X, y)
    once = BudgetPruneClassifier(costs=PRICES, tradeoff=0.005, model=grown).fit(X, y)
    twice = BudgetPruneClassifier(costs=PRICES, tradeoff=0.01, model=once).fit(X, y)
    costs = [model.cost(X).mean for model in (grown, once, twice)]
    assert costs[0] > costs[1] >= costs[2] > 0
    assert once.objective_ - once.bound_ <= 1e-3 * once.objective_
    everything = BudgetPruneClassifier(costs=PRICES, tradeoff=10.0, model=once).fit(X, y)
    with pytest.raises(ParameterError, match="model: expected a forest"):
        BudgetPruneClassifier(costs=PRICES, tradeoff=0.0, model=everything).fit(X, y)


@pytest.mark.parametrize("recipe", [None, "paper"])
def test_points_of_a_path_cost_and_score_what_they_say(recipe):
    (X, y), (X_val, y_val) = table(), table(200, seed=1)
    model = BudgetPruneClassifier(costs=PRICES, tradeoff=0.02, n_estimators=15, recipe=recipe)
    path = model.fit_path(X, y, X_val=X_val, y_val=y_val, scoring="accuracy")
    for point in path.points:
        predictor = path.predictor(point)
        assert predictor.cost(X_val).mean == pytest.approx(point.cost)
        p = predictor.predict(X_val)
        assert ((p - y_val) ** 2).mean() == pytest.approx(point.loss)
        assert ((p > 0.5) == y_val).mean() == pytest.approx(point.score)
    assert path.plain().cost == max(point.cost for point in path.points)
    assert min(point.cost for point in path.points) == 0
    assert len(path.frontier()) > 2
    assert model.cost(X_val).mean == pytest.approx(path.at(0.02).cost)


def test_budgetrf_chooses_by_held_out_loss_and_exact_cost():
    (X, y), (X_val, y_val) = table(), table(200, seed=1)
    model = BudgetRFClassifier(costs=PRICES, tradeoff=0.03, n_estimators=12)
    path = model.fit_path(X, y, X_val=X_val, y_val=y_val)
    best = min(path.points, key=lambda point: point.loss + 0.03 * point.cost)
    assert model.cost(X_val).mean == pytest.approx(best.cost)
    assert model.fit(X, y, X_val=X_val, y_val=y_val).cost(X_val).mean == pytest.approx(best.cost)
    assert path.plain().tradeoff == 0


ONES = {f"x{f}": 1.0 for f in range(5)}


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"recipe": "paper", "loss": "squared"}, ParameterError, "loss"),
        ({"recipe": "paper", "costs": {"features": ONES, "split": 0.1}}, CostModelError, "split"),
        ({"costs": {"features": ONES, "reuse": 2.0}}, CostModelError, "reuse"),
        ({"costs": {"features": ONES | {"x0": {"cost": 1.0, "once": 1.0}}}}, CostModelError, "once"),
        ({"model": RandomForestClassifier(3), "max_depth": 2}, ParameterError, "max_depth"),
        ({"model": GradientBoostingClassifier(n_estimators=3)}, cf.CostframeError, "model"),
        ({"model": RandomForestClassifier}, ParameterError, "model"),
        ({"model": "forest"}, ParameterError, "model"),
    ],
)
def test_what_has_no_effect_or_is_no_forest_is_refused(settings, error, words):
    with pytest.raises(error, match=words):
        BudgetPruneClassifier(**settings).fit(*table(100))


@pytest.mark.parametrize("prices", [{"x4": 0.0}, {}])
def test_prices_whose_product_with_the_tradeoff_overflows_are_never_paid(prices):
    X, y = table(80)
    costs = {"features": dict.fromkeys(ONES, 1e300) | prices} | ({} if prices else {"split": 1e300})
    model = BudgetPruneClassifier(costs=costs, tradeoff=1e20, n_estimators=5).fit(X, y)
    assert model.cost(X).mean == 0
    assert (np.ptp(model.predict_proba(X)[:, 1]) > 0) == bool(prices)
