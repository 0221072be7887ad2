"""Drawn pipelines: equal to the original in every answer and refusal, or refused by name.

There are twenty-five, or as many as COSTFRAME_PIPELINES says.
"""

import itertools
import os
import re

import numpy as np
import pandas as pd
import pytest
from adoption_cases import prepare
from pipeline_cases import draw_case
from pipeline_parts import COMMON, NO_TABLE, OPTIONS, SETTINGS, TABULAR, TRANSFORMERS
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

import costframe as cf
from costframe.errors import AdoptionError
from costframe.plugin import DataError
from costframe.testing import expect_as_reported, inquire

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, about single rows, names and strange numbers

SEEDS = range(int(os.environ.get("COSTFRAME_PIPELINES", "25")))
LIBRARIES = ("sklearn", "xgboost", "lightgbm", "sklearn", "catboost")
REFUSED = re.compile(
    "met None where SimpleImputer had filled NaN|would depend on their last bits|are neither all texts nor all numbers|"
    "whose values are texts|does not tell the number of its columns|takes a list of texts or dicts|"
    "fills a column with a missing value"
)
BY_SOLVERS = ("NMF", "Dictionary", "Latent", "float32")  # whose rows depend on each other, or are rounded


def predicted(model, X):
    """What an adopted model predicts, by the original: float64 (rows,) or (rows, K)."""
    if hasattr(model, "predict_proba"):
        values = np.asarray(model.predict_proba(X), np.float64).reshape(len(X), -1)
        return values[:, 1] if values.shape[1] == 2 else values
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        return (values > 0).astype(np.float64) if values.ndim == 1 else values
    return np.asarray(model.predict(X), np.float64).reshape(len(X))


def joined(*tables):
    return pd.concat(tables) if hasattr(tables[0], "iloc") else np.vstack(tables)


def attempt(function, *arguments):
    try:
        return function(*arguments), None
    except (ValueError, TypeError, RuntimeError) as error:
        return None, error


class Comparison:
    """A drawn pipeline, and what it is adopted as."""

    def __init__(self, case):
        self.case, self.pipeline, self.adopted = case, case.pipeline, cf.adopt(case.pipeline)
        rounded = case.library == "xgboost" or any(part in case.title for part in BY_SOLVERS)
        self.close = {"rtol": 3e-6, "atol": 3e-6} if rounded else {"rtol": 1e-9, "atol": 1e-12}
        names = self.adopted.feature_names
        self.costs = cf.CostModel.from_dict({"features": {name: 1.0 + f for f, name in enumerate(names)}})

    def expect_row(self, row):
        """Expect one of the answers that the original has for a row, alone or beside others, or its refusal."""
        tries = [attempt(lambda X: predicted(self.pipeline, X)[:1], X) for X in (row, joined(row, row))]
        answers = [value for value, error in tries if error is None]
        value, error = attempt(self.adopted.predict, row)
        if error is not None:
            unchecked = getattr(row, "dtype", np.dtype("f8")).kind == "O"  # scikit-learn takes infinity among objects
            assert len(answers) < 2 or (unchecked and isinstance(error, DataError)), f"{error}, not {answers[0]}"
        elif answers:  # else the original refuses what the adopted one need not read
            assert any(self.are_equal(answer, value) for answer in answers) or self.are_rounded(row, value)
        # An inquiry has the answer, and costs what the report says.
        values = row.iloc[0].to_dict() if hasattr(row, "iloc") else dict(zip(self.costs.names, row[0], strict=True))
        found, error = attempt(inquire, self.adopted, values, self.costs)
        if value is None:  # a row is refused as soon as it reads what is refused, which it need not
            return
        assert error is None
        np.testing.assert_array_equal(np.ravel(found[0].value), np.ravel(value))
        expect_as_reported(self.adopted.cost(row, self.costs, rounds=True), 0, *found, "row", by_the_book=False)

    def are_equal(self, answer, value):
        return np.allclose(answer, value, equal_nan=True, **self.close)

    def are_rounded(self, X, values):
        """Return whether the last step has these answers for the made columns, which differ by rounding only."""
        if isinstance(self.adopted, cf.StageTree):
            return False
        last, made = self.pipeline[-1], self.adopted.preparation.transform(X)
        wanted = self.pipeline[:-1].transform(joined(X, X))[: len(X)]
        if not np.allclose(dense(wanted), made, rtol=1e-6, atol=1e-6, equal_nan=True):
            return False
        names = getattr(last, "feature_names_in_", None)
        return self.are_equal(predicted(last, made if names is None else pd.DataFrame(made, columns=names)), values)


