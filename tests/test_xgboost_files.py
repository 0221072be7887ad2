"""Files of xgboost: every version and form, and those that are broken or something else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st
from mutations import copies, mutate_bytes, mutate_json, survive

import costframe as cf
from costframe.adoption.xgboost.adopt import adopt_xgboost, adopt_xgboost_file, looks_like_xgboost, parse_ubjson
from costframe.core.errors import AdoptionError

FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
absent = pytest.mark.skipif(not FOREIGN.is_dir(), reason="the folder shared/foreign is not beside the project")

N_ROWS = 120
RNG = np.random.default_rng(5)
X = np.column_stack([RNG.normal(size=(N_ROWS, 2)), RNG.integers(0, 9, N_ROWS)])
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) % 3
THREE = np.digitize(SIGNAL, [0.5, 1.5])
PAIR = np.column_stack([SIGNAL, -SIGNAL])
KINDS = {
    "categories": ({"max_cat_to_onehot": 1}, SIGNAL),
    "dart": ({"booster": "dart", "rate_drop": 0.5, "objective": "multi:softprob", "num_class": 3}, THREE),
    "linear": ({"booster": "gblinear"}, SIGNAL),
    "vector leaves": ({"multi_strategy": "multi_output_tree"}, PAIR),
}


def matrix(kind, y=None):
    types = ["q", "q", "c" if kind == "categories" else "q"]
    return xgb.DMatrix(X, y, feature_types=types, feature_names=["a", "b", "c"], enable_categorical=True)


def train(kind, rounds=3):
    parameters, y = KINDS[kind]
    tree = {} if kind == "linear" else {"max_depth": 3}
    return xgb.train({"nthread": 1, "verbosity": 0, "seed": 1} | tree | parameters, matrix(kind, y), rounds)


def read(data):
    """Adopt a file and predict with it, as its user would."""
    adopted = adopt_xgboost_file(data, "model")
    predictions = adopted.predict(np.zeros((2, len(adopted.feature_names))))
    assert len(predictions) == 2


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_adopted_like_the_model(kind, form):
    booster = train(kind)
    data = bytes(booster.save_raw(form))
    assert looks_like_xgboost(data)
    ours = adopt_xgboost_file(data, "model")
    assert ours.feature_names == ("a", "b", "c")
    assert np.array_equal(ours.predict(X), adopt_xgboost(booster).predict(X))
    assert np.allclose(ours.decision_function(X), booster.predict(matrix(kind), output_margin=True), atol=1e-5)


def test_json_may_be_indented_and_begin_with_space():
    document = json.loads(train("dart").save_raw("json"))
    data = b"\xef\xbb\xbf" + b"\n " + json.dumps(document, indent=1).encode()
    assert looks_like_xgboost(data)
    read(data)


# --- versions ----------------------------------------------------------------------------------------------------


def document_of(kind="dart"):
    return json.loads(train(kind).save_raw("json"))


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


def test_files_of_version_1_are_read():
    booster = xgb.train({"base_score": 0.25, "max_depth": 3}, xgb.DMatrix(X, SIGNAL), 3)
    data = json.dumps(as_version_1(json.loads(booster.save_raw("json")))).encode()
    adopted = adopt_xgboost_file(data, "old.json")
    assert adopted.feature_names == ("f0", "f1", "f2")
    assert np.array_equal(adopted.predict(X), adopt_xgboost(booster).predict(X))


def test_vectors_of_leaves_of_version_3_0_are_read():
    booster = train("vector leaves")
    document = json.loads(booster.save_raw("json"))
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        vectors = np.array(tree.pop("leaf_weights")).reshape(-1, 2)
        leaf = np.array(tree["left_children"]) < 0
        own = np.zeros((len(leaf), 2))
        own[leaf] = vectors[np.array(tree["right_children"])[leaf]]
        tree["base_weights"] = own.ravel().tolist()
        tree["right_children"] = np.where(leaf, -1, tree["right_children"]).tolist()
    data = json.dumps(document | {"version": [3, 0, 5]}).encode()
    assert np.array_equal(adopt_xgboost_file(data, "model").predict(X), adopt_xgboost(booster).predict(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [[3, 4, 0], [4, 0, 1], [12, 0, 0]], ids=str)
def test_newer_versions_are_read_by_their_structure(kind, version):
    document = document_of(kind)
    today, newer = (json.dumps(document | {"version": each}).encode() for each in (document["version"], version))
    assert np.array_equal(adopt_xgboost_file(newer, "model").predict(X), adopt_xgboost_file(today, "model").predict(X))


def test_versions_before_these_documents_are_refused():
    with pytest.raises(AdoptionError, match=r"written by xgboost 0\.90, older than known"):
        adopt_xgboost_file(json.dumps(document_of() | {"version": [0, 90, 0]}).encode(), "model")


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *(("dart", place) for place in ("", "learner_model_param", "objective", "gradient_booster")),
        *(("dart", f"gradient_booster/gbtree{place}") for place in ("", "/model", "/model/gbtree_model_param")),
        *(("dart", f"gradient_booster/gbtree/model/trees/1{place}") for place in ("", "/tree_param")),
        ("linear", "gradient_booster/model"),
        ("categories", "gradient_booster/model/cats"),
    ],
)
def test_unknown_fields_are_refused_by_name(kind, place):
    document = document_of(kind)
    part = document["learner"]
    for name in filter(None, place.split("/")):
        part = part[int(name) if name.isdecimal() else name]
    part["shrinkage"] = [0.5]
    data = json.dumps(document | {"metadata": "none of ours"}).encode()
    where = ": ".join(["learner", *place.split("/")]).replace("trees: 1", "trees 1") if place else "learner"
    with pytest.raises(AdoptionError, match=f"{where}: has the unknown field 'shrinkage'.* one opaque learner"):
        adopt_xgboost_file(data, "model")


STOPPED = {
    "classifier": (xgb.XGBClassifier, {}, THREE),
    "two classes": (xgb.XGBClassifier, {}, (SIGNAL > 1).astype(int)),
    "regressor": (xgb.XGBRegressor, {}, SIGNAL),
    "dart": (xgb.XGBRegressor, {"booster": "dart", "rate_drop": 0.3}, SIGNAL),
    "parallel trees": (xgb.XGBClassifier, {"num_parallel_tree": 3, "subsample": 0.7}, THREE),
    "vector leaves": (xgb.XGBRegressor, {"multi_strategy": "multi_output_tree"}, PAIR),
    "ranker": (xgb.XGBRanker, {}, THREE),
}


def stopped_early(name):
    """Return an estimator whose last rounds are worse than its best, and what it predicts, of two classes class 1."""
    kind, settings, y = STOPPED[name]
    model = kind(n_estimators=30, early_stopping_rounds=3, learning_rate=1.0, max_depth=3, n_jobs=1, **settings)
    queries = {"qid": np.arange(N_ROWS) // 40, "eval_qid": [np.arange(N_ROWS) // 40]} if name == "ranker" else {}
    model.fit(X, y, eval_set=[(X, np.random.default_rng(1).permutation(y))], verbose=False, **queries)
    assert model.get_booster().num_boosted_rounds() > model.best_iteration + 1
    return model, answers(model)


def answers(model):
    predictions = model.predict_proba(X) if isinstance(model, xgb.XGBClassifier) else model.predict(X)
    return predictions[:, 1] if predictions.shape[1:] == (2,) and isinstance(model, xgb.XGBClassifier) else predictions


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("name", STOPPED)
def test_files_of_estimators_that_stopped_early_predict_with_the_best_rounds(name, form, tmp_path):
    model, predictions = stopped_early(name)
    path = tmp_path / f"model.{form}"
    model.save_model(path)
    again = type(model)()
    again.load_model(path)
    for one in (cf.adopt(path), cf.adopt(model), cf.adopt(again)):
        np.testing.assert_allclose(one.predict(X), predictions, rtol=1e-5, atol=1e-5)
    model.get_booster().save_model(path)  # holds the best round too, and a Booster does not stop there
    booster = xgb.Booster(model_file=path)
    for one in (cf.adopt(path), cf.adopt(booster)):
        margin = booster.predict(xgb.DMatrix(X), output_margin=True)
        np.testing.assert_allclose(one.decision_function(X), margin, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["classifier", "parallel trees"])
def test_best_rounds_of_files_without_places_of_rounds(name, tmp_path):
    model, _ = stopped_early(name)
    model.save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    trees = document["learner"]["gradient_booster"]["model"]
    del trees["iteration_indptr"]
    for without in ("nothing", "num_parallel_tree"):
        trees["gbtree_model_param"].pop(without, None)
        (tmp_path / "model.json").write_text(json.dumps(document))
        again = xgb.XGBClassifier()
        again.load_model(tmp_path / "model.json")
        adopted = cf.adopt(tmp_path / "model.json")
        np.testing.assert_allclose(adopted.predict(X), answers(again), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("best", "message"), [("90", "best round is number 91, it has 3"), ("x", "expected a whole")])
def test_best_rounds_that_are_none_are_refused(best, message):
    def change(learner, _, __):
        learner["attributes"] = {"scikit_learn": "{}", "best_iteration": best}

    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost_file(altered(change), "model")


@pytest.mark.parametrize(
    ("attribute", "classes"),
    [
        ({"_estimator_type": "classifier"}, [0, 1, 2]),
        ({"_estimator_type": "classifier", "classes_": ["u", "v", "w"]}, ["u", "v", "w"]),
        ({"_estimator_type": "classifier", "classes_": [5, 7, -1]}, [5, 7, -1]),
        ({"_estimator_type": "regressor"}, None),
        ({}, None),
    ],
)
def test_labels_of_classes_come_from_the_file(attribute, classes):
    def change(learner, _, __):
        learner["attributes"]["scikit_learn"] = json.dumps(attribute)

    found = adopt_xgboost_file(altered(change), "model").classes
    assert (None if found is None else found.tolist()) == classes


def test_a_label_that_is_far_too_long_is_refused():
    def change(learner, _, __):
        learner["attributes"]["scikit_learn"] = json.dumps({"classes_": ["a"] * 3000 + ["b" * 30_000]})

    with pytest.raises(AdoptionError, match="the longest of 3,001 labels is too long beside the others"):
        adopt_xgboost_file(altered(change), "model")


# --- base scores -------------------------------------------------------------------------------------------------

PREDICTIONS = {
    "reg:squarederror": st.floats(-1e6, 1e6, width=32),
    "binary:logitraw": st.floats(-9, 9, width=32),
    "binary:hinge": st.floats(-9, 9, width=32),
    "multi:softprob": st.floats(-9, 9, width=32),
    "rank:ndcg": st.floats(-9, 9, width=32),
    "binary:logistic": st.floats(0, 1, width=32) | st.sampled_from([1e-7, 1e-6, 2e-6, 1 - 1e-6]),
    "reg:logistic": st.floats(0, 1, width=32),
    "count:poisson": st.floats(2**-20, 2**20, width=32),
    "reg:gamma": st.floats(2**-20, 2**20, width=32),
    "reg:tweedie": st.floats(2**-20, 2**20, width=32),
    "survival:cox": st.floats(2**-20, 2**20, width=32),
    "survival:aft": st.floats(2**-20, 2**20, width=32),
}
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
    (answer,) = adopt_xgboost_file(content, "model").stages
    theirs = xgb.Booster(model_file=bytearray(content)).predict(xgb.DMatrix(X[:1]), output_margin=True)[0]
    trees = xgb.Booster(model_file=bytearray(json.dumps(CONSTANT).encode())).predict(xgb.DMatrix(X[:1]))[0]
    np.testing.assert_allclose(answer.intercept + trees, theirs, rtol=3e-7, atol=3e-7)


# --- files of something else, and broken ones ----------------------------------------------------------------------


def altered(change, kind="dart"):
    document = document_of(kind)
    boosting = document["learner"]["gradient_booster"]
    model = boosting.get("gbtree", boosting)["model"]
    change(document["learner"], model, model["trees"][1] if "trees" in model else None)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _, __, tree: tree["left_children"].__setitem__(0, 99), "trees 1: its nodes do not form a tree"),
        (lambda _, __, tree: tree["left_children"].__setitem__(0, 0), "trees 1: its nodes do not form a tree"),
        (lambda _, __, tree: tree["right_children"].__setitem__(0, 1), "trees 1: its nodes do not form a tree"),
        (lambda _, __, tree: tree["left_children"].__setitem__(-1, -7), "left_children: expected numbers from -1"),
        (lambda _, __, tree: tree["split_indices"].__setitem__(0, 4), "trees 1: splits a feature beyond the 3"),
        (lambda _, __, tree: tree["split_type"].__setitem__(0, 1), "trees 1: node 0 tests for categories"),
        (lambda _, __, tree: tree["split_conditions"].pop(), "split_conditions: expected 11 entries, got 10"),
        (lambda _, __, tree: tree["split_conditions"].__setitem__(-1, 1e39), "trees 1: trees: 'values' must be finite"),
        (lambda _, __, tree: tree["tree_param"].update(size_leaf_vector="5"), "has 5 outputs, expected 1 or 3"),
        (lambda _, __, tree: tree["tree_param"].update(num_nodes="99"), "num_nodes: expected 11, got"),
        (lambda _, __, tree: tree.update(id=9), "trees 1: id: expected 1, got 9"),
        (lambda _, model, __: model["tree_info"].__setitem__(1, 3), "tree_info: expected numbers from 0 to 2, got 3"),
        (lambda _, model, __: model["tree_info"].pop(), "expected 9 entries of 'tree_info', got 8"),
        (lambda _, model, __: model["iteration_indptr"].__setitem__(1, 7), "'iteration_indptr' must rise"),
        (lambda _, model, __: model["trees"].pop(), "num_trees: expected 8, got"),
        (lambda _, model, __: model.pop("trees"), "lacks 'trees'"),
        (lambda learner, _, __: learner["gradient_booster"]["weight_drop"].pop(), "weight_drop: expected 9 entries"),
        (lambda learner, _, __: learner["objective"].update(name="my:own"), "the link of 'my:own' is unknown; if"),
        (lambda learner, _, __: learner["gradient_booster"].update(name="gbforest"), "a booster of gbtree, dart"),
        (lambda learner, _, __: learner["feature_names"].pop(), r"3 features|got 2 feature names"),
        (lambda learner, _, __: learner["learner_model_param"].update(base_score="[1,2]"), "one number, or 3, got 2"),
        (lambda learner, _, __: learner["learner_model_param"].update(base_score="x"), "expected numbers, got 'x'"),
        (lambda learner, _, __: learner["learner_model_param"].update(base_score="nan"), "'nan' is not a prediction"),
        (lambda learner, _, __: learner["learner_model_param"].update(num_target="2"), "got 3 and 2"),
        (lambda learner, _, __: learner["learner_model_param"].update(num_class="20000000"), "got 20,000,000 and 1"),
    ],
)
def test_altered_files_are_refused(change, message):
    with pytest.raises(AdoptionError, match=message):
        adopt_xgboost_file(altered(change), "model")


def test_columns_without_names_are_limited():
    def change(learner, _, __):
        learner["learner_model_param"]["num_feature"] = "10000000"
        learner["feature_names"] = []

    with pytest.raises(AdoptionError, match="has 10,000,000 features without names; give feature_names"):
        adopt_xgboost_file(altered(change), "model")


def test_many_classes_of_wide_trees_are_refused_before_their_weights_are_made():
    def change(learner, model, _):
        learner["learner_model_param"].update(num_target="5000", base_score="[0E0]")
        model.update(trees=model["trees"][:1], tree_info=[0], iteration_indptr=[0, 1])
        model["gbtree_model_param"]["num_trees"] = "1"
        tree = model["trees"][0]
        tree.update(left_children=[-1], right_children=[0], split_indices=[0], split_conditions=[0.0])
        tree.update(split_type=[0], default_left=[0], leaf_weights=[0.0] * 5000)
        tree["tree_param"].update(size_leaf_vector="5000", num_nodes="1")

    with pytest.raises(AdoptionError, match="5,000 outputs of trees for 5,000 scores need too much memory"):
        adopt_xgboost_file(altered(change, "vector leaves"), "model")


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_truncated_files_are_refused(form):
    data = bytes(train("categories", rounds=1).save_raw(form))
    for end in range(200, len(data), 37):
        assert looks_like_xgboost(data[:end])
        with pytest.raises(AdoptionError, match=r"^model: is not a whole"):
            adopt_xgboost_file(data[:end], "model")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a whole JSON"),
        (b"[]", "expected an object with 'version'"),
        (b"{}", "lacks 'version'"),
        (b'{"version": [3, 2, 0]}', "lacks 'learner'"),
        (b"\xff\xfe", "is not a whole JSON"),
        (b"[" * 10**5, "nested too deep"),
        (b"{L", "is not a whole UBJSON"),
        (b"{i\x01a" + b"[" * 5000, "nested deeper"),
        (b"{i\x01a[$d#L\x7f" + b"\xff" * 7, "truncated"),
        (b"{i\x01a[#L\x7f" + b"\xff" * 7, "truncated"),
        (b"{i\x01a[$Z#L\x7f" + b"\xff" * 7, "malformed typed array"),
        (b"{i\x01a[#i\xff", "negative length"),
        (b"{i\x01aSi\x01\xff}", "invalid start byte"),
        (b"{i\x01aTX", "expected a length at byte 5, got b'X'"),
        (b"{i\x01aT}}", "the document ends at byte 6 of 7"),
        (b"{i\x01aH}", "unknown marker b'H'"),
    ],
)
def test_files_of_something_else_are_refused(content, message):
    with pytest.raises(AdoptionError, match=re.escape(message)):
        adopt_xgboost_file(content, "model")


def test_ubjson_holds_what_json_holds():
    booster = train("categories")
    ours = parse_ubjson(bytes(booster.save_raw("ubj")), "model").value
    plain = json.dumps(ours, default=lambda array: array.tolist())
    theirs = json.loads(booster.save_raw("json"))
    assert json.loads(plain)["learner"]["learner_model_param"] == theirs["learner"]["learner_model_param"]
    mine, own = (each["learner"]["gradient_booster"]["model"]["trees"] for each in (json.loads(plain), theirs))
    assert [tree["split_indices"] for tree in mine] == [tree["split_indices"] for tree in own]
    assert np.array_equal(np.float32(mine[0]["split_conditions"]), np.float32(own[0]["split_conditions"]))


@pytest.mark.parametrize("form", ["bytes of JSON", "bytes of UBJSON", "JSON"])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_copies_are_refused_or_read(kind, form):
    booster = train(kind, rounds=2)
    document = json.loads(booster.save_raw("json"))
    data = json.dumps(document).encode() if form == "bytes of JSON" else bytes(booster.save_raw("ubj"))
    if form == "JSON":
        hostile = (json.dumps(copy).encode() for copy in copies(mutate_json, document, 40))
    else:
        hostile = copies(mutate_bytes, data, 40)
    survival = survive(read, hostile)
    assert survival.refused > 0
    assert survival.megabytes < 200


# --- public files ------------------------------------------------------------------------------------------------


@absent
def test_a_public_file_of_version_1_4_predicts_as_published():
    folder = FOREIGN / "treelite"
    data = (folder / "xgb_toy_categorical__xgb_toy_categorical_model.json").read_bytes()
    rows = []
    for line in (folder / "xgb_toy_categorical__xgb_toy_categorical.test").read_text().splitlines():
        given = dict(cell.split(":") for cell in line.split()[1:])
        rows.append([float(given.get(str(column), "nan")) for column in range(2)])
    expected = np.loadtxt(folder / "xgb_toy_categorical__xgb_toy_categorical.test.pred")
    assert np.allclose(adopt_xgboost_file(data, "model").predict(np.array(rows)), expected, atol=1e-4)


@absent
def test_a_public_file_predicts_as_in_xgboost():
    path = FOREIGN / "xgboost-ruby" / "model.json"
    rows = RNG.normal(size=(50, 4))
    booster = xgb.Booster(model_file=str(path))
    theirs = booster.inplace_predict(rows)
    assert np.allclose(adopt_xgboost_file(path.read_bytes(), str(path)).predict(rows), theirs, atol=1e-6)


@absent
@pytest.mark.parametrize("pattern", ["leaves/xg*.model", "treelite/*.model", "xgboost-predictor/*.bin"])
def test_public_legacy_binaries_are_refused_with_advice(pattern):
    paths = list(FOREIGN.glob(pattern))
    assert paths
    for path in paths:
        data = path.read_bytes()
        assert looks_like_xgboost(data)
        with pytest.raises(AdoptionError, match=r"legacy binary .* xgboost < 3\.1 and save it as \.json or \.ubj"):
            adopt_xgboost_file(data, str(path))
