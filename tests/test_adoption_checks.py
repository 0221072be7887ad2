"""Live adopted models are compared with the models themselves, on rows at their own thresholds."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from attrs import evolve
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import costframe as cf
from costframe.adoption.adopted import float32_at_most
from costframe.adoption.checking import check_answers
from costframe.core.errors import AdoptionError

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(300, 3)), 1)
HOLED = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
FEW = {"n_estimators": 5, "n_jobs": 1}


def lightgbm():
    return pytest.importorskip("lightgbm", reason="needs lightgbm")


MODELS = {
    "xgboost": lambda: xgboost.XGBClassifier(**FEW).fit(HOLED, Y),
    "xgboost booster": lambda: xgboost.train({}, xgboost.DMatrix(HOLED, Y), 5),
    "lightgbm": lambda: lightgbm().LGBMClassifier(verbose=-1, **FEW).fit(HOLED, Y),
    "lightgbm booster": lambda: lightgbm().train({"verbose": -1}, lightgbm().Dataset(HOLED, Y), 5),
    "sklearn forest": lambda: RandomForestClassifier(5, random_state=0).fit(HOLED, Y),
    "sklearn histogram": lambda: HistGradientBoostingClassifier(max_iter=5).fit(HOLED, Y),
    "sklearn boosting": lambda: GradientBoostingRegressor(n_estimators=5).fit(X, Y),
    "sklearn pipeline": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), remainder=StandardScaler()),
        xgboost.XGBClassifier(**FEW),
    ).fit(X, Y),
}


def next_thresholds(trees):
    return {"threshold": np.nextafter(trees.threshold, np.inf)}


def other_ways(trees):
    return {"missing_left": ~trees.missing_left}


def other_leaves(trees):
    return {"values": trees.values * 1.01}


def change_trees(adopted, change):
    tree = getattr(adopted, "inner", adopted)
    changed = evolve(tree, bank=evolve(tree.bank, trees=evolve(tree.bank.trees, **change(tree.bank.trees))))
    return changed if tree is adopted else evolve(adopted, inner=changed)


@pytest.mark.parametrize("change", [next_thresholds, other_ways, other_leaves])
@pytest.mark.parametrize("name", MODELS)
def test_a_rule_that_changed_is_found_on_few_rows(name, change):
    model = MODELS[name]()
    adopted = cf.adopt(model)
    check_answers(model, adopted)
    changed = change_trees(adopted, change)
    if name == "sklearn boosting" and change is other_ways:  # it refuses missing values
        check_answers(model, changed)
        return
    with pytest.raises(AdoptionError, match=rf"{name.split()[0]} \d+\.\d+.* answers .* for the row .*=.*, as adopted"):
        check_answers(model, changed)


def test_catboost_too():
    catboost = pytest.importorskip("catboost", reason="needs catboost")
    model = catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(HOLED, Y)
    adopted = cf.adopt(model)
    for change in (next_thresholds, other_leaves):
        with pytest.raises(AdoptionError, match=r"catboost .* answers .* for the row f0="):
            check_answers(model, change_trees(adopted, change))


def test_adopt_refuses_a_library_that_compares_in_another_way(monkeypatch):
    monkeypatch.setattr("costframe.adoption.xgboost.trees.float32_less", float32_at_most)
    with pytest.raises(AdoptionError, match=rf"XGBClassifier: xgboost {xgboost.__version__} answers .* one opaque"):
        cf.adopt(MODELS["xgboost"]())


def test_labels_are_compared_too():
    model = LogisticRegression().fit(X, Y)
    adopted = cf.adopt(model).with_classes([1, 0])
    with pytest.raises(AdoptionError, match=r"LogisticRegression: sklearn .* answers [01] for the row"):
        check_answers(model, adopted)


def test_a_part_that_scikit_learn_keeps_elsewhere_is_named():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    del model._baseline_prediction
    with pytest.raises(AdoptionError, match=r"no attribute '_baseline_prediction'.* one opaque learner"):
        cf.adopt(model)
