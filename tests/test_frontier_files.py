"""Saved frontiers: each point loads its own model, or an error says why, whatever else was saved beside it."""

import contextlib
import os
import subprocess
import sys

import attrs
import numpy as np
import pytest
from frontier_cases import COSTS, some_rows
from sklearn.tree import DecisionTreeClassifier
from study_cases import file_name, hold_alone

import costframe as cf
from costframe.choices import Frontier
from costframe.datasets import Dataset
from costframe.errors import StorageError
from costframe.plugin import ParameterError

X, Y = some_rows()[:2]
LABELS = [
    "tree 1", "tree_1", "tree-1", "Tree_1", "TREE_1", "a/b", "a\\b", "a:b", "..", ".", "...", " ", "  ", "con", "CON",
    "con.x", "nul",
    "lpt1", "é", "e\u0301", "\u212a", "k", "K", "-x", ".x", "x.", "x ", "\ud800", "x=1", "\x00", "\n", "*", "?",
    "~", "a" * 77 + "b", "a" * 77 + "c", "A" * 200, "ж" * 300,
]  # fmt: skip


def trees(labels):
    """A frontier with a tree of its own depth for each label."""
    return Frontier.fit({label: DecisionTreeClassifier(max_depth=n + 1) for n, label in enumerate(labels)}, X, Y)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def answers(frontier):
    return {point.name: frontier.model(point.name).cost(X).per_row.tolist() for point in frontier}


@pytest.fixture(scope="module")
def few():
    return trees(["tree 1", "tree_1", "Tree_1", "a/b"])


@pytest.fixture(scope="module")
def others():
    return trees(["a/b", "tree 1", "other"])


def test_names_of_files_are_injective_and_any_file_system_takes_them():
    names = [file_name(label) for label in LABELS]
    assert len({name.lower() for name in names}) == len(LABELS)
    assert all(len(name) < 100 and name.isascii() and not set(name) & set('/\\:*?"<>| \0\n') for name in names)
    assert [name for name in names if name[0] in ".-" or name.split(".")[0].lower() in {"con", "nul", "lpt1"}] == []
    assert file_name("tree_1") == "tree_1"
    assert file_name("miser-quick-3") == "miser-quick-3"


def test_each_label_has_its_own_model(few, tmp_path):
    few.save(tmp_path)
    loaded = Frontier.load(tmp_path)
    assert answers(loaded) == answers(few)
    files = [loaded.file(point).name for point in loaded]
    assert len({name.lower() for name in files}) == len(few.points)
    assert answers(Frontier.load(tmp_path)) == {
        point.name: cf.load(loaded.file(point)).cost(X).per_row.tolist() for point in loaded
    }


def test_capitals_alone_need_no_checksum(tmp_path):
    trees(["RandomForest", "Pipeline"]).save(tmp_path)
    assert files(tmp_path / "models") == ["Pipeline-1.model", "RandomForest-1.model"]


