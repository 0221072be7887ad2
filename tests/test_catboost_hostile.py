"""CatBoost's files that are made to do harm, and the tables of its .cbm files."""

import json
import struct

import numpy as np
import pytest
from catboost_documents import DOCUMENT, FLOATS, TREE, free, number
from mutations import copies, mutate_bytes, mutate_json, survive

from costframe.adoption.catboost.adopt import adopt_catboost_file
from costframe.adoption.catboost.binary import read_binary
from costframe.adoption.catboost.flatbuffers import read_root
from costframe.adoption.catboost.model import FLOAT, Feature, SplitGroup, Splits
from costframe.core.errors import AdoptionError

# --- binary files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "refers to bytes 0 to 4, beyond its end"),
        (struct.pack("<I", 2**32 - 1), "beyond its end"),
        (struct.pack("<Ii", 4, 100), "beyond its end"),
        (struct.pack("<IiHH", 4, -4, 3, 4), "it has a table of fields of 3 bytes"),
        (struct.pack("<IiHH", 4, -4, 4, 100), "beyond its end"),
        (struct.pack("<IiHH", 4, -4, 100, 4), "beyond its end"),
    ],
)
def test_tables_beyond_a_buffer_are_refused(data, words):
    with pytest.raises(AdoptionError, match=f"^a file: is malformed, .*{words}"):
        read_root(data, "a file")


def buffer(entry=20):
    """A root table with one field, a vector of four distances to tables, all the same one."""
    table = struct.pack("<I", 12) + struct.pack("<HHHH", 6, 8, 4, 0) + struct.pack("<iI", 8, 4)
    vector = struct.pack("<I4I", 4, *[entry - 4 * place for place in range(4)])
    return table + vector + struct.pack("<HHiI", 4, 8, 4, 0)


def test_fields_are_read_once_and_within_the_buffer():
    root = read_root(buffer(), "a file")
    assert root.scalar(1, "i", 7) == root.scalar(9, "i", 7) == 7
    assert root.text(5) == ""
    entries = root.tables(0, "part")
    assert next(entries).where == "a file: part 0"
    with pytest.raises(AdoptionError, match="a file: is malformed, parts of it refer to the same bytes"):
        next(entries)
    with pytest.raises(AdoptionError, match="beyond its end"):
        list(read_root(buffer(entry=2**31), "a file").tables(0, "part"))
    with pytest.raises(AdoptionError, match="field 0 is beyond its end"):
        root.scalar(0, "8s", None)


def crowd(count, fields, vtable):
    """A .cbm file whose model has one table, many times in each of some fields; each use of it is 12 bytes."""
    name, model = b"FlabuffersModel_v1", 92
    places = [4 + 4 * fields.index(field) if field in fields else 0 for field in range(20)]
    data = bytearray(struct.pack("<I4HiIII", 12, 8, 12, 4, 8, 8, 8, model - 20, len(name)) + name + bytes(2))
    data += struct.pack("<22Hi", 44, 4 + 4 * len(fields), *places, 44)
    vector = model + 4 + 4 * len(fields)
    size = 4 + 4 * count
    end = vector + size * len(fields) + len(vtable)
    data += struct.pack(f"<{len(fields)}I", *[vector + size * f - model - 4 - 4 * f for f in range(len(fields))])
    for _ in fields:
        data += struct.pack("<I", count)
        data += (end - len(data) - 4 * np.arange(count)).astype("<u4").tobytes()
    data += vtable + struct.pack("<i", len(vtable)) + bytes(14 * count * len(fields) + 100)
    return b"CBM1" + struct.pack("<I", len(data)) + bytes(data)


@pytest.mark.parametrize(
    ("fields", "count", "vtable"),
    [((5,), 20_000, struct.pack("<HH", 65532, 4) + bytes(65528)), ((12, 13), 3000, struct.pack("<HHHH", 8, 4, 0, 0))],
)
def test_tables_that_are_named_often_take_little_time(fields, count, vtable):
    with pytest.raises(AdoptionError, match=r"no trees|a column"):
        read(crowd(1, fields, vtable))
    end = survive(read, [crowd(count, fields, vtable)])
    assert end.seconds < 1.5
    assert end.megabytes < 50


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """Small .cbm files of a symmetric and of another model."""
    cb = pytest.importorskip("catboost", reason="needs catboost")
    path, rng = tmp_path_factory.mktemp("cbm") / "model", np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60) / 2, rng.normal(size=60), rng.integers(0, 3, 60).astype(object)])
    found = []
    for policy in ("SymmetricTree", "Lossguide"):
        settings = {"iterations": 3, "depth": 3, "grow_policy": policy, "one_hot_max_size": 9, "verbose": False}
        model = cb.CatBoostRegressor(**settings, thread_count=1, allow_writing_files=False)
        model.fit(X, X[:, 0].astype(float) + (X[:, 2] == 1), cat_features=[2]).save_model(str(path))
        found.append(path.read_bytes())
    return found


def test_binary_files_of_another_format_are_refused(binary):
    with pytest.raises(AdoptionError, match="expected the format 'FlabuffersModel_v1', got 'FlabuffersModel_v9'"):
        adopt_catboost_file(binary[0].replace(b"Model_v1", b"Model_v9"), "a file")


@pytest.mark.parametrize("border", [b"\x00\x00\xc0\x7f", b"\x01\x00\x80\x7f"])  # quiet NaN, and the signalling kind
def test_borders_that_are_no_numbers_are_refused(binary, border):
    known = struct.pack("<f", 0.25)
    assert binary[0].count(known) == 1
    with pytest.raises(AdoptionError, match=r"^a file: feature 'f0': expected ascending borders"):
        adopt_catboost_file(binary[0].replace(known, border), "a file")


def test_a_feature_without_a_column_is_refused():
    with pytest.raises(AdoptionError, match=r"^a file: feature 'a': expected a column of 0 or more, got -1"):
        Splits.of([SplitGroup(Feature(FLOAT, -1, 0, "a"), np.array([0.5]))], "a file").check_used(np.array([0]), "")


def test_outputs_that_are_no_numbers_are_refused(binary):
    known = struct.pack("<d", read_binary(binary[0], "a file").trees.outputs[0, 0])
    with pytest.raises(AdoptionError, match="'values' must be finite"):
        adopt_catboost_file(binary[0].replace(known, struct.pack("<Q", 0x7FF4 << 48)), "a file")  # a signalling NaN


# --- hostile files -----------------------------------------------------------------------------------------------


def read(data):
    """Adopt a file and predict with it, as its user would."""
    tree = adopt_catboost_file(data, "model")
    assert len(tree.predict(np.zeros((2, len(tree.feature_names))))) == 2


@pytest.mark.parametrize("kind", [0, 1])
def test_hostile_binary_files(binary, kind):
    end = survive(read, copies(mutate_bytes, binary[kind], 300, seed=kind))
    assert min(end.read, end.refused) > 0
    assert end.megabytes < 200


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