def dense(made):
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_pipeline_is_equal_or_refused_by_name(seed):
    library = LIBRARIES[seed % len(LIBRARIES)]
    pytest.importorskip(library, reason=f"needs {library}")
    case = draw_case(seed, library)
    compared, refused = attempt(Comparison, case)
    if isinstance(refused, AdoptionError) and REFUSED.search(str(refused)):
        return
    assert refused is None, f"{refused}\n{case.title}"
    wanted, error = attempt(predicted, case.pipeline, case.fresh)
    if error is None:
        values = compared.adopted.predict(case.fresh)
        assert compared.are_equal(wanted, values) or compared.are_rounded(case.fresh, values), case.title
    for row in [case.fresh[i : i + 1] for i in range(2)] + [case.odd[i : i + 1] for i in range(len(case.odd))]:
        try:
            compared.expect_row(row)
        except AssertionError as found:
            raise AssertionError(f"{row}\n{case.title}") from found


def test_every_transformer_is_drawn_or_named():
    every = {name for name, _ in all_estimators(type_filter="transformer")}
    assert every <= {*TABULAR, *NO_TABLE}
    assert {*COMMON, *OPTIONS, *SETTINGS} <= every


EXACT = (
    "Binarizer", "FunctionTransformer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator",
    "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "RobustScaler", "SelectKBest", "SimpleImputer",
    "StandardScaler", "VarianceThreshold",
)  # fmt: skip
ODD = (np.nan, np.inf, -np.inf, 0.0, -1.0, 5.0, 1e300)


@pytest.mark.parametrize("options", ["plain", "some", "others"])
@pytest.mark.parametrize("name", TABULAR)
def test_each_transformer_is_equal_and_refuses_what_the_original_refuses(name, options):
    if options != "plain" and name not in OPTIONS:
        return
    X = np.abs(np.round(np.random.default_rng(0).normal(1.0, 1.0, (80, 3)), 1)) + 0.1
    y = (X[:, 0] > X[:, 1]).astype(np.int64)
    if name in {"MissingIndicator", "SimpleImputer"}:
        X[::7, 1] = np.nan
    if name in {"OneHotEncoder", "OrdinalEncoder"}:
        X = np.round(X)
    settings = {each: clone(value) if each == "estimator" else value for each, value in SETTINGS.get(name, {}).items()}
    if options != "plain":
        settings |= {each: values[-1 if options == "others" else 0] for each, values in OPTIONS[name].items()}
    transformer = TRANSFORMERS[name](**settings)
    if "random_state" in transformer.get_params():
        transformer.set_params(random_state=0)
    pipeline = make_pipeline(transformer, DecisionTreeClassifier(max_depth=3, random_state=0))
    if attempt(pipeline.fit, X[:60], y[:60])[1] is not None and options == "others":
        return  # options that do not go together
    fresh = X[60:] if name not in {"OneHotEncoder", "OrdinalEncoder"} else X[:20]
    preparation, close = prepare(pipeline[0]), {} if name in EXACT else {"rtol": 1e-6, "atol": 1e-9}
    expect = np.testing.assert_allclose if close else np.testing.assert_array_equal
    expect(preparation.transform(fresh), dense(pipeline[0].transform(fresh)), **close)
    np.testing.assert_allclose(cf.adopt(pipeline).predict(fresh), predicted(pipeline, fresh), rtol=1e-9)
    for f, value in itertools.product(range(3), ODD):
        row = X[:1].copy()
        row[0, f] = value
        wanted, error = attempt(pipeline[0].transform, row)
        if error is None:
            wanted = dense(wanted).reshape(1, -1)  # sparse PCA makes one row a vector
            np.testing.assert_allclose(preparation.transform(row), wanted, rtol=1e-6, atol=1e-9)
        elif any(f in reads for reads in preparation.reads):  # what is not read is not refused
            with pytest.raises(DataError, match=f"f{f}|Input|{name}"):
                preparation.transform(row)
