"""Donors by the weights of rows."""

import numpy as np
import pytest
from record_cases import NAMES, PRICES, records, table

import costframe as cf
from costframe.records.completion import fill, find_donors
from costframe.records.made import Records
from costframe.records.readings import contradicts_columns
from costframe.study.rows import StudyRows
from costframe.training.data import Rows
from costframe.training.learning import learn_from

READINGS = ["label", "columns"]
COSTS = cf.CostModel.of(PRICES)


def _draw(n=1500, seed=0):
    """Return rows whose scan, where it was made, says by chance 1 or 0, labels, and records."""
    r = np.random.default_rng(seed)
    X, y, made = r.normal(size=(n, 3)), r.integers(0, 2, n), r.random(n) < 0.4
    X[:, 2] = np.where(made, r.integers(0, 2, n), np.nan)
    return X, y, Records.of(X, NAMES, COSTS.panels)


@pytest.mark.parametrize("reading", READINGS)
def test_rows_give_as_often_as_their_weights_say(reading):
    X, y, known = _draw()
    weight = np.where(X[:, 2] == 1, 9.0, 1.0)
    lacking = np.isnan(X[:, 2])
    for given, mean in ((None, 0.5), (weight, 0.9), (1 / weight, 0.1)):
        donors = find_donors(X, y, known, by_class=True, reading=reading, weight=given)
        drawn = np.mean([fill(X, copy, known)[lacking, 2].mean() for copy in donors])
        assert drawn == pytest.approx(mean, abs=0.06)


@pytest.mark.parametrize("reading", READINGS)
def test_a_row_of_weight_0_gives_to_no_other_row(reading):
    X, y, known = _draw()
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, 2.0)
    donors = find_donors(X, y, known, by_class=True, reading=reading, weight=weight)
    own = np.arange(len(X))[:, np.newaxis]
    assert (weight[donors[donors != own]] > 0).all()
    assert (donors[:, known.made[:, 0], 0] == np.flatnonzero(known.made[:, 0])).all()
    alone = find_donors(X, y, known, by_class=True, reading=reading, weight=np.zeros(len(X)))
    assert (alone[:, ~known.made[:, 0], 0] == -1).all()


@pytest.mark.parametrize("reading", READINGS)
def test_equal_weights_give_the_donors_of_none(reading):
    X, y, known = _draw(400)
    how = {"by_class": True, "reading": reading}
    assert np.array_equal(find_donors(X, y, known, **how), find_donors(X, y, known, weight=np.full(len(X), 0.3), **how))


def test_a_class_whose_donors_have_weight_0_has_none():
    X, y, known = _draw(400)
    weight = np.where(y == 1, 0.0, 1.0)
    donors = find_donors(X, y, known, by_class=True, weight=weight)
    taking = (y == 1) & ~known.made[:, 0]
    assert (y[donors[:, taking, 0]] == 0).all()


def test_fits_and_studies_and_costs_draw_by_weights():
    X, y, known = _draw()
    weight = np.where(X[:, 2] == 1, 9.0, 1.0)
    learned = learn_from(Rows(X, y, weight, labels=np.array([0, 1])), known, "completed", "X")
    assert learned.X[np.tile(np.isnan(X[:, 2]), 4), 2].mean() > 0.8
    rows = StudyRows.of(X, y, weight, None).with_records(COSTS, NAMES, by_class=True)
    equal = StudyRows.of(X[:9], y[:9], None, None).with_records(COSTS, NAMES, by_class=True)
    for each in (rows, rows.take(np.arange(1000)), rows.append(equal), equal.append(rows)):
        assert each.recorded.weight.tolist() == each.weight.tolist()
        assert next(each.completed()).X[np.isnan(each.X[:, 2]), 2].mean() > 0.8


def test_costs_of_completed_rows_draw_by_weights():
    X, y = records(1200)
    model = cf.CEGBClassifier(
        {"features": {"age": 0.0, "crp": 30.0, "scan": {"cost": 20.0, "absent": "not made"}}}, n_estimators=12
    ).fit(X, y)
    weight = np.where(X["scan"].fillna(0) > 0, 50.0, 1.0)
    sure = model.cost(X, y=y, sample_weight=weight)
    equal = model.cost(X, y=y, sample_weight=np.full(len(X), 2.0))
    assert equal.per_row.tolist() == model.cost(X, y=y).per_row.tolist()
    assert (np.asarray(sure.per_row) != np.asarray(equal.per_row)).any()


def test_labels_contradict_columns_by_weights():
    X, y, _ = table(3000)
    X[np.random.default_rng(7).random(len(y)) < 0.5, 2] = np.nan
    known, weight = Records.of(X, NAMES, COSTS.panels), np.where(y, 20.0, 1.0)
    donors = find_donors(X, y, known, by_class=True, reading="columns", weight=weight)
    assert contradicts_columns(y * 1.0, donors, by_class=True)  # donors are mostly ill
    assert not contradicts_columns(y * 1.0, donors, by_class=True, weight=weight)
