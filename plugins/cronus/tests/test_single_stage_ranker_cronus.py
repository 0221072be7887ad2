"""The single stage for rankings: against ridge regressions of degrees, and as a model of queries."""

import naive_cronus
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_cases_cronus import COSTS, NAMES, table
from sklearn.linear_model import Ridge

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.datasets import Dataset
from costframe.training.scoring import score_named
from costframe_cronus import ReweightedRanker, ReweightedRegressor


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([None, 1.0]), st.booleans())
def test_without_prices_it_is_scikit_learns_ridge_on_degrees(seed, relevant, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), np.append([0.0, 2.0], rng.integers(0, 3, 28))
    weight = rng.uniform(0.5, 2, 30) if weighted else np.ones(30)
    ridge = 0.1 * np.median(np.diag(np.cov(X.T, aweights=weight, ddof=0))) * weight.sum()
    twin = Ridge(ridge).fit(X, naive_cronus.targets(y, relevant), weight)
    model = ReweightedRanker(tradeoff=0.0, bank="columns", relevant=relevant, ridge=0.1)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), twin.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("recipe", [None, "paper"])
@pytest.mark.parametrize("relevant", [None, 2.0])
def test_it_is_the_regression_of_degrees(recipe, relevant):
    """On validation queries too, whose degrees are those of the training rows' largest grade."""
    (X, y, qid), (X_val, y_val, qid_val) = table(1), table(3, 10)
    y_val = np.minimum(y_val, 3)
    given = {"recipe": recipe, "n_estimators": 20}
    ranker = ReweightedRanker(COSTS, 1e-3, relevant=relevant, **given)
    ranker.fit(X, y, X_val=X_val, y_val=y_val, qid=qid, qid_val=qid_val)
    degrees, degrees_val = (
        2 * grades / y.max() - 1 if relevant is None else np.where(grades >= 2, 1.0, -1.0) for grades in (y, y_val)
    )
    plain = ReweightedRegressor(COSTS, 1e-3, **given).fit(X, degrees, X_val=X_val, y_val=degrees_val)
    np.testing.assert_array_equal(ranker.predict(X_val), plain.predict(X_val))
    assert ranker.cost(X_val).mean == plain.cost(X_val).mean > 0


def test_a_higher_tradeoff_buys_less_and_it_ranks_well():
    (X, y, qid), (fresh, grades, of) = table(1), table(2)
    models = [
        ReweightedRanker(COSTS, tradeoff, n_estimators=40).fit(X, y, qid=qid) for tradeoff in (0.0, 1e-3, 3e-3, 10.0)
    ]
    costs, scores = [model.cost(fresh).mean for model in models], [model.score(fresh, grades, of) for model in models]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 2 * costs[2] > costs[3] == 0
    assert min(scores[:2]) > 0.7
    assert min(scores[:3]) > scores[3] + 0.1
    assert scores[0] == score_named("ndcg@5")(grades, models[0].predict(fresh), None, of)


def test_a_frontier_compares_it_by_any_score_of_rankings():
    X, y, qid = table(1, 60)
    split = np.array(["train", "valid", "test"])[np.minimum(qid // 20, 2)]
    data = Dataset.from_arrays(X, y, COSTS, feature_names=list(NAMES), split=split, qid=qid, task="ranking")
    parameters = {"n_estimators": 20}
    found = cf.Frontier.sweep(data, ["reweighted"], points=3, folds=0, score="precision@5:2", parameters=parameters)
    best = max(found.points, key=lambda point: point.test_score)
    constant = min(found.points, key=lambda point: point.cost)
    assert best.test_score > constant.test_score + 0.1
    shown = found.model(best).predict(data.part("test").X)
    test = data.part("test")
    assert best.test_score == score_named("precision@5:2")(test.y, shown, None, test.qid)


def test_a_relevance_that_divides_nothing_is_refused():
    X, y, qid = table(1)
    with pytest.raises(ParameterError, match="relevant: expected a grade that some rows reach and some do not"):
        ReweightedRanker(relevant=5).fit(X, y, qid=qid)
