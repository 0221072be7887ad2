"""Linear variants, and laws of weights and of rows, through the estimator."""

import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, NAMES, PrefittedWarning, expensive, table, three_classes, uneven
from sklearn.linear_model import LogisticRegression

from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

X, Y = table(1, 300)
TREES = {"n_estimators": 8}
LINEAR = {"variant": "lin"}
PAPER = {"recipe": "paper", "full_share": 0.5}


def fit(rows=X, labels=Y, weight=None, costs=FEATURES, tradeoff=1e-3, **settings):
    return AdaptClassifier(costs, tradeoff, expensive=LogisticRegression(), **settings).fit(rows, labels, weight)


@pytest.mark.parametrize("full_share", [None, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_does_not_rise(n_classes, full_share):
    rows, labels = (table if n_classes == 2 else three_classes)(3, 250)
    weight = uneven(250)
    model = fit(rows, labels, weight, **LINEAR, full_share=full_share)
    assert 1 <= model.n_iter_ <= 6
    assert model.objective_.shape == (model.n_iter_,)
    assert (np.diff(model.objective_) <= 1e-10).all()
    assert model.objective_[-1] < model.objective_[0] or model.n_iter_ == 1


def test_the_best_round_of_trees_is_kept():
    """Loss + tradeoff * cost on the rows that chose is no more than that of any round, nor of the models alone."""
    rows, labels = table(4, 250)
    model, _ = expensive("cegb")
    asked = AdaptClassifier(EVERY_PRICE, 2e-3, expensive=model, **TREES)
    asked.fit(X, Y, X_val=rows, y_val=labels, expensive_proba=model.predict_proba(X))
    assert total(asked.predictor_, rows, labels, 2e-3) <= asked.objective_.min() * (1 + 1e-9)
    assert total(asked.predictor_, rows, labels, 2e-3) <= total(asked.expensive_predictor_, rows, labels, 2e-3) + 1e-9


def total(tree, rows, labels, tradeoff):
    chance = tree.predict(rows)
    lost = -np.log(np.clip(np.where(labels == 1, chance, 1 - chance), 1e-6, 1 - 1e-6)).mean()
    report = tree.cost(rows, EVERY_PRICE)
    once = EVERY_PRICE.select(NAMES).once / len(rows)
    return lost + tradeoff * (report.mean + (report.acquired @ once).mean())


@pytest.mark.parametrize("settings", [LINEAR, LINEAR | PAPER], ids=["lin", "paper"])
def test_zeros_are_exact_so_that_dear_columns_are_not_read(settings):
    model, _ = expensive("logistic")
    asked = AdaptClassifier(FEATURES, 1e-2, expensive=(model, list("abef")), **{"full_share": 0.3} | settings).fit(
        X, Y, expensive_proba=model.predict_proba(X[:, [0, 1, 4, 5]])
    )
    tree = asked.predictor_
    assert len(tree.stages) == 3
    front = {name for stage in tree.stages[:2] for t in stage.learners for name in [NAMES[tree.bank.column_feature[t]]]}
    assert front <= set("abcd")  # the lab is for the expensive model


def test_the_papers_threshold_is_zero():
    model, _ = expensive("cegb")
    for settings in (TREES, LINEAR):
        asked = AdaptClassifier(FEATURES, 1e-3, expensive=model, **PAPER, **settings)
        with pytest.warns(PrefittedWarning):
            asked.fit(X, Y)
        tree = asked.predictor_
        assert len(tree.stages) > 1
        assert tree.stages[0].threshold == 0.0


def test_bought_shares_are_of_rows_held_out():
    """At most P of the validation rows go on, whatever the gate's scores are."""
    rows, labels = table(4, 200)
    weight = uneven(200)
    model, _ = expensive("cegb")
    for settings in (TREES, LINEAR):
        for full_share in (0.05, 0.3):
            asked = AdaptClassifier(FEATURES, 1e-5, expensive=model, full_share=full_share, **settings)
            asked.fit(X, Y, X_val=rows, y_val=labels, sample_weight_val=weight, expensive_proba=model.predict_proba(X))
            tree = asked.predictor_
            assert len(tree.stages) > 1
            assert 0 < weight @ (tree.exits(rows) >= 2) / weight.sum() <= full_share + 1e-12
