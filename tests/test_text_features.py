"""Features that are no numbers, and remarks on what is odd: what becomes of them is said in one line."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from column_cases import Dates
from dataset_cases import read_rows, some_frame
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from study_cases import Entrant

from costframe import load as load_model
from costframe import save
from costframe.datasets import read_table
from costframe.plugin import DataError, ParameterError

LABELS = np.arange(60) % 2


def test_texts_of_few_values_are_categories_without_a_flag(table):
    frame = some_frame(
        y=LABELS, shape=["round", "flat", None] * 20, color=["red", "blue"] * 30, sure=[True, False] * 30
    )
    for name in ("few.csv", "few.parquet"):
        data = read_table(table(frame, name), "y")
        assert data.categorical == {"shape": ("flat", "round"), "color": ("blue", "red")}
        assert "'shape', 'color': texts of few values, split as categories; --ignore leaves them out" in data.notes
        assert data.X[:2, 4].tolist() == [1.0, 0.0]
    named = read_table(table(frame), "y", categorical=["shape"])
    assert "'color': texts of few values, split as categories; --ignore leaves it out" in named.notes
    assert "split by categories: 'shape'" in named.notes


TEXTS = {
    "ids": ([f"row {i}" for i in range(60)], "60 different texts such as 'row 0', too many .* --ignore 'my text', or"),
    "numbers beside a text": (
        ["?", *map(str, range(59))],
        r"texts in a column of numbers: '\?' \(1 time\); write numbers, or take texts for missing values with",
    ),
    "dates that do not exist": ([f"{1 + i}.03.2021" for i in range(60)], r"dates .*such as '1\.03\.2021'; write dates"),
    "decimal commas": (["0,5", "12,25", None] * 20, "'0,5' has a decimal comma, where others have a decimal point; "),
    "dates of a month": (["03/04/2021", None, "03/05/2021"] * 20, "dates that may be .*such as '03/04/2021'"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_other_texts_are_refused_with_ways_out(table, what):
    values, text = TEXTS[what]
    with pytest.raises(DataError, match=f"column 'my text': {text}"):
        read_table(table(some_frame(y=LABELS, **{"my text": values})), "y")


BEGIN = datetime(1970, 1, 1)  # noqa: DTZ001 - files have no time zones
DAYS = [None, *(BEGIN + timedelta(days=18_261, hours=18.5 + 101 * i) for i in range(59))]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("zone.csv", lambda at: f"{at + timedelta(minutes=90):%Y-%m-%dT%H:%M:%S}+01:30"),
        ("german.csv", lambda at: f"{at:%d.%m.%Y %H:%M}"),
        ("american.csv", lambda at: f"{at:%m/%d/%Y %H:%M:%S.000}"),
        ("times.parquet", lambda at: at),
    ],
)
def test_dates_are_days_however_they_are_written_also_to_a_saved_model(table, tmp_path, name, written):
    frame = some_frame(y=LABELS, at=[None if at is None else written(at) for at in DAYS])
    data = read_table(path := table(frame, name), "y")
    said = "; the month is first in 'at'" if name == "american.csv" else ""
    assert f"'at': dates, read as days since 1970-01-01{said}" in data.notes
    expected = [np.nan if at is None else (at - BEGIN).total_seconds() / 86400 for at in DAYS]
    np.testing.assert_array_equal(data.X[:, 2], expected)

    entrant = Entrant.of("miser", data, {"n_estimators": 3})
    fitted = clone(entrant.make(0.0)).fit(data.X, np.array(expected) > 18400.0)
    save(fitted.predictor_, tmp_path / "m.model")
    model = load_model(tmp_path / "m.model")
    assert model.bank.read.tolist() == [2]
    X = read_rows(path, model.feature_names, categories=model.categories)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(model.predict(frame[["a", "b", "at"]]), fitted.predictor_.predict(data.X))
    inquiry = model.inquire()
    inquiry.supply({"at": written(DAYS[30])})
    assert inquiry.answer.value == model.predict(data.X[30:31])[0]
    with pytest.raises(DataError, match="expected a date such as 2024-01-31, got"):
        model.predict(frame[["a", "b"]].assign(at=frame["a"] if name == "times.parquet" else "31.31.2020"))


@given(st.datetimes(BEGIN - timedelta(days=100_000), BEGIN + timedelta(days=100_000)))
def test_a_time_is_one_number_in_every_unit(at):
    days = Dates().number(at)
    micro = (at - BEGIN) // timedelta(microseconds=1)
    assert days == micro // 86_400_000_000 + micro % 86_400_000_000 / 86_400_000_000
    assert Dates().number(f"{at:%d.%m.}{at.year:04} {at:%H:%M:%S.%f}") == days
    for unit in ("us", "ns"):
        assert Dates().read(pa.array([at, None], pa.timestamp(unit)), "a").tolist()[0] == days
        assert Dates().number(np.datetime64(at, unit)) == days
    assert np.isnan(Dates().number(np.datetime64("NaT")))
    whole = at.replace(microsecond=0)
    assert Dates().read(pa.array([whole], pa.timestamp("s")), "a")[0] == Dates().number(whole)
    assert Dates().read(pa.array([at.date()], pa.date32()), "a")[0] == Dates().number(at.date()) == np.floor(days)


def odd_frame(**more):
    """Return a frame with texts in two columns of numbers, of which one reads numbers beside 31 different texts."""
    assay, long = list(range(60)), list(range(60))
    assay[3:9], assay[20:22] = ["haemolysed"] * 6, ["<1"] * 2
    long[:28] = [f"odd {i // 2:02}" for i in range(28)]
    return some_frame(y=LABELS, assay=assay, long=long, **more)


@pytest.mark.parametrize("name", ["odd.csv", "odd.parquet"])
def test_texts_given_as_missing_are_missing(table, name):
    frame = odd_frame().drop(columns="long").assign(shape=["round", "flat", "haemolysed"] * 20)
    frame["assay"] = frame["assay"].astype(str)
    with pytest.raises(DataError, match=r"'<1' \(2 times\); write"):
        read_table(table(frame, name), "y", missing=["haemolysed"])
    data = read_table(table(frame, name), "y", missing=["haemolysed", "<1"])
    values = data.X[:, data.feature_names.index("assay")]
    assert np.flatnonzero(np.isnan(values)).tolist() == [3, 4, 5, 6, 7, 8, 20, 21]
    assert values[9] == 9.0
    assert data.categorical == {"shape": ("flat", "round")}
    with pytest.raises(ParameterError, match="missing: expected a list of texts, got 'haemolysed'"):
        read_table(table(frame, name), "y", missing="haemolysed")


def test_infinite_cells_and_columns_like_ids_are_said(table):
    frame = some_frame(y=LABELS, key=np.arange(100, 160), same=7)
    frame.loc[[1, 2], "a"] = [np.inf, -np.inf]
    notes = read_table(table(frame, "odd.parquet"), "y").notes
    assert "'a': 2 infinite cells, to trees beyond all numbers; models that are sums of columns refuse them" in notes
    assert (
        "possible leak: 'key' looks like an id, a whole number that differs in every row; --ignore key leaves it out"
    ) in notes
    assert not any("'b'" in note or "'same'" in note for note in notes)
