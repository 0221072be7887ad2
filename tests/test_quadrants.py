"""The synthetic quadrants: labels stand in one expensive feature, which two cheap signs tell."""

from __future__ import annotations

import numpy as np
import pytest

import costframe as cf
from costframe.plugin import ParameterError

MEANS = (3.0, 1.0, -1.0, -3.0)
OWN = {(1, 1): "y_pp", (1, -1): "y_pm", (-1, 1): "y_mp", (-1, -1): "y_mm"}
make = cf.datasets.make_quadrants


def test_the_label_is_the_feature_of_the_rows_quadrant_and_values_have_their_means():
    data = make(20_000, random_state=3)
    column = {name: data.X[:, i] for i, name in enumerate(data.feature_names)}
    for (signs, name), mean in zip(OWN.items(), MEANS, strict=True):
        mine = (data.X[:, :2] == signs).all(axis=1)
        np.testing.assert_array_equal(data.y[mine], column[name][mine])
        assert mine.mean() == pytest.approx(0.25, abs=0.01)
        assert data.y[mine].mean() == pytest.approx(mean, abs=0.05)
        assert data.X[mine, 2:].mean(axis=0) == pytest.approx(MEANS, abs=0.05)  # off its quadrant, too
        assert np.cov(data.X[mine, 2:].T) == pytest.approx(np.eye(4), abs=0.06)
    assert data.full_cost == 42.0


def test_the_same_seed_gives_the_same_bytes_and_parts_do_not_depend_on_each_other():
    first, again = make(50, random_state=7), make(50, random_state=7)
    assert (first.X.tobytes(), first.y.tobytes()) == (again.X.tobytes(), again.y.tobytes())
    assert (make(50, random_state=None).X != make(50, random_state=None).X).any()
    other = make(50, n_valid=9, n_test=50, random_state=7)
    assert [len(other.part(part)) for part in ("train", "valid", "test")] == [50, 9, 50]
    for part in ("train", "test"):
        np.testing.assert_array_equal(other.part(part).X, first.part(part).X)
    data = cf.datasets.load("quadrants")
    assert (data.name, data.task, data.X.tobytes()) == (
        "quadrants",
        "regression",
        make(2000, random_state=0).X.tobytes(),
    )
    for given, told in (
        ({"n_rows": 2.5}, "n_rows: expected a whole number"),
        ({"n_valid": 0}, "n_valid: expected a whole number >= 1"),
        ({"means": (1, 2, 3, np.nan)}, "means: expected four finite numbers"),
    ):
        with pytest.raises(ParameterError, match=told):
            make(**given)
