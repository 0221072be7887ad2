"""Saved files: what comes back is what was saved, and anything else is refused."""

import contextlib
import hashlib
import json
import os
import pickle
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import CostframeError, CostModelError, StorageError, printable
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route
from costframe.core.storage.saving import load, save
from costframe.testing.counting import CountingSource
from costframe.testing.strategies import banks, cost_models, feature_names, rows, stage_trees

HEAD = struct.Struct("<12sIQ")
DTYPES = {"|u1": 1, "<i4": 4, "<i8": 8, "<f8": 8}
COSTS = CostModel.from_dict(
    {"unit": "CAD", "features": {"a": 0.1, "b": {"cost": 2, "needs": ["blood"]}}, "resources": {"blood": 1 / 3}}
)


def half(X):
    return X[:, 0] / 2


def small(opaque=True):
    """Two trees, a column, an opaque learner; a route to two answers."""
    tree = TreeTable.single([0, -1, -1], [np.nan, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1], np.arange(3.0))
    named = TreeTable.single(
        [0, -1, -1], [np.nan, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1], np.arange(3.0), {0: [1.0]}
    )
    parts = [WeakLearnerBank.from_trees(TreeTable.concatenate([tree, named]), ("a", "b"))]
    parts.append(WeakLearnerBank.columns(("a", "b"), [1], fill=np.nan))
    if opaque:
        parts.append(WeakLearnerBank.opaque(("a", "b"), [OpaqueLearner("half", half, (1,))]))
    bank = WeakLearnerBank.concatenate(parts)
    last = len(bank) - 1
    stages = (
        Route([0], [-0.0], 5e-324, -np.inf, 0.1, 2, 1),
        Answer([1, last], [0.1, 1.0], [0.3], "sigmoid"),
        Answer([], np.empty((0, 1)), [-0.0]),
    )
    return StageTree(bank, stages, COSTS)


def parts_of(content):
    """Header and payload, read by the text of the format."""
    _, _, length = HEAD.unpack_from(content)
    header = json.loads(content[HEAD.size : HEAD.size + length])
    return header, content[HEAD.size + length : -32]


def sealed(body):
    return body + hashlib.sha256(body).digest()


def forged(header, payload, version=4):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return sealed(HEAD.pack(b"\x89costframe\r\n", version, len(text)) + text + payload)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    save(small(opaque=False), path)
    return path


def refusal(path, content=None, **options):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StorageError) as caught:
        load(path, **options)
    assert str(caught.value).startswith(f"{printable(str(path))}: ")
    return str(caught.value).removeprefix(f"{printable(str(path))}: ")


# --- round trips ---------------------------------------------------------------------------------------------------


@st.composite
def cases(draw):
    names = draw(feature_names())
    tree = draw(stage_trees(draw(banks(names, labels=True))))
    tree = tree.with_costs(draw(st.none() | cost_models(names)))
    X = draw(rows(len(names)))
    return (
        tree.with_fallbacks(X) if draw(st.booleans()) else tree,
        draw(cost_models(names)),
        X,
        draw(st.sampled_from(("path", "learner"))),
    )


