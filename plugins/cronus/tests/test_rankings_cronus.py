"""Rankings by a cascade and by a single stage: against naive twins and ridge regressions, in order, at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import costframe as cf
from costframe import Answer
from costframe.plugin import ParameterError
from costframe_cronus import CronusRanker, ReweightedRanker, ReweightedRegressor

NAMES = tuple("abcdef")
COSTS = cf.CostModel.from_dict({
    "features": dict.fromkeys("abc", 1.0) | {name: {"cost": 2.0, "needs": ["lab"]} for name in "def"},
    "resources": {"lab": 20.0},
})  # fmt: skip


def table(seed, n_queries=40, size=15):
    """Grades 0 to 4, most of them 0; cheap columns tell roughly, dear ones the rest; queries do not lie together."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.standard_normal((n, 6))
    y = np.clip(np.floor(X[:, 0] + X[:, 1] + X[:, 3] + X[:, 4]), 0, 4)
    X[:, :2] += 0.4 * rng.standard_normal((n, 2))
    return X, y, rng.permutation(np.repeat(np.arange(n_queries), size))


@pytest.fixture(scope="module")
def bank():
    X, y, _ = table(0)
    return cf.train_bank(X, y, n_estimators=60, learning_rate=0.3, max_features=0.34, max_depth=3, feature_names=NAMES)


def rank(tree, row):
    """Go down the chain of one row: k + s / (2 (1 + |s|)) at its k-th exit."""
    outputs, first = tree.bank.outputs(row[None])[0], np.cumsum(tree.bank.widths) - tree.bank.widths

    def score(stage):
        read = [first[t] + j for t in stage.learners for j in range(tree.bank.widths[t])]
        return float(stage.intercept[0]) + sum(w * outputs[c] for w, c in zip(stage.weights[:, 0], read, strict=True))

    stage, exits = tree.stages[0], 0
    while hasattr(stage, "threshold"):
        if not score(stage) > stage.threshold:
            stage = tree.stages[stage.below]
            break
        stage, exits = tree.stages[stage.above], exits + 1
    s = score(stage)
    return exits + s / (2 * (1 + abs(s)))


def test_a_cascade_is_the_naive_twin_whose_first_rejections_are_lowest_and_ranks_well_for_little(bank):
    X, y, qid = table(1)
    fresh, truth, of = table(2)
    usual = {"bank": bank, "ridge": 0.01}
    model = CronusRanker(COSTS, 5e-3, n_stages=4, rejected=0.3, **usual).fit(X, y, qid=qid)
    tree = model.predictor_
    assert len(tree.stages) >= 5
    values, exits = model.predict(fresh), tree.exits(fresh)
    np.testing.assert_allclose(values, [rank(tree, row) for row in fresh], rtol=1e-12)
    order = [stage for stage in range(len(tree.stages)) if (exits == stage).any()]
    assert len(order) >= 3
    for k, stage in enumerate(order[:-1]):
        assert values[exits == stage].max() < values[exits == order[k + 1]].min()
    answers = [stage.level for stage in tree.stages if isinstance(stage, Answer)]
    assert answers == list(range(len(answers)))
    full = CronusRanker(COSTS, 0.0, n_stages=1, **usual).fit(X, y, qid=qid)
    assert model.cost(fresh).mean < 0.5 * full.cost(fresh).mean
    assert model.score(fresh, truth, of) > max(0.65, 0.75 * full.score(fresh, truth, of))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([None, 1.0]), st.sampled_from([0.5, 1.0, 3.5]))
def test_without_prices_one_stage_is_scikit_learns_ridge_on_degrees_of_relevance(seed, relevant, positive):
    rng = np.random.default_rng(seed)
    X, y, w = rng.standard_normal((30, 3)), np.append([0.0, 2.0], rng.integers(0, 3, 28)), rng.uniform(0.5, 2, 30)
    target = np.where(y >= relevant, 1.0, -1.0) if relevant else 2 * y / max(y) - 1
    emphasis = w * (1 + (positive - 1) * (target + 1) / 2)
    usual = {"tradeoff": 0.0, "bank": "columns", "relevant": relevant, "ridge": 0.1}
    cascade = CronusRanker(n_stages=1, positive_weight=positive, optimize=False, **usual).fit(X, y, w)
    for model, weight in ((ReweightedRanker(**usual).fit(X, y, w), w), (cascade, emphasis)):
        ridge = 0.1 * np.median(np.diag(np.cov(X.T, aweights=weight, ddof=0))) * weight.sum()
        expected = Ridge(ridge).fit(X, target, weight).predict(X)
        if model is cascade:
            expected = expected / (2 * (1 + np.abs(expected)))
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("recipe", [None, "paper"])
def test_a_single_stage_is_the_regression_of_degrees(recipe):
    """On validation queries too, whose degrees are those of the training rows' largest grade."""
    (X, y, qid), (X_val, y_val, qid_val) = table(1), table(3, 10)
    y_val, given = np.minimum(y_val, 3), {"recipe": recipe, "n_estimators": 20}
    ranker = ReweightedRanker(COSTS, 1e-3, **given).fit(X, y, X_val=X_val, y_val=y_val, qid=qid, qid_val=qid_val)
    degrees, degrees_val = (2 * grades / y.max() - 1 for grades in (y, y_val))
    plain = ReweightedRegressor(COSTS, 1e-3, **given).fit(X, degrees, X_val=X_val, y_val=degrees_val)
    np.testing.assert_array_equal(ranker.predict(X_val), plain.predict(X_val))
    assert ranker.cost(X_val).mean == plain.cost(X_val).mean > 0


@pytest.mark.parametrize("relevant", [3.5, 0.5])
def test_a_relevance_that_divides_nothing_is_refused(relevant):
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.full(20, 2.0)
    y[: 10 if relevant > 3 else 0] = 0
    with pytest.raises(ParameterError, match=f"relevant: expected a grade that some .* got {relevant:g}"):
        CronusRanker(relevant=relevant).fit(X, y)
