"""Features of dates: one spelling on every way to a model, dates of every frame, and parts that are paid once."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from dataset_cases import read_rows, some_frame
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import CEGBRegressor, CostframeError
from costframe.core.tables.date_parts import MAKERS
from costframe.core.tables.dates import Dates
from costframe.datasets import read_table
from costframe.errors import InquiryError
from costframe.plugin import CostModelError, DataError
from costframe.sources import Lookup, Sources, TableSource
from costframe.study.entrants import Entrant

DAY = dt.date(2024, 4, 3)
ENTRIES = {"cost": 2.0, "parts": ["month", "weekday"]}


def train(table, tmp_path, write, price=2.0):
    """Return a model of days as a run of the command line makes it, saved and loaded, and the path of a table."""
    days = [dt.date(2024, 1, 1) + dt.timedelta(int(i) * 5) for i in range(72)]
    y = [float(day.timetuple().tm_yday) for day in days]
    path = table(some_frame(72, y=y, day=[write(day) for day in days]), "train.csv")
    data = read_table(path, "y", {"a": 1.0, "b": 1.0, "day": price}, task="regression")
    model = Entrant.of("cegb", data, {"n_estimators": 30}).make(0.0).fit(data.X, data.y)
    cf.save(model, tmp_path / "days.model")
    return cf.load(tmp_path / "days.model"), path


def ways(model, table, value):
    """Yield the ways to give a model a date, each a function that returns its prediction."""
    row = {"a": 0.0, "b": 0.0, "day": value}

    def file():
        path = table(some_frame(2, day=[value] * 2).assign(a=0.0, b=0.0), "new.csv")
        names = model.predictor_.feature_names
        return model.predict(read_rows(path, names, categories=model.predictor_.categories))[0]

    def live():
        columns = {name: [given] for name, given in row.items()}
        with Sources({"t": Lookup(TableSource({"k": [1], **columns}, "k"), list(row))}) as sources:
            return cf.predict_one(model, sources, key=1).value

    yield "file", file
    yield "frame", lambda: model.predict(pd.DataFrame({name: [given] for name, given in row.items()}))[0]
    yield "objects", lambda: model.predict(np.array([list(row.values())], object))[0]
    yield "live", live
    yield "inquiry", lambda: cf.predict_one(model, lambda names: {name: row[name] for name in names}).value


ISO, DAY_FIRST, MONTH_FIRST = "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y"


@pytest.mark.parametrize(
    ("trained", "read", "refused"),
    [
        (ISO, ["2024-04-03", "03.04.2024", "2024-04-03T02:00:00+02"], ["04/03/2024", "04-03-2024", "2024-13-01"]),
        (DAY_FIRST, ["03/04/2024", "2024-04-03"], ["04/13/2024"]),
        (MONTH_FIRST, ["04/03/2024", "3.4.2024"], ["13/04/2024"]),
    ],
)
def test_a_text_is_one_date_or_is_refused_on_every_way(table, tmp_path, trained, read, refused):
    model, path = train(table, tmp_path, lambda day: day.strftime(trained))
    names = model.predictor_.feature_names
    X = read_rows(path, names, categories=model.predictor_.categories)
    days = X[:, names.index("day")]
    assert days[:3].tolist() == [19723.0, 19728.0, 19733.0]
    expected = model.predict(np.array([[0.0, 0.0, 19816.0]]))[0]
    for text in read:
        assert {way: predict() for way, predict in ways(model, table, text)} == dict.fromkeys(
            ("file", "frame", "objects", "live", "inquiry"), expected
        )
    for value in [*refused, "1712102400", 1712102400, 19816, 1712102400000.0, True]:
        for way, predict in ways(model, table, value):
            found = None
            with pytest.raises(CostframeError, match="day"):
                found = predict()
            assert found is None, (way, value)


def test_numbers_of_an_array_are_days_of_dates_alone(table, tmp_path):
    model, _ = train(table, tmp_path, str)
    for X in ([[0, 0, 19816]], [[0.0, 0.0, 1712102400.0]], [[0.0, 0.0, np.inf]]):
        with pytest.raises(DataError, match=r"'day'.*epoch = .seconds"):
            model.predict(np.array(X))
    seconds = np.column_stack([np.arange(60.0), 1.7e9 + np.arange(60.0)])
    with pytest.raises(DataError, match=r"'at': expected dates as days.*data frame with whole numbers"):
        CEGBRegressor(costs={"z": 1.0, "at": {"cost": 1.0, "epoch": "seconds"}}).fit(seconds, seconds[:, 0])
    plain = model.predict(np.array([[0.0, 0.0, 19816.0]]))
    np.testing.assert_array_equal(model.predict(np.array([[0.0, 0.0, 19816.0]], np.float32)), plain)


@pytest.mark.parametrize(("epoch", "per_day"), [("seconds", 86_400), ("milliseconds", 86_400_000)])
def test_numbers_are_dates_where_the_prices_say_what_they_count(table, tmp_path, epoch, per_day):
    def write(day):
        return (day - dt.date(1970, 1, 1)).days * per_day

    model, _ = train(table, tmp_path, write, {"cost": 2.0, "epoch": epoch})
    expected = model.predict(np.array([[0.0, 0.0, 19816.0]]))[0]
    for value in (write(DAY), "2024-04-03", DAY):
        assert {predict() for _, predict in ways(model, table, value)} == {expected}
    with pytest.raises(CostframeError, match=r"day.*none in"):
        cf.predict_one(model, lambda names: dict.fromkeys(names, 10**20))
    with pytest.raises(DataError, match=r"'day'.*way"):
        model.predict(pd.DataFrame({"a": [0.0], "b": [0.0], "day": ["04/03/2024"]}))


def test_a_table_is_read_again_as_it_was_without_its_prices(table):
    path = table(some_frame(60, y=np.arange(60.0), day=np.arange(60) * 86_400), "seconds.csv")
    prices = {"a": 1.0, "b": 1.0, "day": {"cost": 2.0, "epoch": "seconds"}}
    data = read_table(path, costs=prices, target="y", task="regression")
    again = read_table(path, **data.reading)
    assert again.dates == data.dates == {"day": Dates(epoch="seconds")}
    np.testing.assert_array_equal(again.X[:, 2], np.arange(60.0))
    np.testing.assert_array_equal(again.X, data.X)


def test_numbers_are_dates_where_the_source_says_what_they_count(table, tmp_path):
    model, _ = train(table, tmp_path, str)
    expected = model.predict(np.array([[0.0, 0.0, 19816.0]]))[0]
    kinds = {1712102400.0: {"epoch": "seconds"}, "1712102400000": {"epoch": "milliseconds"}, 19816: {"type": "number"}}
    for value, entry in kinds.items():
        columns = {"k": [1], "a": [0.0], "b": [0.0], "at": [value]}
        features = {"a": "a", "b": "b", "day": {"place": "at", **entry}}
        with Sources({"t": Lookup(TableSource(columns, "k"), features)}) as sources:
            assert cf.predict_one(model, sources, key=1).value == expected
    with pytest.raises(CostframeError, match="epoch: is of dates, and has no effect with type 'number'"):
        Lookup(TableSource({"k": [1]}, "k"), {"day": {"place": "k", "epoch": "seconds", "type": "number"}})
    with (
        Sources({"t": Lookup(TableSource(columns, "k"), {"a": {"place": "a", "epoch": "seconds"}})}) as sources,
        pytest.raises(InquiryError, match="the model reads none here"),
    ):
        cf.predict_one(CEGBRegressor(n_estimators=2).fit(pd.DataFrame({"a": range(60)}), range(60)), sources, key=1)


@pytest.mark.parametrize("zone", ["+02", "+0200", "+02:00", "-00:30", "Z", ""])
def test_offsets_are_of_one_kind(zone):
    minutes = {"-00:30": -30, "Z": 0, "": 0}.get(zone, 120)
    assert Dates().number(f"2024-04-03T10:00:00{zone}") == 19816 + (600 - minutes) / 1440
    for wrong in ("+2", "+02:60", "+24", "+02:0", " +02"):
        with pytest.raises(DataError, match="expected a date"):
            Dates().number(f"2024-04-03T10:00:00{wrong}")


@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)))  # noqa: DTZ001
def test_parts_are_those_of_pythons_calendar(at):
    days = np.array([Dates().number(at), np.nan])
    at = at.replace(minute=0)  # beyond an hour's last microseconds, days as doubles end
    expected = {"year": at.year, "month": at.month, "day": at.day, "weekday": at.weekday(), "hour": at.hour}
    found = {part: make(days) for part, make in MAKERS.items()}
    assert all(np.isnan(each[1]) for each in found.values())
    assert {part: each[0] for part, each in found.items() if part != "hour"} == {
        part: value for part, value in expected.items() if part != "hour"
    }
    assert Dates().number(at.replace(second=0, microsecond=0)) >= np.floor(days[0])
    assert MAKERS["hour"](np.array([Dates().number(at.replace(second=0, microsecond=0))]))[0] == at.hour


def test_the_last_nanosecond_of_a_day_is_of_that_day():
    last = np.datetime64("2024-01-31T23:59:59.999999999")
    for days in (Dates().number(last), Dates().number(f"{last}"), Dates().number(pd.Timestamp(last))):
        assert (MAKERS["month"](np.array([days]))[0], MAKERS["hour"](np.array([days]))[0]) == (1.0, 23.0)
    X = pd.DataFrame({"day": pd.Series([last, last], dtype="datetime64[ns]")})
    model = CEGBRegressor(n_estimators=1).fit(pd.DataFrame({"day": pd.date_range("2024", periods=60)}), range(60))
    assert model.predictor_.categories == {"day": Dates()}
    assert model.predict(X)[0] == model.predict(pd.DataFrame({"day": [last.astype("datetime64[D]")]}))[0]


AT = pd.Series(pd.date_range("2023-01-01", periods=300, freq="29h", unit="us")).where(np.arange(300) % 20 != 0)
WEEKEND = np.array([at is not pd.NaT and at.weekday() >= 5 for at in AT])
Y = 5.0 * (AT.dt.month == 3) + 3.0 * WEEKEND + np.linspace(0.0, 1.0, 300)
PRICES = {"z": 1.0, "at": ENTRIES}


def frames():
    plain = pd.DataFrame({"z": np.linspace(0.0, 1.0, 300), "at": AT})
    yield "pandas", plain
    yield "nanoseconds", plain.astype({"at": "datetime64[ns]"})
    yield "zone", plain.assign(at=AT.dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata"))
    yield (
        "objects",
        plain.assign(at=pd.Series([None if at is pd.NaT else at.to_pydatetime() for at in AT], dtype=object)),
    )
    yield "texts", plain.assign(at=[None if at is pd.NaT else str(at) for at in AT])
    yield "arrow in pandas", plain.astype({"at": "timestamp[us][pyarrow]"})
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    yield "arrow", pa.Table.from_pandas(plain)
    pl = pytest.importorskip("polars", reason="needs polars")
    yield "polars", pl.from_pandas(plain)


def test_frames_of_any_kind_train_the_model_of_the_command_line(table, tmp_path):
    X = dict(frames())
    data = read_table(table(X["texts"].assign(y=Y), "at.csv"), "y", PRICES, task="regression")
    of_file = Entrant.of("cegb", data, {"n_estimators": 20}).make(1e-6).fit(data.X, data.y)
    expected, report = of_file.predict(data.X), of_file.cost(data.X)
    assert np.corrcoef(expected, Y)[0, 1] > 0.95
    assert report.by_feature == {"z": 1.0, "at": 2.0}
    assert of_file.predictor_.feature_names == ("z", "at")
    for kind, frame in X.items():
        model = CEGBRegressor(costs=PRICES, tradeoff=1e-6, n_estimators=20).fit(frame, Y)
        np.testing.assert_array_equal(model.predict(frame), expected, err_msg=kind)
        np.testing.assert_array_equal(of_file.predictor_.predict(frame), expected, err_msg=kind)
        assert model.cost(frame).per_row.tolist() == report.per_row.tolist()
    cf.save(of_file, tmp_path / "parts.model")
    loaded = cf.load(tmp_path / "parts.model")
    assert loaded.predictor_.costs.to_dict()["features"]["at"] == ENTRIES
    for i in (0, 1, 63):
        row = X["texts"].iloc[i]
        end = cf.predict_one(loaded, lambda names, row=row: {name: row[name] for name in names})
        assert (end.value, end.cost, sorted(end.acquired)) == (expected[i], 3.0, ["at", "z"])
    certain = cf.certain(loaded, 0.1)
    assert certain.cost(X["pandas"]).mean <= 3.0


def test_texts_of_a_frame_that_are_all_dates_are_dates_as_on_the_command_line():
    frame = dict(frames())["pandas"]
    model = CEGBRegressor(n_estimators=5).fit(frame, Y)
    for texts in (object, "string", "string[pyarrow]", pd.CategoricalDtype(["a"])):
        written = pd.Series([None if at is pd.NaT else f"{at:%d/%m/%Y %H:%M}" for at in AT], dtype=object)
        if isinstance(texts, pd.CategoricalDtype):  # is split by categories
            written = written.astype("category")
            other = CEGBRegressor(n_estimators=5).fit(frame.assign(at=written), Y)
            assert isinstance(other.predictor_.categories["at"], tuple)
            continue
        other = CEGBRegressor(n_estimators=5).fit(frame.assign(at=written.astype(texts)), Y)
        assert other.predictor_.categories == {"at": Dates("day")}
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
    named = CEGBRegressor(n_estimators=5, categorical_features=["at"]).fit(frame.assign(at=written.astype(object)), Y)
    assert isinstance(named.predictor_.categories["at"], tuple)
    with pytest.raises(DataError, match=r"column 'at' holds text"):
        CEGBRegressor().fit(frame.assign(at="04/03/2024"), Y)


def test_a_path_and_a_clone_have_parts_too():
    frame = dict(frames())["pandas"]
    model = CEGBRegressor(costs=PRICES, n_estimators=10)
    path = model.fit_path(frame[:200], Y[:200], X_val=frame[200:], y_val=Y[200:])
    assert len(path.points) > 1
    point = path.at(0.0)
    found = path.predictor(point)
    assert found.feature_names == ("z", "at")
    assert found.cost(frame[200:]).mean == pytest.approx(point.cost)
    assert path.within(2.5).cost <= 2.5
    assert model.predictor_.feature_names == ("z", "at")
    assert model.feature_importances_.shape == (2,)
    assert model.predict(frame, max_cost=1.0).shape == (300,)
    assert model.cost(frame, max_cost=1.0).per_row.max() <= 1.0
    assert len(model.bank_.feature_names) == 4


@pytest.mark.parametrize("name", ["budgetprune", "planner"])
def test_paths_of_other_algorithms_ask_for_columns(name):
    frame = dict(frames())["pandas"]
    given = {"random_state": 0} | ({"n_estimators": 4} if name == "budgetprune" else {})
    model = cf.estimator(name, "classification", costs=PRICES, tradeoff=0.001, **given)
    labels = (Y > 2).astype(int)
    path = model.fit_path(frame[:200], labels[:200], X_val=frame[200:], y_val=labels[200:])
    found = path.predictor(path.points[-1])
    assert found.feature_names == ("z", "at")
    assert found.predict(frame).shape == (300,)
    assert set(model.cost(frame).by_feature) == {"z", "at"}


def test_a_search_and_a_study_choose_among_models_with_parts(table):
    X = dict(frames())
    search = cf.BudgetSearch(CEGBRegressor(costs=PRICES, n_estimators=5), budget=2.5).fit(X["pandas"], Y)
    assert search.cost(X["polars"]).mean <= 2.5
    data = read_table(table(X["texts"].assign(y=(Y > 2).astype(int)), "at.csv"), "y", PRICES)
    frontier = cf.Frontier.sweep(data=data, algorithms=["cegb"], points=3, cv=3)
    assert set(frontier.model(frontier.points[0]).predictor_.feature_names) == {"z", "at"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"parts": ["moon"]}, "features.at.parts: expected some of year, month.*got 'moon'"),
        ({"parts": "month"}, "features.at.parts: expected a list of names"),
        ({"parts": ["month", "month"]}, "features.at.parts: expected different names"),
        ({"epoch": "weeks"}, "features.at.epoch: expected one of days, seconds"),
    ],
)
def test_unknown_parts_and_epochs_are_refused(entry, words):
    with pytest.raises(CostModelError, match=words):
        cf.CostModel.from_dict({"features": {"at": {"cost": 1.0, **entry}}})


def test_parts_of_what_is_no_date_are_refused(table):
    numbers = pd.DataFrame({"z": np.arange(60.0), "at": np.arange(60)})
    with pytest.raises(DataError, match=r"column 'at': the prices say that it is a date.*numbers need their epoch"):
        CEGBRegressor(costs=PRICES).fit(numbers, numbers["z"])
    path = table(numbers.assign(y=np.arange(60.0)), "numbers.csv")
    with pytest.raises(DataError, match=r"numbers.csv: column 'at': the prices say that it is a date"):
        read_table(path, "y", PRICES)
    texts = numbers.assign(at=["04/03/2024"] * 60)
    with pytest.raises(DataError, match=r"column 'at': the prices say that it is a date.*04/03/2024"):
        CEGBRegressor(costs=PRICES).fit(texts, numbers["z"])
    taken = pd.DataFrame({"at": AT, "at month": Y})
    with pytest.raises(CostModelError, match=r"features.at.parts: expected no other feature named 'at month'"):
        CEGBRegressor(costs={"at month": 1.0, "at": ENTRIES}).fit(taken, Y)


@pytest.mark.filterwarnings("ignore")  # of dask's own
def test_frames_of_dask_train_the_same_model():
    dask = pytest.importorskip("dask.dataframe", reason="needs dask")
    pytest.importorskip("distributed", reason="needs distributed")
    frame = dict(frames())["pandas"]
    settings = {"costs": PRICES, "tradeoff": 1e-6, "n_estimators": 5}
    plain = CEGBRegressor(**settings).fit(frame, Y)
    lazy = CEGBRegressor(**settings).fit(dask.from_pandas(frame, npartitions=3), dask.from_pandas(Y, npartitions=3))
    np.testing.assert_array_equal(lazy.predict(frame), plain.predict(frame))
    assert lazy.predictor_.categories == {"at": Dates()}
