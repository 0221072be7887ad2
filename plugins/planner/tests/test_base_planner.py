"""The planner over a model that is given: any classifier or regressor in the place of boosted trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from costframe.core.errors import DataError, ParameterError
from costframe.core.plugins.registry import registry
from costframe.hooks import Algorithm
from costframe.testing import parametrize_algorithm
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor
from costframe_planner.planner import train_plain

COSTS = {"features": {"a": 1.0, "b": 2.0, "c": {"cost": 1.0, "needs": ["lab"]}, "d": 3.0}, "resources": {"lab": 4.0}}
QUICK = {"n_sets": 5, "max_tries": 25}
LAWS = {"n_sets": 8, "max_tries": 40, "n_estimators": None, "max_leaves": None}  # the last two the kit would set


def only(**kinds):
    """The planner with some of its estimators."""
    return Algorithm("planner", registry().algorithm("planner").summary, "costframe's own", **kinds)


@parametrize_algorithm(
    only(classifier=PlannerClassifier),
    settings=LAWS | {"base": DecisionTreeClassifier(max_depth=3, min_weight_fraction_leaf=0.05)},
)
def test_laws_of_classes(check):
    check()


@parametrize_algorithm(
    only(regressor=PlannerRegressor, ranker=PlannerRanker),
    settings=LAWS | {"base": DecisionTreeRegressor(max_depth=3, min_weight_fraction_leaf=0.05)},
)
def test_laws_of_numbers(check):
    check()


def rows(n=500, seed=0, missing=0.1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + 2 * X[:, 2] + 0.5 * X[:, 3] + 0.3 * random.normal(size=n) > 0).astype(int)
    X[random.random(X.shape) < missing] = np.nan
    return X, y


BASES = [
    RandomForestClassifier(15, min_samples_leaf=5),
    make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("base", BASES, ids=["forest", "pipeline"])
def test_it_predicts_costs_and_steps_as_any_plan(base):
    X, y = rows()
    labels = np.array(["no", "yes"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PlannerClassifier(COSTS, tradeoff=5e-3, base=base, **QUICK).fit(frame[:350], labels[:350])
    fresh = frame[350:]
    assert (model.predict(fresh) == labels[350:]).mean() > 0.78
    report = model.cost(fresh)
    assert 0 < report.mean < 11
    predictor = model.predictor_
    assert {opaque.name.split()[0] for opaque in predictor.bank.opaques} == {"base"}
    for place in range(8):
        inquiry, row = predictor.inquire(), fresh.iloc[place]
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        # BLAS sums one row in another order than a table.
        assert inquiry.answer.value == pytest.approx(report.predictions[place], rel=1e-12)
        assert inquiry.answer.cost == report.per_row[place]
    capped = model.cost(fresh, max_cost=3.0)
    assert capped.per_row.max() <= 3
    out = model.cost(fresh, unavailable={"lab"})
    assert not out.acquired[:, 2].any()
    assert np.isfinite(out.predictions).all()
    assert model.cost(fresh, tradeoff=10.0).mean == 0


def test_a_path_over_it_is_judged_out_of_fold():
    X, y = rows(700)
    fresh, labels = rows(2000, seed=1)
    path = PlannerClassifier(COSTS, base=BASES[0], **QUICK).fit_path(X, y, scoring="accuracy")
    for point in path.frontier():
        report = path.predictor(point).cost(fresh)
        score = ((report.predictions > 0.5) == labels).mean()
        assert abs(score - point.score) < 3.5 * np.hypot(point.error, 0.5 / np.sqrt(len(labels)))
        assert report.mean == pytest.approx(point.cost, rel=0.15, abs=0.4)


def test_three_classes_numbers_and_threads():
    X, y = rows(400)
    three = y + (np.nan_to_num(X[:, 0]) > 0.7)
    base = RandomForestClassifier(10, min_samples_leaf=5)
    one, two = (PlannerClassifier(COSTS, tradeoff=1e-3, base=base, n_jobs=n, **QUICK).fit(X, three) for n in (1, 2))
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert (one.predict(X) == three).mean() > 0.7
    number = PlannerRegressor(COSTS, tradeoff=1e-3, base=RandomForestRegressor(10), **QUICK).fit(X, y + 0.1 * three)
    assert number.score(X, y + 0.1 * three) > 0.5


class Unclonable(LogisticRegression):
    def __init__(self, a=1):
        self.a = a + 1
        super().__init__()


@pytest.mark.parametrize(
    ("kind", "base", "text"),
    [
        (PlannerClassifier, Ridge(), "base: expected a classifier that is not fitted, Ridge is none"),
        (PlannerRegressor, LogisticRegression(), "base: expected a regressor .* LogisticRegression is none"),
        (PlannerRanker, LogisticRegression(), "base: expected a regressor"),
        (PlannerClassifier, LinearSVC(), "base: expected a classifier with predict_proba, LinearSVC has none"),
        (PlannerClassifier, SGDClassifier, "base: .* got the class SGDClassifier; call it"),
        (PlannerClassifier, "forest", "base: .* got str"),
        (PlannerClassifier, Unclonable(), "base: .* can be cloned, Unclonable cannot"),
        (PlannerClassifier, DecisionTreeClassifier().fit([[0], [1]], [0, 1]), "base: .* not fitted, this Decision"),
    ],
)  # fmt: skip
def test_what_is_no_base_is_refused_by_name(kind, base, text):
    X, y = rows(120)
    with pytest.raises(ParameterError, match=text):
        kind(COSTS, base=base).fit(X, y)


def test_what_a_base_refuses_and_what_has_no_effect_is_told_by_name():
    X, y = rows(120)
    with pytest.raises(DataError, match=r"base: LogisticRegression cannot be fitted: .*NaN"):
        PlannerClassifier(COSTS, base=LogisticRegression(), **QUICK).fit(X, y)
    with pytest.raises(ParameterError, match="max_leaves: is of boosted trees, and has no effect with a base"):
        PlannerClassifier(COSTS, base=BASES[0], max_leaves=4).fit(X, y)
    with pytest.raises(ParameterError, match="base: Pipeline takes no sample weights"):
        PlannerClassifier(COSTS, base=BASES[1], **QUICK).fit(X, y, sample_weight=np.linspace(0.1, 1, 120))


class Odd(ClassifierMixin, BaseEstimator):
    """Fails in one way or another."""

    def __init__(self, how=None):
        self.how = how

    def fit(self, _X, y):
        if self.how == "unfit":
            raise KeyError("spleen")
        if self.how != "no classes":
            self.classes_ = np.array([7, 9]) if self.how == "other classes" else np.unique(y)
        return None if self.how == "returns none" else self

    def predict_proba(self, X):
        if self.how == "cannot":
            raise RuntimeError("out of luck")
        return np.tile([-1.0, 2.0] if self.how == "odds" else [0.5, 0.5], (len(X), 1))


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("unfit", "base: Odd cannot be fitted: KeyError: 'spleen'"),
        ("cannot", "base: Odd cannot predict: RuntimeError: out of luck"),
        ("no classes", r"base: Odd: expected classes_ of the labels \[0, 1\], got None once fitted"),
        ("other classes", r"base: Odd: expected classes_ of the labels \[0, 1\], got \[7, 9\] once fitted"),
        ("odds", "base: Odd: expected probabilities within 0 and 1, got -1.0 to 2.0"),
    ],
)
def test_bases_that_fail_are_told_by_name(how, text):
    with pytest.raises(DataError, match=text):
        PlannerClassifier(COSTS, base=Odd(how), **QUICK).fit(*rows(60))


class Scribbler(RegressorMixin, BaseEstimator):
    """Writes into what it is given."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        X[:], y[:] = 7.0, 7.0
        if sample_weight is not None:
            sample_weight[:] = 7.0
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("weight", [None, 0.5])
def test_what_a_base_writes_into_its_rows_is_lost(weight):
    X, y = rows(60, missing=0.0)
    model = PlannerRegressor(COSTS, base=Scribbler(), tradeoff=0.0, n_jobs=1, **QUICK)
    y, weight = y.astype(float), None if weight is None else np.linspace(weight, 1.0, 60)
    before = [np.copy(each) for each in (X, y, [] if weight is None else weight)]
    data = model.training_data(X, y, weight)
    problem = model._problem(data)
    train_plain(problem)
    assert (problem.rows.y == before[1]).all()
    assert (before[0] == problem.rows.X).all()
    assert (problem.rows.weight == (1.0 if weight is None else before[2])).all()


def test_predictions_without_a_square_are_refused():
    X, y = rows(60)
    with pytest.raises(DataError, match="base: DummyRegressor: expected predictions that have a square, got 1e\\+200"):
        PlannerRegressor(COSTS, base=DummyRegressor(strategy="constant", constant=1e200), **QUICK).fit(X, y)


def test_under_a_cap_the_model_of_one_set_gives_way_to_the_constant():
    X, y = rows(missing=0.0)
    model = PlannerClassifier(tradeoff=0.0, base=LogisticRegression()).fit(X, y)
    full = model.predictor_.predict(X)
    assert np.ptp(full) > 0.5
    assert (model.predictor_.cost(X).per_row == X.shape[1]).all()
    capped = model.predictor_.predict(X, max_cost=X.shape[1] - 0.5)
    assert capped == pytest.approx(np.full(len(X), np.mean(y == model.classes_[1])), abs=0.02)
    assert model.predictor_.predict(X, max_cost=X.shape[1]) == pytest.approx(full)
