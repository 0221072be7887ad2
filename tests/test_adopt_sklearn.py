"""scikit-learn's trees, forests and boosting: every row reaches the original's leaf, and scores are its own."""

import numpy as np
import pandas as pd
import pytest
from adoption_cases import ADOPTS, KNOWS
from naive_adopt import parts, scores, walk
from sklearn import ensemble as en
from sklearn import tree
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn_cases import HOLES, N_ROWS, PAIR, RNG, SIGNAL, THREE, TWO, WHOLE, accepted_rows, probabilities

import costframe as cf
from costframe.errors import AdoptionError

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")  # of sums that overflow
KINDS = [
    *(getattr(tree, f"{name}{task}") for name in ("DecisionTree", "ExtraTree") for task in ("Classifier", "Regressor")),
    *(getattr(en, f"{name}{task}") for name in ("RandomForest", "ExtraTrees") for task in ("Classifier", "Regressor")),
]


def grown(kind, **options):
    if "Forest" in kind.__name__ or "Trees" in kind.__name__:
        options = {"n_estimators": 5} | options
    return kind(max_depth=4, random_state=0, **options)


def boosted(y, **options):
    kind = en.GradientBoostingRegressor if y is SIGNAL else en.GradientBoostingClassifier
    return kind(**{"n_estimators": 6, "random_state": 0} | options)


def histogram(y, **options):
    kind = en.HistGradientBoostingRegressor if y is SIGNAL else en.HistGradientBoostingClassifier
    return kind(**{"max_iter": 6, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0} | options)


INFINITE, MOST = np.where(WHOLE > 1, np.inf, HOLES), DummyClassifier(strategy="most_frequent")
CASES = {}
for kind in KINDS:
    one, several = (TWO, THREE) if "Classifier" in kind.__name__ else (SIGNAL, PAIR)
    CASES |= {f"{kind.__name__}, 1": (grown(kind), HOLES, one), f"{kind.__name__}, 2": (grown(kind), WHOLE, several)}
CASES |= {
    "best first": (en.RandomForestClassifier(4, max_leaf_nodes=9, random_state=0), WHOLE, THREE),
    "one class": (tree.DecisionTreeClassifier(), WHOLE, np.zeros(N_ROWS, int)),
    "weighted classes": (tree.DecisionTreeClassifier(class_weight="balanced", max_depth=3), HOLES, THREE),
    "fine thresholds": (tree.DecisionTreeRegressor(), 1 + WHOLE * 2e-7, SIGNAL),
    "denormal thresholds": (tree.DecisionTreeRegressor(), (WHOLE * 10).astype(int) * 1.4e-45, SIGNAL),
    "missing, present": (tree.DecisionTreeRegressor(max_depth=1), HOLES[:, [0] * 4], np.isnan(HOLES[:, 0]) * 1.0),
    "boosted, two": (boosted(TWO, learning_rate=0.3), WHOLE, TWO),
    "boosted, three": (boosted(THREE), WHOLE, THREE),
    "boosted, two from zero": (boosted(TWO, init="zero"), WHOLE, TWO),
    "boosted, three from zero": (boosted(THREE, init="zero"), WHOLE, THREE),
    "boosted, most frequent": (boosted(TWO, init=MOST), WHOLE, TWO),
    "boosted, exponential": (boosted(TWO, loss="exponential"), WHOLE, TWO),
    "boosted, early stopping": (boosted(TWO, n_estimators=200, n_iter_no_change=1), WHOLE, TWO),
    "boosted, numbers": (boosted(SIGNAL), WHOLE, SIGNAL),
    "boosted, quantile": (boosted(SIGNAL, loss="quantile"), WHOLE, SIGNAL),
    "boosted, constant": (
        boosted(SIGNAL, init=DummyRegressor(strategy="constant", constant=2.5)), WHOLE, SIGNAL
    ),
}  # fmt: skip
for title, each in {"whole": WHOLE, "holes": HOLES, "infinite": INFINITE}.items():
    CASES |= {
        f"histogram, two, {title}": (histogram(TWO), each, TWO),
        f"histogram, three, {title}": (histogram(THREE, max_iter=100, early_stopping=True), each, THREE),
        f"histogram, numbers, {title}": (histogram(SIGNAL, monotonic_cst=[1, 0, 0, 0]), each, SIGNAL),
        f"histogram, quantile, {title}": (histogram(SIGNAL, loss="quantile", quantile=0.3), each, SIGNAL),
    }


