"""Several stages, composites as expensive models, and files of all of them."""

import naive
import numpy as np
import pytest
from adapt_cases import (
    EVERY_PRICE,
    FEATURES,
    NAMES,
    QUICK,
    PrefittedWarning,
    expensive,
    table,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe.core.errors import StorageError
from costframe.testing import CountingSource
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

LINEAR = {"variant": "lin", "n_estimators": None}
ROWS = table(7, 60)[0]


def inquired(tree, row, costs):
    """Answer one row by questions."""
    source = CountingSource(dict(zip(NAMES, row.tolist(), strict=True)), costs)
    inquiry = tree.inquire(costs)
    while inquiry.needs:
        inquiry.supply(source(inquiry.needs))
    return inquiry.answer, source


def assert_steps(tree, costs, rows=ROWS):
    """Hold table, report, inquiry and plain Python against each other."""
    report, said, exits = tree.cost(rows, costs), tree.predict(rows), tree.exits(rows)
    for i, row in enumerate(rows):
        answer, source = inquired(tree, row, costs)
        # A third party's function may round a row by itself differently.
        np.testing.assert_allclose(np.asarray(answer.value).ravel(), said[i].ravel(), rtol=1e-12, atol=1e-15)
        assert answer.exit == exits[i]
        assert answer.cost == pytest.approx(report.per_row[i], rel=1e-9)
        if costs is FEATURES:
            assert source.charged == pytest.approx(report.per_row[i], rel=1e-9)
        assert answer.cost == pytest.approx(naive.hard_cost(tree, row, costs, "path")[0], rel=1e-9)


def routes(tree):
    return sum(isinstance(stage, cf.Route) for stage in tree.stages)


def ring(seed, n):
    """A free look tells a third, the next feature another third, and the dear one the rest."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    doubt, more = np.abs(X[:, 0]) < 0.6, np.abs(X[:, 1]) < 0.5
    return X, np.where(doubt, np.where(more, X[:, 2] > 0, X[:, 1] > 0), X[:, 0] > 0).astype(int)


RING = {"features": {"look": 0.1, "test": 1.0, "scan": 20.0}}
TRADEOFF = 6e-3


def total(tree, X, y):
    """Return loss + tradeoff * cost."""
    chance = tree.predict(X)
    lost = -np.log(np.clip(np.where(y == 1, chance, 1 - chance), 1e-6, 1 - 1e-6)).mean()
    return lost + TRADEOFF * tree.cost(X, RING).mean


@pytest.fixture(scope="module", params=[1, 2, 3])
def staged(request):
    X, y = ring(1, 900)
    forest = RandomForestClassifier(20, max_depth=8, min_samples_leaf=5, random_state=0).fit(*ring(2, 2000))
    settings = QUICK | {"n_estimators": 20, "n_stages": request.param}
    model = AdaptClassifier(RING, TRADEOFF, expensive=forest, **settings)
    return request.param, model.fit(X, y, expensive_proba=forest.predict_proba(X)), ring(3, 400)


def test_stages_train_price_and_step(staged):
    n_stages, model, (X, y) = staged
    tree = model.predictor_
    assert routes(tree) <= n_stages
    assert n_stages == 1 or routes(tree) >= 1
    assert model.score(X, y) > 0.9
    assert total(tree, X, y) < 0.9 * total(model.expensive_predictor_, X, y)
    report = tree.cost(X[:40])
    for i, row in enumerate(X[:40]):
        source = CountingSource(dict(zip(RING["features"], row.tolist(), strict=True)), tree.costs)
        inquiry = tree.inquire()
        while inquiry.needs:
            inquiry.supply(source(inquiry.needs))
        assert source.charged == pytest.approx(report.per_row[i])
        assert inquiry.answer.value == tree.predict(X[:40])[i]


@pytest.mark.parametrize(
    "settings",
    [{"n_stages": 2}, {"n_stages": 3, "recipe": "paper", "full_share": 0.5}, {"n_stages": 2} | LINEAR],
    ids=str,
)
@pytest.mark.parametrize("costs", [FEATURES, EVERY_PRICE], ids=["features", "every"])
def test_stages_of_all_kinds_cost_what_is_fetched(settings, costs):
    X, y = table(1, 400)
    model, features = expensive("cegb")
    fit = AdaptClassifier(costs, 2e-3, expensive=model if features is None else (model, features), **QUICK | settings)
    fit.fit(X, y, expensive_proba=model.predict_proba(X))
    assert_steps(fit.predictor_, costs)


def composite(kind="logistic", costs=FEATURES, seed=1, **settings):
    X, y = table(seed, 400)
    model, features = expensive(kind)
    rows = X if features is None else X[:, [NAMES.index(name) for name in features]]
    asked = AdaptClassifier(
        costs, 2.5e-3, expensive=model if features is None else (model, features), **QUICK | settings
    )
    return asked.fit(X, y, expensive_proba=model.predict_proba(rows))


@pytest.mark.parametrize("inner", ["logistic", "cegb"])
@pytest.mark.parametrize("outer", [{}, LINEAR], ids=["trees", "linear"])
def test_a_fitted_composite_stands_behind_another(inner, outer):
    X, y = table(11, 400)
    first = composite(inner)
    second = AdaptClassifier(FEATURES, 4e-3, expensive=first, full_share=0.5, **QUICK | outer)
    second.fit(X, y, expensive_proba=first.predict_proba(X))
    assert second.expensive_ is first
    np.testing.assert_array_equal(second.expensive_predictor_.predict(ROWS), first.predictor_.predict(ROWS))
    np.testing.assert_allclose(second.expensive_predictor_.cost(ROWS).per_row, first.cost(ROWS).per_row)
    assert routes(second.predictor_) == routes(first.predictor_) + 1
    assert_steps(second.predictor_, FEATURES)
    with pytest.warns(PrefittedWarning, match="AdaptClassifier is fitted already"):
        again = AdaptClassifier(FEATURES, 4e-3, expensive=first, full_share=0.5, **QUICK | outer).fit(X, y)
    assert again.expensive_ is first


def test_an_unfitted_composite_is_fitted_inside_at_the_same_prices():
    X, y = table(12, 400)
    inner = AdaptClassifier(tradeoff=1e-3, expensive=LogisticRegression(), **QUICK)
    outer = AdaptClassifier(FEATURES, 4e-3, expensive=inner, full_share=0.6, **QUICK).fit(X, y)
    assert not hasattr(inner, "predictor_")
    assert outer.expensive_.costs.to_dict() == FEATURES.to_dict()
    np.testing.assert_array_equal(outer.expensive_predictor_.predict(ROWS), outer.expensive_.predictor_.predict(ROWS))
    assert routes(outer.predictor_) >= 1
    assert outer.score(X, y) > 0.85
    assert_steps(outer.predictor_, FEATURES)


def loaded(model, path, functions=None):
    """Save and load; return the predictor."""
    cf.save(model, path / "model.cf")
    return cf.load(path / "model.cf", functions).predictor_


def assert_same_model(one, other, costs):
    rows = np.vstack([ROWS, table(8, 200)[0]])
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(one.decision_function(rows), other.decision_function(rows))
    np.testing.assert_array_equal(one.cost(rows).per_row, other.cost(rows).per_row)
    assert one.costs.to_dict() == other.costs.to_dict() == costs.to_dict()
    for row in ROWS[:10]:
        assert inquired(one, row, costs)[0].cost == inquired(other, row, costs)[0].cost


@pytest.mark.parametrize("settings", [{}, {"n_stages": 2}, LINEAR], ids=["one", "two", "linear"])
def test_files_with_an_opaque_model_need_its_function(settings, tmp_path):
    """It is named, and given anew."""
    model = composite("logistic", **settings)
    function = model.expensive_predictor_.bank.opaques[0].function
    assert_same_model(loaded(model, tmp_path, {"expensive": function}), model.predictor_, FEATURES)

    def anew(rows):
        return model.expensive_.predict_proba(rows)[:, 1]

    assert_same_model(loaded(model, tmp_path, {"expensive": anew}), model.predictor_, FEATURES)
    with pytest.raises(StorageError, match="expensive"):
        cf.load(tmp_path / "model.cf")
    with pytest.raises(StorageError, match="expensive"):
        cf.load(tmp_path / "model.cf", {"costly": anew})