def same_bytes(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same_report(a, b):
    for name in ("per_row", "acquired", "by_stage"):
        assert same_bytes(getattr(a, name), getattr(b, name))
    for name in ("mean", "fixed", "by_feature", "by_resource", "evaluation", "unit", "feature_names"):
        assert getattr(a, name) == getattr(b, name)


LIMITS = ({"max_cost": 2.5}, {"unavailable": ["x0"]})


def steps(tree, row, acquisition):
    """Everything that can be seen of an inquiry."""
    costs = tree.costs or CostModel.uniform(tree.feature_names)
    source = CountingSource(dict(zip(tree.feature_names, row.tolist(), strict=True)), costs)
    inquiry = tree.inquire(acquisition=acquisition)
    seen = []
    while inquiry.needs:
        seen.append((inquiry.needs, inquiry.cost))
        inquiry.supply(source(inquiry.needs))
    end = inquiry.answer
    return seen, np.asarray(end.value).tobytes(), end.cost, end.acquired, end.rounds, end.exit, source.charged


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@given(
    cases(),
    st.booleans(),
    st.sampled_from(("hard", "soft")),
    st.sampled_from(({"max_cost": 2.5}, {"unavailable": ["x0"]})),
)
def test_the_loaded_predictor_is_the_saved_one(tmp_path_factory, case, own, routing, limits):
    tree, costs, X, acquisition = case
    path = tmp_path_factory.getbasetemp() / "round"
    save(tree, path)
    content = path.read_bytes()
    again = load(path, {learner.name: learner.function for learner in tree.bank.opaques})
    assert again.costs == tree.costs
    assert again.categories == tree.categories
    assert same_bytes(again.decision_function(X), tree.decision_function(X))
    assert same_bytes(again.exits(X), tree.exits(X))
    evaluator = ExpectedCost(None if own else costs, routing=routing, acquisition=acquisition)
    assert_same_report(evaluator.evaluate(again, X), evaluator.evaluate(tree, X))
    assert same_bytes(again.predict(X, **limits), tree.predict(X, **limits))
    assert_same_report(again.cost(X, costs, **limits), tree.cost(X, costs, **limits))
    for row in X[:2]:
        assert steps(again, row, acquisition) == steps(tree, row, acquisition)
    save(again, path)
    assert path.read_bytes() == content


@given(cases())
def test_every_byte_is_a_number_or_plain_text(tmp_path_factory, case):
    """Checksummed head, JSON of known keys, and arrays of numbers that cover the rest: there is no room for code."""
    path = tmp_path_factory.getbasetemp() / "plain"
    save(case[0], path)
    content = path.read_bytes()
    assert sealed(content[:-32]) == content
    header, payload = parts_of(content)
    assert header.keys() == {"arrays", "model"}
    assert header["model"].keys() == {
        "kind", "classes", "estimator", "feature_names", "categories", "opaques", "stages", "costs", "fallbacks",
    }  # fmt: skip
    assert all(each.keys() == {"name", "features", "width"} for each in header["model"]["opaques"])
    at = 0
    for entry in header["arrays"]:
        assert entry["offset"] == at
        at += int(np.prod(entry["shape"])) * DTYPES[entry["dtype"]]
    assert at == len(payload)
    assert b"_clipped_sums" not in content
    assert b"strategies" not in content


def test_pickle_is_never_called(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("pickled")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    save(small(), tmp_path / "m")
    assert load(tmp_path / "m", {"half": half}).predict([[1.0, 2.0]]) == small().predict([[1.0, 2.0]])


def test_extreme_numbers_keep_their_bits(tmp_path):
    payload_nan = np.array([0x7FF8DEADBEEF0001], np.uint64).view(np.float64)[0]
    tree = TreeTable.single(
        [0, -1, -1], [payload_nan, -0.0, 5e-324], [False] * 3, [1, -1, -1], [2, -1, -1], [0, -0.0, 1.7e308]
    )
    bank = WeakLearnerBank.from_trees(tree, ("a",)) + WeakLearnerBank.columns(("a",), fill=payload_nan)
    save(
        StageTree(bank, (Route([0, 1], [1, 1], -0.0, np.inf, 5e-324, 1, 2), *[Answer([], [], 0.1)] * 2)), tmp_path / "m"
    )
    again = load(tmp_path / "m")
    assert same_bytes(again.bank.trees.threshold, tree.threshold)
    assert same_bytes(again.bank.trees.values, tree.values)
    assert same_bytes(again.bank.column_fill, bank.column_fill)
    assert again.stages[0].threshold == np.inf
    assert again.stages[0].steepness == 5e-324
    assert np.signbit(again.stages[0].intercept[0])


def test_names_of_any_letters_come_back(tmp_path):
    names = ("", 'é\u2028\n"\\', "\ud800", "🩸")
    bank = WeakLearnerBank.columns(names)
    save(StageTree(bank, (Answer([0], [1.0], 0.0),)), tmp_path / "m")
    assert load(tmp_path / "m").feature_names == names


# --- prices, opaque learners, estimators ---------------------------------------------------------------------------


def test_costs_are_the_predictors_own_or_those_given(tmp_path):
    path = tmp_path / "m"
    save(small(opaque=False).with_costs(None), path)
    assert load(path).costs is None
    save(small(opaque=False), path)
    assert load(path).costs == COSTS
    save(small(opaque=False), path, [3.0, 4.0])
    assert load(path).costs == CostModel.from_array([3.0, 4.0], ("a", "b"))
    with pytest.raises(CostModelError, match="no price for 'b'"):
        save(small(opaque=False), path, {"features": {"a": 1}})
    assert load(path).costs == CostModel.from_array([3.0, 4.0], ("a", "b"))


def test_an_opaque_learner_needs_its_function(tmp_path):
    path = tmp_path / "m"
    bank = small().bank + WeakLearnerBank.opaque(("a",), [OpaqueLearner("third", half, (0,))])
    save(StageTree(bank, small().stages), path)
    assert "'half', 'third'" in refusal(path)
    missing = refusal(path, opaque={"third": half})
    assert "'half'" in missing
    assert "third" not in missing
    assert "'fourth'" in refusal(path, opaque={"half": half, "third": half, "fourth": half})
    assert "callable for 'third', got float" in refusal(path, opaque={"half": half, "third": 3.0})
    assert "expected a mapping" in refusal(path, opaque=[half])
    assert load(path, {"third": half, "half": half}).bank.opaques[1].features == (0,)
    save(small(opaque=False), path)
    assert "'half'" in refusal(path, opaque={"half": half})


def test_what_may_hold_code_is_not_saved(tmp_path):
    def model():
        yield "a"
        return 1.0

    for thing in (SteppedPredictor(("a",), model), SimpleNamespace(predictor_=SteppedPredictor(("a",), model))):
        with pytest.raises(
            StorageError, match="a StageTree or a PlannedPredictor, only these can be saved; got SteppedPredictor"
        ):
            save(thing, tmp_path / "m")
    with pytest.raises(StorageError, match="got dict"):
        save({}, tmp_path / "m")
    for path in (None, 5.5, b"m", ["m"]):
        for call in (lambda path: save(small(opaque=False), path), load, CostModel.load, CostModel.uniform(["a"]).save):
            with pytest.raises(CostframeError, match=r"^path: expected a text or path, got "):
                call(path)
    save(SimpleNamespace(predictor_=small(opaque=False)), tmp_path / "m")
    assert load(tmp_path / "m").costs_ == COSTS


# --- damaged files -------------------------------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in range(len(content)):
        text = refusal(saved, content[:length])
        assert "truncated" in text or (length == 0 and "empty" in text)


def test_a_change_of_any_byte_is_refused(saved):
    content = saved.read_bytes()
    for position in range(len(content)):
        for change in (1 << position % 8, 0xFF):
            altered = bytearray(content)
            altered[position] ^= change
            text = refusal(saved, bytes(altered))
            assert ("not a costframe model" if position < 12 else "altered") in text


@pytest.mark.parametrize("extra", [b"\0", b"\n", bytes(32), "itself"])
def test_bytes_behind_the_end_are_refused(saved, extra):
    content = saved.read_bytes()
    assert "altered" in refusal(saved, content + (content if extra == "itself" else extra))


def test_what_is_no_model_is_refused(tmp_path):
    assert "No such file" in refusal(tmp_path / "missing")
    assert "Is a directory" in refusal(tmp_path)
    assert "empty" in refusal(tmp_path / "m", b"")
    assert "not a costframe model" in refusal(tmp_path / "m", pickle.dumps({"a": 1}))
    assert "not a costframe model" in refusal(tmp_path / "m", b"PK\x03\x04" + bytes(100))
    assert "null" in refusal(Path("a\0b"))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without end")
def test_a_foreign_file_is_not_read_to_its_end():
    assert "not a costframe model" in refusal(Path("/dev/zero"))


def test_a_small_file_that_needs_much_memory_is_refused(tmp_path):
    tests = np.arange(1201) < 600
    sides = [np.where(tests, 2 * np.arange(1201) + side, -1) for side in (1, 2)]
    none = np.zeros(1201)
    trees = TreeTable.single(np.where(tests, 0, -1), none, none > 0, *sides, none)
    wide = Answer([0], np.ones((1, 2000)), np.zeros(2000))
    save(StageTree(WeakLearnerBank.from_trees(trees, ["a"]), (wide,)), tmp_path / "m")
    assert "its 1 stages use 2,402,000 nodes, of 3,201 in all" in refusal(tmp_path / "m")


def test_a_newer_file_says_so(saved):
    header, payload = parts_of(saved.read_bytes())
    text = refusal(saved, forged(header, payload, version=7))
    assert text == "written by a newer costframe (format 7), this one reads up to 4"
    assert "written by a newer" in refusal(saved, forged(b"what a later format may say", b"", version=5))
    assert "expected format 4, got 0" in refusal(saved, forged(header, payload, version=0))


# --- forged files: whole, with a valid checksum, and impossible ------------------------------------------------------


def set_entry(name, **to):
    def edit(header, payload):
        next(entry for entry in header["arrays"] if entry["name"] == name).update(to)
        return header, payload

    return edit


def set_model(to, *path):
    def edit(header, payload):
        inner = header["model"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = to
        return header, payload

    return edit


def set_array(name, to):
    """Replace an array's numbers by as many others."""

    def edit(header, payload):
        entry = next(entry for entry in header["arrays"] if entry["name"] == name)
        raw = np.array(to, entry["dtype"]).tobytes()
        assert len(raw) == int(np.prod(entry["shape"])) * DTYPES[entry["dtype"]]
        at = entry["offset"]
        return header, payload[:at] + raw + payload[at + len(raw) :]

    return edit


def add_array(**entry):
    def edit(header, payload):
        header["arrays"].append({"name": "more", "dtype": "|u1", "shape": [0], "offset": len(payload)} | entry)
        return header, payload

    return edit


def drop_array(header, payload):
    last = header["arrays"].pop()
    return header, payload[: last["offset"]]


def header_of(text):
    return lambda _header, payload: (text, payload)


FORGED = {
    "fallbacks that are not there": (set_model(True, "fallbacks"), "no array 'fallbacks.node_values'"),
    "fallbacks of a number": (set_model(1, "fallbacks"), "expected true or false"),
    "header of nothing": (header_of(b""), "malformed header"),
    "header of no JSON": (header_of(b"{"), "malformed header"),
    "header not in ASCII": (header_of(b'"\xc3\xa9"'), "malformed header"),
    "header nested too deeply": (header_of(b"[" * 100_000), "malformed header"),
    "number of many digits": (header_of(b"9" * 5000), "malformed header"),
    "number beyond floats": (header_of(b"1e999"), "malformed header"),
    "header of a list": (header_of([]), "'arrays' and a 'model'"),
    "header with a further key": (lambda h, p: (h | {"code": ""}, p), "'arrays' and a 'model'"),
    "key twice": (header_of(b'{"arrays":[],"arrays":[],"model":0}'), "not spelled"),
    "spaces": (lambda h, p: (json.dumps(h).encode(), p), "not spelled"),
    "arrays of no list": (header_of({"arrays": {}, "model": 0}), "'arrays' and a 'model'"),
    "entry of no table": (header_of({"arrays": [1], "model": 0}), "expected an array's"),
    "entry without an offset": (header_of({"arrays": [{"name": "a"}], "model": 0}), "expected an array's"),
    "objects": (set_entry("bank.kind", dtype="|O"), "'bank.kind': expected a dtype of"),
    "objects of eight bytes": (set_entry("bank.evaluation", dtype="O"), "expected a dtype of"),
    "structs": (set_entry("bank.kind", dtype=[["a", "|O"]]), "expected a dtype of"),
    "big-endian": (set_entry("bank.evaluation", dtype=">f8"), "expected a dtype of"),
    "other dtype of equal width": (set_entry("bank.evaluation", dtype="<i8"), "expected 1 dimension"),
    "shape of no list": (set_entry("bank.kind", shape=3), "at most two dimensions"),
    "many dimensions": (set_entry("bank.kind", shape=[1] * 100), "at most two dimensions"),
    "size of a text": (set_entry("bank.kind", shape=["3"]), "expected sizes"),
    "size of true": (set_entry("bank.kind", shape=[True]), "expected sizes"),
    "size of a float": (set_entry("bank.kind", shape=[3.0]), "expected sizes"),
    "negative size": (set_entry("bank.kind", shape=[-3]), "expected sizes"),
    "negative sizes whose product fits": (set_entry("bank.kind", shape=[-3, -1]), "expected sizes"),
    "negative offset": (set_entry("bank.kind", offset=-1), "expected sizes"),
    "huge size": (set_entry("bank.kind", shape=[2**61]), "array 'bank.kind' takes"),
    "sizes whose product wraps": (set_entry("bank.kind", shape=[2**60, 16]), "expected a shape below 2^63 bytes"),
    "nothing of a huge width": (add_array(dtype="<f8", shape=[0, 2**61]), "'more': expected a shape below 2^63 bytes"),
    "nothing of a width that fits": (add_array(shape=[0, 2**61]), "unknown array"),
    "size beyond int64": (set_entry("bank.kind", shape=[2**70]), "expected sizes"),
    "huge times nothing": (set_entry("bank.kind", shape=[2**61, 0]), "'bank.index' takes"),
    "offset outside": (set_entry("bank.kind", offset=10**9), "array 'bank.kind' takes"),
    "overlap": (set_entry("bank.index", offset=0), "array 'bank.index' takes"),
    "array beyond the payload": (add_array(shape=[1]), "array 'more' takes"),
    "unknown array": (add_array(), "unknown arrays ['more']"),
    "array twice": (add_array(name="bank.kind"), "'bank.kind' stands twice"),
    "missing array": (drop_array, "no array 'stage.2.intercept'"),
    "bytes of no array": (lambda h, p: (h, p + b"\0"), "1 bytes belong to no array"),
    "two dimensions for one": (set_entry("trees.values", shape=[2, 2]), "expected 1 dimension"),
    "model of no table": (lambda h, p: ({"arrays": h["arrays"], "model": 3}, p), "malformed model"),
    "model with a further key": (set_model(1, "code"), "malformed model"),
    "names of no list": (set_model("ab", "feature_names"), "expected a list"),
    "names of no texts": (set_model([1, 2], "feature_names"), "expected texts"),
    "a name twice": (set_model(["a", "a"], "feature_names"), "distinct"),
    "too few names": (set_model(["a"], "feature_names"), "for each of 1 features"),
    "stages of no table": (set_model([1, 2, 3], "stages"), "malformed stage 0"),
    "no stages": (set_model([], "stages"), "at least one answer"),
    "unknown link": (set_model("cubic", "stages", 1, "link"), "link: expected"),
    "link of no text": (set_model([], "stages", 1, "link"), "link: expected"),
    "level of no ranked answer": (set_model(1.0, "stages", 1, "level"), "malformed stage 1"),
    "ranked without a level": (set_model("ranked", "stages", 1, "link"), "malformed stage 1"),
    "level of no number": (set_model({"link": "ranked", "level": "1"}, "stages", 1), "level: expected a number"),
    "answer with a further key": (set_model(0, "stages", 1, "below"), "malformed stage 1"),
    "stage that goes back": (set_model(0, "stages", 0, "below"), "goes on to stage 0"),
    "stage of a huge number": (set_model(10**100, "stages", 0, "below"), "goes on to stage"),
    "stage of a float": (set_model(2.0, "stages", 0, "below"), "two later stages"),
    "one way twice": (set_model(1, "stages", 0, "below"), "reached from"),
    "costs of no table": (set_model(3, "costs"), "expected a table"),
    "negative price": (set_model(-1, "costs", "features", "a"), "features.a"),
    "circle of needs": (set_model({"cost": 1, "needs": ["blood"]}, "costs", "resources", "blood"), "circle"),
    "opaque of no table": (set_model([1], "opaques"), "malformed opaque learner"),
    "opaque without a text": (set_model([{"name": 1, "features": [], "width": 1}], "opaques"), "malformed opaque"),
    "opaque of no width": (set_model([{"name": "o", "features": [], "width": 0}], "opaques"), "malformed opaque"),
    "opaque of huge width": (set_model([{"name": "o", "features": [], "width": 2**40}], "opaques"), "malformed opaque"),
    "opaque outside": (set_model([{"name": "o", "features": [2], "width": 1}], "opaques"), "columns below 2"),
    "opaque of huge column": (set_model([{"name": "o", "features": [10**30], "width": 1}], "opaques"), "columns below"),
    "unknown kind": (set_array("bank.kind", [0, 0, 9]), "array 'bank.kind': expected 0 to 2"),
    "index twice": (set_array("bank.index", [0, 0, 0]), "index"),
    "evaluation of NaN": (set_array("bank.evaluation", [1, np.nan, 1]), "evaluation"),
    "negative column": (set_array("bank.column_feature", [-1]), "learner reads column"),
    "column outside": (set_array("bank.column_feature", [2]), "reads column 2"),
    "tree that tests outside": (set_array("trees.feature", [2, -1, -1, 0, -1, -1]), "reads column 2"),
    "tree that goes back": (set_array("trees.left", [0, -1, -1, 1, -1, -1]), "tree 0, node 0"),
    "tree without nodes": (set_array("trees.first", [0, 0, 6]), "tree 0: has no node"),
    "tree of wrapping size": (set_array("trees.first", [0, 2**63 - 1, 6]), "'trees.first': expected 0 to 6"),
    "outputs outside": (set_array("trees.value", [-1, 0, 1, -1, 2, 4]), "no outputs"),
    "outputs at the very end": (set_array("trees.value", [-1, 0, 1, -1, 2, 2**63 - 1]), "'trees.value': expected"),
    "outputs just outside": (set_array("trees.value", [-1, 0, 1, -1, 2, -1]), "no outputs"),
    "outputs of infinity": (set_array("trees.values", [0, np.inf, 0, 0]), "finite"),
    "huge width": (set_array("trees.width", [1, 2**31 - 1]), "no outputs"),
    "half a truth": (set_array("trees.missing_left", [2, 0, 0, 0, 0, 0]), "'trees.missing_left': expected 0 to 1"),
    "categories of no list": (set_model({}, "categories"), "expected a list"),
    "categories of too few features": (set_model([[]], "categories"), "for each of 2 features"),
    "categories of no texts": (set_model([[1], []], "categories"), "categories of 'a': expected distinct texts"),
    "a label twice": (set_model([["u", "u"], []], "categories"), "categories of 'a': expected distinct texts"),
    "negative count of categories": (
        set_array("trees.category_count", [-1, 0, 0, 1, 0, 0]),
        "'trees.category_count': expected 0 to 1",
    ),
    "a huge count of categories": (
        set_array("trees.category_count", [2**31 - 1, 0, 0, 1, 0, 0]),
        "'trees.category_count': expected 0 to 1",
    ),
    "more categories than there are": (
        set_array("trees.category_count", [1, 0, 0, 1, 0, 0]),
        "'categories' must have shape (2,), got (1,)",
    ),
    "categories of a leaf": (set_array("trees.category_count", [0, 1, 0, 0, 0, 0]), "node 1: is no test and has"),
    "categories and a threshold": (set_array("trees.threshold", [np.nan, 0, 0, 1, 0, 0]), "tree 1, node 0: has both"),
    "category of infinity": (set_array("trees.categories", [np.inf]), "tree 1, node 0: must have categories"),
    "unknown learner": (set_array("stage.1.learners", [1, 3]), "uses learner 3"),
    "learners out of order": (set_array("stage.1.learners", [2, 1]), "ascending"),
    "weight of NaN": (set_array("stage.1.weights", [[np.nan], [1]]), "weights: expected finite"),
    "threshold of NaN": (set_array("stage.0.cut", [np.nan, 1]), "threshold, got NaN"),
    "steepness of zero": (set_array("stage.0.cut", [0, 0]), "positive finite steepness"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_files_are_refused(saved, case):
    edit, words = FORGED[case]
    assert words in refusal(saved, forged(*edit(*parts_of(saved.read_bytes()))))


SIZES = st.sampled_from([0, 1, 2, 3, -1, 2**31, 2**53, 2**61, 2**62, 2**63, 2**64, 10**40, 1.0, 1e300, True, None, "1"])
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.lists(SIZES, max_size=3) | SIZES,
        "offset": SIZES,
        "dtype": st.sampled_from([*DTYPES, "<f4", "O", "", [], None, 8]),
    },
)


@given(ENTRIES, st.sampled_from(["bank.kind", "bank.evaluation", "trees.values", "new"]))
def test_a_directory_of_any_entries_is_refused_or_loads(tmp_path_factory, entry, name):
    path = tmp_path_factory.mktemp("forged") / "model"
    save(small(opaque=False), path)
    edit = add_array(**entry) if name == "new" else set_entry(name, **entry)
    path.write_bytes(forged(*edit(*parts_of(path.read_bytes()))))
    with contextlib.suppress(StorageError):
        load(path)


def test_forging_nothing_gives_a_file_that_loads(saved):
    content = saved.read_bytes()
    assert forged(*parts_of(content)) == content
    load(saved)


def test_a_header_longer_than_the_file_is_refused(saved):
    body = HEAD.pack(b"\x89costframe\r\n", 4, 2**63) + b"{}"
    assert "does not fit" in refusal(saved, sealed(body))


# --- writing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(saved, monkeypatch, failing, error):
    content = saved.read_bytes()

    def fail(*_args):
        raise error

    monkeypatch.setattr(*((os, "fsync", fail) if failing == "fsync" else (Path, "replace", fail)))
    expected = StorageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        save(small(opaque=False).with_costs(None), saved)
    assert saved.read_bytes() == content
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]
    if isinstance(error, OSError):
        assert str(caught.value) == f"{saved}: cannot be written: No space left on device"


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    for path in (tmp_path / "missing" / "m", tmp_path, "a\0b", "/"):
        with pytest.raises(StorageError, match="cannot be written"):
            save(small(), path)
    assert not list(tmp_path.iterdir())
