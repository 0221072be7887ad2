"""What the expensive model may be, what training goes by, what is refused by name, and composites of composites."""

import pickle

import naive
import numpy as np
import pandas as pd
import pytest
import xgboost
from adapt_cases import (
    EVERY_PRICE,
    FEATURES,
    LINEAR,
    NAMES,
    QUICK,
    READ,
    chance,
    expensive,
    steps,
    table,
    three_classes,
    uneven,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import costframe as cf
from costframe import CostframeError
from costframe.errors import PrefittedWarning, StorageError
from costframe.plugin import ParameterError
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

X, Y = table(1, 300)
ROWS = table(5, 80)[0]
OTHER = table(99, 1500)
FRAME = pd.DataFrame(X, columns=list(NAMES))


def asked(expensive=None, costs=FEATURES, tradeoff=2e-3, **settings):
    return AdaptClassifier(costs, tradeoff, expensive=expensive, **QUICK | settings)


def linear(rows, **named):
    return LogisticRegression().fit(rows, OTHER[1], **named)


def frame(rows=OTHER[0], columns=NAMES):
    return pd.DataFrame(rows, columns=list(NAMES))[list(columns)]


def function(rows):
    """Answer for both classes."""
    return np.column_stack([1 - chance(rows), chance(rows)])


FOREST = RandomForestClassifier(5, max_depth=4, random_state=0).fit(*OTHER)
BOOSTED = xgboost.XGBClassifier(n_estimators=8, max_depth=3, learning_rate=0.8, n_jobs=1).fit(*OTHER)
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression()).fit(*OTHER)
SOME, NAMED = linear(OTHER[0][:, READ]), linear(frame(columns="fbea"))
STEPPED = cf.SteppedPredictor(NAMES, steps)
FITTED = {  # a model, its chances of rows, and what it reads of all of them; None: what is on its paths
    "forest": (FOREST, FOREST.predict_proba, None),
    "adopted": (cf.adopt(FOREST), FOREST.predict_proba, None),
    "booster": (BOOSTED.get_booster(), BOOSTED.predict_proba, None),
    "pipeline": (PIPELINE, PIPELINE.predict_proba, "abcdefgh"),
    "frame": (NAMED, lambda rows: NAMED.predict_proba(frame(rows, "fbea")), "abef"),
    "some": ((SOME, list("abef")), lambda rows: SOME.predict_proba(rows[:, READ]), "abef"),
    "cegb": (*expensive("cegb"), None),
    "stepped": (STEPPED, lambda rows: STEPPED.predict(rows)[:, np.newaxis], None),
    "function": ((function, list("abef")), lambda rows: function(rows[:, READ]), "abef"),
}


@pytest.mark.parametrize("kind", FITTED)
def test_fitted_models_of_all_kinds(kind):
    """It says what the model says, reads what the model reads, stands behind the gate as it is, and is pickled."""
    given, says, reads = FITTED[kind]
    with pytest.warns(PrefittedWarning, match="is fitted already") as told:
        fit = asked(given, full_share=0.6, tradeoff=1e-4).fit(X, Y)
    assert told[0].filename == __file__  # so that Python shows it once for each such place
    assert fit.expensive_ is (given[0] if isinstance(given, tuple) else given)
    np.testing.assert_allclose(fit.expensive_predictor_.predict(ROWS), says(ROWS)[:, -1], rtol=1e-5, atol=1e-6)
    goes = fit.predictor_.exits(ROWS) >= 2
    assert 0 < goes.mean() < 1
    np.testing.assert_array_equal(fit.predict_proba(ROWS)[goes, 1], fit.expensive_predictor_.predict(ROWS[goes]))
    read = fit.expensive_predictor_.cost(ROWS).acquired
    if reads:
        np.testing.assert_array_equal(read, np.isin(NAMES, list(reads))[np.newaxis].repeat(80, axis=0))
    same = pickle.loads(pickle.dumps(fit))  # noqa: S301 - its own
    np.testing.assert_array_equal(same.predict_proba(ROWS), fit.predict_proba(ROWS))


# --- what training goes by ---------------------------------------------------------------------------------------


def found(given, X, y, weight=None, proba=None):
    """Return what training knows of an expensive model."""
    estimator = asked(given)
    data = estimator.training_data(X, y, weight)
    return estimator._find(data, 1, estimator._read_proba(proba, weight, len(y)))