def test_another_frontier_is_replaced_only_if_asked(few, others, tmp_path):
    few.save(tmp_path)
    few.save(tmp_path)  # the same again is nothing to ask for
    loaded, before = Frontier.load(tmp_path), sorted(tmp_path.rglob("*"))
    with pytest.raises(ParameterError, match=r"directory: .* holds another frontier; .* or overwrite=True"):
        others.save(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert answers(loaded) == answers(few)
    others.save(tmp_path, overwrite=True)
    assert answers(Frontier.load(tmp_path)) == answers(others)
    assert len(files(tmp_path / "models")) == 3
    for point in few:
        with pytest.raises(StorageError, match=r"has changed, it is not the model with the figures|No such file"):
            loaded.model(point.name)


def test_a_loaded_frontier_can_be_saved_over_itself_with_other_names(few, tmp_path):
    few.save(tmp_path)
    loaded, names = Frontier.load(tmp_path), [point.name for point in few]
    turned = [attrs.evolve(point, name=name) for point, name in zip(few.points, names[1:] + names[:1], strict=True)]
    attrs.evolve(loaded, points=tuple(turned)).save(tmp_path, overwrite=True)
    again, right = Frontier.load(tmp_path), answers(few)
    assert answers(again) == {new.name: right[old] for new, old in zip(turned, names, strict=True)}


def test_a_model_that_another_has_replaced_is_an_error(few, tmp_path):
    few.save(tmp_path)
    loaded = Frontier.load(tmp_path)
    one, other = (loaded.file(point) for point in loaded.points[:2])
    other.write_bytes(one.read_bytes())
    with pytest.raises(StorageError, match=r"\.model: has changed, it is not the model"):
        loaded.model(loaded.points[1])
    with pytest.raises(StorageError, match="has changed"):
        loaded.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    one.unlink()
    with pytest.raises(StorageError, match="No such file"):
        loaded.model(loaded.points[0])


def test_files_of_others_and_double_names_are_refused(few, tmp_path):
    (tmp_path / "models").mkdir()
    cf.save(few.model(few.points[0]), tmp_path / "models" / "tree_1-1.model")
    with pytest.raises(ParameterError, match=r"has other files, such as tree_1-1\.model"):
        few.save(tmp_path)
    assert files(tmp_path) == ["models"]
    twice = attrs.evolve(few, points=tuple(attrs.evolve(point, name="one") for point in few.points))
    with pytest.raises(ParameterError, match="expected distinct names, 'one' is of several"):
        twice.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_run_keeps_its_models(few, tmp_path):
    data = Dataset.from_arrays(*some_rows(), COSTS, feature_names=list("abcd"))

    def sweep(*tradeoffs, **more):
        few_trees = {"parameters": {"n_estimators": 5}, "cv": 0}
        return Frontier.sweep(data, ["miser"], tradeoffs, directory=tmp_path, **few_trees, **more)

    run = sweep(0.01, 0.1)
    for overwrite in (False, True):
        with pytest.raises(ParameterError, match=r"holds a run, which did not fit .*; give another directory"):
            few.save(tmp_path, overwrite=overwrite)
    miser = Frontier.fit(cf.MiserClassifier(n_estimators=3), X, Y, tradeoffs=[0.0, 0.5])
    with pytest.raises(ParameterError, match="holds a run, which did not fit miser"):
        miser.save(tmp_path, overwrite=True)
    run.save(tmp_path)
    assert answers(Frontier.load(tmp_path)) == answers(run)
    more = sweep(0.01, 0.1, 1.0, resume=True)
    with pytest.raises(ParameterError, match="holds another frontier"):
        more.save(tmp_path)
    more.save(tmp_path, overwrite=True)
    assert answers(Frontier.load(tmp_path)) == answers(more)
    (tmp_path / "run.json").unlink()
    with pytest.raises(ParameterError, match="holds a saved frontier; give another directory"):
        sweep(0.5, resume=True)


HOLD = """
import sys
from pathlib import Path
from costframe.study.run_folder import hold_alone
with hold_alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of directories")
def test_two_processes_do_not_save_into_one_folder(few, tmp_path):
    with subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ParameterError, match="another run writes to"):
            few.save(tmp_path)
        other.stdin.close()
        assert other.wait(60) == 0
    with hold_alone(tmp_path), hold_alone(tmp_path):
        few.save(tmp_path)
    assert answers(Frontier.load(tmp_path)) == answers(few)


def test_a_save_that_is_cut_off_never_mixes_frontiers(few, others, tmp_path, monkeypatch):
    few.save(tmp_path)
    right = [answers(few), answers(others)]
    replace, count = os.replace, [0]
    for cut in range(1, 6):
        count[0] = 0

        def cut_off(*paths, cut=cut):
            count[0] += 1
            if count[0] == cut:
                raise KeyboardInterrupt
            replace(*paths)

        with monkeypatch.context() as patched:
            patched.setattr("pathlib.Path.replace", cut_off)
            try:
                others.save(tmp_path, overwrite=True)
            except KeyboardInterrupt:
                assert not list(tmp_path.rglob("*.tmp"))
        loaded = Frontier.load(tmp_path)
        for point in loaded:
            with contextlib.suppress(StorageError):  # it is that of the other frontier
                found = loaded.model(point.name).cost(X).per_row.tolist()
                assert found == right[len(loaded.points) == len(others.points)][point.name]
        others.save(tmp_path, overwrite=True)
        assert answers(Frontier.load(tmp_path)) == right[1]
        few.save(tmp_path, overwrite=True)


def test_the_place_of_a_loaded_frontier_does_not_follow_the_working_folder(few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few.save("study")
    loaded = Frontier.load("study")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert answers(loaded) == answers(few)


def test_what_frontiers_refuse(few, tmp_path):
    few.save(tmp_path)
    with pytest.raises(ParameterError, match="overwrite: expected True or False"):
        few.save(tmp_path, overwrite="yes")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        few.save(tmp_path / "file")
    assert np.isfinite(Frontier.load(tmp_path).points[0].score)
