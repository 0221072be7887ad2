"""Rows of test that rows of train give away: of one id, nearly equal, or in a column that says whose a row is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from dataset_cases import Kinds, find_leaks, split_rows
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_classification, make_moons

from costframe.datasets import Dataset, read_table
from costframe.plugin import DataError, ParameterError


def patients(count=150, visits=6, d=4, noise=0.02, seed=0):
    """Rows of patients in any order: features tell little but who it is, and labels are the patient's own."""
    rng = np.random.default_rng(seed)
    who, label = rng.normal(size=(count, d)), rng.integers(0, 2, count)
    whose = rng.permutation(np.repeat(np.arange(count), visits))
    return who[whose] + noise * rng.normal(size=(len(whose), d)), label[whose], whose


def written(path, whose=None, name="patient_id", **more):
    X, y, own = patients()
    columns = {} if whose is None else {name: whose(own)}
    frame = pd.DataFrame(X, columns=list("abcd")).assign(**columns, y=y, **more)
    frame.to_csv(path / "t.csv", index=False)
    return path / "t.csv"


def leaks_of(path, **how):
    return [note for note in read_table(path, "y", **how).notes if note.startswith("possible leak: ")]


@pytest.mark.parametrize(
    "whose", [lambda own: own, lambda own: [f"P{k:03}" for k in own], lambda own: own * 7919 + 10**6]
)
@pytest.mark.parametrize("ignore", [[], ["patient_id"]])
def test_rows_of_one_id_in_train_and_test_are_told(tmp_path, whose, ignore):
    (told,) = leaks_of(written(tmp_path, whose), ignore=ignore)
    assert "of the 180 rows of test share" in told
    assert told.endswith("of 'patient_id' with rows of train; --group patient_id keeps rows of one value together")
    data = read_table(tmp_path / "t.csv", "y", group="patient_id")
    assert data.feature_names == ("a", "b", "c", "d")
    parts = [set(data.groups[data.split == part]) for part in ("train", "valid", "test")]
    assert sum(map(len, parts)) == 150
    assert not [note for note in data.notes if note.startswith("possible leak")]
    assert "no split column: 150 groups of rows are split 60/20/20 into train, valid and test by seed 0" in data.notes
    shares = [data.y[data.split == part].mean() for part in ("train", "valid", "test")]
    assert np.ptp(shares) < 0.1


def test_an_id_of_another_name_is_told_by_the_labels_of_its_values(tmp_path):
    told = leaks_of(written(tmp_path, lambda own: own * 7919 % 10007, name="ward"))
    assert told[0].startswith("possible leak: 'ward': rows of one value have one target, those of the next another")
    assert "--group ward keeps the rows of one value together" in told[0]
    assert "rows of test share" in told[1]
    (told,) = leaks_of(tmp_path / "t.csv", ignore=["ward"])
    assert "rows of test share 108 values of 'ward' with rows of train; --group ward keeps" in told
    assert len(leaks_of(written(tmp_path, lambda own: np.arange(len(own)) % 150, name="ward"), ignore=["ward"])) == 1


def test_a_given_split_with_an_id_on_both_sides_is_told(tmp_path):
    split = np.array(["train", "train", "train", "valid", "test"])[np.arange(900) % 5]
    path = written(tmp_path, lambda own: own, split=split)
    (told,) = leaks_of(path)
    assert "as the column split says; with --ignore split, --group patient_id keeps rows of one value" in told
    (told,) = leaks_of(path, group="patient_id")
    assert told.endswith("with rows of train; the column split puts them there")
    assert not leaks_of(path, group="patient_id", ignore=["split"])


@pytest.mark.parametrize(
    "rows",
    [
        patients(),
        patients(25, 6),
        patients(40, 20, 3),
        patients(1000, 2, 10),
        patients(8000, 5, 6),
        patients(noise=0.1),
        (np.c_[patients()[0], np.random.default_rng(1).normal(size=900)], *patients()[1:]),
    ],
)
def test_nearly_equal_rows_are_told_without_an_id(rows):
    X, y, whose = rows
    (told,) = find_leaks(Dataset.from_arrays(X, y))
    assert "of the rows of test nearly equal a row of train in all features, and have its target; if" in told
    assert not find_leaks(Dataset.from_arrays(X, y, groups=whose))
    numbers = np.random.default_rng(0).normal(size=whose.max() + 1)[whose]
    assert "nearly equal a row" in find_leaks(Dataset.from_arrays(X, numbers, task="regression"))[0]


