"""Columns of any type, from files and from frames: numbers and texts are read everywhere, others are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from column_cases import OTHER, find_labels
from dataset_cases import read_rows
from pyarrow import compute as pc
from pyarrow import feather, parquet
from test_categories import model, stump

import costframe as cf
from costframe import CEGBClassifier, CEGBRegressor
from costframe.datasets import read_table
from costframe.plugin import DataError

CODES = np.tile([0, 3, 1, 2, 0], 12)
WORDS = ["oak", "fir", "elm", "ash"]
TEXTS = pa.array([WORDS[code] for code in CODES])
Z = np.linspace(-1.0, 1.0, len(CODES))
Y = ((CODES > 1) ^ (Z > 0.2)).astype(np.int64)
CATEGORIES = {"c": ("oak", "fir", "elm")}  # of which ash is none
PRICES = {"z": 2.0, "c": 1.0}
NUMBERS = pa.array(CODES)


def dictionary(values, index):
    return pa.DictionaryArray.from_arrays(pa.array(CODES, index), values)


OF_TEXTS = {
    "views": pa.array(TEXTS.to_pylist(), pa.string_view()),
    "binary": pa.array([text.encode() for text in TEXTS.to_pylist()]),
    "dictionary": dictionary(pa.array(WORDS, pa.large_string()), pa.int8()),
    "runs": pc.run_end_encode(TEXTS),
}
OF_NUMBERS = {
    "small": NUMBERS.cast(pa.int8()),
    "wide decimal": pa.array([Decimal(code) for code in CODES.tolist()], pa.decimal256(60, 20)),
    "dictionary of decimals": dictionary(pa.array(list(map(Decimal, range(4)))), pa.int32()),
}
DAYS = [dt.date(2020, 1, 1 + code) for code in CODES.tolist()]
OTHERS = {
    "dates": (pa.array(DAYS), "write numbers instead, such as days since a date"),
    "lists": (pa.array([[code] for code in CODES.tolist()]), "cast it to numbers or texts"),
}


def pandas_of(table):
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    len(frame[["c"]]["c"].array._pa_array)  # raises where pandas lacks the type
    return frame


def frame_of(kind, table):
    try:
        return {"table": lambda table: table, "polars": pl.from_arrow, "pandas": pandas_of}[kind](table)
    except BaseException as error:  # noqa: BLE001 - polars panics
        pytest.skip(f"{kind} has no such type: {str(error)[:50]}")


def predict(tree, table, door, folder):
    """Predict rows of a table in a frame, or in a file."""
    if door not in {"Parquet", "Arrow"}:
        return tree.predict(frame_of(door, table))
    path = folder / f"rows.{door.lower()}"
    try:
        parquet.write_table(table, path) if door == "Parquet" else feather.write_feather(table, path, "uncompressed")
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"{door} has no such type: {str(error)[:50]}")
    return tree.predict(read_rows(path, tree.feature_names, categories=tree.categories))


DOORS = ["table", "polars", "pandas", "Parquet"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", [*OF_TEXTS, *OF_NUMBERS])
def test_columns_of_every_type_are_read_by_name(kind, door, tmp_path):
    labels = CATEGORIES if kind in OF_TEXTS else {}
    tree = model(stump([0.0, 2.0], missing_left=False, feature=1), ("z", "c"), labels)
    table = pa.table({"y": Y, "c": (OF_TEXTS | OF_NUMBERS)[kind], "z": Z})  # other columns, and another order
    assert predict(tree, table, door, tmp_path).tolist() == np.where(np.isin(CODES, [0, 2]), 1.0, 2.0).tolist()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", OTHERS)
def test_columns_of_other_types_are_named_with_a_way_out(kind, door, tmp_path):
    column, way_out = OTHERS[kind]
    tree, table = model(stump([0.0], missing_left=False), ("c",)), pa.table({"c": column, "z": Z})
    with pytest.raises(DataError, match=f"column 'c'.*{way_out}"):
        predict(tree, table, door, tmp_path)
    if door == "table" and kind != "dates":  # of which an estimator makes days
        with pytest.raises(DataError, match="column 'c'"):
            CEGBClassifier(costs=PRICES).fit(table, Y)


@pytest.mark.filterwarnings("ignore:nothing within")  # of so few rows
@pytest.mark.parametrize("frame", ["table", "polars", "pandas"])
@pytest.mark.parametrize("kind", ["dictionary", "wide decimal"])
def test_frames_of_any_library_train_the_same_model(frame, kind):
    X = frame_of(frame, pa.table({"c": (OF_TEXTS | OF_NUMBERS)[kind], "z": Z}))
    given = pd.DataFrame({"c": CODES if kind in OF_NUMBERS else pd.Categorical(TEXTS.to_pylist()), "z": Z})
    made, expected = (CEGBClassifier(PRICES, n_estimators=3).fit(each, Y, X_val=each, y_val=Y) for each in (X, given))
    assert made.feature_names_in_.tolist() == ["c", "z"]
    for each in (X, X.select(["z", "c"]) if hasattr(X, "select") else X[["z", "c"]]):
        np.testing.assert_array_equal(made.predict_proba(each), expected.predict_proba(given))
        np.testing.assert_array_equal(made.cost(each).per_row, expected.cost(given).per_row)
    if frame == "table":
        search = cf.BudgetSearch(CEGBClassifier(PRICES, n_estimators=3), budget=3.0, cv=3)
        found = search.fit(X, CODES > 1).predict_proba(X)
        np.testing.assert_array_equal(found, search.fit(given, CODES > 1).predict_proba(given))


def test_lazy_frames_are_refused_with_the_way_out():
    X = pl.DataFrame({"c": CODES, "z": Z})
    fitted = CEGBClassifier(costs=PRICES, n_estimators=1).fit(X, Y)
    for act in (fitted.predict, fitted.predictor_.predict, lambda X: CEGBClassifier(PRICES).fit(X, Y)):
        with pytest.raises(DataError, match=r"X: expected rows in memory, got LazyFrame; use X\.collect\(\)"):
            act(X.lazy())


def odd(values):
    return np.array([*values, None], object)[:-1]


@pytest.mark.parametrize(
    ("column", "held"),
    [
        (pd.to_datetime(CODES, unit="D"), r"times \(datetime64"),
        (odd(DAYS), r"datetime.date\(2020, 1, 1\) of type date"),
        (odd([1, "a"] * 30), r"text \(object\)"),
    ],
)
def test_other_columns_of_pandas_are_never_converted(column, held):
    fitted = CEGBClassifier(costs=PRICES, n_estimators=1).fit(pd.DataFrame({"c": CODES, "z": Z}), CODES > 1)
    fits = [] if "date" in held else [lambda X: CEGBClassifier(costs=PRICES).fit(X, Y)]  # dates are features to a fit
    for act in (fitted.predict, fitted.cost, *fits):
        with pytest.raises(DataError, match=f"X: column 'c' holds {held}"):
            act(pd.DataFrame({"c": column, "z": Z}))


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[h]"])
def test_times_in_arrays_and_labels_are_never_numbers(kind):
    times, numbers = CODES.astype(kind), np.column_stack([CODES, Z])
    fitted = CEGBRegressor(costs=PRICES, n_estimators=1).fit(numbers, Y)
    for X in (np.column_stack([times, times]), np.column_stack([odd(list(times)), odd([1.0] * 60)])):
        for act in (fitted.predict, lambda X: CEGBRegressor(costs=PRICES).fit(X, Y)):
            with pytest.raises(DataError, match="expected numbers, got dates or times"):
                act(X)
    for y in (times, pa.array(times.astype("datetime64[ns]")), odd(list(times))):
        with pytest.raises(DataError, match="y: expected numbers, got values such as"):
            CEGBRegressor(costs=PRICES).fit(numbers, y)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"c": pd.array([Decimal(1), None, Decimal(3)], pd.ArrowDtype(pa.decimal128(5, 2)))}),
        pd.DataFrame({"c": odd([1, pd.NA, Decimal(3)])}),
        pd.DataFrame({"c": pd.Categorical(odd([Decimal(1), None, Decimal(3)]))}),
        pl.DataFrame({"c": pl.Series([1, None, 3]).cast(pl.Decimal(9, 2)), "text": ["x", None, "y"]}),
    ],
)
def test_other_numbers_are_read_with_their_missing_values(X):
    assert model(stump([1.0, 3.0], missing_left=False), ("c",)).predict(X).tolist() == [1.0, 2.0, 1.0]


# --- files ---


def test_unknown_texts_of_files_are_told_from_missing_ones_as_in_frames(tmp_path):
    tree = model(stump([1.0], missing_left=False), ("c",), {"c": ("oak", OTHER)})
    rows = pd.DataFrame({"c": ["oak", "fir", None, "elm"]})
    rows.to_csv(tmp_path / "rows.csv", index=False, na_rep="NA")
    for X in (rows, read_rows(tmp_path / "rows.csv", ["c"], categories=tree.categories)):
        assert tree.predict(X).tolist() == [2.0, 1.0, 2.0, 1.0]


# --- numbers that doubles cannot hold ---

LARGE = 2**53 + np.arange(4)
LONG = [Decimal("0.1"), Decimal("0.1000000000000000000001")]


def test_categories_that_doubles_merge_are_refused(tmp_path):
    values = {"whole": LARGE[CODES], "decimals": pa.array([LONG[code % 2] for code in CODES], pa.decimal128(38, 30))}
    path = tmp_path / "large.parquet"
    parquet.write_table(pa.table({**values, "z": Z, "y": Y}), path)
    for name, words in {"whole": "below 2\\^53", "decimals": "at most 15 digits"}.items():
        with pytest.raises(DataError, match=f"column '{name}': .*{words}, .*give texts"):
            read_table(path, "y", categorical=[name], ignore=[other for other in values if other != name])
        table = parquet.read_table(path, columns=[name, "z"])
        with pytest.raises(DataError, match=f"column '{name}': .*{words}"):
            CEGBClassifier(categorical_features=[name]).fit(table, Y)
        with pytest.raises(DataError, match=f"column '{name}': .*{words}"):
            find_labels(pd.Series(pd.Categorical(table[name].to_pylist())), name)


def test_classes_and_queries_of_large_whole_numbers_stay_distinct(tmp_path):
    path = tmp_path / "large.parquet"
    for kind in (pa.int64(), pa.decimal128(20, 0)):
        large = pa.array(LARGE[CODES].tolist()).cast(kind)
        parquet.write_table(pa.table({"z": Z, "y": large}), path)
        assert read_table(path, "y").classes == tuple(LARGE.tolist())
        parquet.write_table(pa.table({"z": Z, "y": Y, "qid": large}), path)
        assert len(np.unique(read_table(path, "y").qid)) == 4
    y = Y.astype(np.uint64) + np.uint64(2**63)
    cf.save(CEGBClassifier(n_estimators=1).fit(Z[:, np.newaxis], pd.array(y, "UInt64")), tmp_path / "my.model")
    assert cf.load(tmp_path / "my.model").classes_.tolist() == np.unique(y).tolist()
    parquet.write_table(pa.table({"z": Z, "y": Y * 2.0**60}), path)
    with pytest.raises(DataError, match=r"target 'y': .* below 2\^53"):
        read_table(path, "y", task="classification")
