"""Files of XGBoost: of older and newer versions, public ones, broken ones, and how their base scores are read."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from adoption_cases import LOOKS, READS
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.errors import AdoptionError

FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
absent = pytest.mark.skipif(not FOREIGN.is_dir(), reason="the folder shared/foreign is not beside the project")

N_ROWS = 120
RNG = np.random.default_rng(5)
X = np.column_stack([RNG.normal(size=(N_ROWS, 2)), RNG.integers(0, 9, N_ROWS)])
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) % 3
PAIR = np.column_stack([SIGNAL, -SIGNAL])
KINDS = {
    "dart": (
        {"booster": "dart", "rate_drop": 0.5, "objective": "multi:softprob", "num_class": 3, "max_depth": 3},
        np.digitize(SIGNAL, [0.5, 1.5]),
    ),
    "linear": ({"booster": "gblinear"}, SIGNAL),
    "vector leaves": ({"multi_strategy": "multi_output_tree", "max_depth": 3}, PAIR),
    "categories": ({"max_cat_to_onehot": 1, "max_depth": 4}, SIGNAL),
}


@cache
def booster_of(kind):
    parameters, y = KINDS[kind]
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    if kind == "categories":
        rows["c"] = pd.Categorical([f"k{code}" for code in rows["c"].fillna(0)])
    data = xgb.DMatrix(rows, y, enable_categorical=True)
    return xgb.train({"nthread": 1, "verbosity": 0, "seed": 1} | parameters, data, 3)


def document_of(kind="dart"):
    return json.loads(booster_of(kind).save_raw("json"))


def read(document):
    return READS["xgboost"](json.dumps(document).encode(), "model")


def assert_alike(one, other):
    assert np.array_equal(one.predict(X), other.predict(X))


# --- versions ----------------------------------------------------------------------------------------------------


def as_version_1(document):
    """Write a document as xgboost 1.2 would have: less of everything."""
    learner = document["learner"]
    model = learner["gradient_booster"]["model"]
    for name in ("iteration_indptr", "cats"):
        model.pop(name, None)
    model["gbtree_model_param"] = {"num_trees": model["gbtree_model_param"]["num_trees"], "size_leaf_vector": "0"}
    for tree in model["trees"]:
        tree["tree_param"]["size_leaf_vector"] = "0"
        tree["default_left"] = [bool(way) for way in tree["default_left"]]
        for name in [name for name in tree if name.startswith(("categories", "split_type"))]:
            del tree[name]
    sizes = learner["learner_model_param"]
    learner["learner_model_param"] = {name: sizes[name] for name in ("num_class", "num_feature")}
    learner["learner_model_param"]["base_score"] = sizes["base_score"].strip("[]")
    del learner["feature_names"], learner["feature_types"]
    return document | {"version": [1, 2, 0]}


def test_files_of_version_1_are_read_and_older_ones_refused():
    booster = xgb.train({"base_score": 0.25, "max_depth": 3}, xgb.DMatrix(X, SIGNAL), 3)
    document = json.loads(booster.save_raw("json"))
    adopted = read(as_version_1(document))
    assert adopted.feature_names == ("f0", "f1", "f2")
    assert_alike(adopted, cf.adopt(booster))
    with pytest.raises(AdoptionError, match=r"written by xgboost 0\.90, older than known"):
        read(document | {"version": [0, 90, 0]})


def test_vectors_of_leaves_of_version_3_0_are_read():
    document = document_of("vector leaves")
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        vectors = np.array(tree.pop("leaf_weights")).reshape(-1, 2)
        leaf = np.array(tree["left_children"]) < 0
        own = np.zeros((len(leaf), 2))
        own[leaf] = vectors[np.array(tree["right_children"])[leaf]]
        tree["base_weights"] = own.ravel().tolist()
        tree["right_children"] = np.where(leaf, -1, tree["right_children"]).tolist()
    assert_alike(read(document | {"version": [3, 0, 5]}), cf.adopt(booster_of("vector leaves")))


@pytest.mark.parametrize("kind", ["dart", "linear", "vector leaves"])
def test_newer_versions_are_read_by_their_structure_and_unknown_fields_refused_by_name(kind):
    document = document_of(kind) | {"version": [12, 0, 0]}
    assert_alike(read(document), cf.adopt(booster_of(kind)))
    for place in (("learner_model_param",), ("objective",), ("gradient_booster", "model")):
        learner = document_of("vector leaves")["learner"]
        part = learner
        for name in place:
            part = part[name]
        part["shrinkage"] = [0.5]
        where = ": ".join(["learner", *place])
        with pytest.raises(AdoptionError, match=f"{where}: has the unknown field 'shrinkage'.* one opaque learner"):
            read(document_of("vector leaves") | {"learner": learner})


@pytest.mark.parametrize("parallel", [1, 3])
def test_best_rounds_of_files_without_places_of_rounds(parallel, tmp_path):
    asked = {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 1.0, "max_depth": 3}
    model = xgb.XGBClassifier(num_parallel_tree=parallel, subsample=0.7, **asked)
    y = KINDS["dart"][1]
    model.fit(X, y, eval_set=[(X, np.random.default_rng(1).permutation(y))], verbose=False)
    path = tmp_path / "model.json"
    model.save_model(path)
    document = json.loads(path.read_text())
    trees = document["learner"]["gradient_booster"]["model"]
    del trees["iteration_indptr"]
    for without in ("nothing", "num_parallel_tree"):
        trees["gbtree_model_param"].pop(without, None)
        path.write_text(json.dumps(document))
        again = xgb.XGBClassifier()
        again.load_model(path)
        np.testing.assert_allclose(read(document).predict(X), again.predict_proba(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("labels", [["u", "v", "w"], [5, 7, -1]])
def test_labels_of_classes_come_from_the_file(labels):
    document = document_of()
    told = {"_estimator_type": "classifier", "classes_": labels}
    document["learner"]["attributes"]["scikit_learn"] = json.dumps(told)
    assert read(document).classes.tolist() == labels


# --- base scores -------------------------------------------------------------------------------------------------

ODDS, RATES, ANY = st.floats(0, 1, width=32), st.floats(2**-20, 2**20, width=32), st.floats(-9, 9, width=32)
PREDICTIONS = dict.fromkeys(["reg:squarederror", "binary:logitraw", "binary:hinge", "multi:softprob", "rank:ndcg"], ANY)
PREDICTIONS |= {"binary:logistic": ODDS | st.sampled_from([1e-7, 1e-6, 2e-6, 1 - 1e-6]), "reg:logistic": ODDS}
PREDICTIONS |= dict.fromkeys(["count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"], RATES)
PARAMETERS = {
    "poisson_regression_param": {"max_delta_step": "0.7"},
    "tweedie_regression_param": {"tweedie_variance_power": "1.5"},
    "aft_loss_param": {"aft_loss_distribution": "normal", "aft_loss_distribution_scale": "1"},
    "lambdarank_param": {},
    "softmax_multiclass_param": {"num_class": "2"},
}
CONSTANT = json.loads(xgb.train({"base_score": 0.0}, xgb.DMatrix(X, PAIR), 1).save_raw("json"))


@given(st.data(), st.sampled_from(sorted(PREDICTIONS)))
def test_base_scores_become_the_originals_margins(data, objective):
    scores = data.draw(st.lists(PREDICTIONS[objective], min_size=2, max_size=2))
    learner = CONSTANT["learner"]
    sizes = learner["learner_model_param"] | {"base_score": f"[{scores[0]!r},{scores[1]!r}]"}
    sizes |= {"num_class": "2", "num_target": "1"} if objective.startswith("multi") else {}
    changed = {"learner_model_param": sizes, "objective": {"name": objective} | PARAMETERS}
    content = json.dumps(CONSTANT | {"learner": learner | changed}).encode()
    (answer,) = READS["xgboost"](content, "model").stages
    theirs = xgb.Booster(model_file=bytearray(content)).predict(xgb.DMatrix(X[:1]), output_margin=True)[0]
    trees = xgb.Booster(model_file=bytearray(json.dumps(CONSTANT).encode())).predict(xgb.DMatrix(X[:1]))[0]
    np.testing.assert_allclose(answer.intercept + trees, theirs, rtol=3e-7, atol=3e-7)


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("dart", lambda _, __, tree: tree["left_children"].__setitem__(0, 0), "trees 1: its nodes do not form a tree"),
        ("dart", lambda _, __, tree: tree["split_indices"].__setitem__(0, 4), "trees 1: splits a feature beyond the 3"),
        ("dart", lambda _, __, tree: tree["split_conditions"].pop(), r"split_conditions: expected \d+ entries, got"),
        ("dart", lambda _, model, __: model["iteration_indptr"].__setitem__(1, 7), "'iteration_indptr' must rise"),
        ("dart", lambda _, model, __: model.pop("trees"), "lacks 'trees'"),
        ("dart", lambda own, _, __: own["objective"].update(name="my:own"), "the link of 'my:own' is unknown; if"),
        ("dart", lambda own, _, __: own["learner_model_param"].update(base_score="nan"), "'nan' is not a prediction"),
        (
            "dart",
            lambda own, _, __: own.update(attributes={"scikit_learn": "{}", "best_iteration": "90"}),
            "best round is number 91, it has 3",
        ),
        ("categories", lambda _, model, __: model["cats"]["enc"].pop(), "expected categories of 3 features, got 2"),
        ("categories", lambda _, model, __: model["cats"]["enc"][2]["offsets"].__setitem__(1, 99), "expected numbers"),
        (
            "categories",
            lambda _, __, tree: tree["categories_nodes"].__setitem__(0, 10**9),
            "categories_nodes: expected",
        ),
    ],
)
def test_altered_files_are_refused(kind, change, message):
    document = document_of(kind)
    boosting = document["learner"]["gradient_booster"]
    model = boosting.get("gbtree", boosting)["model"]
    change(document["learner"], model, model["trees"][1])
    with pytest.raises(AdoptionError, match=message):
        read(document)


def test_what_is_no_whole_model_is_refused():
    for model, message in (
        (xgb.Booster(), "Booster: is not fitted"),
        (xgb.XGBRegressor(missing=-1.0, n_estimators=2).fit(X, SIGNAL), r"missing=-1.0 cannot.*get_booster\(\)"),
        (xgb.train({}, xgb.DMatrix(X, SIGNAL), 0), "has no trees"),
    ):
        with pytest.raises(AdoptionError, match=message):
            cf.adopt(model)


def test_a_loss_of_the_user_is_adopted_as_raw_scores():
    data = xgb.DMatrix(X, SIGNAL)
    booster = xgb.train({"max_depth": 2}, data, 3, obj=lambda scores, d: (scores - d.get_label(), np.ones(len(scores))))
    assert np.allclose(cf.adopt(booster).predict(X), booster.predict(data, output_margin=True), atol=1e-6)


# --- public files ------------------------------------------------------------------------------------------------


@absent
def test_public_files_predict_as_published():
    folder = FOREIGN / "treelite"
    data = (folder / "xgb_toy_categorical__xgb_toy_categorical_model.json").read_bytes()  # of version 1.4
    rows = []
    for line in (folder / "xgb_toy_categorical__xgb_toy_categorical.test").read_text().splitlines():
        given_ = dict(cell.split(":") for cell in line.split()[1:])
        rows.append([float(given_.get(str(column), "nan")) for column in range(2)])
    expected = np.loadtxt(folder / "xgb_toy_categorical__xgb_toy_categorical.test.pred")
    assert np.allclose(READS["xgboost"](data, "model").predict(np.array(rows)), expected, atol=1e-4)
    path, rows = FOREIGN / "xgboost-ruby" / "model.json", RNG.normal(size=(50, 4))
    theirs = xgb.Booster(model_file=str(path)).inplace_predict(rows)
    assert np.allclose(READS["xgboost"](path.read_bytes(), str(path)).predict(rows), theirs, atol=1e-6)


@absent
def test_public_legacy_binaries_are_refused_with_advice():
    paths = [path for pattern in ("leaves/xg*.model", "xgboost-predictor/*.bin") for path in FOREIGN.glob(pattern)]
    assert paths
    for path in paths:
        assert LOOKS["xgboost"](path.read_bytes())
        with pytest.raises(AdoptionError, match=r"legacy binary .* xgboost < 3\.1 and save it as \.json or \.ubj"):
            READS["xgboost"](path.read_bytes(), str(path))
