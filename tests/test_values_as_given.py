"""Values that are no doubles reach foreign code as they came: columns of every dtype, mixed rows, single values."""

import datetime as dt
import decimal
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import costframe as cf
from costframe.core.tables.as_given import AsGiven, as_doubles
from costframe.core.tables.frame_rows import read_frame
from costframe.core.tables.kinds import has_kinds
from costframe.core.tables.restored_rows import call_as_given, restore_rows
from costframe.core.tables.rows import as_rows
from costframe.errors import BankError
from costframe.plugin import DataError
from costframe.sources import Field

SIZE = 6
DAYS = pd.to_datetime(["2020-01-01", None, "1850-07-02"] * 2)
COLUMNS = {
    "int64": [0, -1, 2, 2**53 + 1, -(2**63), 2**63 - 1],
    "int8": np.arange(-3, 3, dtype=np.int8),
    "uint32": np.arange(2**32 - SIZE, 2**32, dtype=np.uint32),
    "uint64": np.array([0, 1, 2**53 + 1, 2**63, 2**64 - 1, 7], np.uint64),
    "bool": [True, False, True, True, False, False],
    "float64": [0.5, np.nan, np.inf, -np.inf, 1e300, -0.0],
    "float32": np.linspace(0, 1, SIZE, dtype=np.float32),
    "float16": np.linspace(0, 1, SIZE, dtype=np.float16),
    "Int64": pd.array([1, None, -3, 2**53 + 1, 2**63 - 1, 0], "Int64"),
    "UInt8": pd.array([1, None, 255, 0, 0, 0], "UInt8"),
    "boolean": pd.array([True, None, False] * 2, "boolean"),
    "Float32": pd.array([0.1, None, 0.3] * 2, "Float32"),
    "str": ["a", "", "å\ud800"[:1], "a", "long " * 20, "1"],
    "string": pd.array(["a", None, "1"] * 2, "string"),
    "object": pd.array(["a", None, np.nan, 3, True, 2.5], object),
    "mixed": pd.Series([pd.NA, pd.NaT, b"x", decimal.Decimal("1.10"), dt.date(2020, 1, 1), 2**70], dtype=object),
    "category": pd.Categorical(["b", None, "a"] * 2, categories=["c", "b", "a"]),
    "ordered": pd.Categorical([3, 1, 2] * 2, categories=[1, 2, 3], ordered=True),
    "us": DAYS,
    "ns": (DAYS + pd.Timedelta("1ns")).astype("datetime64[ns]"),
    "s": DAYS.astype("datetime64[s]"),
    "zone": DAYS.tz_localize("Europe/Oslo"),
    "delta": pd.to_timedelta([1, None, 3] * 2, unit="D"),
    "period": pd.period_range("2020-01", periods=SIZE, freq="M"),
    "arrow": pd.array([1, None, 3] * 2, pd.ArrowDtype(pa.int64())),
}


def numbers_of(frame):
    return read_frame(frame, list(frame), dict.fromkeys(frame, AsGiven()))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_back_with_its_dtype(name):
    frame = pd.DataFrame({"x": pd.Series(COLUMNS[name])})
    [(places, rows)] = restore_rows(numbers_of(frame))
    assert places.tolist() == list(range(SIZE))
    pd.testing.assert_frame_equal(rows.as_frame(["x"]), frame)
    some = [(where, part.as_frame(["x"])) for where, part in restore_rows(numbers_of(frame)[1:3])]
    assert [len(where) for where, _ in some] == [2]
    pd.testing.assert_frame_equal(some[0][1].set_axis([1, 2]), frame[1:3])


def test_columns_of_other_libraries_come_as_those_of_pandas():
    frame = pd.DataFrame({"i": [1, 2], "b": [True, False], "x": [0.5, 1.5], "s": ["a", None], "d": DAYS[:2]})
    frame["n"] = pd.array([1, None], "Int64")
    frame["c"] = pd.Categorical(["x", "y"])
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        rows = read_frame(other, list(frame), dict.fromkeys(frame, AsGiven()))
        [(_, found)] = restore_rows(rows)
        pd.testing.assert_frame_equal(found.as_frame(list(frame)), frame, check_categorical=False)


