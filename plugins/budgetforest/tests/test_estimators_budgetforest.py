"""Estimators: given forests of any kind, paths, recipes, and settings and prices without effect."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.core.errors import CostModelError, ParameterError
from costframe_budgetforest import BudgetPruneClassifier, BudgetRFClassifier

PRICES = np.array([0.1, 1.0, 2.0, 1.0, 4.0])


def table(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.digitize(X @ [0.5, 1.0, 0.3, 0.8, 1.2], [-0.8, 0.8][: n_classes - 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_an_unpruned_forest_of_scikit_learn_is_itself(kind, n_classes):
    X, y = table(n_classes=n_classes)
    forest = kind(10, random_state=0, bootstrap=False, max_depth=4).fit(X, y)
    for model in (forest, cf.adopt(forest)):
        found = BudgetPruneClassifier(costs=PRICES, tradeoff=0.0, model=model).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), forest.predict_proba(X), atol=1e-9)
        assert found.cost(X).mean == pytest.approx(cf.adopt(forest).cost(X, PRICES).mean)


def test_pruned_forests_are_pruned_again_and_cost_less():
    X, y = table()
    grown = BudgetRFClassifier(costs=PRICES, tradeoff=0.0, n_estimators=10).fit(X, y)
    once = BudgetPruneClassifier(costs=PRICES, tradeoff=0.005, model=grown).fit(X, y)
    twice = BudgetPruneClassifier(costs=PRICES, tradeoff=0.01, model=once).fit(X, y)
    costs = [model.cost(X).mean for model in (grown, once, twice)]
    assert costs[0] > costs[1] >= costs[2] > 0
    assert once.objective_ - once.bound_ <= 1e-3 * once.objective_
    everything = BudgetPruneClassifier(costs=PRICES, tradeoff=10.0, model=once).fit(X, y)
    again = BudgetPruneClassifier(costs=PRICES, tradeoff=0.0, model=everything)
    with pytest.raises(ParameterError, match="model: expected a forest"):
        again.fit(X, y)


def test_an_unfitted_forest_is_fitted():
    X, y = table()
    labels = np.array(["no", "yes"])[y]
    model = RandomForestClassifier(10, max_depth=4)
    found = BudgetPruneClassifier(costs=PRICES, tradeoff=0.0, model=model, random_state=3).fit(X, labels)
    own = RandomForestClassifier(10, max_depth=4, random_state=3).fit(X, labels)
    assert not hasattr(model, "estimators_")
    assert (found.predict(X) == own.predict(X)).mean() > 0.95
    single = BudgetPruneClassifier(costs=PRICES, model=DecisionTreeClassifier()).fit(X, labels)
    assert single.score(X, labels) > 0.8


@pytest.mark.parametrize("model", [GradientBoostingClassifier(n_estimators=3), RandomForestClassifier, 3, "forest"])
def test_other_models_are_refused_by_name(model):
    X, y = table(100)
    with pytest.raises((ParameterError, cf.CostframeError), match="model"):
        BudgetPruneClassifier(costs=PRICES, model=model).fit(X, y)


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
    chosen = path.at(0.02)
    assert model.cost(X_val).mean == pytest.approx(chosen.cost)


def test_budgetrf_chooses_by_held_out_loss_and_exact_cost():
    (X, y), (X_val, y_val) = table(), table(200, seed=1)
    model = BudgetRFClassifier(costs=PRICES, tradeoff=0.03, n_estimators=12)
    path = model.fit_path(X, y, X_val=X_val, y_val=y_val)
    best = min(path.points, key=lambda point: point.loss + 0.03 * point.cost)
    assert model.cost(X_val).mean == pytest.approx(best.cost)
    assert model.fit(X, y, X_val=X_val, y_val=y_val).cost(X_val).mean == pytest.approx(best.cost)
    assert path.plain().tradeoff == 0


def test_the_papers_recipe_has_no_other_loss_and_no_other_prices():
    X, y = table(100)
    with pytest.raises(ParameterError, match="loss"):
        BudgetPruneClassifier(recipe="paper", loss="squared").fit(X, y)
    features = {f"x{f}": 1.0 for f in range(5)}
    for kind in ("split", "learner", "reuse"):
        with pytest.raises(CostModelError, match=kind):
            BudgetPruneClassifier(recipe="paper", costs={"features": features, kind: 0.1}).fit(X, y)
    with pytest.raises(CostModelError, match="reuse"):
        BudgetPruneClassifier(costs={"features": features, "reuse": 2.0}).fit(X, y)
    with pytest.raises(CostModelError, match="once"):
        BudgetPruneClassifier(costs={"features": features | {"x0": {"cost": 1.0, "once": 1.0}}}).fit(X, y)


def test_settings_of_the_default_forest_have_no_effect_on_a_given_one():
    X, y = table(100)
    for name in ("n_estimators", "max_depth", "min_samples_leaf"):
        with pytest.raises(ParameterError, match=name):
            BudgetPruneClassifier(model=RandomForestClassifier(3), **{name: 2}).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_prices_whose_product_with_the_tradeoff_overflows_are_never_paid():
    X, y = table(80)
    dear = {f"x{f}": 1e300 for f in range(5)}
    model = BudgetPruneClassifier(costs={"features": dear | {"x4": 0.0}}, tradeoff=1e20, n_estimators=5).fit(X, y)
    assert model.cost(X).mean == 0
    assert np.ptp(model.predict_proba(X)) > 0
    split = BudgetPruneClassifier(costs={"features": dear, "split": 1e300}, tradeoff=1e20, n_estimators=5).fit(X, y)
    assert split.cost(X).mean == 0
