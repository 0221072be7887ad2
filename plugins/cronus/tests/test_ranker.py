"""Cascades for rankings: against a naive twin, in their order, and at the edges."""

import naive_cronus
import naive_linear
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_cases_cronus import COSTS, NAMES, table

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.stages.stages import Answer
from costframe_cronus import CronusClassifier, CronusRanker


@pytest.fixture(scope="module")
def bank():
    X, y, _ = table(0)
    return cf.train_bank(X, y, n_estimators=60, learning_rate=0.3, max_features=0.34, max_depth=3, feature_names=NAMES)


@pytest.fixture(scope="module")
def model(bank):
    X, y, qid = table(1)
    return CronusRanker(COSTS, 5e-3, bank=bank, n_stages=4, rejected=0.3).fit(X, y, qid=qid)


def test_it_is_the_naive_twin(model):
    fresh = table(2)[0]
    assert len(model.predictor_.stages) >= 5
    twin = [naive_cronus.rank(model.predictor_, row) for row in fresh]
    np.testing.assert_allclose(model.predict(fresh), twin, rtol=1e-12)


def test_rejected_rows_stand_below_all_others_and_the_first_lowest(model):
    fresh = table(2)[0]
    values, exits = model.predict(fresh), model.predictor_.exits(fresh)
    order = [stage for stage in range(len(model.predictor_.stages)) if (exits == stage).any()]
    assert len(order) >= 3
    for k, stage in enumerate(order[:-1]):
        assert values[exits == stage].max() < values[exits == order[k + 1]].min()
    np.testing.assert_array_equal(model.predictor_.decision_function(fresh), values)
    answers = [stage.level for stage in model.predictor_.stages if isinstance(stage, Answer)]
    assert answers == list(range(len(answers)))


def test_it_ranks_well_for_little(model, bank):
    X, y, qid = table(1)
    fresh, truth, of = table(2)
    full = CronusRanker(COSTS, 0.0, bank=bank, n_stages=1).fit(X, y, qid=qid)
    assert model.cost(fresh).mean < 0.5 * full.cost(fresh).mean
    assert model.score(fresh, truth, of) > max(0.65, 0.75 * full.score(fresh, truth, of))


def test_of_one_stage_the_answer_is_ranked_too(bank):
    X, y, _ = table(1)
    model = CronusRanker(COSTS, 1e-3, bank=bank, n_stages=1).fit(X, y)
    (answer,) = model.predictor_.stages
    assert (answer.link, answer.level) == ("ranked", 0.0)
    assert np.abs(model.predict(X)).max() < 0.5


def test_of_two_grades_it_is_the_classifier_with_its_rejections_below(bank):
    """The same targets, emphasis and settings: initialized, the same stages; of rows answered together the order."""
    X, y, _ = table(1)
    settings = {"bank": bank, "n_stages": 3, "rejected": 0.3, "ridge": 0.01, "optimize": False}
    ranker = CronusRanker(COSTS, 1e-3, relevant=2, **settings).fit(X, y, X_val=X, y_val=y)
    plain = CronusRanker(COSTS, 1e-3, **settings).fit(X, 3.0 * (y >= 2), X_val=X, y_val=y)
    classifier = CronusClassifier(COSTS, 1e-3, **settings).fit(X, y >= 2, X_val=X, y_val=y >= 2)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))
    assert ranker.cost(X).mean == classifier.cost(X).mean
    exits = classifier.predictor_.exits(X)
    np.testing.assert_array_equal(exits, ranker.predictor_.exits(X))
    last = exits == exits.max()
    by_both = [
        np.argsort(values[last], kind="stable") for values in (ranker.predict(X), classifier.predict_proba(X)[:, 1])
    ]
    np.testing.assert_array_equal(*by_both)


def test_relevance_by_degrees_is_another_target(bank):
    X, y, qid = table(1)
    fresh, truth, of = table(2)
    models = [CronusRanker(COSTS, 1e-3, bank=bank, n_stages=3, relevant=at).fit(X, y, qid=qid) for at in (None, 1, 3)]
    assert len({model.predict(fresh).tobytes() for model in models}) == 3
    assert min(model.score(fresh, truth, of) for model in models) > 0.6


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([None, 1.0]), st.sampled_from([0.5, 1.0, 3.5]))
def test_one_stage_is_the_weighted_fit_to_its_targets(seed, relevant, positive):
    """Tradeoff zero over columns: a ridge whose targets and weights are those of the text."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), np.append([0.0, 2.0], rng.integers(0, 3, 28))
    target = naive_cronus.targets(y, relevant)
    w = naive_cronus.emphasis(target, positive)
    gram = np.cov(X.T, aweights=w, ddof=0)
    weights = naive_linear.ridge_fit(X, target[:, None], w, np.arange(3), 1e-2 * np.median(np.diag(gram)))[:, 0]
    scores = X @ weights
    scores += (w / w.sum()) @ (target - scores)
    model = CronusRanker(
        tradeoff=0.0,
        bank="columns",
        n_stages=1,
        relevant=relevant,
        positive_weight=positive,
        ridge=1e-2,
        optimize=False,
    )
    expected = [s / (2 * (1 + abs(s))) for s in scores]
    np.testing.assert_allclose(model.fit(X, y).predict(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("y", [np.zeros(40), np.full(40, 3.0)])
@pytest.mark.parametrize("stages", [1, 4])
def test_of_equal_grades_it_is_a_constant(y, stages):
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = CronusRanker(tradeoff=1e-3, n_estimators=20, n_stages=stages).fit(X, y, X_val=X, y_val=y)
    assert len(set(model.predict(X))) == 1
    assert np.isfinite(model.predict(X)).all()
    assert model.cost(X).mean == 0


@pytest.mark.parametrize("relevant", [3.5, 0.5, 2])
def test_a_relevance_that_divides_nothing_is_refused(relevant):
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.full(20, 2.0)
    y[: 10 if relevant > 3 else 0] = 0
    with pytest.raises(ParameterError, match=f"relevant: expected a grade that some .* got {relevant:g}"):
        CronusRanker(relevant=relevant).fit(X, y)
