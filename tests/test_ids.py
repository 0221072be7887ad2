"""Ids: which columns are no features, by their names and values, and which columns only look like one."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from costframe.datasets import read_table
from costframe.datasets.ids import describe_id
from costframe.plugin import DataError

RNG = np.random.default_rng(0)
N = 900
PATIENTS = np.repeat(np.arange(150), 6)
SURE = {
    "patient_id": RNG.permutation(PATIENTS),
    "PatientID": RNG.integers(0, 150, N).astype(float),
    "patientid": RNG.integers(10**7, 10**8, 150)[PATIENTS],
    "patient": PATIENTS,
    "subject id": np.repeat(np.arange(30), 300),
    "customer_no": RNG.integers(10**6, 10**7, 200)[RNG.integers(0, 200, N)],
    "id": RNG.choice(10**9, N, replace=False),
    "order_id": RNG.integers(0, 300, N),
    "mrn": [f"P{k:04}" for k in RNG.integers(0, 100, N)],
    "row": np.arange(N),
    "x": RNG.permutation(N),
    "nearly": np.r_[RNG.permutation(N - 5), np.arange(5)],
    "big": [2**60 + int(k) for k in RNG.permutation(N)],
    "key": RNG.choice(10**9, N, replace=False),
    "token": [str(uuid.UUID(int=int(k) + 2**100)) for k in range(N)],
}
PERHAPS = {
    "store_id": RNG.integers(0, 30, N),
    "year": np.arange(1700, 1900),
    "rank": RNG.permutation(N),
    "seconds_since": np.sort(RNG.choice(10**9, N, replace=False)),
    "visit_no": RNG.geometric(0.08, 400),
    "short": RNG.permutation(60),
}
NONE = {
    "age": RNG.normal(50, 15, N).round().astype(int),
    "amount_cents": (np.exp(RNG.normal(3, 1, N)) * 100).astype(int),
    "income": RNG.choice(10**6, N),
    "pixels": RNG.poisson(100, N),
    "number_of_children": RNG.poisson(2, N),
    "num_items": RNG.poisson(30, N),
    "key": RNG.integers(0, 12, N),
    "zip": RNG.integers(10000, 99999, N),
    "house_number": RNG.integers(1, 200, N),
    "body_mass_index": RNG.integers(15, 50, N),
    "paid": RNG.integers(0, 2, N),
    "weight": RNG.normal(size=N),
    "client": RNG.choice(["Firefox", "Chrome", "Safari", "Edge", "Opera", "other"], N),
    "ids": RNG.normal(size=N),
}


@pytest.mark.parametrize("name", SURE)
def test_columns_that_are_ids(name):
    assert describe_id(pa.array(list(SURE[name])), name).is_sure
    assert describe_id(pa.array(list(SURE[name])).dictionary_encode(), name).is_sure


@pytest.mark.parametrize("name", PERHAPS)
def test_columns_that_may_be_ids_stay(name):
    assert not describe_id(pa.array(list(PERHAPS[name])), name).is_sure


@pytest.mark.parametrize("name", NONE)
def test_measurements_counts_and_codes_are_no_ids(name):
    assert describe_id(pa.array(list(NONE[name])), name) is None


def write(path, **more):
    frame = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.integers(0, 2, N), **more})
    frame.to_csv(path, index=False)
    return path


def test_an_id_is_no_feature_unless_somebody_says_so(tmp_path):
    path = write(tmp_path / "t.csv", patient_id=SURE["patient_id"], mrn=SURE["mrn"], age=NONE["age"])
    data = read_table(path, "y")
    assert data.feature_names == ("a", "b", "age")
    left = "left out: 'patient_id', an id, 150 different whole numbers in 900 rows; --keep-id patient_id, or a price"
    assert any(note.startswith(left) for note in data.notes)
    kept = read_table(path, "y", keep_ids=["patient_id"])
    assert kept.feature_names == ("a", "b", "patient_id", "age")
    priced = read_table(path, "y", {"a": 1.0, "b": 1.0, "patient_id": 0.0, "age": 1.0})
    assert priced.feature_names == kept.feature_names
    assert any(note.startswith("possible leak: 'patient_id' looks like an id, 150 diff") for note in priced.notes)
    split = read_table(path, "y", categorical=["patient_id"])
    assert "patient_id" in split.categorical
    assert read_table(path, **priced.reading).feature_names == priced.feature_names  # as a run reads it again
    assert read_table(path, **data.reading).feature_names == data.feature_names


def test_a_table_of_ids_alone_says_so(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"row": np.arange(N), "y": RNG.integers(0, 2, N)}).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"no column is left to be a feature; 'row' is an id, .* --keep-id COL keeps"):
        read_table(path, "y")
    with pytest.raises(DataError, match="no column 'rwo'"):
        read_table(path, "y", keep_ids=["rwo"])
