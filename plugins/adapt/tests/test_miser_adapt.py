"""With no row to send on, boosted Adapt is Greedy Miser, tree for tree."""

import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, table, three_classes, uneven

import costframe as cf
from costframe_adapt import AdaptClassifier
from costframe_miser import MiserClassifier

PRICES = {
    "resources": FEATURES,
    "every": EVERY_PRICE,
    "reuse": cf.CostModel.from_dict(EVERY_PRICE.to_dict() | {"reuse": 0.01}),
    "free": {"features": dict.fromkeys("abcdefgh", 0.0)},
}


def assert_same_trees(one, other):
    """To the last bit: every tree, its weight, and the intercept."""
    (one_answer,), (other_answer,) = one.stages, other.stages
    assert one_answer.link == other_answer.link
    for name in ("learners", "weights", "intercept"):
        np.testing.assert_array_equal(getattr(one_answer, name), getattr(other_answer, name))
    assert len(one.bank) == len(other.bank)
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "values", "first"):
        np.testing.assert_array_equal(getattr(one.bank.trees, name), getattr(other.bank.trees, name), err_msg=name)


def assert_same(adapt, miser, X):
    assert_same_trees(adapt.predictor_, miser.predictor_)
    np.testing.assert_array_equal(adapt.predict_proba(X), miser.predict_proba(X))
    np.testing.assert_array_equal(adapt.predict(X), miser.predict(X))
    np.testing.assert_array_equal(adapt.cost(X).per_row, miser.cost(X).per_row)
    assert adapt.expensive_ is None
    assert adapt.n_iter_ == 0


def rows(n_classes, seed, n):
    X, y = (table if n_classes == 2 else three_classes)(seed, n)
    X[::9, 5] = np.nan
    return X, y


@pytest.mark.parametrize(("weighted", "validated"), [(False, True), (True, False)])
@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_for_the_expensive_model_is_greedy_miser(n_classes, prices, weighted, validated):
    X, y = rows(n_classes, 1, 300)
    weight = uneven(300) if weighted else None
    seen = {}
    if validated:
        seen = dict(zip(("X_val", "y_val"), rows(n_classes, 2, 120), strict=True))
        seen |= {"sample_weight_val": uneven(120, 1)} if weighted else {}
    asked = {"costs": PRICES[prices], "tradeoff": 3e-3, "n_estimators": 60 if validated else 20}
    adapt = AdaptClassifier(**asked, full_share=0.0).fit(X, y, weight, **seen)
    miser = MiserClassifier(**asked).fit(X, y, weight, **seen)
    assert_same(adapt, miser, X)
    assert len(miser.predictor_.bank) > 3
    if prices != "free":
        assert not miser.cost(X).acquired.all()


@pytest.mark.parametrize(
    "settings", [{"class_weight": "balanced"}, {"tradeoff": 0.0}, {"tradeoff": 1e9}, {"n_jobs": 1}], ids=str
)
def test_parameters_are_misers(settings):
    X, y = rows(2, 3, 250)
    asked = {"costs": EVERY_PRICE, "tradeoff": 2e-3, "n_estimators": 15} | settings
    adapt = AdaptClassifier(**asked, full_share=0, variant="gbrt").fit(X, y)
    assert_same(adapt, MiserClassifier(**asked).fit(X, y), X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_printed_it_is_greedy_miser_with_whole_steps_and_leaves_of_any_size(n_classes):
    X, y = rows(n_classes, 5, 250)
    asked = {"costs": EVERY_PRICE, "tradeoff": 2e-3, "n_estimators": 15}
    adapt = AdaptClassifier(**asked, full_share=0, recipe="paper").fit(X, y)
    assert_same(adapt, MiserClassifier(**asked, learning_rate=1.0, min_samples_leaf=1).fit(X, y), X)


def test_an_expensive_model_that_may_get_nothing_is_not_looked_for():
    X, y = rows(2, 1, 200)

    def full(_rows):
        raise AssertionError("was asked")

    model = AdaptClassifier(FEATURES, 1e-3, expensive=full, full_share=0, n_estimators=5).fit(X, y)
    assert model.expensive_ is None
    assert not hasattr(model, "expensive_predictor_")
