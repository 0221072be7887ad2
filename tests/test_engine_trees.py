"""Structs of the engine are checked when they are made; both of its libraries grow the same trees."""

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import engine
from costframe.engine.fast_calls import check_arguments
from costframe.engine.signatures import read_parameters
from costframe.plugin import TreeTable
from costframe.trees import BinMapper, LazyPrices, NoPrices
from costframe.trees.grow import grow_tree
from costframe.trees.room import new_room, task_for


def structs(n=20, d=3, n_words=1):
    X = np.arange(float(n * d)).reshape(n, d)
    data = BinMapper.fit(X).transform(X)
    task = task_for(data, np.ones((n, n_words), np.int64), 5, (0.0, 1.0, 0.0), np.arange(d))
    return task, new_room(data, n_words, 0, 4), NoPrices().state()


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"columns": np.arange(2)}, "n_bins: expected C-contiguous int64 of shape"),
        ({"by_column": np.zeros((20, 3), np.uint8).T}, "by_column: expected C-contiguous uint8"),
        ({"words": np.ones((20, 1))}, "words: expected C-contiguous int64 .* got float64"),
        ({"units": np.broadcast_to(1.0, 3)}, "units: .* got float64"),
        ({"signs": np.zeros(2, np.int8)}, "signs: .* got int8"),
        ({"limits": [0.0, 1.0, 0.0]}, "limits: .* got list"),
    ],
)
def test_a_struct_of_other_arrays_is_refused(changed, text):
    task = structs()[0]._replace(**changed)
    with pytest.raises(TypeError, match=text):
        engine.Task(*task)


def test_structs_of_other_sizes_are_refused():
    task, room, prices = (make(*fields) for make, fields in zip(
        (engine.Task, engine.Room, engine.Prices), structs(), strict=True
    ))  # fmt: skip
    derived, rows = (np.ones(20), np.zeros(0), np.zeros(0, np.int64)), np.arange(20, dtype=np.int32)
    for wrong in (structs(n=21), structs(d=4), structs(n_words=2)):
        with pytest.raises(TypeError, match="room: expected"):
            engine.grow(task, engine.Room(*wrong[1]), prices, *derived, rows)
    with pytest.raises(TypeError, match="task: expected C-contiguous Task"):
        engine.grow(room, room, prices, *derived, rows)
    assert engine.grow(task, room, prices, *derived, rows) == engine.DONE


def test_a_size_that_may_be_zero_is_passed():
    rows = np.array([1, 2], np.int32)
    assert engine.weigh_rows(rows, np.zeros(0)) == 2.0
    assert engine.weigh_rows(rows, np.array([9.0, 0.5, 0.25])) == 0.75


