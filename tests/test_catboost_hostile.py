"""CatBoost's files that are made to do harm."""

import json

import numpy as np
import pytest
from catboost_documents import DOCUMENT, FLOATS, TREE, free, number
from mutations import copies, mutate_bytes, mutate_json, survive

from costframe.adoption.catboost.adopt import adopt_catboost_file
from costframe.adoption.catboost.trees import FLOAT, Feature, SplitGroup, Splits
from costframe.core.errors import AdoptionError

# --- binary files, which catboost reads in a process of its own ----------------------------------------------------


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """A small .cbm file."""
    cb = pytest.importorskip("catboost", reason="needs catboost")
    path, rng = tmp_path_factory.mktemp("cbm") / "model", np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = cb.CatBoostRegressor(iterations=3, depth=3, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(X, X[:, 0]).save_model(str(path))
    return path.read_bytes()


@pytest.mark.parametrize("cut", [4, 8, 100, -1])
def test_binary_files_that_are_cut_are_refused(binary, cut):
    with pytest.raises(AdoptionError, match=r"^a file: catboost cannot read it: "):
        adopt_catboost_file(binary[:cut], "a file")


def test_binary_files_that_end_the_library_end_no_more(binary):
    end = survive(read, (b"CBM1" + data[4:] for data in copies(mutate_bytes, binary, 12)))
    assert end.refused > 0


def test_without_catboost_a_binary_file_says_so(monkeypatch):
    monkeypatch.setattr("costframe.adoption.catboost.adopt.importlib.util.find_spec", lambda _: None)
    with pytest.raises(AdoptionError, match=r"a file: a \.cbm file needs catboost; install it, or save the model with"):
        adopt_catboost_file(b"CBM1", "a file")


def test_a_feature_without_a_column_is_refused():
    with pytest.raises(AdoptionError, match=r"^a file: feature 'a': expected a column of 0 or more, got -1"):
        Splits.of([SplitGroup(Feature(FLOAT, -1, 0, "a"), np.array([0.5]))], "a file").check_used(np.array([0]), "")


# --- hostile files -----------------------------------------------------------------------------------------------


def read(data):
    """Adopt a file and predict with it, as its user would."""
    tree = adopt_catboost_file(data, "model")
    assert len(tree.predict(np.zeros((2, len(tree.feature_names))))) == 2


@pytest.mark.parametrize("document", [DOCUMENT, free(TREE, TREE)])
@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_json])
def test_hostile_documents(document, mutate):
    data = json.dumps(document).encode()
    changed_ = copies(mutate, data if mutate is mutate_bytes else document, 300)
    end = survive(read, (one if isinstance(one, bytes) else json.dumps(one).encode() for one in changed_))
    assert min(end.read, end.refused) > 0
    assert end.megabytes < 200


def comb(depth):
    tree = {"value": 0}
    for _ in range(depth):
        tree = {"left": tree, "right": {"value": 0}, "split": number(0)}
    return tree


def plain(trees, name="oblivious_trees", features=(FLOATS | {"feature_index": 0, "flat_feature_index": 0},)):
    return json.dumps({"features_info": {"float_features": list(features)}, name: trees}).encode()


def named(count):
    """Statistics of one feature with a long name, many times."""
    category = {"feature_id": "a" * 100_000, "feature_index": 0, "flat_feature_index": 0, "values": []}
    ctrs = [{"borders": [0.5], "elements": [{"cat_feature_index": 0}] * 4}] * count
    info = {"categorical_features": [category], "ctrs": ctrs}
    return json.dumps({"features_info": info, "oblivious_trees": [{"leaf_values": [0]}]}).encode()


def labelled(classes):
    info = {"params": {"loss_function": {"type": "MultiClass"}}, "class_params": {"class_names": classes}}
    document = json.loads(plain([{"leaf_values": [0.0] * len(classes)}]))
    return json.dumps(document | {"model_info": info}).encode()


FAR = FLOATS | {"feature_index": 0, "flat_feature_index": 65000}
BOMBS = {
    "trees": lambda: plain([{"leaf_values": [0]}] * 2000),
    "leaves": lambda: plain([{"value": 0}] * 3000, "trees"),
    "outputs": lambda: plain([{"leaf_values": [0] * 20000}]),
    "features": lambda: plain([{"leaf_values": [0]}], features=[
        FLOATS | {"feature_index": f, "flat_feature_index": f} for f in range(1000)
    ]),
    "columns": lambda: plain([{"leaf_values": [0]}], features=[FAR]),
    "depth": lambda: plain([{"leaf_values": [0], "splits": [number(0)] * 60}]),
    "names": lambda: named(1000),
    "labels": lambda: labelled(["a"] * 699 + ["b" * 200_000]),
    "nested": lambda: b'{"features_info": {}, "trees": [' + b'{"left": ' * 60_000 + b"1" + b"}" * 60_000 + b"]}",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_take_little_memory(name):
    end = survive(read, [BOMBS[name]()])
    assert end.megabytes < 100
    assert end.refused == (name in {"outputs", "depth", "nested", "labels"})


def test_deep_trees_are_read():
    borders = [FLOATS | {"feature_index": 0, "flat_feature_index": 0, "borders": [0.5]}]
    read(plain([comb(200)], "trees", borders))
