"""`costframe predict`: predictions and exact costs of the rows of a file, in its order, as CSV or Parquet."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

import costframe as cf
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route

NAMES = ("age", "chol", "scan")
PRICES = CostModel.from_dict({
    "unit": "CAD",
    "features": {"age": 1.0, "chol": {"cost": 2.0, "needs": ["blood"]}, "scan": {"cost": 50.0, "once": 7.0}},
    "resources": {"blood": 3.0},
})  # fmt: skip


def cascade(classes=("no", "yes"), link="sigmoid"):
    """Return a model that asks for age, and above -1 for chol and scan."""
    stages = [Route([0], [1.0], 0.0, -1.0, 1.0, 1, 2), Answer([0], [[1.0]], [0.5], link),
              Answer([0, 1, 2], [[1.0], [-2.0], [0.5]], [0.1], link)]  # fmt: skip
    return cf.StageTree(WeakLearnerBank.columns(NAMES, range(3)), stages, PRICES, classes=classes)


@pytest.fixture
def rows(tmp_path):
    """Write a model and a table with columns in another order; return the table."""
    cf.save(cascade(), tmp_path / "my.model")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=["scan", "age", "chol"])
    frame.insert(1, "name", [f'Nr. 00{i}, "x"' for i in range(50)])
    frame["zip"] = "00123"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return pd.read_csv(tmp_path / "rows.csv", dtype={"zip": str})


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "-"])
def test_predictions_are_those_of_the_model(run, rows, tmp_path, name):
    result = run(
        "predict", "my.model", "rows.csv", "--output", name, "--keep", "name", "--keep", "zip", "--keep", "age"
    )
    assert result.exit_code == 0, result.output
    if name == "out.parquet":
        out = pd.read_parquet(tmp_path / name)
    else:
        out = pd.read_csv(io.StringIO(result.stdout) if name == "-" else tmp_path / name, dtype={"zip": str})
    assert list(out) == ["name", "zip", "age", "prediction", "probability_no", "probability_yes", "cost"]
    model = cf.FittedEstimator(cascade())
    report = model.cost(rows)
    for column in ("name", "zip"):
        assert list(out[column]) == list(rows[column])
    np.testing.assert_array_equal(out["age"].astype(float), rows["age"])
    assert list(out["prediction"]) == list(model.predict(rows))
    np.testing.assert_array_equal(out[["probability_no", "probability_yes"]], model.predict_proba(rows))
    np.testing.assert_array_equal(out["cost"], report.per_row)
    said = result.stderr if name == "-" else result.stdout
    assert said.startswith(f"50 rows cost {report.mean:,.6g} CAD per row on average\n  and 7 CAD once for the batch\n")
    assert ("wrote" in said) == (name != "-")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_answers_can_name_the_features_of_each_row(run, rows, tmp_path, name):
    assert run("predict", "my.model", "rows.csv", "--output", name, "--acquired").exit_code == 0
    out = (pd.read_parquet if name == "out.parquet" else pd.read_csv)(tmp_path / name)
    assert list(out["acquired"]) == ["age; chol; scan" if age > -1 else "age" for age in rows["age"]]
    assert out["acquired"].nunique() == 2


def test_limits_and_other_prices_are_the_models(run, rows, tmp_path):
    (tmp_path / "p.toml").write_text("[features]\nage = 1\nchol = 5\nscan = 2\nmore = 9\n")
    for given, terms in [
        (("--max-cost", 6), {"max_cost": 6.0}),
        (("--unavailable", "blood", "--max-cost", 3), {"unavailable": ["blood"], "max_cost": 3.0}),
        (("--costs", "p.toml", "--max-cost", 4), {"costs": tmp_path / "p.toml", "max_cost": 4.0}),
    ]:
        result = run("predict", "my.model", "rows.csv", "--output", "out.csv", "--force", *given)
        assert result.exit_code == 0, result.output
        report = cascade().cost(rows, **terms)
        out = pd.read_csv(tmp_path / "out.csv")
        np.testing.assert_array_equal(out["cost"], report.per_row)
        np.testing.assert_array_equal(out["probability_yes"], report.predictions)
        assert f"  {report.cut.sum()} rows ended early\n" in result.stdout


def columns(*stages, **more):
    return cf.StageTree(WeakLearnerBank.columns(NAMES, range(3)), stages, PRICES, **more)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (cascade(None, "identity"), ["prediction"]),
        (columns(Answer([0, 1], [[1.0, 2.0], [0.0, 1.0]], [0, 0], "identity")), ["prediction_0", "prediction_1"]),
        (columns(Answer([0], [[1.0, 2.0, 3.0]], [0, 0, 0], "softmax"), classes=[3, 5, 8]),
         ["prediction", "probability_3", "probability_5", "probability_8"]),
    ],
    ids=["values", "several", "numbered"],
)  # fmt: skip
def test_columns_of_other_models(run, rows, tmp_path, model, names):
    cf.save(model, tmp_path / "m")
    result = run("predict", "m", "rows.csv", "--output", "out.parquet")
    assert result.exit_code == 0, result.output
    out, values = pd.read_parquet(tmp_path / "out.parquet"), model.predict(rows)
    assert list(out) == [*names, "cost"]
    width = values.shape[1] if values.ndim == 2 else 1
    np.testing.assert_array_equal(out[names[-width:]].to_numpy().squeeze(), values)
    if width == 3:
        assert list(out["prediction"]) == list(np.array([3, 5, 8])[values.argmax(axis=1)])


def test_what_predict_refuses_writes_nothing(run, rows, tmp_path):
    (tmp_path / "taken.csv").write_text("mine")
    rows.drop(columns="chol").to_csv(tmp_path / "less.csv", index=False)
    rows.assign(cost=1).to_csv(tmp_path / "more.csv", index=False)
    (tmp_path / "late.csv").write_text("age,chol,scan\n1,2,3\n1,x,3\n")
    before = sorted(tmp_path.iterdir())
    for given, text in [
        (("rows.csv", "--output", "taken.csv"), "taken.csv would be overwritten; choose another place, or add --force"),
        (("rows.csv", "--output", "out.xlsx"), "out.xlsx: expected a file name that ends in .csv, .tsv, .parquet,"),
        (("less.csv", "--output", "o.csv"), "less.csv: no column 'chol', which my.model reads"),
        (("late.csv", "--output", "o.csv"), "late.csv: column 'chol': texts in a column of numbers: 'x' (1 time);"),
        (("rows.csv", "--keep", "id", "--output", "o.csv"), "rows.csv: no column 'id' to copy"),
        (("more.csv", "--keep", "cost", "--output", "o.csv"), "--keep 'cost': the predictions have a column"),
        (("rows.csv", "--until", "class", "--output", "o.csv"), "model: expected one sum of learners"),
        (("rows.csv", "--unavailable", "scam", "--output", "o.csv"), "scam"),
    ]:  # fmt: skip
        assert text in refused(run("predict", "my.model", *given)), given
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "taken.csv").read_text() == "mine"


def test_labels_that_the_model_does_not_know_are_no_secret(run, tmp_path):
    colors = pd.DataFrame({"color": ["red", "blue"] * 30, "age": range(60), "ill": [1, 0] * 30})
    colors.to_csv(tmp_path / "old.csv", index=False)
    given = ("--target", "ill", "--ignore", "age", "--algorithm", "miser", "--tradeoff", 0, "--output", "my.model")
    assert run("fit", "old.csv", *given).exit_code == 0
    assert not run("predict", "my.model", "old.csv", "--output", "known.csv").stderr
    colors["color"] = [None, "red", "Red", "red ", "blue"] * 12
    colors.to_csv(tmp_path / "new.csv", index=False)
    told = "new.csv: column 'color': 24 labels such as 'Red' that my.model does not know, and takes for missing\n"
    for command in (("predict", "--output", "new-answers.csv"), ("cost",), ("inspect",)):
        done = run(command[0], "my.model", "new.csv", *command[1:])
        assert (done.exit_code, done.stderr) == (0, told)


def test_a_file_may_lack_columns_that_the_model_does_not_read(run, tmp_path):
    stages = [Answer([0], [[1.0]], [0.5], "sigmoid")]
    cf.save(cf.StageTree(WeakLearnerBank.columns(NAMES, [1]), stages, PRICES, classes=("no", "yes")), "few.model")
    pd.DataFrame({"chol": [0.5, -2.0]}).to_csv(tmp_path / "few.csv", index=False)
    result = run("predict", "few.model", "few.csv", "--output", "out.csv")
    assert result.exit_code == 0, result.output
    assert list(pd.read_csv(tmp_path / "out.csv")["prediction"]) == ["yes", "no"]
    pd.DataFrame({"age": [0.5, -2.0]}).to_csv(tmp_path / "other.csv", index=False)
    assert (
        "no column 'chol', which few.model reads"
        in run("predict", "few.model", "other.csv", "--output", "o.csv").stderr
    )
