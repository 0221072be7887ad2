"""What a hostile user found: models that are copied, functions that fail where nobody looks, grids that are none."""

import pickle

import numpy as np
import pandas as pd
import pytest
from adapt_cases import FEATURES, NAMES, QUICK, chance, steps, table
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

X, Y = table(1, 300)
FRAME = pd.DataFrame(X, columns=list(NAMES))
READ = [0, 1, 4, 5]
GRID = {"X_val": X[::2], "y_val": Y[::2]}


def asked(expensive, **settings):
    return AdaptClassifier(FEATURES, 2e-3, expensive=expensive, **QUICK | settings)


def function(rows):
    """Answer for both classes."""
    return np.column_stack([1 - chance(rows), chance(rows)])


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (LogisticRegression(), {}),
        (LogisticRegression().fit(FRAME[list("fbea")], Y), {}),
        (cf.SteppedPredictor(NAMES, steps), {}),
        ((function, list("abef")), {}),
    ],
    ids=["unfitted", "named", "stepped", "function"],
)
@pytest.mark.filterwarnings("ignore::costframe.adoption.given.fitted_model.PrefittedWarning")
def test_fitted_models_are_pickled(model, settings):
    fit = asked(model, full_share=0.6, **settings).fit(FRAME, Y)
    assert (fit.predictor_.exits(X) == 2).any()
    same = pickle.loads(pickle.dumps(fit))  # noqa: S301 - its own
    np.testing.assert_array_equal(same.predict_proba(FRAME), fit.predict_proba(FRAME))
    assert same.cost(FRAME).mean == fit.cost(FRAME).mean


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda rows: np.full(len(rows), np.nan), "expensive: expected probabilities from 0 to 1 .* got nan"),
        (lambda rows: 100 * chance(rows), "expensive: expected probabilities from 0 to 1 for training rows, got"),
        (lambda rows: np.full((len(rows), 3), 1 / 3), r"expensive: opaque learner 'expensive': expected shape"),
        (lambda rows: ["x"] * len(rows), "expensive: opaque learner 'expensive': could not convert"),
    ],
    ids=["NaN", "percent", "shape", "text"],
)
def test_probabilities_that_are_given_do_not_hide_a_broken_function(broken, message):
    """Without validation rows it was asked for none; where they are given, by name too."""
    with pytest.raises(DataError, match=message):
        asked((broken, list("abef"))).fit(X, Y, expensive_proba=chance(X[:, READ]))


@pytest.mark.parametrize("alone", [1e-3, np.float64(0.5), np.array(0.5)], ids=["float", "scalar", "array"])
@pytest.mark.parametrize("name", ["tradeoffs", "full_shares"])
def test_a_grid_of_one_number_is_refused_by_name(name, alone):
    with pytest.raises(ParameterError, match=f"{name}: expected a list of numbers, got"):
        asked(LogisticRegression()).fit_path(X, Y, **GRID, **{name: alone})