def original_leaves(model, rows):
    """The original's leaves; of histograms by their compiled traversal, over nodes whose value is their number."""
    if not hasattr(model, "_predictors"):
        return model.apply(rows).reshape(len(rows), -1)
    found = []
    for predictor in (predictor for predictors in model._predictors for predictor in predictors):
        nodes = predictor.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        numbered = TreePredictor(nodes, predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets)
        categories = model._bin_mapper.make_known_categories_bitsets()
        found.append(numbered.predict(rows, *categories, n_threads=1).astype(int))
    return np.column_stack(found)


def answers(model, rows):
    """float64 (rows, K), as an adopted model predicts."""
    return probabilities(model, rows) if hasattr(model, "classes_") else model.predict(rows).reshape(len(rows), -1)


@pytest.mark.parametrize("name", CASES)
def test_every_row_reaches_the_originals_leaf_and_has_its_scores(name):
    model, data, target = CASES[name]
    model.fit(data, target)
    live = cf.adopt(model)
    adopted = parts(live)
    infinite = name.startswith("histogram")
    rows = np.concatenate([data, accepted_rows(adopted, HOLES if infinite else data, infinite=infinite)])
    leaves = walk(adopted.table, rows)
    np.testing.assert_array_equal(leaves, original_leaves(model, rows))
    if "boosted" in name or infinite:
        raw = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
        np.testing.assert_array_equal(scores(adopted, leaves), raw.reshape(len(rows), -1))
        links = {"two": "sigmoid", "three": "softmax"}
        assert adopted.link == ("identity" if target is SIGNAL else links["two" if target is TWO else "three"])
    else:
        np.testing.assert_array_equal(scores(adopted, leaves) / len(adopted.table), answers(model, rows))
    np.testing.assert_allclose(live.predict(rows).reshape(len(rows), -1), answers(model, rows), rtol=1e-12)
    assert (live.classes is None) == (not hasattr(model, "classes_") or len(np.unique(target)) == 1)


SUMS = {  # equal to rounding
    "AdaBoost, two": (en.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=6), TWO),
    "AdaBoost, three": (en.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=1), n_estimators=6), THREE),
    "begins with a tree": (boosted(SIGNAL, init=tree.DecisionTreeRegressor(max_depth=3)), SIGNAL),
    "begins with boosting": (boosted(SIGNAL, init=en.HistGradientBoostingRegressor(max_iter=3)), SIGNAL),
    "begins with a line": (boosted(SIGNAL, init=LinearRegression()), SIGNAL),  # which it computes in float32
    "logarithm": (histogram(SIGNAL, loss="poisson"), np.abs(SIGNAL) + 0.1),
    "logarithm of gamma": (histogram(SIGNAL, loss="gamma"), np.abs(SIGNAL) + 0.1),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_models_are_the_originals(name):
    model, target = SUMS[name]
    model.fit(WHOLE, target)
    adopted = cf.adopt(model)
    rows = WHOLE if "line" in name else np.concatenate([WHOLE, accepted_rows(parts(adopted), WHOLE)])
    close = {"rtol": 0, "atol": 1e-6 if "line" in name else 1e-13}
    np.testing.assert_allclose(adopted.predict(rows).reshape(len(rows), -1), answers(model, rows), **close)
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(adopted.decision_function(rows), model.decision_function(rows), **close)


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "contamination": 0.1}, {"max_samples": 2}])
def test_isolation_forests(options):
    model = en.IsolationForest(n_estimators=6, random_state=0, **options).fit(HOLES)
    adopted = cf.adopt(model)
    rows = np.concatenate([HOLES, accepted_rows(parts(adopted), HOLES)])
    np.testing.assert_allclose(adopted.predict(rows), model.score_samples(rows), rtol=1e-15)
    constant = en.IsolationForest(n_estimators=3, max_samples=1, random_state=0).fit(WHOLE)
    assert np.array_equal(cf.adopt(constant).predict(WHOLE), constant.score_samples(WHOLE))


@pytest.mark.parametrize("target", [TWO, THREE])
def test_equal_votes_of_trees_are_equal(target):
    """A sum of n-ths would round to either side of a half, and so give another label than the mean of the sum."""
    model = en.RandomForestClassifier(40, random_state=0).fit(WHOLE, target)
    rows = np.round(np.random.default_rng(0).normal(size=(4000, WHOLE.shape[1])), 1)
    np.testing.assert_array_equal(cf.FittedEstimator(cf.adopt(model)).predict(rows), model.predict(rows))


def test_several_labels_a_row():
    model = grown(en.ExtraTreesClassifier).fit(WHOLE, np.column_stack([PAIR > 0.3, WHOLE[:, 3] > 0]))
    expected = np.column_stack([values[:, 1] for values in model.predict_proba(WHOLE)])
    adopted = cf.adopt(model)
    assert adopted.classes is None
    assert np.allclose(adopted.predict(WHOLE), expected, rtol=1e-15, atol=1e-15)