def test_a_missing_number_of_a_nullable_dtype_is_one():
    frame = pd.DataFrame({"x": pd.array([0.5, None], "Float64")})
    for given in (frame, pl.DataFrame({"x": [0.5, None]})):
        rows = read_frame(given, ["x"], {"x": AsGiven()})
        [(_, whole)], [(_, alone)] = restore_rows(rows), restore_rows(rows[:1])
        pd.testing.assert_frame_equal(whole.as_frame(["x"]), frame)
        assert alone.as_frame(["x"]).x.dtype == np.float64
        np.testing.assert_array_equal(whole.as_array()[:, 0], [0.5, np.nan])


VALUES = (
    3, True, np.int8(3), np.float32(0.1), 2**53 + 1, 2**64 - 1, 2**70, "x", None, pd.NA, pd.NaT, b"x",
    dt.date(2020, 1, 1), pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC"), decimal.Decimal("1.10"),
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_single_value_comes_back(value):
    number = AsGiven().number(value)
    assert AsGiven().number(number) == number  # what a source has read is read once more
    [(_, rows)] = restore_rows(np.array([[number]]))
    found = rows.as_array()[0, 0]
    assert found is value or found == value
    assert isinstance(found, type(value)) or isinstance(value, int | float)
    assert rows.as_frame(["x"]).x.dtype == pd.DataFrame({"x": [value]}).x.dtype


def test_whole_numbers_mean_the_same_in_another_process():
    numbers = AsGiven().of_array(np.array([3, -5, 2**50]))
    program = (
        "import pickle, sys; from costframe.core.tables.restored_rows import restore_rows\n"
        "print(next(restore_rows(pickle.loads(sys.stdin.buffer.read())))[1].as_array()[:, 0].tolist())"
    )
    given = pickle.dumps(numbers[:, None])
    found = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True, check=True)  # noqa: S603
    assert found.stdout.decode().strip() == "[3, -5, 1125899906842624]"


def test_rows_of_several_kinds_are_answered_as_alone():
    def spell(rows):
        seen.append(len(rows))
        return [len(str(value)) for value in rows[:, 0]]

    seen = []
    rows = np.array([[AsGiven().number(value)] for value in (30, 30.0, "thirty", True, 30, None, np.nan)])
    assert call_as_given(spell, rows).tolist() == [2, 4, 6, 4, 2, 4, 3]
    assert sum(seen) == len(rows)
    assert call_as_given(lambda given: given[:, 0], np.array([[2.5], [np.nan]])).tolist()[0] == 2.5


def test_an_array_is_what_numpy_makes_of_the_columns():
    def dtype_of(frame):
        [(_, rows)] = restore_rows(numbers_of(frame))
        return rows.as_array().dtype

    frame = pd.DataFrame({"i": [1, 2], "b": [True, False], "x": [0.5, np.nan], "s": ["a", "b"], "id": [2**53 + 1, 1]})
    assert dtype_of(frame[["i"]]) == np.int64
    assert dtype_of(frame[["b"]]) == np.bool_
    assert dtype_of(frame[["i", "x", "b"]]) == np.float64
    assert dtype_of(frame[["i", "s"]]).kind == "O"
    assert dtype_of(frame[["id", "x"]]).kind == "O"  # doubles would change the id


def test_numbers_and_texts_as_doubles():
    mixed = [3, True, 2.5, np.float32(0.5), None, pd.NA, np.nan, decimal.Decimal("0.25"), 2**53]
    numbers = as_doubles(np.array([AsGiven().number(value) for value in mixed]))
    np.testing.assert_array_equal(numbers, [3, 1, 2.5, 0.5, np.nan, np.nan, np.nan, 0.25, 2.0**53])
    texts = [as_doubles(numbers_of(pd.DataFrame({"x": column}))) for column in (
        pd.Series(["a", None]), pd.Series(["a", None], dtype=object), pd.Categorical(["a", None]),
    )]  # fmt: skip
    for found in texts:
        np.testing.assert_array_equal(found[:, 0], [AsGiven(plain=True).number("a"), np.nan])
    with pytest.raises(DataError, match="expected numbers or texts, got "):
        as_doubles(numbers_of(pd.DataFrame({"x": DAYS})))


