"""Columns of any Arrow type, from files and from frames: numbers and texts are read everywhere, others are refused."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import compute as pc
from pyarrow import dataset as datasets
from pyarrow import feather, parquet
from test_categories import model, stump

import costframe as cf
from costframe import CEGBClassifier, CEGBRegressor
from costframe.core.errors import DataError
from costframe.core.tables.categorical import find_labels
from costframe.core.tables.categories import OTHER
from costframe.datasets import read_table
from costframe.datasets.model_rows import read_rows

CODES = np.tile([0, 3, 1, 2, 0], 12)
WORDS = ["oak", "fir", "elm", "ash"]
TEXTS = pa.array([WORDS[code] for code in CODES])
Z = np.linspace(-1.0, 1.0, len(CODES))
Y = ((CODES > 1) ^ (Z > 0.2)).astype(np.int64)
CATEGORIES = {"c": ("oak", "fir", "elm")}  # of which ash is none
PRICES = {"z": 2.0, "c": 1.0}


def dictionary(values, index=None):
    return pa.DictionaryArray.from_arrays(pa.array(CODES, index or pa.int32()), values)


BYTES = [word.encode() for word in WORDS]
OF_TEXTS = {
    "string": TEXTS,
    "large_string": TEXTS.cast(pa.large_string()),
    "string_view": pa.array(TEXTS.to_pylist(), pa.string_view()),
    "binary": pa.array([BYTES[code] for code in CODES]),
    "binary_view": pa.array([BYTES[code] for code in CODES], pa.binary_view()),
    "fixed_size_binary": pa.array([BYTES[code] for code in CODES], pa.binary(3)),
    "dictionary": dictionary(pa.array(WORDS), pa.int8()),
    "dictionary of large": dictionary(pa.array(WORDS, pa.large_string()), pa.uint32()),
    "dictionary of views": dictionary(pa.array(WORDS, pa.string_view()), pa.uint32()),
    "runs": pc.run_end_encode(TEXTS),
}
with contextlib.suppress(TypeError):  # pyarrow 16 cannot make it
    OF_TEXTS["runs of views"] = pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, 61), pa.int32()), pa.array(TEXTS.to_pylist(), pa.string_view())
    )
NUMBERS = pa.array(CODES)
OF_NUMBERS = {
    **{str(kind): NUMBERS.cast(kind) for kind in (pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32())},
    "float16": pa.array(CODES.astype(np.float16)),
    "decimal": pa.array([Decimal(code) for code in CODES.tolist()], pa.decimal128(9, 2)),
    "wide decimal": pa.array([Decimal(code) for code in CODES.tolist()], pa.decimal256(60, 20)),
    "dictionary of numbers": dictionary(pa.array(range(4))),
    "dictionary of decimals": dictionary(pa.array(list(map(Decimal, range(4))))),
    "runs of numbers": pc.run_end_encode(NUMBERS),
}
DAYS = [dt.date(2020, 1, 1 + code) for code in CODES.tolist()]
OTHERS = {
    "dates": (pa.array(DAYS), "write numbers instead, such as days since a date"),
    "times": (pa.array(DAYS).cast(pa.timestamp("ms")), "write numbers instead, such as days since a date"),
    "clock": (pa.array([dt.time(code) for code in CODES.tolist()]), "write numbers instead"),
    "durations": (pa.array(CODES, pa.duration("s")), "write numbers instead"),
    "a dictionary of dates": (pa.array(DAYS).dictionary_encode(), "write numbers instead"),
    "lists": (pa.array([[code] for code in CODES.tolist()]), "cast it to numbers or texts"),
    "structs": (pa.array([{"a": code} for code in CODES.tolist()]), "cast it to numbers or texts"),
}


def polars_of(table):
    try:
        return pl.from_arrow(table)
    except BaseException as error:  # noqa: BLE001 - a panic of polars, which lacks some types of Arrow
        pytest.skip(f"polars has no such type: {str(error)[:50]}")


def pandas_of(table):
    try:
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        len(frame[["c"]]["c"].array._pa_array)
    except (NotImplementedError, TypeError) as error:
        pytest.skip(f"pandas has no such type: {error}")
    return frame


FRAMES = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "polars": polars_of,
    "pandas": pandas_of,
}


def as_parquet(path, table):
    try:
        parquet.write_table(table, path)
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"Parquet has no such type: {str(error)[:50]}")
    return path


def predict_file(ending):
    def predict(tree, table, folder):
        path = folder / f"rows{ending}"
        as_parquet(path, table) if ending == ".parquet" else feather.write_feather(table, path, "uncompressed")
        return tree.predict(read_rows(path, tree.feature_names, categories=tree.categories))

    return predict


DOORS = {
    **{name: lambda tree, table, _, make=make: tree.predict(make(table)) for name, make in FRAMES.items()},
    "Parquet": predict_file(".parquet"),
    "Arrow": predict_file(".arrow"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", [*OF_TEXTS, *OF_NUMBERS])
def test_columns_of_every_type_are_read_by_name(kind, door, tmp_path):
    is_text = kind in OF_TEXTS
    column = OF_TEXTS[kind] if is_text else OF_NUMBERS[kind]
    tree = model(stump([0.0, 2.0], missing_left=False, feature=1), ("z", "c"), CATEGORIES if is_text else {})
    table = pa.table({"y": Y, "c": column, "z": Z})  # other columns, and another order
    expected = np.where(np.isin(CODES, [0, 2]), 1.0, 2.0)
    assert DOORS[door](tree, table, tmp_path).tolist() == expected.tolist()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", OTHERS)
def test_columns_of_other_types_are_named_with_a_way_out(kind, door, tmp_path):
    column, way_out = OTHERS[kind]
    tree, table = model(stump([0.0], missing_left=False), ("c",)), pa.table({"c": column, "z": Z})
    with pytest.raises(DataError, match=f"column 'c'.*{way_out}"):
        DOORS[door](tree, table, tmp_path)
    for make in FRAMES.values() if door == "table" else ():
        with pytest.raises(DataError, match="column 'c'"):
            CEGBClassifier(costs=PRICES).fit(make(table), Y)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", ["string_view", "dictionary", "dictionary of views", "decimal"])
def test_frames_of_any_library_train_the_same_model(frame, kind):
    column = (OF_TEXTS | OF_NUMBERS)[kind]
    X = FRAMES[frame](pa.table({"c": column, "z": Z}))
    split = {"categorical_features": ["c"]} if kind == "string_view" else {}
    made = CEGBClassifier(costs=PRICES, n_estimators=3, **split).fit(X, Y, X_val=X, y_val=Y)
    values = CODES if kind in OF_NUMBERS else pd.Categorical(TEXTS.to_pylist())
    given = pd.DataFrame({"c": values, "z": Z})
    expected = CEGBClassifier(costs=PRICES, n_estimators=3).fit(given, Y, X_val=given, y_val=Y)
    assert made.feature_names_in_.tolist() == ["c", "z"]
    np.testing.assert_array_equal(made.predict_proba(X), expected.predict_proba(given))
    np.testing.assert_array_equal(made.cost(X).per_row, expected.cost(given).per_row)
    turned = X.select(["z", "c"]) if hasattr(X, "select") else X[["z", "c"]]
    np.testing.assert_array_equal(made.predict_proba(turned), expected.predict_proba(given))


@pytest.mark.filterwarnings("ignore:nothing within")  # of so few rows
@pytest.mark.parametrize("frame", ["table", "batch", "polars"])
def test_searches_take_rows_of_frames(frame):
    X, y = FRAMES[frame](pa.table({"c": OF_TEXTS["dictionary of views"], "z": Z})), (CODES > 1).astype(np.int64)
    search = cf.BudgetSearch(CEGBClassifier(costs=PRICES, n_estimators=3), budget=3.0, cv=3).fit(X, y)
    given = pd.DataFrame({"c": pd.Categorical(TEXTS.to_pylist()), "z": Z})
    expected = cf.BudgetSearch(CEGBClassifier(costs=PRICES, n_estimators=3), budget=3.0, cv=3).fit(given, y)
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(given))


def test_lazy_frames_are_refused_with_the_way_out():
    X = pl.DataFrame({"c": CODES, "z": Z})
    fitted = CEGBClassifier(costs=PRICES, n_estimators=1).fit(X, Y)
    unfitted = CEGBClassifier(costs=PRICES)
    for act in (fitted.predict, fitted.cost, fitted.predictor_.predict, lambda X: unfitted.fit(X, Y)):
        with pytest.raises(DataError, match=r"X: expected rows in memory, got LazyFrame; use X\.collect\(\)"):
            act(X.lazy())
    with pytest.raises(DataError, match=r"got RecordBatchReader; use X\.read_all\(\)"):
        fitted.predict(X.to_arrow().to_reader())


def odd(values):
    return np.array([*values, None], object)[:-1]


@pytest.mark.parametrize(
    ("column", "held"),
    [
        (pd.to_datetime(CODES, unit="D"), r"times \(datetime64"),
        (pd.to_datetime(CODES, unit="D", utc=True), r"times \(datetime64"),
        (pd.to_timedelta(CODES, unit="D"), r"durations \(timedelta64"),
        (pd.period_range("2020", periods=60, freq="D"), r"values \(period"),
        (pd.arrays.IntervalArray.from_breaks(range(61)), r"values \(interval"),
        (CODES + 1j, r"values \(complex128\)"),
        (odd(DAYS), r"datetime.date\(2020, 1, 1\) of type date"),
        (odd([1, "a"] * 30), r"text \(object\)"),
        (odd([[1]] * 60), r"\[1\] of type list"),
        (pd.Series([10**400] * 60, dtype=object), "a number beyond all doubles"),
    ],
)
def test_other_columns_of_pandas_are_never_converted(column, held):
    fitted = CEGBClassifier(costs=PRICES, n_estimators=1).fit(pd.DataFrame({"c": CODES, "z": Z}), CODES > 1)
    X = pd.DataFrame({"c": column, "z": Z})
    for act in (fitted.predict, fitted.cost, lambda X: CEGBClassifier(costs=PRICES).fit(X, Y)):
        with pytest.raises(DataError, match=f"X: column 'c' holds {held}"):
            act(X)
    for frame in (X, X.set_axis([0, 1], axis=1)):
        with pytest.raises(DataError, match=f"column 'c' holds {held}"):
            fitted.predictor_.predict(frame)


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[h]"])
def test_times_in_arrays_and_labels_are_never_numbers(kind):
    times = CODES.astype(kind)
    fitted = CEGBRegressor(costs=PRICES, n_estimators=1).fit(np.column_stack([CODES, Z]), Y)
    for X in (np.column_stack([times, times]), np.column_stack([odd(list(times)), odd([1.0] * 60)])):
        for act in (fitted.predict, fitted.predictor_.predict, lambda X: CEGBRegressor(costs=PRICES).fit(X, Y)):
            with pytest.raises(DataError, match="expected numbers, got dates or times"):
                act(X)
    for y in (times, pa.array(times.astype("datetime64[ns]")), odd(list(times))):
        with pytest.raises(DataError, match="y: expected numbers, got values such as"):
            CEGBRegressor(costs=PRICES).fit(np.column_stack([CODES, Z]), y)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 3], "Int64"),
        pd.array([1, None, 3], "Float32"),
        pd.array([Decimal(1), None, Decimal(3)], pd.ArrowDtype(pa.decimal128(5, 2))),
        pd.arrays.SparseArray([1.0, np.nan, 3.0]),
        odd([1, pd.NA, Decimal(3)]),
        odd([True, None, 3.0]),
        pd.Categorical([1, None, 3]),
        pd.Categorical(odd([Decimal(1), None, Decimal(3)])),
    ],
)
def test_other_numbers_of_pandas_are_read_with_their_missing_values(column):
    tree = model(stump([1.0, 3.0], missing_left=False), ("c",))
    for X in (pd.DataFrame({"c": column}), pd.DataFrame({0: column})):
        assert tree.predict(X).tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int64, pl.Float32, pl.Decimal(9, 2)])
def test_numbers_of_polars_are_read_with_their_missing_values(dtype):
    tree = model(stump([1.0, 3.0], missing_left=False), ("c",))
    for more in ({}, {"text": ["x", None, "y"]}):
        X = pl.DataFrame({"c": pl.Series([1, None, 3]).cast(dtype), **more})
        assert tree.predict(X).tolist() == [1.0, 2.0, 1.0]


# --- several files -------------------------------------------------------------------------------------------------


def test_a_folder_may_store_texts_in_different_ways(tmp_path):
    kinds = ["string", "string_view", "dictionary", "dictionary of large", "binary"]
    for number, kind in enumerate(kinds):
        as_parquet(tmp_path / f"{number}.parquet", pa.table({"c": OF_TEXTS[kind], "z": Z, "y": Y}))
    tree = model(stump([0.0, 2.0], missing_left=False), ("c",), CATEGORIES)
    expected = np.tile(np.where(np.isin(CODES, [0, 2]), 1.0, 2.0), len(kinds))
    assert tree.predict(read_rows(tmp_path, ["c"], categories=CATEGORIES)).tolist() == expected.tolist()
    data = read_table(tmp_path, "y")
    assert data.categorical == {"c": ("ash", "elm", "fir", "oak")}
    assert len(data.y) == len(expected)
    with pytest.raises(DataError, match=r"X: expected rows in memory, got FileSystemDataset; use X.to_table\(\)"):
        CEGBClassifier(costs=PRICES, n_estimators=1).fit(datasets.dataset(tmp_path / "0.parquet"), Y)


def test_unknown_texts_of_files_are_told_from_missing_ones_as_in_frames(tmp_path):
    tree = model(stump([1.0], missing_left=False), ("c",), {"c": ("oak", OTHER)})
    rows = pd.DataFrame({"c": ["oak", "fir", None, "elm"]})
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False, na_rep="NA")
    assert tree.predict(rows).tolist() == [2.0, 1.0, 2.0, 1.0]
    for file in ("rows.parquet", "rows.csv"):
        assert tree.predict(read_rows(tmp_path / file, ["c"], categories=tree.categories)).tolist() == [
            2.0, 1.0, 2.0, 1.0,
        ]  # fmt: skip


# --- numbers that doubles cannot hold --------------------------------------------------------------------------------

LARGE = 2**53 + np.arange(4)
LONG = [Decimal("0.1"), Decimal("0.1000000000000000000001")]


def test_categories_that_doubles_merge_are_refused(tmp_path):
    values = {"whole": LARGE[CODES], "decimals": pa.array([LONG[code % 2] for code in CODES], pa.decimal128(38, 30))}
    path = as_parquet(tmp_path / "large.parquet", pa.table({**values, "z": Z, "y": Y}))
    for name, words in {"whole": "below 2\\^53", "decimals": "at most 15 digits"}.items():
        others = [other for other in values if other != name]
        with pytest.raises(DataError, match=f"column '{name}': .*{words}, .*give texts"):
            read_table(path, "y", categorical=[name], ignore=others)
        with pytest.raises(DataError, match=f"column '{name}': .*{words}"):
            CEGBClassifier(categorical_features=[name]).fit(parquet.read_table(path, columns=[name, "z"]), Y)
        with pytest.raises(DataError, match=f"column '{name}': .*{words}"):
            find_labels(pd.Series(pd.Categorical(parquet.read_table(path)[name].to_pylist())), name)
    assert find_labels(pd.Series(pd.Categorical([Decimal("0.10"), Decimal(12)])), "c") is None


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20, 0)])
def test_classes_and_queries_of_large_whole_numbers_stay_distinct(kind, tmp_path):
    large = pa.array(LARGE[CODES].tolist()).cast(kind)
    path = as_parquet(tmp_path / "large.parquet", pa.table({"z": Z, "y": large}))
    assert read_table(path, "y").classes == tuple(LARGE.tolist())
    as_parquet(path, pa.table({"z": Z, "y": Y, "qid": large}))
    assert len(np.unique(read_table(path, "y").qid)) == 4


def test_labels_of_nullable_whole_numbers_stay_distinct(tmp_path):
    for y in (2**53 + Y, Y.astype(np.uint64) + np.uint64(2**63)):
        fitted = CEGBClassifier(n_estimators=1).fit(Z[:, np.newaxis], pd.array(y, "UInt64"))
        assert fitted.classes_.tolist() == np.unique(y).tolist()
        cf.save(fitted, tmp_path / "my.model")
        assert cf.load(tmp_path / "my.model").classes_.tolist() == np.unique(y).tolist()
    path = as_parquet(tmp_path / "large.parquet", pa.table({"z": Z, "y": Y * 2.0**60}))
    with pytest.raises(DataError, match=r"target 'y': .* below 2\^53"):
        read_table(path, "y", task="classification")
