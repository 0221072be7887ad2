"""The single stage for rankings: against ridge regressions of degrees, and as a model of queries."""

import naive_cronus
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_cases_cronus import COSTS, table
from sklearn.linear_model import Ridge

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
