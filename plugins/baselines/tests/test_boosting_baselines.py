"""Plain boosting and boosting below a price: which trees, how many of them, and what they cost."""

import numpy as np
import pytest

from costframe_baselines import (
    AffordableClassifier,
    AffordableRegressor,
    BoostingClassifier,
    BoostingRanker,
    BoostingRegressor,
)
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

COSTS = {
    "features": {
        "a": 0.1,
        "b": {"cost": 1.0, "needs": ["lab"]},
        "c": {"cost": 0.5, "needs": ["lab"]},
        "d": {"cost": 2.0, "once": 900.0},
    },
    "resources": {"lab": {"cost": 3.0, "needs": ["visit"]}, "visit": 4.0},
    "split": 0.01,
    "learner": 0.02,
    "reuse": 0.005,
}


def table(seed, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    z = X @ [0.6, 1.2, 0.8, 1.5] + 0.3 * rng.standard_normal(n)
    return X, (z > 0).astype(int), z, np.sort(rng.integers(0, 12, n))


X, Y, Z, Q = table(0)
XV, YV, ZV, QV = table(1)


@pytest.mark.parametrize(
    ("plain", "peer", "given"),
    [
        (BoostingClassifier, CEGBClassifier, {"y": Y}),
        (BoostingRegressor, CEGBRegressor, {"y": Z}),
        (BoostingRanker, CEGBRanker, {"y": np.digitize(Z, [-1, 0, 1.0]), "qid": Q}),
    ],
)
def test_its_trees_are_those_of_cegb_without_prices(plain, peer, given):
    models = [kind(COSTS, 0.0, n_estimators=15).fit(X, **given) for kind in (plain, peer)]
    assert len(models[0].bank_) == 15
    np.testing.assert_array_equal(*[model.predictor_.decision_function(XV) for model in models])


def test_it_keeps_the_number_of_trees_of_least_validation_loss_and_cost():
    dear = COSTS | {"learner": 0.5}  # else all trees pay, or none does
    losses, costs = [0.5 * np.mean((ZV - Z.mean()) ** 2)], [0.0]
    for count in range(1, 26):  # a naive twin: each prefix trained and evaluated on its own
        other = CEGBRegressor(dear, 0.0, n_estimators=count).fit(X, Z)
        report = other.cost(XV)
        losses.append(np.mean(0.5 * (ZV - other.predict(XV)) ** 2))
        costs.append(report.mean + report.fixed / len(XV))
    counts = []
    for tradeoff in (0.0, 0.01, 0.02, 0.05, 1.0):
        model = BoostingRegressor(dear, tradeoff, n_estimators=25, n_iter_no_change=25)
        counts.append(model.fit(X, Z, X_val=XV, y_val=ZV).n_iter_)
        assert counts[-1] == int(np.argmin(np.array(losses) + tradeoff * np.array(costs)))
    assert len(set(counts)) > 2


def test_a_path_has_all_numbers_of_trees_with_their_exact_cost():
    path = BoostingClassifier(COSTS, n_estimators=12).fit_path(X, Y, X_val=XV, y_val=YV, scoring="accuracy")
    assert [point.n_rounds for point in path.points] == list(range(13))
    for point in path.points:
        model = path.predictor(point)
        assert point.cost == pytest.approx(model.cost(XV).mean, rel=1e-12)
        assert point.score == np.mean((model.predict(XV) > 0.5) == YV)
    assert path.plain() in path.points


@pytest.mark.parametrize(("limit", "read"), [(0.0, ""), (2.0, "a"), (5.0, "ad"), (7.5, "acd"), (9, "abcd")])
def test_it_reads_features_whose_price_with_resources_and_share_is_at_most_c(limit, read):
    model = AffordableRegressor(COSTS, 0.0, max_price=limit, n_estimators=30).fit(X, Z)
    names = np.array(list("abcd"))
    assert "".join(names[model.cost(X).acquired.any(axis=0)]) == read


def test_the_price_and_the_trees_are_those_of_the_least_objective():
    def total(model, tradeoff):
        p, report = model.predict_proba(XV), model.cost(XV)
        return -np.log(p[np.arange(len(YV)), YV]).mean() + tradeoff * (report.mean + report.fixed / len(XV))

    asked = {"n_estimators": 20, "n_iter_no_change": 20}
    for tradeoff in (0.005, 0.05):
        totals = [
            total(
                AffordableClassifier(COSTS, tradeoff, max_price=limit, **asked).fit(X, Y, X_val=XV, y_val=YV), tradeoff
            )
            for limit in (0.1, 5.0, 7.5, 8.0)
        ]
        found = AffordableClassifier(COSTS, tradeoff, **asked).fit(X, Y, X_val=XV, y_val=YV)
        assert total(found, tradeoff) == pytest.approx(min(totals), rel=1e-12)
    path = AffordableClassifier(COSTS, 0.0, n_estimators=20).fit_path(X, Y, X_val=XV, y_val=YV)
    assert {point.key for point in path.points} == {0, 1, 2, 3}
    assert path.plain().key == 3
