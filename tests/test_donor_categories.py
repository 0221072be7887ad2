"""Donors of rows with categories, whose numbers are names."""

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe.records.completion import fill, find_donors
from costframe.records.made import Records
from costframe.records.table import RecordedTable, complete_table, encode_table

COSTS = cf.CostModel.of({"features": {"city": 0.0, "age": 0.0, "scan": {"cost": 5.0, "absent": "not made"}}})
NAMES = ("city", "age", "scan")
CITIES = np.array(["Bern", "Bonn", "Brno", "Basel", "Berlin", "Boston", "Bristol", "Budapest"])
LEVEL = np.array([0.0, 9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0])  # of the scan, by city: neighbours are unlike


def _draw(n=1200, seed=0):
    r = np.random.default_rng(seed)
    city, age = r.integers(0, len(CITIES), n), r.normal(size=n)
    scan, y = LEVEL[city] + 0.3 * r.normal(size=n), r.integers(0, 2, n)
    made = r.random(n) < 0.4
    return city, age, scan, np.where(made, scan, np.nan), y


def _error(filled, scan, seen):
    return np.abs(filled - scan)[np.isnan(seen)].mean()


@pytest.mark.parametrize("reading", ["label", "columns"])
def test_donors_are_of_the_same_category(reading):
    city, age, scan, seen, y = _draw()
    X = np.column_stack([city, age, seen])
    known = Records.of(X, NAMES, COSTS.panels)
    plain, named = (
        find_donors(X, y, known, by_class=True, copies=1, reading=reading, categorical=columns)
        for columns in ((), (0,))
    )
    lacking = np.isnan(seen)
    as_named, as_plain = ((city[each[0][:, 0]] == city)[lacking].mean() for each in (named, plain))
    assert as_named > max(0.9, as_plain + 0.05)
    assert _error(fill(X, named[0], known)[:, 2], scan, seen) < 0.5
    assert _error(fill(X, plain[0], known)[:, 2], scan, seen) > 0.5


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_texts_of_frames_are_categories(kind):
    city, age, scan, seen, y = _draw()
    X = pd.DataFrame({"city": pd.Series(CITIES[city]).astype(kind), "age": age, "scan": seen})
    table = RecordedTable.of(X, y, NAMES, COSTS.panels, None, by_class=True)
    assert table.categorical == (0,)
    filled = complete_table(X, table.donors[0], table.records, NAMES)
    assert _error(filled["scan"].to_numpy(), scan, seen) < 0.5
    of_numbers = RecordedTable.of(encode_table(X, NAMES), y, NAMES, COSTS.panels, None, by_class=True)
    assert of_numbers.categorical == ()


@pytest.mark.parametrize("reading", ["label", "columns"])
def test_a_category_that_is_a_test_is_drawn_from_like_rows(reading):
    city, age, scan, _, y = _draw()
    made = np.random.default_rng(1).random(len(y)) < 0.5
    X = np.column_stack([scan, age, np.where(made, city, np.nan)])
    known = Records.of(X, NAMES, COSTS.panels)
    drawn = find_donors(X, y, known, by_class=True, copies=1, reading=reading, categorical=(2,))[0][:, 0]
    lacking = ~made
    assert (city[drawn] == city)[lacking].mean() > 0.6


def test_fits_and_costs_know_categories():
    city, age, scan, seen, _ = _draw()
    y = (scan > 4).astype(int)
    X = pd.DataFrame({"city": pd.Series(CITIES[city]).astype("category"), "age": age, "scan": seen})
    data = cf.CEGBClassifier(COSTS).training_data(X, y)
    assert _error(data.train.X[: len(X), 2], scan, seen) < 0.5


def test_columns_of_categories_of_many_kinds_and_of_none():
    r = np.random.default_rng(0)
    X = np.column_stack([np.arange(300.0), np.full(300, np.nan), np.where(r.random(300) < 0.5, r.random(300), np.nan)])
    known = Records.of(X, NAMES, COSTS.panels)
    for reading in ("label", "columns"):
        donors = find_donors(X, X[:, 0], known, by_class=False, copies=1, reading=reading, categorical=(0, 1))
        assert not np.isnan(fill(X, donors[0], known)[:, 2]).any()
