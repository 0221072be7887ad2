from __future__ import annotations

import numpy as np
import pytest
from naive_adopt import parts, scores, walk
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn_cases import (
    HOLES,
    N_ROWS,
    PAIR,
    SIGNAL,
    SUMS_OVERFLOW,
    THREE,
    TWO,
    WHOLE,
    accepted_rows,
    assert_link,
    probabilities,
    raw_scores,
)

import costframe as cf
from costframe.adoption.sklearn.adopt import adopt_sklearn, is_sklearn
from costframe.core.errors import AdoptionError

CLASSIFIERS = (DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
REGRESSORS = (DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor)


def grown(kind, **options):
    if "Forest" in kind.__name__ or "Trees" in kind.__name__:
        options = {"n_estimators": 5} | options
    return kind(max_depth=4, random_state=0, **options)


MEANS = {
    f"{kind.__name__}, {what}": (grown(kind), rows, target)
    for kinds, targets in ((CLASSIFIERS, {"two": TWO, "three": THREE}), (REGRESSORS, {"one": SIGNAL, "pair": PAIR}))
    for kind in kinds
    for what, target, rows in [(w, t, WHOLE) for w, t in targets.items()]
    + [("missing", next(iter(targets.values())), HOLES)]
}
MEANS |= {
    "best first": (RandomForestClassifier(4, max_leaf_nodes=9, random_state=0), WHOLE, THREE),
    "one class": (DecisionTreeClassifier(), WHOLE, np.zeros(N_ROWS, int)),
    "weighted classes": (DecisionTreeClassifier(class_weight="balanced", max_depth=3), HOLES, THREE),
    "fine thresholds": (DecisionTreeRegressor(), 1 + WHOLE * 2e-7, SIGNAL),
    "denormal thresholds": (DecisionTreeRegressor(), (WHOLE * 10).astype(int) * 1.4e-45, SIGNAL),
}


@pytest.mark.parametrize("name", MEANS)
@SUMS_OVERFLOW
def test_trees_and_forests(name):
    model, data, target = MEANS[name]
    model.fit(data, target)
    adopted = parts(adopt_sklearn(model))
    rows = np.concatenate([data, accepted_rows(adopted, data)])
    leaves = walk(adopted.table, rows)
    assert np.array_equal(leaves, model.apply(rows).reshape(len(rows), -1))
    expected = probabilities(model, rows) if hasattr(model, "classes_") else model.predict(rows).reshape(len(rows), -1)
    np.testing.assert_array_equal(scores(adopted, leaves) / len(adopted.table), expected)
    assert adopted.link == "identity"


@pytest.mark.parametrize("target", [TWO, THREE])
def test_equal_votes_of_trees_are_equal(target):
    """A sum of n-ths would round to either side of a half, and so give another label than the mean of the sum."""
    X = np.round(WHOLE, 1)
    model = RandomForestClassifier(40, random_state=0).fit(X, target)
    rows = np.round(np.random.default_rng(0).normal(size=(4000, X.shape[1])), 1)
    np.testing.assert_array_equal(cf.FittedEstimator(adopt_sklearn(model)).predict(rows), model.predict(rows))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_several_labels_a_row(kind):
    model = grown(kind).fit(WHOLE, np.column_stack([PAIR > 0.3, WHOLE[:, 3] > 0]))
    expected = np.column_stack([values[:, 1] for values in model.predict_proba(WHOLE)])
    adopted = adopt_sklearn(model)
    assert adopted.classes is None
    assert np.allclose(adopted.predict(WHOLE), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "contamination": 0.1}, {"max_samples": 2}])
@SUMS_OVERFLOW
def test_isolation_forests(options):
    model = IsolationForest(n_estimators=6, random_state=0, **options).fit(HOLES)
    adopted = adopt_sklearn(model)
    rows = np.concatenate([HOLES, accepted_rows(parts(adopted), HOLES)])
    assert np.allclose(adopted.predict(rows), model.score_samples(rows), rtol=1e-15)
    assert np.allclose(adopted.predict(rows) - model.offset_, model.decision_function(rows), rtol=0, atol=1e-15)


