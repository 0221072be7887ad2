"""Estimators that come back from files: labels, probabilities, costs, and what does not fit is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

import costframe as cf
from costframe import CostframeError
from costframe.core.storage.stored_card import build_classes
from costframe.errors import PluginError
from costframe.plugin import CostAwareClassifier
from costframe.testing import same_bits

RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(80, 3)), 1)
SIGNAL = X[:, 0] + 0.5 * X[:, 1]
LABELS = {
    "texts": np.where(SIGNAL > 0, "good", "bad"),
    "objects": np.where(SIGNAL > 0, "good", "bad").astype(object),
    "numbers": np.where(SIGNAL > 0, 7, -2),
    "halves": np.where(SIGNAL > 0, 1.0, 2.0),
    "truths": SIGNAL > 0,
    "three": np.array(["low", "middle", "high"])[np.digitize(SIGNAL, [-0.5, 0.5])],
}


def through_file(model, tmp_path):
    cf.save(model, tmp_path / "m")
    return cf.load(tmp_path / "m")


class Adopting(CostAwareClassifier):
    """Trains a model of scikit-learn on the class codes, and adopts it."""

    def __init__(self, model=None, costs=None, tradeoff=0.0):
        self.model, self.costs, self.tradeoff = model, costs, tradeoff

    def _train(self, data):
        return cf.adopt(clone(self.model).fit(data.train.X, data.train.y), data.feature_names)


def test_a_model_of_fewer_features_than_its_training_is_refused():
    class Fewer(Adopting):
        def _train(self, data):
            return cf.adopt(clone(self.model).fit(data.train.X[:, :1], data.train.y), data.feature_names[:1])

    with pytest.raises(PluginError, match=r"Fewer: expected a model with the features of its training, .* got one"):
        Fewer(GaussianNB()).fit(X, LABELS["numbers"])


class Unlikely(ClassifierMixin, BaseEstimator):
    """Predicts the least likely class."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmin(axis=1)]


@pytest.mark.parametrize("model", [SGDClassifier(loss="log_loss", random_state=0), Unlikely()], ids=["ties", "others"])
def test_labels_are_those_of_the_model_before_and_after_saving(model, tmp_path, run):
    """Where probabilities tie that scores tell apart, and where they do not tell the label at all."""
    y, far = LABELS["three"], 500.0 * X
    estimator, expected = Adopting(model).fit(X, y), clone(model).fit(X, y).predict(far).tolist()
    assert estimator.predict(far).tolist() == expected
    assert cf.FittedEstimator(estimator.predictor_).predict(far).tolist() == expected
    if isinstance(model, Unlikely):
        return  # the file of a model that is called holds no code
    again = through_file(estimator, tmp_path)
    assert again.predict(far).tolist() == expected
    frame = pd.DataFrame(far, columns=again.feature_names_in_)
    values = np.array([cf.predict_one(again, row).value for row in frame.to_dict("records")])
    assert again.classes_[values.argmax(axis=1)].tolist() == expected
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert run("predict", "m", "rows.csv", "--output", "out.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "out.csv")["prediction"].tolist() == expected


@pytest.mark.parametrize("kind", LABELS)
def test_a_saved_classifier_predicts_labels_and_probabilities_as_it_did(kind, tmp_path):
    model = cf.CEGBClassifier([1.0, 2.0, 3.0], tradeoff=1e-3, n_estimators=5).fit(X, LABELS[kind])
    again = through_file(through_file(model, tmp_path), tmp_path)
    assert (again.kind, again.classes_.dtype) == ("classifier", model.classes_.dtype)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    for limits in ({}, {"max_cost": 2.0}):
        assert same_bits(again.predict_proba(X, **limits), model.predict_proba(X, **limits))
    assert same_bits(again.decision_function(X), model.decision_function(X))
    assert same_bits(again.cost(X).per_row, model.cost(X).per_row)


def test_a_saved_plan_regressor_and_ranker_too(tmp_path):
    plan = cf.PlannerClassifier([1.0, 2.0, 3.0], n_estimators=5).fit(X, LABELS["texts"])
    assert through_file(plan, tmp_path).predict(X, tradeoff=0.3).tolist() == plan.predict(X, tradeoff=0.3).tolist()
    regressor = cf.CEGBRegressor(n_estimators=5).fit(X, SIGNAL)
    ranker = cf.MiserRanker(n_estimators=5).fit(X, np.digitize(SIGNAL, [0.0]), qid=np.arange(80) // 8)
    for model, kind in ((regressor, "regressor"), (ranker, "ranker")):
        again = through_file(model, tmp_path)
        assert again.kind == kind
        assert same_bits(again.predict(X), model.predict(X))
        with pytest.raises(AttributeError, match=f"a {kind} has no predict_proba"):
            _ = again.predict_proba  # as of the original: evaluators ask whether it has them


BANK, STAGES = cf.WeakLearnerBank.columns(["a"]), (cf.Answer([0], [1.0], [0.0], "sigmoid"),)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: build_classes({"dtype": "<U9", "values": [*map(str, range(3000)), "a" * 30_000]}),
            "is too long besid",
        ),
        (lambda: build_classes({"dtype": "<i4,<i4", "values": [1, 2]}), "malformed classes: .*of one kind"),
        (lambda: cf.StageTree(BANK, STAGES, classes=["a", "b", "c"]), "for 1 output"),
        (
            lambda: cf.FittedEstimator(cf.StageTree(BANK, STAGES), "classifier"),
            "does not fit a predictor without class",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(CostframeError, match=words):
        call()
