"""The history of boosting on validation data, and words of other libraries' `fit`."""

import numpy as np
import pytest

import costframe as cf
from costframe.plugin import ParameterError
from costframe_cegb import CEGBClassifier
from costframe_miser import MiserRegressor

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(120, 3)), 1)
Y = X[:, 0] + X[:, 1] ** 2
PARTS = X[:80], Y[:80]
HELD_OUT = {"X_val": X[80:], "y_val": Y[80:]}


def prefix(model, n_rounds):
    """The model of the first rounds."""
    tree = model.predictor_
    answer = tree.stages[0]
    kept = cf.Answer(answer.learners[:n_rounds], answer.weights[:n_rounds], answer.intercept)
    return cf.StageTree(tree.bank, (kept,), tree.costs)


def test_a_history_holds_loss_and_cost_after_each_round():
    model = MiserRegressor([1.0, 2.0, 4.0], n_estimators=6).fit(*PARTS, **HELD_OUT)
    history = model.evals_result_["validation"]
    assert list(history) == ["loss", "cost"]
    assert len(history["loss"]) == len(history["cost"]) >= model.n_iter_
    for n_rounds in range(1, model.n_iter_ + 1):
        first = prefix(model, n_rounds)
        assert history["loss"][n_rounds - 1] == pytest.approx(0.5 * np.mean((first.predict(X[80:]) - Y[80:]) ** 2))
        assert history["cost"][n_rounds - 1] == pytest.approx(first.cost(X[80:]).mean)


def test_a_history_of_scores_has_their_name():
    model = CEGBClassifier(tradeoff=1e-3, n_estimators=6, scoring="roc_auc")
    history = model.fit(X[:80], Y[:80] > 0, X_val=X[80:], y_val=Y[80:] > 0).evals_result_["validation"]
    assert set(history) == {"roc_auc", "cost"}
    assert int(np.argmax(history["roc_auc"])) + 1 == model.n_iter_
    assert model.set_params(scoring=None).fit(X, Y > 0).evals_result_ == {}


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("eval_set", "eval_set: no argument of fit; give X_val and y_val"),
        ("group", "give qid, the query of each row"),
    ],
)
def test_words_of_other_libraries_are_refused_with_ours(word, words):
    with pytest.raises(ParameterError, match=words):
        CEGBClassifier().fit(X, Y > 0, **{word: [(X, Y)]})
