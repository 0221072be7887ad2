"""Adopted models whose categories are texts, given to algorithms: rows are read by the models' own labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import costframe as cf
from costframe.core.errors import DataError

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {"color": pd.Categorical(RNG.choice(["red", "green", "blue"], 200)), "a": np.round(RNG.normal(size=200), 1)}
)
OTHER = ROWS.assign(color=ROWS.color.cat.set_categories(["red", "blue", "green"]))  # other codes for the same texts
LABELS = ((ROWS.color == "red").to_numpy() + ROWS.a.to_numpy() > 0.3).astype(int)
GIVEN = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype").fit(ROWS, LABELS)
PARAMETERS = {"cronus": "bank", "cstc": "bank", "adapt": "expensive", "early-exit": "model"}


def test_the_order_of_a_frames_categories_does_not_matter():
    adopted = cf.adopt(GIVEN)
    assert adopted.categories == {"color": ("blue", "green", "red")}
    np.testing.assert_array_equal(adopted.predict(OTHER), GIVEN.predict_proba(ROWS)[:, 1])


@pytest.mark.filterwarnings("ignore::UserWarning")  # the model knows the training rows
@pytest.mark.parametrize("name", PARAMETERS)
def test_an_algorithm_reads_rows_by_the_labels_of_the_model_it_is_given(name):
    model = cf.estimator(name, costs={"color": 5.0, "a": 1.0}, **{PARAMETERS[name]: cf.adopt(GIVEN)})
    model.fit(OTHER, LABELS)
    np.testing.assert_array_equal(model.predict_proba(ROWS), model.predict_proba(OTHER))
    assert model.score(ROWS, LABELS) > 0.8
    assert model.predictor_.categories["color"] == ("blue", "green", "red")


def test_categories_that_nobody_has_labels_for_are_refused():
    model = cf.estimator("l1-gate", expensive=cf.adopt(GIVEN))
    with pytest.raises(DataError, match="column 'shape' is of a category dtype, and L1GateClassifier does not split"):
        model.fit(OTHER.assign(shape=OTHER.color), LABELS)