def test_probabilities_of_class_one_or_of_both_are_what_training_goes_by():
    model, weight = linear(OTHER[0]), np.arange(300) % 4 / 2.0  # rows of weight zero are left out
    both = model.predict_proba(X)
    for given in (both, both[:, 1], both[:, 1].tolist()):
        np.testing.assert_array_equal(found(model, X, Y, weight, given).proba, both[weight > 0, 1])
    useless = asked(model, tradeoff=1e-3).fit(X, Y, expensive_proba=np.where(Y == 1, 0.3, 0.7))
    assert (useless.predictor_.exits(X) == len(useless.predictor_.stages) // 2).all()  # none goes on


def test_an_unfitted_model_is_asked_out_of_fold():
    """One that knows its rows by heart is never asked for one of them, nor for one like it."""
    same = np.repeat(X[:100], 3, axis=0)
    labels = np.random.default_rng(0).integers(0, 2, 100).repeat(3)
    told = found(KNeighborsClassifier(1), same, labels)
    np.testing.assert_array_equal(told.model.predict_proba(same)[:, 1], labels)  # of the rows it was trained on
    assert 0.3 < (told.proba == labels).mean() < 0.7  # labels are noise: of others there is nothing to know
    assert (told.proba.reshape(100, 3).std(axis=1) == 0).all()


def test_the_unfitted_model_is_cloned_and_fitted_on_all_rows_as_its_weights_count():
    model, weight = LogisticRegression(C=0.3), uneven(300)
    fit = asked((model, ["e", "a"])).fit(X, Y, weight)
    assert not hasattr(model, "coef_")
    np.testing.assert_allclose(fit.expensive_.coef_, LogisticRegression(C=0.3).fit(X[:, [4, 0]], Y, weight).coef_)
    counts = np.arange(300) % 3 + 1  # of one that takes no weights rows are repeated
    rows = np.repeat(np.arange(300), counts)
    again = KNeighborsClassifier(3).fit(X[rows], Y[rows])
    told = found(KNeighborsClassifier(3), X, Y, counts * 1.0)
    np.testing.assert_array_equal(told.tree.predict(X), again.predict_proba(X)[:, 1])
    with pytest.raises(ParameterError, match="KNeighborsClassifier takes no sample weights"):
        asked(KNeighborsClassifier(3)).fit(X, Y, uneven(300))


@pytest.mark.parametrize("variant", [{}, LINEAR], ids=["trees", "lin"])
def test_three_classes(variant):
    (rows, y), others = three_classes(2, 300), three_classes(99, 600)
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(*others)
    for model, proba in ((forest, forest.predict_proba(rows)), (LogisticRegression(), None))[: 1 if variant else 2]:
        fit = asked(model, tradeoff=1e-4, full_share=0.6, **variant).fit(rows, y, expensive_proba=proba)
        said = fit.predict_proba(rows)
        np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-6)
        assert fit.score(rows, y) > 0.85
        goes = fit.predictor_.exits(rows) >= 2
        np.testing.assert_allclose(said[goes], fit.expensive_predictor_.predict(rows)[goes])
        np.testing.assert_array_equal(fit.decision_function(rows).argmax(axis=1), fit.predict(rows))


def test_an_expensive_model_that_stands_alone_scores_as_it_predicts():
    """Its answers are probabilities, whose scores are their log odds."""
    sure = (X[:, 0] > 0).astype(int)

    def full(rows):
        return np.where(rows[:, 0] > 0, 0.99, 0.01)

    fit = asked((full, ["a"]), tradeoff=0.0).fit(X, sure, expensive_proba=full(X))
    assert len(fit.predictor_.stages) == 1
    np.testing.assert_allclose(fit.decision_function(X), np.where(sure, 1, -1) * np.log(99))


# --- what is refused ---------------------------------------------------------------------------------------------


class Flipped:
    """A classifier with its classes in another order."""

    classes_ = np.array([1, 0])

    def predict_proba(self, rows):
        return function(rows[:, READ])[:, ::-1]


