"""`costframe predict`: predictions and exact costs of the rows of a file, in its order, as CSV or Parquet."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused, shell

import costframe as cf
from costframe import Answer, CostModel, Route, WeakLearnerBank

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
        (("rows.csv", "--until", "class", "--output", "o.csv"), "error: MODEL: expected one sum of learners"),
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
@pytest.mark.usefixtures("rows")
def test_standard_input_and_pipes_are_read_once_as_csv(tmp_path):
    ways = ("- < rows.csv", "<(cat rows.csv)", "pipe & cat rows.csv > pipe; wait")
    predicts = [f"$COSTFRAME predict my.model --output {i}.csv {way}" for i, way in enumerate(ways)]
    done = shell("; ".join(["mkfifo pipe", *predicts]), tmp_path)
    found = [(tmp_path / f"{i}.csv").read_bytes() for i in range(len(ways))]
    assert len(set(found)) == 1, done.stderr
    assert found[0].count(b"\n") == 51
    done = shell("$COSTFRAME predict my.model - --output o.csv < /dev/null", tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: standard input: cannot be read: Empty CSV file\n")


@pytest.mark.parametrize("data", ["parts", "parts/*.parquet", "**/*.parquet"])
def test_the_output_is_no_new_part_of_the_table(run, rows, tmp_path, data):
    (tmp_path / "parts").mkdir()
    rows.to_parquet(tmp_path / "parts" / "0.parquet")
    done = run("predict", "my.model", data, "--output", "parts/1.parquet")
    assert refused(done) == "error: --output parts/1.parquet: expected a file outside DATA, of which it would be a part"
    assert run("predict", "my.model", data, "--output", "parts/1.csv").exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other links")
@pytest.mark.usefixtures("rows")
def test_the_output_is_another_file_than_what_is_read(run, tmp_path):
    content = (tmp_path / "rows.csv").read_bytes()
    (tmp_path / "soft.csv").symlink_to("rows.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "rows.csv")
    for name in (
        "rows.csv",
        "soft.csv",
        "hard.csv",
        tmp_path / "rows.csv",
        "no/../rows.csv",
        f"../{tmp_path.name}/rows.csv",
    ):
        done = run("predict", "my.model", "rows.csv", "--output", name, "--force")
        assert refused(done) == f"error: --output {name}: expected another file than that of DATA"
    done = run("fit", "rows.csv", "--target", "zip", "--algorithm", "cegb", "--output", "hard.csv", "--force")
    assert "--output hard.csv: expected another file than that of DATA" in refused(done)
    (tmp_path / "points.csv").hardlink_to(tmp_path / "rows.csv")
    done = run("compare", "rows.csv", "--target", "zip", "--output", ".", "--force")
    assert "--output points.csv: expected another file than that of DATA" in refused(done)
    assert (
        "--output -: expected" in shell("$COSTFRAME predict my.model rows.csv --output - >> hard.csv", tmp_path).stderr
    )
    assert (tmp_path / "rows.csv").read_bytes() == content


SPELLED = {  # decimal sign of training, and a table that does not tell its own, with the right numbers
    "decimal commas": (",", "a;b\n1,250;2,500\n", (1.25, 2.5)),
    "decimal commas, with tabs": (",", "a\tb\n1.250\t2\n", (1250.0, 2.0)),
    "decimal points, with tabs": (".", "a\tb\n1.250\t2.500\n", (1.25, 2.5)),
    "decimal points, and commas between thousands": (".", 'a,b\n"1,250",2\n', (1250.0, 2.0)),
    "decimal points, but semicolons": (".", "a;b\n1,250;2\n", None),
    "decimal commas, but commas between columns": (",", "a,b\n1.250,2\n", (1.25, 2.0)),
    "decimal commas, but a number with a point": (",", "a\tb\n1.250\t2.5\n", (1.25, 2.5)),
    "unknown": (None, "a;b\n1,250;2,500\n", None),
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_table_that_does_not_tell_has_the_decimal_sign_of_training(run, tmp_path, name):
    decimal, text, right = SPELLED[name]
    sums = [Answer([0, 1], [[1.0], [1.0]], [0.0])]
    tree = cf.StageTree(WeakLearnerBank.columns(("a", "b"), range(2)), sums, CostModel.uniform(("a", "b")))
    cf.save(cf.FittedEstimator(tree, decimal=decimal), tmp_path / "my.model")
    cf.save(cf.load(tmp_path / "my.model"), tmp_path / "my.model")  # a loaded estimator knows it too
    (tmp_path / "new.tsv" if "\t" in text else tmp_path / "new.csv").write_text(text)
    answer = run("predict", "my.model", "new.tsv" if "\t" in text else "new.csv", "--output", "-")
    if right is None:
        assert "'1,250' may be 1250 or 1.250" in answer.stderr
        assert answer.exit_code == 2
    else:
        assert pd.read_csv(io.StringIO(answer.stdout))["prediction"].tolist() == [sum(right)]


def test_models_of_a_table_keep_its_decimal_sign(run, tmp_path):
    values = np.random.default_rng(0).uniform(1, 9, size=(200, 2)).round(2)
    lines = [f"{a:.2f};{b:.2f};{int(a > 4)}".replace(".", ",") for a, b in values]
    (tmp_path / "train.csv").write_text("\n".join(["a;b;y", *lines]) + "\n")
    (tmp_path / "new.csv").write_text("a;b\n1,250;2,500\n")
    how = ("train.csv", "--target", "y", "--cv", "0", "--output")
    assert run("fit", *how, "my.model", "--algorithm", "miser", "--tradeoff", "0.0001").exit_code == 0
    promised = ("--promise", "error <= 20%")
    assert run("compare", *how, "run", "--algorithms", "miser", "--points", "2", *promised).exit_code == 0
    assert run("fit", *how, "fitted.model", "--algorithm", "miser", *promised).exit_code == 0
    (tmp_path / "fresh.csv").write_text("\n".join(["a;b;y", *(line.replace(";", "0;") for line in lines)]) + "\n")
    answer = run("promise", "run", "fresh.csv", "--target", "y", *promised, "--output", "chosen.model")
    assert answer.exit_code == 0, answer.output
    for file in ("my.model", "run/recommended.model", "run/promised.model", "fitted.model", "chosen.model"):
        model = cf.load(file)
        assert getattr(model, "predictor_", model).used_features  # else the sign would not matter
        answer = run("predict", file, "new.csv", "--output", "-")
        assert answer.exit_code == 0, answer.output
        assert pd.read_csv(io.StringIO(answer.stdout))["prediction"].tolist() == [0]