def test_an_isolation_forest_of_single_rows_is_a_constant():
    model = IsolationForest(n_estimators=3, max_samples=1, random_state=0).fit(WHOLE)
    adopted = adopt_sklearn(model)
    assert np.array_equal(adopted.predict(WHOLE), model.score_samples(WHOLE))
    assert not adopted.cost(WHOLE).per_row.any()


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("depth", [1, 3])
@SUMS_OVERFLOW
def test_adaboost(target, depth):
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=6, random_state=0)
    model.fit(WHOLE, target)
    adopted = adopt_sklearn(model)
    rows = np.concatenate([WHOLE, accepted_rows(parts(adopted), WHOLE)])
    assert np.allclose(adopted.decision_function(rows), model.decision_function(rows), rtol=0, atol=1e-14)
    assert np.allclose(adopted.predict(rows).reshape(len(rows), -1), probabilities(model, rows), rtol=0, atol=1e-14)
    assert adopted.classes.tolist() == model.classes_.tolist()


def test_split_between_missing_and_present_values():
    data = HOLES[:, [0, 0, 0, 0]]
    model = DecisionTreeRegressor(max_depth=1).fit(data, np.isnan(data[:, 0]))
    adopted = parts(adopt_sklearn(model))
    assert adopted.table.threshold[0] == np.inf
    rows = np.array([[np.nan] * 4, [1e30] * 4, [-1e30] * 4])
    assert np.array_equal(walk(adopted.table, rows)[:, 0], model.apply(rows))


BOOSTED = {
    "binary": (GradientBoostingClassifier(n_estimators=6, learning_rate=0.3), TWO, "sigmoid"),
    "multiclass": (GradientBoostingClassifier(n_estimators=6), THREE, "softmax"),
    "binary, zero": (GradientBoostingClassifier(n_estimators=6, init="zero"), TWO, "sigmoid"),
    "multiclass, zero": (GradientBoostingClassifier(n_estimators=6, init="zero"), THREE, "softmax"),
    "binary, most frequent": (
        GradientBoostingClassifier(n_estimators=6, init=DummyClassifier(strategy="most_frequent")),
        TWO,
        "sigmoid",
    ),
    "regression": (GradientBoostingRegressor(n_estimators=6), SIGNAL, "identity"),
    "regression, huber": (GradientBoostingRegressor(n_estimators=6, loss="huber"), SIGNAL, "identity"),
    "regression, quantile": (GradientBoostingRegressor(n_estimators=6, loss="quantile"), SIGNAL, "identity"),
    "regression, absolute": (GradientBoostingRegressor(n_estimators=6, loss="absolute_error"), SIGNAL, "identity"),
    "regression, constant": (
        GradientBoostingRegressor(n_estimators=6, init=DummyRegressor(strategy="constant", constant=2.5)),
        SIGNAL,
        "identity",
    ),
    "exponential loss": (GradientBoostingClassifier(n_estimators=6, loss="exponential"), TWO, "sigmoid"),
    "early stopping": (
        GradientBoostingClassifier(n_estimators=200, n_iter_no_change=1, random_state=0),
        TWO,
        "sigmoid",
    ),
}


@pytest.mark.parametrize("name", BOOSTED)
@SUMS_OVERFLOW
def test_gradient_boosting(name):
    model, target, link = BOOSTED[name]
    model.fit(WHOLE, target)
    adopted = parts(adopt_sklearn(model))
    rows = np.concatenate([WHOLE, accepted_rows(adopted, WHOLE)])
    leaves = walk(adopted.table, rows)
    assert np.array_equal(leaves, model.apply(rows).reshape(len(rows), -1))
    assert np.array_equal(scores(adopted, leaves), raw_scores(model, rows))
    assert (adopted.link, adopted.intercept.size) == (link, 3 if link == "softmax" else 1)
    assert_link(adopt_sklearn(model), model, rows)


INITS = {
    "tree": DecisionTreeRegressor(max_depth=3),
    "forest": RandomForestRegressor(3, max_depth=3, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5),
    "linear": LinearRegression(),
}


