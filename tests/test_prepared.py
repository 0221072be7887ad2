"""Predictors of made columns: their prices are those through the preparation, and one row is made as in a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from mutations import copies, mutate_json, survive
from preparation_cases import clipped_sums, prepared_predictors

import costframe as cf
from costframe import CostframeError, WeakLearnerBank
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.storage.loading import _build
from costframe.core.storage.stored_arrays import StoredArrays
from costframe.core.storage.stored_models import store_model
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.errors import StorageError
from costframe.testing import same_bits, strategies

NAMES = ("x0", "x1", "x2", "x3")


@given(prepared_predictors(NAMES), strategies.rows(len(NAMES), 4))
def test_the_inner_predictor_costs_the_same_at_prices_through_the_preparation(predictor, X):
    features = tuple(evolve(each, once=0.0) for each in predictor.costs.features)
    costs = evolve(predictor.costs, features=features)
    whole = predictor.preparation.transform(X)
    with np.errstate(all="ignore"):  # sums of infinite leaves and of huge weights
        inner = predictor.priced.cost(whole, costs.through(predictor.preparation))
        np.testing.assert_allclose(inner.per_row, predictor.cost(X, costs).per_row, rtol=1e-9)
    for i in range(len(X)):
        columns = {f: X[i : i + 1, f].copy() for f in range(len(NAMES))}
        made = predictor.preparation.make(columns, range(whole.shape[1]))
        assert same_bits(np.array(list(made.values())), whole[i])


def test_hostile_files_are_refused_or_read_without_harm():
    numbers = [Operation("lookup", [0], [9.0, 0.0, np.nan, 5.0, 6.0]), Operation("linear", [0, 1], [1.0, 2.0, 3.0])]
    operations = [*numbers, OpaqueOperation("call", clipped_sums, [1, 2], 2)]
    preparation = Preparation(("a", "b"), operations, [2, 3, 5], ["x", "y", "z"], {"a": strategies.LABELS})
    tree = cf.StageTree(WeakLearnerBank.columns(preparation.names), (cf.Answer([0, 1, 2], np.ones((3, 1)), [0.0]),))
    arrays = {}
    model = store_model(PreparedPredictor(tree, preparation), arrays) | {"classes": None, "estimator": None}
    kinds = {name: array.dtype for name, array in arrays.items()}
    document = {"model": model, "arrays": {name: array.tolist() for name, array in arrays.items()}}
    rows = np.array([[0.0, 1.0], [1.0, np.nan]])

    def read(copy):
        try:
            rebuilt = {name: np.array(values, kinds.get(name)) for name, values in copy["arrays"].items()}
        except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as error:
            raise StorageError("no arrays, which no file could hold") from error
        loaded = _build(copy.get("model"), StoredArrays(rebuilt), {"call": clipped_sums})
        with np.errstate(all="ignore"):
            loaded.predict(rows)
            loaded.cost(rows)

    read(document)
    outcome = survive(read, copies(mutate_json, document, 300))
    assert outcome.refused > 0 < outcome.read
    assert outcome.megabytes < 200


def test_what_is_read_decides_which_columns_are_needed():
    operations = [Operation("product", [0, 1]), Operation("constant", [], 1.0)]
    preparation = Preparation(("a", "b", "c"), operations, [3, 2, 4], ["ab", "c", "one"])
    assert preparation.made_from == {"ab": ("a", "b"), "c": ("c",), "one": ()}
    bank = WeakLearnerBank.columns(preparation.names, [0, 2])
    predictor = PreparedPredictor(cf.StageTree(bank, (cf.Answer([0, 1], np.ones((2, 1)), [0.0]),)), preparation)
    assert predictor.used_features == ("a", "b")
    end = cf.predict_one(predictor, {"a": 2.0}, known={"b": 3.0})
    assert (end.value, end.cost, end.rounds) == (7.0, 1.0, 1)
    frame = pd.DataFrame({"other": ["text"], "a": [2.0], "b": [3.0]})
    assert predictor.predict(frame).tolist() == [7.0]
    assert predictor.cost(frame).by_feature == {"a": 1.0, "b": 1.0, "c": 0.0}
    with pytest.raises(CostframeError, match="lack 'a'"):
        predictor.predict(frame[["other", "b"]])


def small(operations=(), outputs=(0,)):
    preparation = Preparation(("a",), operations, outputs, [f"m{i}" for i in range(len(outputs))])
    tree = cf.StageTree(WeakLearnerBank.columns(preparation.names), (cf.Answer([0], [[1.0]], [0.0]),))
    return PreparedPredictor(tree, preparation)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: small([Operation("sine", [0])]), "expected a known kind, got 'sine'"),
        (lambda: small([Operation("product", [0])]), "'product': does not read 1 columns"),
        (lambda: small([Operation("lookup", [0], [0, 2, 1, 5, 5])]), "'lookup': 5 numbers"),
        (lambda: small([Operation("exp", [1])]), "not made before it"),
        (lambda: small([OpaqueOperation("one", clipped_sums, [0], 3)], (1,)).predict([[1.0]]), "'one'"),
        (lambda: evolve(small(), inner=small().with_costs(None)), "expected a predictor of the made"),
        (lambda: evolve(small(), inner=None), "expected a predictor"),
        (lambda: small().cost([[1.0]], routing="soft"), "routing"),
    ],
)
def test_what_does_not_fit_is_refused(make, match):
    with pytest.raises(CostframeError, match=match):
        make()
