"""What the adoption of every library has in common: names, refusals, no imports, and a check against the original."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xgboost
from adoption_cases import ADOPTS, KNOWS, LOOKS, check_answers, float32_at_most
from attrs import evolve
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import costframe as cf
from costframe.errors import AdoptionError
from costframe.plugin import DataError

RNG = np.random.default_rng(0)
X, NAMES = np.round(RNG.normal(size=(200, 4)), 1), ["age", "b.c", "x|y", "-"]
Y = X[:, 0] + X[:, 1]
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)
HOLED = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
FEW = {"n_estimators": 5, "n_jobs": 1}


def lightgbm(name, **settings):
    return getattr(pytest.importorskip("lightgbm", reason="needs lightgbm"), name)(verbose=-1, **FEW | settings)


def catboost(name):
    kind = getattr(pytest.importorskip("catboost", reason="needs catboost"), name)
    return kind(iterations=5, verbose=False, allow_writing_files=False)


LIBRARIES = {  # an estimator, and what its columns are called without names
    "sklearn": (lambda: DecisionTreeRegressor(max_depth=2), "f{}"),
    "xgboost": (lambda: xgboost.XGBRegressor(n_estimators=2), "f{}"),
    "lightgbm": (lambda: lightgbm("LGBMRegressor"), "Column_{}"),
    "catboost": (lambda: catboost("CatBoostRegressor"), "f{}"),
}
each_library = pytest.mark.parametrize("library", LIBRARIES)


@each_library
def test_names_come_from_the_data_the_caller_or_the_position(library):
    (make, unnamed), adopt = LIBRARIES[library], ADOPTS[library]
    model = make().fit(pd.DataFrame(X, columns=NAMES), Y)
    assert adopt(model).feature_names == tuple(NAMES)
    assert adopt(model, list("abcd")).feature_names == tuple("abcd")
    assert adopt(make().fit(X, Y)).feature_names == tuple(unnamed.format(f) for f in range(4))
    for names, message in (
        (["a", "b"], r"it has 4 features.*got 2 feature names \(a, b\)"),
        (["a", "b", "c", "a"], "4 features.*more than once: a"),
        ("abcd", "single text 'abcd'"),
    ):
        with pytest.raises(AdoptionError, match=message):
            adopt(model, names)


@each_library
def test_models_are_told_apart(library):
    make, adopt, knows = LIBRARIES[library][0], ADOPTS[library], KNOWS[library]
    model = make().fit(X, Y)
    assert knows(model)
    assert knows(type("Mine", (type(model),), {"__module__": "elsewhere"})())
    assert not any(others(model) for name, others in KNOWS.items() if name != library)
    assert not any(knows(stranger) for stranger in (object(), "model.txt", type(model), sys.modules[library]))
    with pytest.raises(AdoptionError, match=f"{type(model).__name__}: is not fitted"):
        adopt(make())
    with pytest.raises(AdoptionError, match="object: "):
        adopt(object())


@each_library
def test_nothing_is_imported_to_tell_a_model_or_to_read_a_file(library, tmp_path):
    model, path = LIBRARIES[library][0]().fit(X, Y), tmp_path / "model.json"
    code = f"from costframe.adoption.{library} import *; is_{library}(3)\n"
    if library != "sklearn":
        saved = getattr(model, "booster_", model)
        saved.save_model(str(path), **{"format": "json"} if library == "catboost" else {})
        code += f"adopt_{library}_file(open({str(path)!r}, 'rb').read(), 'model').inquire()\n"
    code += f"import sys; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code


@pytest.mark.parametrize("content", [b"", b"{}", b"trees\nversion=v4\n", b"\x00" * 99, b'{"name": "tree"}'])
def test_other_contents_are_of_no_library(content):
    assert not any(looks(content) for looks in LOOKS.values())


# --- live models are compared with the originals, at their own thresholds ----------------------------------------

MODELS = {
    "xgboost": lambda: xgboost.XGBClassifier(**FEW).fit(HOLED, LABELS),
    "lightgbm": lambda: lightgbm("LGBMClassifier").fit(HOLED, LABELS),
    "catboost": lambda: catboost("CatBoostClassifier").fit(HOLED, LABELS),
    "sklearn forest": lambda: RandomForestClassifier(5, random_state=0).fit(HOLED, LABELS),
    "sklearn boosting": lambda: GradientBoostingRegressor(n_estimators=5).fit(X, LABELS),
    "sklearn pipeline": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), remainder=StandardScaler()),
        xgboost.XGBClassifier(**FEW),
    ).fit(X, LABELS),
}
CHANGES = {  # of a table of trees, by its part
    "threshold": lambda part: np.nextafter(part, np.inf),
    "missing_left": lambda part: ~part,
    "values": lambda part: 1.01 * part,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_rule_that_changed_is_found_on_few_rows(name):
    model = MODELS[name]()
    adopted = cf.adopt(model)
    check_answers(model, adopted)
    tree = getattr(adopted, "inner", adopted)
    for part, change in CHANGES.items():
        if part == "missing_left" and name in {"sklearn boosting", "catboost"}:  # which read no missing value so
            continue
        trees = evolve(tree.bank.trees, **{part: change(getattr(tree.bank.trees, part))})
        changed = evolve(tree, bank=evolve(tree.bank, trees=trees))
        changed = changed if tree is adopted else evolve(adopted, inner=changed)
        with pytest.raises(AdoptionError, match=rf"{name.split()[0]} \d+\.\d+.* answers .* for the row .*=.*"):
            check_answers(model, changed)


def test_adopt_refuses_a_library_that_answers_in_another_way(monkeypatch):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, LABELS)
    del model._baseline_prediction
    with pytest.raises(AdoptionError, match=r"no attribute '_baseline_prediction'.* one opaque learner"):
        cf.adopt(model)
    linear = LogisticRegression().fit(X, LABELS)
    with pytest.raises(AdoptionError, match=r"LogisticRegression: sklearn .* answers [01] for the row"):
        check_answers(linear, cf.adopt(linear).with_classes([1, 0]))
    monkeypatch.setattr("costframe.adoption.xgboost.trees.float32_less", float32_at_most)
    with pytest.raises(AdoptionError, match=rf"XGBClassifier: xgboost {xgboost.__version__} answers .* one opaque"):
        cf.adopt(MODELS["xgboost"]())


# --- adopted models whose categories are texts, given to algorithms ----------------------------------------------

ROWS = pd.DataFrame({"color": pd.Categorical(RNG.choice(["red", "green", "blue"], 200)), "a": X[:, 0]})
OTHER = ROWS.assign(color=ROWS.color.cat.set_categories(["red", "blue", "green"]))  # other codes for the same texts
RED = ((ROWS.color == "red").to_numpy() + X[:, 0] > 0.3).astype(int)
PARAMETERS = {"cronus": "bank", "early-exit": "model"}


@pytest.mark.filterwarnings("ignore::UserWarning")  # the model knows the training rows
@pytest.mark.parametrize("name", PARAMETERS)
def test_an_algorithm_reads_rows_by_the_labels_of_the_model_it_is_given(name):
    given = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype").fit(ROWS, RED)
    adopted = cf.adopt(given)
    np.testing.assert_array_equal(adopted.decision_function(OTHER), given.decision_function(ROWS))
    np.testing.assert_allclose(adopted.predict(OTHER), given.predict_proba(ROWS)[:, 1], rtol=1e-15)
    model = cf.estimator(name, costs={"color": 5.0, "a": 1.0}, **{PARAMETERS[name]: adopted}).fit(OTHER, RED)
    np.testing.assert_array_equal(model.predict_proba(ROWS), model.predict_proba(OTHER))
    assert model.score(ROWS, RED) > 0.8
    assert model.predictor_.categories["color"] == ("blue", "green", "red")
    with pytest.raises(DataError, match="column 'shape' is of a category dtype, and L1GateClassifier does not split"):
        cf.estimator("l1-gate", expensive=adopted).fit(OTHER.assign(shape=OTHER.color), RED)