@pytest.mark.parametrize("name", INITS)
@SUMS_OVERFLOW
def test_gradient_boosting_that_begins_with_a_model(name):
    model = GradientBoostingRegressor(n_estimators=4, init=INITS[name]).fit(WHOLE, SIGNAL)
    adopted = adopt_sklearn(model)
    if name == "linear":  # which the original computes in float32
        assert np.allclose(adopted.predict(WHOLE), model.predict(WHOLE), atol=1e-6)
        return
    rows = np.concatenate([WHOLE, accepted_rows(parts(adopted), WHOLE)])
    assert np.allclose(adopted.predict(rows), model.predict(rows), rtol=1e-14, atol=1e-14)


REFUSED = {
    "pipeline": (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()), "Pipeline: a pipeline cannot"),
    "a transformer": (StandardScaler, r"StandardScaler: cannot be adopted.*features=\[.*Supported are linear"),
    "neighbors": (
        lambda: KNeighborsClassifier().fit(WHOLE, TWO),
        r"KNeighborsClassifier: cannot be adopted .*; costframe.adopt\(model, features=",
    ),
    "votes of others": (
        lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(WHOLE, TWO),
        "AdaBoostClassifier: cannot be adopted part by part: its members, LogisticRegression, are no trees",
    ),
    "no model": (object, "object: cannot be adopted"),
    "unfitted tree": (DecisionTreeClassifier, "DecisionTreeClassifier: is not fitted"),
    "unfitted forest": (RandomForestRegressor, "RandomForestRegressor: is not fitted"),
    "unfitted boosting": (HistGradientBoostingClassifier, "HistGradientBoostingClassifier: is not fitted"),
    "several outputs": (
        lambda: RandomForestClassifier(2).fit(WHOLE, np.column_stack([TWO, THREE])),
        "RandomForestClassifier: label 1 of 2 has 3 classes",
    ),
    "init estimator": (
        lambda: GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(WHOLE, TWO),
        r"init=LogisticRegression\(\) cannot be adopted",
    ),
    "init neighbors": (
        lambda: GradientBoostingRegressor(n_estimators=2, init=KNeighborsRegressor()).fit(WHOLE, SIGNAL),
        r"init=KNeighborsRegressor\(\) cannot be adopted",
    ),
    "random init": (
        lambda: GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="uniform")).fit(WHOLE, TWO),
        r"init=DummyClassifier\(strategy='uniform'\) cannot be adopted",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_adopted_is_refused_by_name(name):
    make, message = REFUSED[name]
    with pytest.raises(AdoptionError, match=message):
        adopt_sklearn(make())


def test_a_class_derived_by_the_user_is_adopted():
    mine = type("Mine", (RandomForestClassifier,), {"__module__": "elsewhere"})
    model = mine(n_estimators=3, max_depth=2).fit(WHOLE, TWO)
    assert isinstance(cf.adopt(model), cf.StageTree)
    assert np.array_equal(walk(adopt_sklearn(model).bank.trees, WHOLE), model.apply(WHOLE))


def test_a_derived_class_that_predicts_in_its_own_way_is_refused():
    mine = type("Mine", (RandomForestClassifier,), {"__module__": "elsewhere", "predict_proba": lambda *_: None})
    model = mine(n_estimators=3, max_depth=2).fit(WHOLE, TWO)
    with pytest.raises(AdoptionError, match="Mine: has a predict_proba of its own, other than RandomForestClassifier"):
        adopt_sklearn(model)


def test_is_sklearn_tells_models_apart():
    assert is_sklearn(DecisionTreeClassifier())
    assert is_sklearn(HistGradientBoostingRegressor())
    assert is_sklearn(make_pipeline(DecisionTreeClassifier()))  # to be refused by name
    assert not is_sklearn(KNeighborsClassifier())  # any other model is opaque
    assert not is_sklearn(type("Mine", (BaseEstimator,), {"__module__": "elsewhere"})())
    assert not is_sklearn(object())