RNG = np.random.default_rng(0)
PLANE = RNG.normal(size=(2000, 2))
INDEPENDENT = {
    **{each.__name__: each(return_X_y=True) for each in (load_breast_cancer, load_iris, load_wine, load_diabetes)},
    **{f"classes {n}": make_classification(n, 8, n_informative=5, random_state=n) for n in (150, 500, 2000, 30000)},
    "moons": make_moons(2000, noise=0.1, random_state=0),
    "noise": (RNG.normal(size=(2000, 3)), RNG.integers(0, 2, 2000)),
    "skewed": (np.exp(2 * RNG.normal(size=(2000, 5))), RNG.integers(0, 2, 2000)),
    "half zeros": (np.where(RNG.random((2000, 6)) < 0.5, 0, RNG.normal(size=(2000, 6))), RNG.integers(0, 2, 2000)),
    "missing": (np.where(RNG.random((2000, 6)) < 0.5, np.nan, RNG.normal(size=(2000, 6))), RNG.integers(0, 2, 2000)),
    "a plane": (np.c_[PLANE, PLANE @ RNG.normal(size=(2, 6))], (PLANE[:, 0] > 0).astype(int)),
    "counts": (RNG.poisson(40, (2000, 4)), RNG.integers(0, 2, 2000)),
    "cents": ((100 * np.exp(RNG.normal(3, 1, (3000, 2)))).round(), RNG.integers(0, 2, 3000)),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_rows_without_an_id_are_left_alone(name):
    X, y = INDEPENDENT[name]
    task = "regression" if y.dtype.kind == "f" else "classification"
    assert not [note for note in find_leaks(Dataset.from_arrays(X, y, task=task)) if "nearly tells" not in note]


@pytest.mark.parametrize("classes", [True, False])
def test_a_split_keeps_groups_whole_with_even_shares_of_classes(classes):
    rng = np.random.default_rng(0)
    groups, rare = rng.integers(0, 200, 2000), rng.random(2000) < 0.03
    split, _ = split_rows(Kinds(2000, rare.astype(int) if classes else None, groups=groups), 0)
    assert all(len(set(split[groups == group])) == 1 for group in np.unique(groups))
    assert [np.mean(split == part) for part in ("train", "valid", "test")] == pytest.approx([0.6, 0.2, 0.2], abs=0.06)
    if classes:
        assert [rare[split == part].mean() for part in ("train", "valid", "test")] == pytest.approx(
            [0.03] * 3, abs=0.01
        )


def test_groups_that_do_not_fit_are_refused(tmp_path):
    path = written(tmp_path, lambda own: own, qid=np.arange(900) // 10)
    for how, text in [
        ({"group": "patient"}, r"no column 'patient' \(did you mean 'patient_id'"),
        ({"group": "y"}, "the column 'y' has a meaning of its own and cannot name groups"),
        ({"group": "patient_id", "categorical": ["patient_id"]}, "is to be split by categories, and is no feature"),
        ({"group": "patient_id"}, "column 'patient_id': expected each query in one group"),
    ]:
        with pytest.raises((DataError, ParameterError), match=text):
            read_table(path, "y", **how)
    pd.DataFrame({"a": range(40), "p": np.arange(40) % 3, "y": np.arange(40) % 2}).to_csv(tmp_path / "few.csv")
    with pytest.raises(DataError, match="3 groups of rows are too few to be split: none is left for 'test'; name"):
        read_table(tmp_path / "few.csv", "y", group="p")
    holed = written(tmp_path, lambda own: [None if k == 3 else k for k in own])
    with pytest.raises(DataError, match="column 'patient_id': 6 values are missing"):
        read_table(holed, "y", group="patient_id")


def test_the_command_line_keeps_patients_together(run, tmp_path):
    path = written(tmp_path, lambda own: own)
    fit = ("fit", path, "--target", "y", "--algorithm", "cegb", "--tradeoff", "1e-4", "--output", "m")
    told = " ".join(run(*fit).stdout.split())
    assert "possible leak: 170 of the 180 rows of test share 108 values of 'patient_id' with rows of train" in told
    assert "It reads 4 of 4 features" in told
    told = " ".join(run(*fit, "--group", "patient_id", "--force").stdout.split())
    assert "possible leak" not in told
    assert float(told.partition("roc_auc is ")[2].split()[0]) < 0.75
    given = ("--target", "y", "--group", "patient_id")
    compared = run("compare", path, *given, "--algorithms", "cegb", "--points", 2, "--cv", 0, "--no-references")
    assert compared.exit_code == 0, compared.output
    model = "frontier/recommended.model"
    by_groups, by_rows = (run("cost", model, path, *how).stdout for how in (given, given[:2]))
    error = [float("0" + text.partition("±")[2].split()[0]) for text in (by_groups, by_rows)]
    assert error[0] > error[1]
    assert run("cost", model, path, "--target", "y", "--part", "test").exit_code == 0
    for arguments, text in [
        ((model, path, *given[:2], "--group", "a", "--part", "test"), "part is asked for, was with --group patient_id"),
        ((model, path, "--group", "patient_id"), "--group: has no effect without --target, or --score for a data set"),
        ((model, path, "--target", "y", "--group", "y"), "--group 'y': is the target"),
        ((model, path, "--target", "y", "--group", "ward"), "no column 'ward'"),
    ]:
        refused = run("cost", *arguments)
        assert refused.exit_code == 2
        assert text in refused.stderr
    assert "--group is for files" in run("compare", "parity", "--group", "x0", "--output", "p").stderr