REFUSED = {
    "no probabilities": (SVC, {}, "expected a classifier with predict_proba, SVC has none"),
    "class": (lambda: LogisticRegression, {}, "expected a model, got the class LogisticRegression; call it"),
    "unknown class": (lambda: linear(OTHER[0]), {"y": np.where(Y == 1, "yes", "no")}, "y: has the class 'no', which"),
    "order of classes": (Flipped, {}, r"knows the classes \[1, 0\], expected those of y in ascending order: \[0, 1\]"),
    "not priced": (lambda: linear(frame().rename(columns={"a": "age"})), {}, "it reads 'age', which is none of the"),
    "function": (lambda: chance, {}, "expensive: a function does not say what it reads"),
    "ranks": (
        lambda: cf.StageTree(cf.WeakLearnerBank.columns(NAMES, [0]), (cf.Answer([0], [1.0], 0.0, "ranked"),)), {},
        "expected class probabilities, it gives ranks",
    ),
    "fit fails": (LogisticRegression, {"X": np.where(X > 2, np.nan, X)}, "LogisticRegression cannot be fitted.*NaN"),
    "hidden": (  # what is given for training does not hide it
        lambda: (lambda rows: np.full(len(rows), np.nan), ["a"]), {"expensive_proba": chance(X[:, READ])},
        "expensive: expected probabilities from 0 to 1 .* got nan",
    ),
    "no chances": (None, {"expensive_proba": np.full(300, 1.2)}, "expensive_proba: expected probabilities from 0 to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::costframe.adoption.given.model.PrefittedWarning")
def test_what_is_no_expensive_model_is_refused_by_name(name):
    make, given, message = REFUSED[name]
    given = {"X": FRAME, "y": Y} | given
    given["X"] = pd.DataFrame(np.asarray(given["X"]), columns=list(NAMES))
    with pytest.raises(CostframeError, match=message):
        asked((make or (lambda: linear(OTHER[0])))()).fit(**given)


# --- several stages, and composites behind composites ------------------------------------------------------------


def routes(tree):
    return sum(isinstance(stage, cf.Route) for stage in tree.stages)


@pytest.mark.parametrize(("inner", "outer"), [("cegb", {}), ("logistic", LINEAR), ("unfitted", {})])
def test_a_composite_stands_behind_another_and_costs_what_is_fetched(inner, outer, tmp_path):
    if inner == "unfitted":
        first = AdaptClassifier(tradeoff=1e-3, expensive=LogisticRegression(), **QUICK)  # takes the other's prices
        proba = None
    else:
        given, proba = expensive(inner)
        first = asked(given, EVERY_PRICE, n_stages=2).fit(X, Y, expensive_proba=proba(X))
        proba = first.predict_proba(X)
    second = asked(first, EVERY_PRICE, tradeoff=4e-3, full_share=0.5, **outer).fit(X, Y, expensive_proba=proba)
    tree, behind = second.predictor_, second.expensive_.predictor_
    np.testing.assert_array_equal(second.expensive_predictor_.predict(ROWS), behind.predict(ROWS))
    assert routes(tree) == routes(behind) + 1
    report = tree.cost(ROWS)
    for row, paid in zip(ROWS[:30], report.per_row, strict=False):
        assert paid == pytest.approx(naive.hard_cost(tree, row, EVERY_PRICE, "path")[0], rel=1e-9)
    opaques = {one.name: one.function for one in tree.bank.opaques}
    cf.save(second, tmp_path / "model.cf")
    again = cf.load(tmp_path / "model.cf", opaques)
    np.testing.assert_array_equal(again.predict_proba(ROWS), second.predict_proba(ROWS))
    np.testing.assert_array_equal(again.cost(ROWS).per_row, report.per_row)
    if opaques:
        with pytest.raises(StorageError, match=next(iter(opaques))):
            cf.load(tmp_path / "model.cf")


def test_labels_of_an_expensive_model_are_those_of_the_data():
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"home": pd.Categorical(rng.choice(list("wxyz"), 600)), "b": rng.normal(size=600)})
    y = (frame.home.isin(["w", "y"]) ^ (frame.b > 1)).to_numpy()
    given = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1, min_child_samples=5).fit(frame, y)
    other = frame.assign(home=frame.home.cat.reorder_categories(list("zyxw")))
    for model in (given, cf.adopt(given)):
        gated = AdaptClassifier({"home": 1.0, "b": 1.0}, 1e-3, expensive=model, full_share=1.0)
        with pytest.warns(PrefittedWarning):
            gated.fit(frame, y)
        assert gated.score(frame.astype({"home": str}), y) > 0.95
        assert (gated.expensive_predictor_.predict(other) == cf.adopt(given).predict(frame)).all()
        if model is given:
            with pytest.raises(ParameterError, match="reads 'home' with the labels 'w', 'x', 'y', 'z', X has 'z', 'y'"):
                gated.fit(other, y)
        else:
            with pytest.warns(PrefittedWarning):
                assert gated.fit(other, y).score(other, y) > 0.95