def grown():
    """A digest of trees at prices of each kind."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(700, 9)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    data, names = BinMapper.fit(X, categorical=np.arange(9) > 6).transform(X), [f"x{f}" for f in range(9)]
    digest = hashlib.sha256()
    for weight in (None, rng.random(700)):
        prices = LazyPrices(cf.CostModel.uniform(names).select(names), 1e-3, 700, weight)
        for signs in (None, np.array([1, -1] + [0] * 7, np.int8)):
            for charged in (None, prices):
                g, h = rng.normal(size=700) + np.nan_to_num(X[:, 0]), rng.random(700)
                for hessians in (None, h):
                    tree = grow_tree(data, g, hessians, prices=charged, signs=signs, max_leaves=25)
                    for name in ("feature", "threshold", "missing_left", "values"):
                        digest.update(getattr(tree.table, name).tobytes())
                    digest.update(tree.leaf_of_row.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("level", ["base", "avx2"])
def test_both_libraries_grow_the_same_trees(level):
    if level != engine.level and engine.level == "base":
        pytest.skip("this processor has no AVX2")
    code = "import test_engine_trees as own; print(own.grown())"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    told = os.environ | {"COSTFRAME_ENGINE": level, "PYTHONPATH": path}
    found = subprocess.run(  # noqa: S603 - the code is above
        [sys.executable, "-c", code], env=told, check=True, capture_output=True, text=True
    ).stdout
    assert found.strip() == grown()


ODD = {
    "as it is": lambda a: a,
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "by column": np.asfortranarray,
    "of float32": lambda a: a.astype(np.float32),
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "long long": lambda a: a.view(np.longlong) if a.dtype == np.int64 else a,
    "flat": np.ravel,
    "one more": lambda a: np.concatenate([a, a[:1]]),
    "empty": lambda a: a[:0],
    "a list": lambda a: a.tolist(),
    "nothing": lambda _: None,
}


def drawn(data, parameter, sizes):
    """What a parameter takes; or now and then something odd."""
    if parameter.layout is not None:
        drawn_sizes = sizes | data.draw(st.sampled_from([{}] * 8 + [{"U": 3, "U+1": 4}]))
        fields = parameter.layout.fields
        shapes = [[drawn_sizes[size.text] for size in each.sizes] for each in fields]
        arrays = [np.zeros(shape, each.dtypes[0]) for shape, each in zip(shapes, fields, strict=True)]
        return getattr(engine, parameter.layout.name)(*arrays)
    if not parameter.sizes:
        return data.draw(st.integers(0, 9))
    array = np.zeros([sizes[each.text] for each in parameter.sizes], data.draw(st.sampled_from(parameter.dtypes)))
    return ODD[data.draw(st.sampled_from(["as it is"] * 8 + list(ODD)))](array)


@pytest.mark.parametrize("signature", [
    "X: f8[n,d], hashes: >u8[n]",
    "left: f8[n,C], right: f8[n,M], high: >f8[M,C]",
    "scores: f8[n], starts: i8[n+1], gradient: >f8[n]",
    "codes: u2|u4[n,d], hessians: f8[n?], sums: i8[3]",
])  # fmt: skip
@given(data=st.data())
def test_fast_calls_pass_what_is_checked(signature, data):
    sizes = {"n": 3, "d": 2, "C": 2, "M": 4, "n+1": 4, "n?": data.draw(st.sampled_from([0, 3])), "3": 3}
    parameters = read_parameters(signature, {}, whole=False)
    arguments = [drawn(data, each, sizes) for each in parameters]
    passed, known = [], {}
    try:
        for each, value in zip(parameters, arguments, strict=True):
            each.pass_array(value, known, passed)
    except TypeError:
        passed = None
    try:
        found = check_arguments(parameters, lambda *those: list(those))(*arguments)
    except TypeError:
        found = None
    assert found == passed


STRUCTS = [struct for name in sorted(engine.__all__) if isinstance(struct := getattr(engine, name), engine.Struct)]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.layout.name)
@given(data=st.data())
def test_fast_structs_are_those_that_are_checked(struct, data):
    sizes = {str(size): size for size in range(300)}
    for size in struct.layout.tells | struct.layout.may_tell:
        sizes[size] = data.draw(st.integers(0, 2))
        sizes |= {f"{size}+1": sizes[size] + 1, f"{size}?": sizes[size], f"{size}+1?": sizes[size] + 1}
    fields = [drawn(data, each, sizes) for each in struct.layout.fields]
    try:
        wanted = struct._check(*fields)
    except TypeError:
        with pytest.raises(TypeError):
            struct(*fields)
    else:
        found = struct(*fields)
        assert (found.words, found.sizes, found.arrays) == (wanted.words, wanted.sizes, tuple(fields))
        assert pickle.loads(pickle.dumps(found)).sizes == found.sizes  # noqa: S301 - of our own


def test_a_step_without_memory_is_an_error_by_name():
    leaves = np.array([[0.0], [0.0], [1.0]])
    trees = TreeTable.single([0, -1, -1], [0.0] * 3, [True] * 3, [1, -1, -1], [2, -1, -1], leaves)
    model = cf.StageTree(cf.WeakLearnerBank.from_trees(trees, ("a",)), (cf.Answer([0], [1.0], 0.0),))
    walk = model.walk(cf.CostModel.uniform(("a",)).select(("a",)), limited=False)
    deep = engine.Model(*model.layout.packed.arrays[:-1], 1 << 44)  # its paths fit into no memory
    step = engine.step_row(walk.size, deep, *walk.structs[1:])
    with pytest.raises(MemoryError, match="the engine found too little memory"):
        step(bytes(walk.begin(True, {})), b"")
