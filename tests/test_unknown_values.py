"""What no row has is told: labels that a model does not know, and columns without any value, on every way to it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

import costframe as cf
from costframe.errors import UnknownValuesWarning
from costframe.sources import CallSource, Lookup, Sources, TableSource

ROWS = 40
CITY = np.tile(["Bern", "Lyon"], ROWS // 2)
FRAME = pd.DataFrame({"key": np.arange(ROWS), "n": np.linspace(0.0, 1.0, ROWS), "city": CITY, "idle": 0.0})
Y = FRAME["n"] + 5.0 * (CITY == "Lyon")
ODD = {
    "labels": ({"city": "BERN"}, "'city': 40 labels such as 'BERN' that", "it knows 'Bern', 'Lyon'"),
    "some labels": ({"city": ["BERN"] * 21 + ["Lyon"] * 19}, "'city': 21 labels such as 'BERN'", "in 21 of 40 rows"),
    "no labels": ({"city": None}, "'city': no value in any of 40 rows", "was trained with some"),
    "no numbers": ({"n": np.nan}, "'n': no value in any of 40 rows", "was trained with some"),
    "two columns": ({"n": np.nan, "city": "BERN"}, "'n': no value", "'city': 40 labels"),
}
FINE = {
    "nothing": {},
    "half of the labels": {"city": ["BERN"] * 20 + ["Lyon"] * 20},
    "one value": {"n": [0.5] + [np.nan] * 39},
    "a column that is not read": {"idle": np.nan},
}


@pytest.fixture(scope="module")
def model():
    X = FRAME.drop(columns="key").astype({"city": "category"})
    return cf.CEGBRegressor(tradeoff=0.0, n_estimators=8, min_samples_leaf=2).fit(X, Y)


@pytest.fixture
def folder(model, tmp_path):
    cf.save(model, tmp_path / "my.model")
    FRAME[["key"]].to_csv(tmp_path / "keys.csv", index=False)
    features = "features = ['n', 'city']\n"
    (tmp_path / "s.toml").write_text(f"[sources.t]\nkind = 'table'\npath = 'rows.csv'\nkey = 'key'\n{features}")
    return tmp_path


@pytest.mark.parametrize("kind", ODD)
def test_a_table_that_the_model_does_not_know_is_refused_with_nothing_written(run, folder, kind):
    changes, *words = ODD[kind]
    FRAME.assign(**changes).to_csv(folder / "rows.csv", index=False)
    for output in ("out.csv", "-"):
        text = refused(run("predict", "my.model", "rows.csv", "--output", output, "--force"))
        assert all(word in text for word in (*words, "rows.csv: column", "--allow-unknown")), text
    assert not (folder / "out.csv").exists()
    assert words[0] in refused(run("cost", "my.model", "rows.csv"))
    for command in (("predict", "--output", "out.csv"), ("cost",)):
        done = run(command[0], "my.model", "rows.csv", *command[1:], "--allow-unknown")
        assert done.exit_code == 0
        assert words[0] in done.stderr
    assert len(pd.read_csv(folder / "out.csv")) == ROWS
    done = run("inspect", "my.model", "rows.csv")
    assert (done.exit_code, words[0] in done.stderr) == (0, True)


@pytest.mark.parametrize("kind", ODD)
def test_live_rows_that_the_model_does_not_know_end_in_a_status(run, folder, kind):
    changes, *words = ODD[kind]
    FRAME.assign(**changes).to_csv(folder / "rows.csv", index=False)
    given = ("predict", "my.model", "--source", "s.toml", "--keys", "keys.csv", "--output", "out.csv", "--force")
    done = run(*given)
    assert done.exit_code == 4, done.output
    assert all(word in done.stderr for word in (*words, "s.toml: feature ", "--allow-unknown")), done.stderr
    assert len(pd.read_csv(folder / "out.csv")) == ROWS
    allowed = run(*given, "--allow-unknown")
    assert (allowed.exit_code, words[0] in allowed.stderr) == (0, True)


@pytest.mark.parametrize("kind", FINE)
def test_less_is_told_at_most(run, folder, kind):
    FRAME.assign(**FINE[kind]).to_csv(folder / "rows.csv", index=False)
    for given in (("rows.csv",), ("--source", "s.toml", "--keys", "keys.csv")):
        done = run("predict", "my.model", *given, "--output", "out.csv", "--force")
        assert done.exit_code == 0, done.output
        assert ("20 labels such as 'BERN'" in done.stderr) == (kind == "half of the labels")


def test_a_few_rows_may_lack_a_value(run, folder):
    FRAME.assign(n=np.nan).head(3).to_csv(folder / "rows.csv", index=False)
    done = run("predict", "my.model", "rows.csv", "--output", "out.csv")
    assert (done.exit_code, "'n': no value in any of 3 rows" in done.stderr) == (0, True)


def frames(changes):
    frame = FRAME.assign(**changes)
    yield frame
    yield pytest.importorskip("pyarrow", reason="needs pyarrow").Table.from_pandas(frame, preserve_index=False)
    yield pytest.importorskip("polars", reason="needs polars").from_pandas(frame)


@pytest.mark.parametrize("kind", ODD)
def test_frames_that_the_model_does_not_know_are_warned_of_once_a_call(model, kind):
    changes, *words = ODD[kind]
    for frame in frames(changes):
        for predict in (model.predict, model.cost, model.predictor_.predict, cf.certain(model, 0.0).predict):
            with pytest.warns(UnknownValuesWarning) as told:
                predict(frame)
            assert len(told) == 1
            assert told[0].filename == __file__
            assert all(word in str(told[0].message) for word in words)


@pytest.mark.parametrize("kind", FINE)
def test_other_frames_are_no_reason_to_warn(model, kind):
    for frame in frames(FINE[kind]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(frame)
            model.predictor_.cost(frame)


def test_streams_of_partitions_warn_once_at_their_end(model):
    da = pytest.importorskip("dask.array", reason="needs dask")
    city = ["BERN"] * 10 + ["Lyon"] * 10 + ["BERN"] * 20  # most of all, but none of a partition's

    def ask(frame):
        def make():
            return Sources({"t": Lookup(TableSource(frame, "key"), ["n", "city"])})

        with dask.config.set(scheduler="synchronous"):
            return len(list(cf.predict_stream(model, make, da.arange(ROWS, chunks=10))))

    import dask

    with pytest.warns(UnknownValuesWarning, match="in 30 of 40 rows") as told:
        assert ask(FRAME.assign(city=city)) == ROWS
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(FRAME.assign(n=[np.nan] * 30 + [0.5] * 10)) == ROWS  # without a value in three partitions


def test_streams_warn_at_their_end(model):
    def ask(source):
        with Sources({"t": Lookup(source, ["n", "city"])}) as sources:
            return len(list(cf.predict_stream(model, sources, range(ROWS))))

    with pytest.warns(UnknownValuesWarning, match="column 'city': 40 labels such as 'BERN'"):
        assert ask(TableSource(FRAME.assign(city="BERN"), "key")) == ROWS
    with pytest.warns(UnknownValuesWarning, match="column 'n': no value in any of 40 rows"):
        assert ask(TableSource(FRAME.assign(n=None), "key")) == ROWS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(TableSource(FRAME, "key")) == ROWS
        rows = FRAME.set_index("key")[["n", "city"]].to_dict("index")
        assert ask(CallSource(lambda wanted: {key: {**rows[key], "n": "wrong"} for key in wanted})) == ROWS