# --- categories of histograms ------------------------------------------------------------------------------------


def colored(kind, missing):
    """Rows with a categorical column between numbers: texts, numbers that are not their own codes, or truth values."""
    n = 2000  # scikit-learn sorts no category of fewer than ten rows
    rng = np.random.default_rng(4)
    codes = rng.integers(0, {"texts": 40, "numbers": 70, "truth": 2}[kind], n)
    values = {
        "texts": np.array([f"k{c}" for c in codes], object), "numbers": 3.5 - 2.0 * codes, "truth": codes == 1,
    }[kind]  # fmt: skip
    frame = pd.DataFrame({"size": rng.standard_normal(n), "color": pd.Series(values), "age": rng.standard_normal(n)})
    if missing:
        frame["color"] = frame["color"].astype(object).where(rng.random(n) > 0.1)
    signal = 3.0 * rng.standard_normal(80)[codes] + frame["size"]
    return frame.astype({"color": "category"}), signal


@pytest.mark.filterwarnings("ignore::costframe.errors.UnknownValuesWarning")  # of rows that have none on purpose
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["texts", "numbers", "truth"])
def test_categories_of_histogram_boosting(kind, missing):
    frame, signal = colored(kind, missing)
    asked = {"max_iter": 6, "max_leaf_nodes": 8, "min_samples_leaf": 3, "categorical_features": "from_dtype"}
    for model in (en.HistGradientBoostingRegressor(**asked), en.HistGradientBoostingClassifier(**asked)):
        model.fit(frame, signal if isinstance(model, en.HistGradientBoostingRegressor) else signal > 0)
        adopted = cf.adopt(model)
        assert ("color" in adopted.categories) == (kind == "texts")
        unseen = pd.Categorical(["violet" if kind == "texts" else 1e6] * len(frame))
        none = pd.Series([None] * len(frame), dtype=frame["color"].dtype)
        for rows in (frame, frame.assign(color=none), frame.assign(color=unseen)):
            raw = getattr(model, "decision_function", model.predict)(rows)
            np.testing.assert_array_equal(adopted.decision_function(rows), raw)


def with_nothing_as_a_category():
    colors = np.array(["red", None], object)[RNG.integers(0, 2, N_ROWS)]
    X = np.stack([WHOLE[:, 0].astype(object), colors], axis=1)
    return en.HistGradientBoostingRegressor(max_iter=2, categorical_features=[1]).fit(X, SIGNAL)


# --- what is refused ---------------------------------------------------------------------------------------------


def mine(**own):
    kind = type("Mine", (en.RandomForestClassifier,), {"__module__": "elsewhere"} | own)
    return kind(n_estimators=3, max_depth=2).fit(WHOLE, TWO)


def fit_of(model, y=TWO):
    return lambda: model.fit(WHOLE, y)


REFUSED = {
    "pipeline": (lambda: make_pipeline(StandardScaler(), tree.DecisionTreeClassifier()), "Pipeline: a pipeline cannot"),
    "neighbors": (fit_of(KNeighborsClassifier()), r"cannot .*; costframe.adopt\(model, features="),
    "votes of others": (fit_of(en.AdaBoostClassifier(LogisticRegression())), "LogisticRegression, are no trees"),
    "unfitted": (en.HistGradientBoostingClassifier, "HistGradientBoostingClassifier: is not fitted"),
    "several": (fit_of(en.RandomForestClassifier(2), np.column_stack([TWO, THREE])), "label 1 of 2 has 3 classes"),
    "init": (fit_of(boosted(TWO, init=LogisticRegression())), r"init=LogisticRegression\(\) cannot be adopted"),
    "category of nothing": (with_nothing_as_a_category, "categories of 'f1' are neither all texts nor all numbers"),
    "of its own": (lambda: mine(predict_proba=lambda *_: None), "Mine: has a predict_proba of its own, other than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_adopted_is_refused_by_name(name):
    make, message = REFUSED[name]
    with pytest.raises(AdoptionError, match=message):
        ADOPTS["sklearn"](make())


def test_a_class_derived_by_the_user_is_adopted_and_any_other_model_is_opaque():
    model = mine()
    assert np.array_equal(cf.adopt(model).predict(WHOLE), model.predict_proba(WHOLE)[:, 1])
    assert KNOWS["sklearn"](model)
    assert KNOWS["sklearn"](make_pipeline(tree.DecisionTreeClassifier()))  # to be refused by name
    assert not KNOWS["sklearn"](KNeighborsClassifier())
