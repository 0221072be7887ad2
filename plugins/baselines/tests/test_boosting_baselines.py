"""Plain boosting and boosting below a price: which trees, how many of them, and what they cost."""

import numpy as np
import pytest

from costframe.core.errors import ParameterError
from costframe_baselines import (
    AffordableClassifier,
    AffordableRegressor,
    BoostingClassifier,
    BoostingRanker,
    BoostingRegressor,
)
from costframe_baselines.boosting import measure_prefixes
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


@pytest.mark.parametrize("tradeoff", [0.0, 0.005, 0.02, 0.1])
def test_it_keeps_the_number_of_trees_of_least_validation_loss_and_cost(tradeoff):
    model = BoostingRegressor(COSTS, tradeoff, n_estimators=25, n_iter_no_change=25)
    model.fit(X, Z, X_val=XV, y_val=ZV)
    totals = []
    for count in range(26):  # a naive twin: each prefix trained and evaluated on its own
        if not count:
            totals.append(0.5 * np.mean((ZV - Z.mean()) ** 2))
            continue
        other = CEGBRegressor(COSTS, 0.0, n_estimators=count).fit(X, Z)
        report = other.cost(XV)
        totals.append(np.mean(0.5 * (ZV - other.predict(XV)) ** 2) + tradeoff * (report.mean + report.fixed / len(XV)))
    assert model.n_iter_ == int(np.argmin(totals))


def test_without_validation_rows_the_training_rows_choose():
    asked, dear = {"n_estimators": 20, "learning_rate": 0.5}, COSTS | {"learner": 0.5}
    counts = [BoostingClassifier(dear, tradeoff, **asked).fit(X, Y).n_iter_ for tradeoff in (0, 0.025, 1e6)]
    assert counts[0] == 20
    assert counts[0] > counts[1] > counts[2] == 0


def test_a_path_has_all_numbers_of_trees_with_their_exact_cost():
    path = BoostingClassifier(COSTS, n_estimators=12).fit_path(X, Y, X_val=XV, y_val=YV, scoring="accuracy")
    assert [point.n_rounds for point in path.points] == list(range(13))
    for point in path.points:
        model = path.predictor(point)
        assert point.cost == pytest.approx(model.cost(XV).mean, rel=1e-12)
        assert point.score == np.mean((model.predict(XV) > 0.5) == YV)
    assert path.plain() in path.points


def test_measured_prefixes_share_once_prices():
    from costframe.trees.boosting.losses import loss_for

    grown = BoostingRegressor(COSTS, 0.0, n_estimators=4).fit_path(X, Z, X_val=XV, y_val=ZV).branches[0]
    data = BoostingRegressor(COSTS).training_data(X, Z, X_val=XV, y_val=ZV)
    last = measure_prefixes(grown, data.valid, loss_for(0), data.prices)[-1]
    assert last.batch == pytest.approx(grown.finish(data.feature_names).cost(XV, COSTS).fixed / 300)
    assert last.batch == 3.0


@pytest.mark.parametrize(("limit", "read"), [(0.0, ""), (0.1, "a"), (2.0, "a"), (5.0, "ad"), (7.5, "acd"), (9, "abcd")])
def test_it_reads_features_whose_price_with_resources_and_share_is_at_most_c(limit, read):
    model = AffordableRegressor(COSTS, 0.0, max_price=limit, n_estimators=30).fit(X, Z)
    names = np.array(list("abcd"))
    assert "".join(names[model.cost(X).acquired.any(axis=0)]) == read


def test_the_price_and_the_trees_are_those_of_the_least_objective():
    asked = {"n_estimators": 20, "n_iter_no_change": 20}
    for tradeoff in (0.005, 0.02, 0.05):
        each = [
            AffordableClassifier(COSTS, tradeoff, max_price=limit, **asked).fit(X, Y, X_val=XV, y_val=YV)
            for limit in (0.1, 5.0, 7.5, 8.0)
        ]
        totals = [total(model, tradeoff) for model in each]
        found = AffordableClassifier(COSTS, tradeoff, **asked).fit(X, Y, X_val=XV, y_val=YV)
        assert total(found, tradeoff) == pytest.approx(min(totals), rel=1e-12)
    path = AffordableClassifier(COSTS, 0.0, n_estimators=20).fit_path(X, Y, X_val=XV, y_val=YV)
    assert len(path.branches) == 4
    assert len({point.branch for point in path.points}) == 4
    assert path.plain().branch == 3


def total(model, tradeoff):
    p, report = model.predict_proba(XV), model.cost(XV)
    return -np.log(p[np.arange(len(YV)), YV]).mean() + tradeoff * (report.mean + report.fixed / len(XV))


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"recipe": "paper"}, "recipe"), ({"n_iter_no_change": 3}, "n_iter_no_change"), ({"scoring": "auc"}, "scoring")],
)
def test_settings_without_effect_are_refused(settings, name):
    with pytest.raises(ParameterError, match=name):
        BoostingClassifier(COSTS, **settings).fit(X, Y)


@pytest.mark.parametrize("given", [{"tradeoffs": (1.0, 0.1)}, {"look_ahead": False}])
def test_arguments_of_paths_without_effect_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        BoostingClassifier(COSTS).fit_path(X, Y, X_val=XV, y_val=YV, **given)
