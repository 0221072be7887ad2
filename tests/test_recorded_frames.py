"""Records in data frames of several libraries, and masks beside them."""

import numpy as np
import pandas as pd
import pytest
from record_cases import NAMES, PRICES, records

import costframe as cf
from costframe.errors import DataError
from costframe.records.table import RecordedTable, complete_table, encode_table


def _frames():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    X, y = records(200)
    X = X.round(3)
    decimals = [pa.array(X[name], pa.float64(), from_pandas=True).cast(pa.decimal128(12, 3), safe=False) for name in X]
    return (
        X,
        y,
        {
            "pandas' nullable": X.convert_dtypes(),
            "pandas' Arrow": X.convert_dtypes(dtype_backend="pyarrow"),
            "polars": pl.from_pandas(X),
            "polars' decimals": pl.from_pandas(X).with_columns(pl.all().fill_nan(None).cast(pl.Decimal(12, 3))),
            "Arrow": pa.Table.from_pandas(X),
            "Arrow's decimals": pa.table(decimals, names=NAMES),
            "singles of Arrow": pa.Table.from_pandas(X.astype("float32")),
        },
    )


def test_numbers_of_every_library_are_numbers_and_are_completed():
    X, y, frames = _frames()
    for name, frame in frames.items():
        assert np.nanmax(np.abs(encode_table(frame, NAMES) - X.to_numpy())) < 0.002, name
        table = RecordedTable.of(frame, y, NAMES, cf.CostModel.of(PRICES).panels, None, by_class=True)
        completed = complete_table(frame, table.donors[0], table.records, NAMES)
        assert type(completed) is type(frame)
        filled = encode_table(completed, NAMES)
        assert np.array_equal(filled[:, 2], encode_table(frame, NAMES)[table.donors[0][:, 0], 2]), name


@pytest.mark.parametrize(
    "made", [False, np.ones((9, 3), bool), "all", pd.DataFrame(np.ones((9, 3), bool), columns=NAMES)]
)
def test_a_mask_of_other_rows_is_refused_by_its_name_beside_weights(made):
    X, y = records(40)
    for weight in (np.ones(40), np.arange(40.0)):
        with pytest.raises(DataError, match="made: expected a mask of the 40 rows of X"):
            cf.CEGBClassifier({"age": 0.0, "crp": 1.0, "scan": 20.0}).fit(X, y, sample_weight=weight, made=made)


def test_a_mask_is_cut_with_rows_of_weight_0():
    X, y = records(300)
    weight, known = np.where(np.arange(300) % 2, 1.0, 0.0), X.notna()
    model = cf.CEGBClassifier({"age": 0.0, "crp": 1.0, "scan": 20.0}, n_estimators=12)
    fitted = model.fit(X, y, sample_weight=weight, made=known).predict_proba(X)
    half = model.fit(X[weight > 0], y[weight > 0], made=known[weight > 0]).predict_proba(X)
    assert np.array_equal(fitted, half)
    assert np.array_equal(
        model.fit(X, y, sample_weight=2.0, made=known).predict_proba(X), model.fit(X, y, made=known).predict_proba(X)
    )
