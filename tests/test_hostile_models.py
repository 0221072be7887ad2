"""Models of other libraries that are made to do harm: changed at random, cut, or made to take time or memory."""

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost
from adoption_cases import READS
from lightgbm_cases import TEXT
from mutations import copies, mutate_bytes, mutate_json, survive

from costframe.errors import AdoptionError

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(80, 2)), RNG.integers(0, 9, 80)])
Y = X[:, 0] + X[:, 2] % 3
BOOSTERS = {
    "categories": {"max_cat_to_onehot": 1, "max_depth": 3},
    "dart": {"booster": "dart", "rate_drop": 0.5, "objective": "multi:softprob", "num_class": 3, "max_depth": 3},
    "linear": {"booster": "gblinear"},
    "vector leaves": {"multi_strategy": "multi_output_tree", "max_depth": 3},
}


def boost(kind, form):
    """Return a file of xgboost."""
    y = {"dart": np.digitize(Y, [0.5, 1.5]), "vector leaves": np.column_stack([Y, -Y])}.get(kind, Y)
    types = ["q", "q", "c" if kind == "categories" else "q"]
    data = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True)
    return bytes(xgboost.train({"nthread": 1, "verbosity": 0} | BOOSTERS[kind], data, 2).save_raw(form))


def catboost(form, **settings):
    """Return a file of CatBoost, which reads .cbm in a process of its own."""
    cb = pytest.importorskip("catboost", reason="needs catboost")
    quiet = {"iterations": 3, "depth": 3, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    rows = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2].astype(int)})
    model = cb.CatBoostRegressor(**quiet, cat_features=["c"], one_hot_max_size=20, **settings).fit(rows, Y)
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(f"{folder}/model", format=form)
        return Path(folder, "model").read_bytes()


FILES = {  # good files of all forms, and how many copies are tried
    "lightgbm": (lambda: TEXT, 150),
    "catboost": (lambda: catboost("json"), 150),
    "catboost, free trees": (lambda: catboost("json", grow_policy="Lossguide"), 150),
    "catboost, binary": (lambda: catboost("cbm"), 4),
    **{f"xgboost, {kind} in {form}": (lambda k=kind, f=form: boost(k, f), 40) for kind in BOOSTERS
       for form in ("json", "ubj")},
}  # fmt: skip
file_of = cache(lambda name: FILES[name][0]())


def use(name):
    """Return a function that adopts a file and predicts with it, as its user would."""

    def read(data):
        adopted = READS[name.split(",")[0]](data, "model")
        rows = np.resize([0.5, np.nan, 7.0, 0.0], (4, len(adopted.feature_names)))
        assert len(adopted.predict(rows)) == 4

    return read


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_json], ids=["bytes", "entries"])
def test_changed_files_are_refused_or_read_without_harm(mutate, name):
    data, read = file_of(name), use(name)
    if mutate is mutate_json and not data.startswith(b'{"'):
        return
    read(data)
    if mutate is mutate_json:
        hostile = (json.dumps(one).encode() for one in copies(mutate, json.loads(data), FILES[name][1]))
    elif "binary" in name:
        hostile = (b"CBM1" + one[4:] for one in copies(mutate, data, FILES[name][1]))
    else:
        hostile = copies(mutate, data, FILES[name][1])
    end = survive(read, hostile)
    assert end.refused > 0
    assert end.megabytes < 200


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_cut_are_refused(name):
    data = file_of(name).rstrip()
    whole = data.index(b"end of trees") if name == "lightgbm" else len(data)  # what follows may be missing
    for end in np.linspace(40, whole - 1, 2 if "binary" in name else 20).astype(int):
        with pytest.raises(AdoptionError, match=r"^model: "):
            READS[name.split(",")[0]](data[:end], "model")


# --- files made to take time or memory ---------------------------------------------------------------------------

HEAD, REST = TEXT[: TEXT.index(b"tree_sizes")] + b"\n", b"\nend of trees\n"
STUMP = b"Tree=%d\nnum_leaves=1\nleaf_value=1\n\n"


def classes(count, trees):
    head = HEAD.replace(b"class=1", b"class=%d" % count).replace(b"iteration=1", b"iteration=%d" % count)
    head = head.replace(b"binary sigmoid:1", b"multiclass num_class:%d" % count)
    return head + b"".join(STUMP % t for t in range(trees)) + REST


FLOATS = {"has_nans": False, "nan_value_treatment": "AsIs", "feature_id": "", "feature_index": 0, "borders": [0.5]}


def plain(trees, column=0):
    info = {"float_features": [FLOATS | {"flat_feature_index": column}]}
    return json.dumps({"features_info": info, "oblivious_trees": trees}).encode()


def many_outputs():
    document = json.loads(boost("vector leaves", "json"))
    learner = document["learner"]
    model = learner["gradient_booster"]["model"]
    learner["learner_model_param"].update(num_target="5000", base_score="[0E0]")
    model.update(trees=model["trees"][:1], tree_info=[0], iteration_indptr=[0, 1])
    model["gbtree_model_param"]["num_trees"] = "1"
    tree = model["trees"][0]
    tree.update(left_children=[-1], right_children=[0], split_indices=[0], split_conditions=[0.0])
    tree.update(split_type=[0], default_left=[0], leaf_weights=[0.0] * 5000)
    tree["tree_param"].update(size_leaf_vector="5000", num_nodes="1")
    return json.dumps(document).encode()


BOMBS = {
    "lightgbm, many classes": lambda: classes(5000, 10_000),
    "lightgbm, many lists": lambda: TEXT.replace(b":null", b":[" + b"[0]," * 100_000 + b"[0]]"),
    "catboost, outputs": lambda: plain([{"leaf_values": [0] * 20000}]),
    "catboost, columns": lambda: plain([{"leaf_values": [0]}], column=65000),
    "catboost, depth": lambda: plain([{"leaf_values": [0], "splits": [{"split_index": 0}] * 60}]),
    "catboost, nested": lambda: b'{"features_info": {}, "trees": [' + b'{"left": ' * 60_000 + b"1" + b"}" * 60_000,
    "xgboost, nested": lambda: b"{i\x01a" + b"[" * 5000,
    "xgboost, long array": lambda: b"{i\x01a[$d#L\x7f" + b"\xff" * 7,
    "xgboost, outputs": many_outputs,
}


@pytest.mark.parametrize("name", BOMBS)
def test_files_made_to_hurt_take_little_memory(name):
    assert survive(use(name), [BOMBS[name]()]).megabytes < 200


def test_without_catboost_a_binary_file_says_so(monkeypatch):
    monkeypatch.setattr("costframe.adoption.catboost.adopting.importlib.util.find_spec", lambda _: None)
    with pytest.raises(AdoptionError, match=r"a file: a \.cbm file needs catboost; install it, or save the model with"):
        READS["catboost"](b"CBM1", "a file")
