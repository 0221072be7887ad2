"""Categories in CSV and Parquet files, from the file to the command line."""

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.datasets import Dataset, read_table
from costframe.datasets.model_rows import read_rows


def some_frame(n=300):
    rng = np.random.default_rng(0)
    color, grade = rng.integers(0, 6, n), rng.integers(0, 4, n)
    ill = np.where((color % 2 == 0) ^ (rng.random(n) < 0.1), "yes", "no")
    labels = np.array(["red", "blue", "gray", "teal", "pink", "green"], object)
    frame = pd.DataFrame({"size": rng.standard_normal(n), "color": labels[color], "grade": grade, "ill": ill})
    frame.loc[::17, "color"] = None
    return frame


def test_columns_named_categorical_and_those_a_file_stores_so(table):
    frame = some_frame()
    stored = table(frame.astype({"color": "category", "grade": "category"}), "stored.parquet")
    plain = table(frame)
    by_name = read_table(plain, "ill", categorical=["color", "grade"])
    by_type = read_table(stored, "ill", categorical=["grade"])
    labels = ("blue", "gray", "green", "pink", "red", "teal")
    for data in (by_name, by_type):
        assert data.categorical == {"color": labels, "grade": None}
        assert "split by categories: 'color', 'grade'" in data.notes
        texts = [None if np.isnan(x) else labels[int(x)] for x in data.X[:, 1]]
        assert texts == [None if pd.isna(x) else x for x in frame["color"]]
        assert data.X[:, 2].tolist() == frame["grade"].tolist()
    rows = read_rows(plain, ["grade", "color"], categories={"color": ("red", "blue")})
    assert rows[:, 1].tolist()[1:5] == [{"red": 0.0, "blue": 1.0}.get(x, pytest.approx(np.nan, nan_ok=True))
                                        for x in frame["color"][1:5]]  # fmt: skip


def test_what_cannot_be_categorical_is_refused(table):
    path = table(some_frame())
    for name, words in {"ill": "is to be split by categories, and is no feature", "hue": "no column 'hue'"}.items():
        with pytest.raises(DataError, match=words):
            read_table(path, "ill", categorical=["color", name])
    with pytest.raises(DataError, match="column 'grade': expected labels such as 'a', got values of type int64"):
        read_rows(path, ["grade"], categories={"grade": ("a",)})
    with pytest.raises(DataError, match="categorical: 'hue' is no column"):
        Dataset.from_arrays(np.eye(9), np.arange(9) % 2, categorical={"hue": None})


@pytest.mark.parametrize("algorithm", ["cegb", "miser", "adapt", "cronus", "cstc", "reweighted", "soft-cascade"])
def test_a_sweep_splits_them(table, algorithm):
    frame = some_frame()
    data = read_table(table(frame), "ill", categorical=["color", "grade"])
    frontier = cf.Frontier.sweep(data, [algorithm], [1e-4], parameters={"n_estimators": 20})
    model = frontier.model(frontier.points[0])
    assert model.predictor_.categories == {"color": data.categorical["color"]}
    assert model.predictor_.bank.trees.category_count.any()
    assert frontier.points[0].test_score > 0.85
    report = model.predictor_.cost(frame)
    for i in range(0, len(frame), 11):
        inquiry = model.predictor_.inquire()
        while inquiry.needs:
            inquiry.supply({name: frame[name][i] for name in inquiry.needs})
        assert inquiry.answer.cost == report.per_row[i]
        np.testing.assert_array_equal(inquiry.answer.value, report.predictions[i])


def test_a_sweep_refuses_algorithms_that_do_not_split_them(table, monkeypatch):
    data = read_table(table(some_frame()), "ill", categorical=["color", "grade"])
    kind = cf.algorithms()["cegb"].classifier
    parameters = {name: value for name, value in kind().get_params().items() if name != "categorical_features"}
    monkeypatch.setattr(kind, "get_params", lambda _self, deep=True: parameters)  # noqa: ARG005 - as it is called
    with pytest.raises(ParameterError, match="cegb: does not split by categories, and column 'color' has some"):
        cf.Frontier.sweep(data, ["cegb"], [1e-4])


def test_the_command_line_fits_compares_and_prices_tables_with_categories(run, table):
    frame = some_frame()
    path = table(frame)
    given = ("--target", "ill", "--categorical", "color", "--categorical", "grade")
    done = run("fit", path, *given, "--algorithm", "cegb", "--tradeoff", "0.001", "--output", "ill.model")
    assert done.exit_code == 0, done.output
    model = cf.load("ill.model")
    assert model.categories["color"] == ("blue", "gray", "green", "pink", "red", "teal")
    priced = run("cost", "ill.model", path)
    assert priced.exit_code == 0, priced.output
    paid = model.cost(frame.drop(columns="ill")).mean
    assert f"{paid:,.6g}" in priced.output
    algorithms = ("--algorithms", "l1-gate,budgetrf,miser")
    compared = run("compare", path, *given, *algorithms, "--points", "1", "--folds", "0")
    assert compared.exit_code == 0, compared.output
    left_out = [line for line in compared.stderr.splitlines() if line.startswith("left out: ")]
    assert left_out == [
        "left out: each of budgetrf, l1-gate: does not split by categories, and column 'color' has some"
    ]
    refused = run("compare", "breast-cancer", "--categorical", "color", "--output", "new")
    assert "--categorical is for files" in refused.output
