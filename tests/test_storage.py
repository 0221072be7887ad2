"""Saved files: what comes back is what was saved (see the law of walks), and anything else is refused."""

import hashlib
import json
import os
import pickle
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from page_cases import printable
from test_planned import LABORATORY, chain

from costframe import Answer, CostframeError, CostModel, Route, StageTree, SteppedPredictor, WeakLearnerBank, load, save
from costframe.errors import StorageError
from costframe.plugin import OpaqueLearner, Rung, TreeTable
from costframe.testing import strategies

HEAD = struct.Struct("<12sIQ")
DTYPES = {"|u1": 1, "<i4": 4, "<i8": 8, "<f8": 8}
COSTS = CostModel.from_dict(
    {"unit": "CAD", "features": {"a": 0.1, "b": {"cost": 2, "needs": ["blood"]}}, "resources": {"blood": 1 / 3}}
)


def half(X):
    return X[:, 0] / 2


def small(opaque=True):
    """Two trees, a column, an opaque learner; a route to two answers."""
    shape = [0, -1, -1], [np.nan, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1], np.arange(3.0)
    trees = TreeTable.concatenate([TreeTable.single(*shape), TreeTable.single(*shape, {0: [1.0]})])
    parts = [WeakLearnerBank.from_trees(trees, ("a", "b")), WeakLearnerBank.columns(("a", "b"), [1], fill=np.nan)]
    if opaque:
        parts.append(WeakLearnerBank.opaque(("a", "b"), [OpaqueLearner("half", half, (1,))]))
    bank = WeakLearnerBank.concatenate(parts)
    stages = (
        Route([0], [-0.0], 5e-324, -np.inf, 0.1, 2, 1),
        Answer([1, len(bank) - 1], [0.1, 1.0], [0.3], "sigmoid"),
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


# --- what a file holds ---


@given(st.data())
def test_every_byte_is_a_number_or_plain_text(tmp_path_factory, data):
    """Checksummed head, JSON of known keys, and arrays of numbers that cover the rest: there is no room for code."""
    path = tmp_path_factory.getbasetemp() / "plain"
    save(
        data.draw(
            strategies.stage_trees(data.draw(strategies.banks(data.draw(strategies.feature_names()), labels=True)))
        ),
        path,
    )
    content = path.read_bytes()
    assert sealed(content[:-32]) == content
    header, payload = parts_of(content)
    assert header.keys() == {"arrays", "model"}
    assert header["model"].keys() == {
        "kind", "classes", "estimator", "feature_names", "categories", "opaques", "stages", "costs", "fallbacks",
        "spare",
    }  # fmt: skip
    assert all(each.keys() == {"name", "features", "width"} for each in header["model"]["opaques"])
    at = 0
    for entry in header["arrays"]:
        assert entry["offset"] == at
        at += int(np.prod(entry["shape"])) * DTYPES[entry["dtype"]]
    assert at == len(payload)
    assert not {b"_clipped_sums", b"strategies"} & {*content.split(b'"')}


def test_extreme_numbers_and_names_keep_their_bits(tmp_path):
    payload_nan = np.array([0x7FF8DEADBEEF0001], np.uint64).view(np.float64)[0]
    values = [payload_nan, -0.0, 5e-324], [False] * 3, [1, -1, -1], [2, -1, -1], [0, -0.0, 1.7e308]
    names = ("", 'é\u2028\n"\\', "\ud800", "🩸")
    bank = WeakLearnerBank.from_trees(TreeTable.single([0, -1, -1], *values), names)
    bank += WeakLearnerBank.columns(names, [0], fill=payload_nan)
    tree = StageTree(bank, (Route([0, 1], [1, 1], -0.0, np.inf, 5e-324, 1, 2), *[Answer([], [], 0.1)] * 2))
    save(tree, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.feature_names == names
    for name in ("threshold", "values"):
        assert getattr(again.bank.trees, name).tobytes() == getattr(bank.trees, name).tobytes()
    assert again.bank.column_fill.tobytes() == bank.column_fill.tobytes()
    assert (again.stages[0].threshold, again.stages[0].steepness) == (np.inf, 5e-324)
    assert np.signbit(again.stages[0].intercept[0])


def test_an_opaque_learner_needs_its_function(tmp_path):
    path = tmp_path / "m"
    bank = small().bank + WeakLearnerBank.opaque(("a",), [OpaqueLearner("third", half, (0,))])
    save(StageTree(bank, small().stages), path)
    assert "'half', 'third'" in refusal(path)
    assert "'fourth'" in refusal(path, opaque={"half": half, "third": half, "fourth": half})
    assert "callable for 'third', got float" in refusal(path, opaque={"half": half, "third": 3.0})
    assert "expected a mapping" in refusal(path, opaque=[half])
    assert load(path, {"third": half, "half": half}).bank.opaques[1].features == (0,)


def test_what_may_hold_code_is_neither_saved_nor_pickled(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("pickled")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    stepped = SteppedPredictor(("a",), lambda: None)
    for thing, words in (
        (stepped, "got SteppedPredictor"),
        (SimpleNamespace(predictor_=stepped), "got Ste"),
        ({}, "got dict"),
    ):
        with pytest.raises(StorageError, match=words):
            save(thing, tmp_path / "m")
    for path in (None, b"m"):
        for call in (lambda path: save(small(opaque=False), path), load, CostModel.load, CostModel.uniform(["a"]).save):
            with pytest.raises(CostframeError, match=r"^path: expected a text or path, got "):
                call(path)
    save(SimpleNamespace(predictor_=small()), tmp_path / "m")
    assert load(tmp_path / "m", {"half": half}).costs_ == COSTS


# --- damaged files ---


def test_a_file_cut_or_changed_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), 7):
        assert ("truncated" if length else "empty") in refusal(saved, content[:length])
    for position in range(0, len(content), 3):
        altered = bytearray(content)
        altered[position] ^= 1 << position % 8
        assert ("not a costframe model" if position < 12 else "altered") in refusal(saved, bytes(altered))
    for extra in (b"\0", bytes(32), content):
        assert "altered" in refusal(saved, content + extra)


def test_what_is_no_model_is_refused(tmp_path):
    assert "No such file" in refusal(tmp_path / "missing")
    assert "Is a directory" in refusal(tmp_path)
    assert "not a costframe model" in refusal(tmp_path / "m", pickle.dumps({"a": 1}))
    assert "null" in refusal(Path("a\0b"))
    if Path("/dev/zero").exists():
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
    assert "expected format 4, got 0" in refusal(saved, forged(header, payload, version=0))
    assert "does not fit" in refusal(saved, sealed(HEAD.pack(b"\x89costframe\r\n", 4, 2**63) + b"{}"))


# --- forged files: whole, with a valid checksum, and impossible ---


def entry(name, **to):
    def edit(header, payload):
        next(each for each in header["arrays"] if each["name"] == name).update(to)
        return header, payload

    return edit


def part(to, *path):
    def edit(header, payload):
        inner = header["model"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = to
        return header, payload

    return edit


def array(name, to):
    """Replace an array's numbers by as many others."""

    def edit(header, payload):
        found = next(each for each in header["arrays"] if each["name"] == name)
        raw = np.array(to, found["dtype"]).tobytes()
        assert len(raw) == int(np.prod(found["shape"])) * DTYPES[found["dtype"]]
        return header, payload[: found["offset"]] + raw + payload[found["offset"] + len(raw) :]

    return edit


def more(**to):
    def edit(header, payload):
        header["arrays"].append({"name": "more", "dtype": "|u1", "shape": [0], "offset": len(payload)} | to)
        return header, payload

    return edit


def header_of(text):
    return lambda _header, payload: (text, payload)


FORGED = {
    "nested too deeply": (header_of(b"[" * 100_000), "malformed header"),
    "a further key": (lambda h, p: (h | {"code": ""}, p), "'arrays' and a 'model'"),
    "key twice": (header_of(b'{"arrays":[],"arrays":[],"model":0}'), "not spelled"),
    "negative sizes whose product fits": (entry("bank.kind", shape=[-3, -1]), "expected sizes"),
    "sizes whose product wraps": (entry("bank.kind", shape=[2**60, 16]), "expected a shape below 2^63 bytes"),
    "nothing of a huge width": (more(dtype="<f8", shape=[0, 2**61]), "'more': expected a shape below 2^63 bytes"),
    "offset outside": (entry("bank.kind", offset=10**9), "array 'bank.kind' takes"),
    "bytes of no array": (lambda h, p: (h, p + b"\0"), "1 bytes belong to no array"),
    "no kind": (
        part(None, "kind"),
        "expected one of the kinds ['stages', 'planned', 'prepared', 'guarded', 'mixed'], got None",
    ),
    "fallbacks that are not there": (part(True, "fallbacks"), "no array 'fallbacks.node_values'"),
    "another decimal sign": (part("'", "decimal"), "malformed decimal: expected one of ('.', ','), got \"'\""),
    "stage that goes back": (part(0, "stages", 0, "below"), "goes on to stage 0"),
    "circle of needs": (part({"cost": 1, "needs": ["blood"]}, "costs", "resources", "blood"), "circle"),
    "opaque of huge width": (part([{"name": "o", "features": [], "width": 2**40}], "opaques"), "malformed opaque"),
    "unknown kind": (array("bank.kind", [0, 0, 9]), "array 'bank.kind': expected 0 to 2"),
    "tree that goes back": (array("trees.left", [0, -1, -1, 1, -1, -1]), "tree 0, node 0"),
    "outputs at the very end": (array("trees.value", [-1, 0, 1, -1, 2, 2**63 - 1]), "'trees.value': expected"),
    "threshold of NaN": (array("stage.0.cut", [np.nan, 1]), "threshold, got NaN"),
}
FORGED_PLANS = {
    "the other kind": (part("stages", "kind"), "malformed model: expected exactly"),
    "gains that are not there": (part(True, "stops", 2, "gains"), "no array 'stop.2.gains.learners'"),
    "gains that read more": (array("stop.1.gains.learners", [1, 2]), "reads 'b', which is not bought there"),
    "a rung too high": (array("ladder", [1.0, 1.0, 0.0]), "expected rungs from 0 on"),
}


@pytest.mark.parametrize("case", [*FORGED, *FORGED_PLANS])
def test_forged_files_are_refused(saved, case):
    if case in FORGED_PLANS:
        save(evolve(chain(LABORATORY), ladder=[Rung(0.0, 0.01)]), saved)
    content = saved.read_bytes()
    assert forged(*parts_of(content)) == content
    edit, words = (FORGED | FORGED_PLANS)[case]
    assert words in refusal(saved, forged(*edit(*parts_of(content))))


# --- writing ---


def test_an_interrupted_write_leaves_the_old_file(saved, monkeypatch):
    content = saved.read_bytes()
    for path in (saved.parent / "missing" / "m", saved.parent, "a\0b"):
        with pytest.raises(StorageError, match="cannot be written"):
            save(small(), path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StorageError, match="cannot be written: No space left on device"):
        save(small(opaque=False).with_costs(None), saved)
    assert (saved.read_bytes(), [file.name for file in saved.parent.iterdir()]) == (content, [saved.name])
