"""Estimators that come back from files: labels, probabilities, costs, and what does not fit is refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

import costframe as cf
from costframe.core.errors import DataError, ParameterError, StorageError
from costframe.core.storage.stored_parts import build_classes
from costframe.testing.case import same_bits
from costframe.training.estimator import CostAwareClassifier
from costframe_cegb import CEGBClassifier, CEGBRegressor
from costframe_miser import MiserClassifier, MiserRanker
from costframe_planner import PlannerClassifier

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


@pytest.mark.parametrize("kind", ["three", "texts"])
@pytest.mark.parametrize("model", [SGDClassifier(loss="log_loss", random_state=0), Unlikely()], ids=["ties", "others"])
def test_labels_are_the_same_before_and_after_saving_and_are_those_of_the_model(kind, model, tmp_path, run):
    """Where probabilities tie that scores tell apart, and where they do not tell the label at all."""
    y, far = LABELS[kind], 500.0 * X
    estimator = Adopting(model).fit(X, y)
    expected = clone(model).fit(X, y).predict(far)
    assert estimator.predict(far).tolist() == expected.tolist()
    assert cf.FittedEstimator(estimator.predictor_).predict(far).tolist() == expected.tolist()
    if isinstance(model, Unlikely):
        assert not (expected == estimator.classes_[estimator.predict_proba(far).argmax(axis=1)]).any()
        return  # the file of a model that is called holds no code
    with np.errstate(over="ignore"):
        tied = np.sort(1 / (1 + np.exp(-clone(model).fit(X, y).decision_function(far).reshape(len(far), -1))), axis=1)
    assert kind == "texts" or (tied[:, -1] == tied[:, -2]).any()
    again = through_file(estimator, tmp_path)
    assert again.predict(far).tolist() == expected.tolist()
    frame = pd.DataFrame(far, columns=again.feature_names_in_)
    values = np.array([cf.predict_one(again, row).value for row in frame.to_dict("records")])
    chosen = values.argmax(axis=1) if values.ndim == 2 else (values > 0.5).astype(int)
    assert again.classes_[chosen].tolist() == expected.tolist()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert run("predict", "m", "rows.csv", "--output", "out.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "out.csv")["prediction"].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_a_saved_classifier_predicts_labels_and_probabilities_as_it_did(kind, tmp_path):
    model = CEGBClassifier([1.0, 2.0, 3.0], tradeoff=1e-3, n_estimators=5).fit(X, LABELS[kind])
    again = through_file(model, tmp_path)
    assert again.kind == "classifier"
    assert again.classes_.dtype == model.classes_.dtype
    for one in (again, through_file(again, tmp_path)):
        assert one.classes_.tolist() == model.classes_.tolist()
        assert one.predict(X).tolist() == model.predict(X).tolist()
        assert same_bits(one.predict_proba(X), model.predict_proba(X))
        assert same_bits(one.decision_function(X), model.decision_function(X))
        assert same_bits(one.cost(X).per_row, model.cost(X).per_row)
        assert same_bits(one.predict_proba(X, max_cost=2.0), model.predict_proba(X, max_cost=2.0))
    assert same_bits(cf.predict_one(again, X[0]).value, model.predictor_.predict(X[:1])[0])


def test_a_saved_plan_regressor_and_ranker_too(tmp_path):
    plan = PlannerClassifier([1.0, 2.0, 3.0], n_estimators=5).fit(X, LABELS["texts"])
    again = through_file(plan, tmp_path)
    assert again.predict(X, tradeoff=0.3).tolist() == plan.predict(X, tradeoff=0.3).tolist()
    regressor = CEGBRegressor(n_estimators=5).fit(X, SIGNAL)
    ranker = MiserRanker(n_estimators=5).fit(X, np.digitize(SIGNAL, [0.0]), qid=np.arange(80) // 8)
    for model, kind in ((regressor, "regressor"), (ranker, "ranker")):
        again = through_file(model, tmp_path)
        assert again.kind == kind
        assert same_bits(again.predict(X), model.predict(X))
        for name in ("classes_", "predict_proba"):
            with pytest.raises(AttributeError, match=f"a {kind} has no {name}"):
                getattr(again, name)  # as of the original: evaluators ask whether it has them


def test_frames_need_only_the_columns_that_a_model_reads(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=1.0)
    model = MiserClassifier(n_estimators=3).fit(frame, LABELS["texts"])
    again = through_file(model, tmp_path)
    assert "b" not in again.predictor_.used_features
    read = frame[list(again.predictor_.used_features)].assign(b="not a number", other="nor this")
    assert again.predict(read).tolist() == model.predict(frame).tolist()
    assert same_bits(again.cost(read).per_row, model.cost(frame).per_row)
    with pytest.raises(DataError, match="the data lack 'a'"):
        again.predict(read.drop(columns="a"))


@pytest.mark.parametrize(
    ("dtype", "values", "words"),
    [
        ("<U9", [*map(str, range(3000)), "a" * 30_000], "the longest of 3,001 labels is too long beside the others"),
        ("<f4", [1e300, 0.0], "overflow"),
        ("<i4,<i4", [1, 2], "of one kind"),
        ("3i4", [1, 2], "of one kind"),
    ],
)
def test_labels_that_a_file_cannot_hold_are_refused(dtype, values, words):
    with pytest.raises(StorageError, match=f"malformed classes: .*{words}"):
        build_classes({"dtype": dtype, "values": values})


def test_what_does_not_fit_is_refused(tmp_path):
    bank = cf.WeakLearnerBank.columns(["a"])
    stages = (cf.Answer([0], [1.0], [0.0], "sigmoid"),)
    for labels, words in ((["a"], "two distinct"), (["a", "a"], "two distinct"), (["a", "b", "c"], "for 1 output")):
        with pytest.raises(DataError, match=words):
            cf.StageTree(bank, stages, classes=labels)
    tree = cf.StageTree(bank, stages)
    with pytest.raises(ParameterError, match="'classifier' does not fit a predictor without classes"):
        cf.FittedEstimator(tree, "classifier")
    with pytest.raises(ParameterError, match="expected a Predictor, got SimpleNamespace"):
        cf.FittedEstimator(SimpleNamespace())
    odd = cf.StageTree(bank, stages, classes=np.array([(1, 2), None], dtype=object))
    with pytest.raises(StorageError, match="classes: expected texts or numbers"):
        cf.save(odd, tmp_path / "m")
    assert not (tmp_path / "m").exists()