def test_arrays_are_read_by_their_dtype():
    labels = {"a": AsGiven(), "b": AsGiven()}
    plain = np.zeros((2, 2))
    assert as_rows(plain, ["a", "b"], labels) is plain
    assert not has_kinds(as_rows(plain.astype(np.int64), ["a", "b"]))
    for given in (plain.astype(np.int64), plain.astype(np.float32), plain.astype(bool)):
        [(_, rows)] = restore_rows(as_rows(given, ["a", "b"], labels))
        assert rows.as_array().dtype == given.dtype
    with pytest.raises(DataError, match=r"column 'a': expected numbers below 1\.07e"):
        read_frame(pd.DataFrame({"a": [1e302]}), ["a"], labels)
    with pytest.raises(DataError, match=r"column 'a': expected texts or numbers, got .* of type object"):
        read_frame(pd.DataFrame({"a": [object()]}), ["a"], labels)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (None, 2, 2), (None, True, True), (None, "2", "2"), (None, decimal.Decimal(12), 12), ("number", b"7", 7),
        (None, decimal.Decimal("1.5"), 1.5), ("number", "2", 2), ("number", "2.0", 2.0), ("truth", "yes", True),
        ("number", str(2**53 + 1), 2**53 + 1), ("text", "2", "2"),
    ],
)  # fmt: skip
def test_what_a_store_holds_reaches_foreign_code_as_it_is_written(kind, raw, value):
    number = Field("x", kind).read(raw, AsGiven())
    found = np.array([[number]])
    found = next(restore_rows(found))[1].as_array() if has_kinds(found) else found
    assert found[0, 0] == value
    assert found.dtype.kind == np.array([value]).dtype.kind.replace("U", "O")


def test_banks_that_read_a_column_in_two_ways_are_not_joined():
    adopted = cf.adopt(lambda rows: rows[:, 0], features=["a"]).bank
    assert (adopted + adopted.restrict([])).categories == {"a": AsGiven()}
    with pytest.raises(BankError, match="'a' is compared as a number in one bank, and given to foreign code"):
        cf.WeakLearnerBank.columns(["a"]) + adopted


# --- models ------------------------------------------------------------------------------------------------------

TABLE = pd.DataFrame({"id": 2**53 + np.arange(60) % 4, "ward": np.arange(60) % 5 * 7, "x": np.linspace(-1, 1, 60)})
PARITY = (TABLE["id"] % 2 == 0).to_numpy()


def by_kind(X):
    return np.column_stack([X["id"] % 2, X["ward"].astype(str).str.len(), X["x"]])


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan])
def test_missing_values_of_inquiries_are_missing(missing):
    model = cf.adopt(KNeighborsClassifier().fit(TABLE, PARITY))  # which refuses NaN
    with pytest.raises(BankError, match="Input X contains NaN"):
        cf.predict_one(model, {"id": 1, "ward": 0, "x": missing})
    trees = cf.estimator("miser", costs={"id": 1.0, "ward": 1.0, "x": 1.0}, tradeoff=0.0, n_estimators=3)
    fitted = trees.fit(TABLE.mask(TABLE > 0.9, np.nan), PARITY).predictor_
    row = {"id": 2.0**53, "ward": 7, "x": np.nan}
    assert cf.predict_one(fitted, {**row, "x": missing}).value == cf.predict_one(fitted, row).value


def test_prices_of_errors_may_be_columns_that_foreign_code_reads():
    model = cf.adopt(
        make_pipeline(FunctionTransformer(by_kind), LogisticRegression()).fit(TABLE, PARITY), features=list(TABLE)
    )
    errors = {True: {False: {"column": "ward"}}, False: {True: 1.0}}
    costs = cf.CostModel.from_dict({"features": {"id": 1.0, "ward": 0.0, "x": 1.0}, "errors": errors})
    table = model.labels(TABLE, costs=costs)
    for i in (0, 1, 2):
        assert cf.predict_one(model.with_costs(costs), TABLE.iloc[i].astype(object).to_dict()).label == table[i]
    assert (table != model.labels(TABLE)).any()
