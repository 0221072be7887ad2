"""The planner over a model that is given: any classifier or regressor in the place of boosted trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from costframe import Algorithm, CostframeError, algorithms
from costframe.testing import checks
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor
from costframe_planner.planner import train_plain

COSTS = {"features": {"a": 1.0, "b": 2.0, "c": {"cost": 1.0, "needs": ["lab"]}, "d": 3.0}, "resources": {"lab": 4.0}}
QUICK = {"n_sets": 4, "max_tries": 10}
LAWS = {  # of what differs with a base: models, weights, labels, threads, costs and limits of learners that are opaque
    "learns", "huge_tradeoff_buys_nothing_priced", "deterministic", "weights_are_repetitions", "threads_change_nothing",
    "labels_come_back", "pickled_is_the_same", "cost_reported_is_cost_fetched", "nothing_unacquired_matters",
    "an_inquiry_predicts_the_same", "no_row_exceeds_its_cap", "a_failed_fit_changes_nothing",
}  # fmt: skip
TWINS = {"classifier-3", "ranker"}  # of the other two kinds: whether a base is read right is enough
SMALL = {"max_depth": 3, "min_weight_fraction_leaf": 0.05}


def laws(base, **kinds):
    """Laws of the planner's estimators over a base."""
    planner = Algorithm("planner", algorithms()["planner"].summary, "costframe's own", **kinds)
    settings = {
        "n_sets": 4,
        "max_tries": 12,
        "n_estimators": None,
        "max_leaves": None,
    }  # the last two the kit would set
    found = [each for each in checks(planner, settings=settings | {"base": base}) if each.law.name in LAWS]
    return [
        pytest.param(
            each, id=each.title, marks=[pytest.mark.deep] * (each.case.title in TWINS and each.law.name != "learns")
        )
        for each in found
    ]


@pytest.mark.parametrize(
    "check",
    [
        *laws(DecisionTreeClassifier(**SMALL), classifier=PlannerClassifier),
        *laws(DecisionTreeRegressor(**SMALL), regressor=PlannerRegressor, ranker=PlannerRanker),
    ],
)
def test_laws(check):
    check()


def rows(n=500, missing=0.1):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + 2 * X[:, 2] + 0.5 * X[:, 3] + 0.3 * random.normal(size=n) > 0).astype(int)
    X[random.random(X.shape) < missing] = np.nan
    return X, y


FOREST = RandomForestClassifier(10, min_samples_leaf=5)
PIPELINE = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())


@pytest.mark.parametrize("base", [FOREST, PIPELINE], ids=["forest", "pipeline"])
def test_it_predicts_labels_at_a_price(base):
    X, y = rows()
    labels, frame = np.array(["no", "yes"])[y], pd.DataFrame(X, columns=list("abcd"))
    model = PlannerClassifier(COSTS, tradeoff=5e-3, base=base, **QUICK).fit(frame[:350], labels[:350])
    fresh = frame[350:]
    assert (model.predict(fresh) == labels[350:]).mean() > 0.78
    assert 0 < model.cost(fresh).mean < 11
    assert {opaque.name.split()[0] for opaque in model.predictor_.bank.opaques} == {"base"}
    out = model.cost(fresh, unavailable={"lab"})
    assert not out.acquired[:, 2].any()
    assert np.isfinite(out.predictions).all()


class Odd(ClassifierMixin, BaseEstimator):
    """Fails in one way or another."""

    def __init__(self, how=None):
        self.how = how

    def fit(self, _X, y):
        if self.how == "unfit":
            raise KeyError("spleen")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        if self.how == "cannot":
            raise RuntimeError("out of luck")
        return np.tile([-1.0, 2.0], (len(X), 1))


@pytest.mark.parametrize(
    ("kind", "settings", "text"),
    [
        (PlannerClassifier, {"base": Ridge()}, "base: expected a classifier that is not fitted, Ridge is none"),
        (PlannerClassifier, {"base": LinearSVC()}, "base: expected a classifier with predict_proba, LinearSVC has"),
        (PlannerClassifier, {"base": SGDClassifier}, "base: .* got the class SGDClassifier; call it"),
        (PlannerClassifier, {"base": DecisionTreeClassifier().fit([[0], [1]], [0, 1])}, "base: .* not fitted, this"),
        (PlannerClassifier, {"base": FOREST, "max_leaves": 4}, "max_leaves: is of boosted trees, and has no effect"),
        (PlannerClassifier, {"base": LogisticRegression()}, "base: LogisticRegression cannot be fitted: .*NaN"),
        (PlannerRegressor, {"base": DummyRegressor(strategy="constant", constant=1e200)}, "base: .* have a square"),
        (PlannerClassifier, {"base": Odd("unfit")}, "base: Odd cannot be fitted: KeyError: 'spleen'"),
        (PlannerClassifier, {"base": Odd("cannot")}, "base: Odd cannot predict: RuntimeError: out of luck"),
        (PlannerClassifier, {"base": Odd("odds")}, "base: Odd: expected probabilities within 0 and 1, got -1.0 to 2"),
    ],
)  # fmt: skip
def test_what_is_no_base_or_fails_is_told_by_name(kind, settings, text):
    with pytest.raises(CostframeError, match=text):
        kind(COSTS, **QUICK | settings).fit(*rows(60))


class Scribbler(RegressorMixin, BaseEstimator):
    """Writes into what it is given."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        X[:], y[:], sample_weight[:] = 7.0, 7.0, 7.0
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_what_a_base_writes_into_its_rows_is_lost_and_weights_need_one_that_takes_them():
    X, y = rows(60, missing=0.0)
    y, weight = y.astype(float), np.linspace(0.5, 1.0, 60)
    before = [each.copy() for each in (X, y, weight)]
    model = PlannerRegressor(COSTS, base=Scribbler(), tradeoff=0.0, n_jobs=1, **QUICK)
    data = model.training_data(X, y, weight)
    problem = model._problem(data)
    train_plain(problem, data)
    for found, expected in zip((problem.rows.X, problem.rows.y, problem.rows.weight), before, strict=True):
        assert (found == expected).all()
    with pytest.raises(CostframeError, match="base: Pipeline takes no sample weights"):
        PlannerClassifier(COSTS, base=PIPELINE, **QUICK).fit(X, y, sample_weight=weight)


def test_under_a_cap_the_model_of_one_set_gives_way_to_trees_over_what_fits():
    X, y = rows(missing=0.0)
    plan = PlannerClassifier(tradeoff=0.0, base=LogisticRegression()).fit(X, y).predictor_
    assert np.ptp(plan.predict(X)) > 0.5
    capped = plan.cost(X, max_cost=3.5)
    assert 0.0 < capped.per_row.max() <= 3.5
    assert roc_auc_score(y, capped.predictions) > 0.9
    assert plan.predict(X, max_cost=0.5) == pytest.approx(np.full(len(X), np.mean(y)), abs=0.02)
    assert plan.predict(X, max_cost=4) == pytest.approx(plan.predict(X))
