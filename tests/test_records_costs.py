"""Exact costs of rows that lack tests: those of completed copies, by labels, and a refusal without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from record_cases import NAMES, PRICES, SMALL, records, table
from sklearn.base import clone

import costframe as cf
from costframe.core.cost.report import CostReport, error_over_copies
from costframe.errors import UntestedWarning
from costframe.plugin import CostModelError, DataError, ParameterError
from costframe.records.completion import fill, find_donors
from costframe.records.made import Records

ERRORS = {**PRICES, "errors": {"ill": {"well": 5.0}, "well": {"ill": 5.0}}}
ANSWERS = cf.CostModel.of(PRICES).as_answers()


@pytest.fixture(scope="module")
def model():
    return clone(SMALL).fit(*records(seed=1))


def copies_of(X, y):
    known = Records.of(X.to_numpy(), NAMES, cf.CostModel.of(PRICES).panels)
    codes = np.unique(y, return_inverse=True)[1]
    return [fill(X.to_numpy(), donors, known) for donors in find_donors(X.to_numpy(), codes, known, by_class=True)]


FACES = {
    "estimator": lambda model: model,
    "predictor": lambda model: model.predictor_,
    "fitted": lambda model: cf.FittedEstimator(model.predictor_),
}


@pytest.mark.parametrize("of", FACES.values(), ids=FACES)
def test_the_cost_of_records_is_that_of_completed_copies(model, of):
    X, y = records(seed=2)
    report = of(model).cost(X, y)
    plain = [model.predictor_.cost(copy, costs=ANSWERS) for copy in copies_of(X, y)]
    assert [copy.mean for copy in report.copies] == [copy.mean for copy in plain]
    assert report.mean == pytest.approx(np.mean([copy.mean for copy in plain]), rel=1e-12)
    np.testing.assert_allclose(report.per_row, np.mean([copy.per_row for copy in plain], axis=0))
    np.testing.assert_allclose(report.acquired, np.mean([copy.acquired for copy in plain], axis=0))
    assert report.by_feature["scan"] == pytest.approx(np.mean([copy.by_feature["scan"] for copy in plain]), rel=1e-12)
    assert len(report.per_row) == len(X)
    assert f"completed in {len(plain)} copies" in repr(report)


def test_the_bill_of_records_has_an_error_by_rubins_rules():
    X, y = records(seed=2)
    report = clone(SMALL).set_params(costs=ERRORS, tradeoff=0.0).fit(*records(seed=1)).cost(X, y)
    means, errors = zip(*((copy.mean_bill, copy.bill_error) for copy in report.copies), strict=True)
    assert len(set(means)) > 1
    assert report.mean_bill == pytest.approx(np.mean(means), rel=1e-12)
    assert report.bill_error == error_over_copies(means, errors) > np.sqrt(np.mean(np.square(errors)))
    np.testing.assert_allclose(report.errors, np.mean([copy.errors for copy in report.copies], axis=0))


def test_reports_of_records_and_of_whole_rows_merge_copy_by_copy(model):
    X, y = records(seed=2)
    X_whole = pd.DataFrame(table(seed=3)[0], columns=NAMES)
    lacking, whole = model.cost(X, y), model.cost(X_whole)
    merged = CostReport.merge([lacking, whole])
    assert not whole.copies
    assert len(merged.copies) == len(lacking.copies)
    assert len(merged.per_row) == len(X) + len(X_whole)
    assert merged.mean == pytest.approx((lacking.mean + whole.mean) / 2, rel=1e-12)


def test_rows_without_labels_are_refused_by_the_name_of_the_test(model):
    X, _ = records(seed=2)
    with pytest.raises(DataError, match=r"X: scan was not made in \d+ of 600 rows.*give the labels \(y.*made=True"):
        model.cost(X)
    with pytest.raises(DataError, match="scan was not made"):
        cf.ExpectedCost().evaluate(model.predictor_, X)
    assert model.cost(X, made=True).mean == model.cost(X, costs=ANSWERS).mean
    model.predict(X)  # in service, an empty cell is what the test answered


def test_a_mask_says_which_cells_were_asked_for(model):
    X, y = records(seed=2)
    asked = X.notna()
    asked.iloc[:300] = True
    report = model.cost(X, y, made=asked)
    assert report.copies
    np.testing.assert_array_equal(report.per_row[:300], model.cost(X, made=True).per_row[:300])
    turned = model.cost(X[NAMES[::-1]], y, made=asked[NAMES[::-1]].to_numpy())
    assert turned.mean == report.mean
    assert not model.cost(X, y, made=np.ones(X.shape, np.bool_)).copies
    with pytest.raises(DataError, match="made"):
        model.cost(X, y, made=asked.iloc[1:])


@pytest.mark.filterwarnings("ignore:column 'scan'. no value:costframe.errors.UnknownValuesWarning")
def test_a_cost_says_that_nobody_knows_what_a_test_would_have_shown(model):
    X, y = records(seed=2)
    with pytest.warns(UntestedWarning, match="nobody knows what 'scan' would have shown"):
        model.cost(X[X["scan"].isna()], y[X["scan"].isna()])
    with pytest.warns(UntestedWarning, match="positive weight"):
        model.cost(X, y, sample_weight=X["scan"].isna() * 1.0)


def test_tests_that_the_model_does_not_read_may_lack():
    X, y = records(seed=2)
    cheap = clone(SMALL).set_params(tradeoff=10.0).fit(*records(seed=1))
    assert "scan" not in cheap.predictor_.used_features
    assert not cheap.cost(X).copies
    with pytest.raises(CostModelError, match="errors"):
        cheap.cost(X, y, costs=ANSWERS)


def test_whole_rows_cost_the_same_to_the_bit(model):
    X = pd.DataFrame(table(seed=4)[0], columns=NAMES)
    one, other = model.cost(X), model.cost(X, costs=ANSWERS)
    assert one.mean == other.mean
    np.testing.assert_array_equal(one.per_row, other.per_row)
    assert one.acquired.dtype == np.bool_
    assert evolve(one, copies=()).copies == one.copies == ()


def test_dask_takes_no_rows_that_lack_tests(model):
    da = pytest.importorskip("dask.array")
    X, y = records(seed=2)
    lazy = da.from_array(X.to_numpy(), chunks=(300, 3))
    fitted = cf.FittedEstimator(model.predictor_)
    with pytest.raises(DataError, match="completed in memory only"):
        fitted.cost(lazy, y=y)
    with pytest.raises(ParameterError, match="made"):
        fitted.cost(lazy, made=np.ones(X.shape, np.bool_))
    assert fitted.cost(lazy, made=True).mean == model.cost(X, made=True).mean
