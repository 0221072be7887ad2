"""The synthetic quadrants: labels stand in one expensive feature, which two cheap signs tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import ParameterError

MEANS = (3.0, 1.0, -1.0, -3.0)
OWN = {(1, 1): "y_pp", (1, -1): "y_pm", (-1, 1): "y_mp", (-1, -1): "y_mm"}


@settings(max_examples=25)
@given(seed=st.integers(0, 2**40), means=st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_the_label_is_the_feature_of_the_rows_quadrant(seed, means):
    data = cf.datasets.make_quadrants(40, n_valid=3, n_test=5, means=means, random_state=seed)
    column = {name: data.X[:, i] for i, name in enumerate(data.feature_names)}
    for i in range(48):
        assert data.y[i] == column[OWN[column["sign_x"][i], column["sign_z"][i]]][i]


def test_values_have_their_means_and_variance_in_every_quadrant_and_are_independent():
    data = cf.datasets.make_quadrants(40_000, random_state=3)
    train = data.part("train")
    for signs, name in OWN.items():
        mine = (train.X[:, :2] == signs).all(axis=1)
        assert mine.mean() == pytest.approx(0.25, abs=0.01)
        assert train.y[mine].mean() == pytest.approx(MEANS[list(OWN.values()).index(name)], abs=0.05)
        assert train.X[mine, 2:].mean(axis=0) == pytest.approx(MEANS, abs=0.05)  # off its quadrant, too
        assert np.cov(train.X[mine, 2:].T) == pytest.approx(np.eye(4), abs=0.06)


def test_a_model_with_both_signs_and_one_label_feature_errs_nothing_and_pays_twelve():
    data = cf.datasets.make_quadrants(300)
    bank = cf.WeakLearnerBank.columns(data.feature_names)

    def way(first, number):
        answers = [cf.Answer([2 + number + k], [1.0], 0.0) for k in (1, 0)]
        return [cf.Route([1], [1.0], 0.0, 0.0, 1.0, first + 1, first + 2), *answers]

    tree = cf.StageTree(bank, [cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 4), *way(1, 2), *way(4, 0)], data.costs)
    report = tree.cost(data.X)
    np.testing.assert_array_equal(tree.predict(data.X), data.y)
    np.testing.assert_array_equal(report.per_row, 12.0)
    assert data.full_cost == 42.0


def test_the_same_seed_gives_the_same_bytes_and_parts_do_not_depend_on_each_other():
    first, again = cf.datasets.make_quadrants(50, random_state=7), cf.datasets.make_quadrants(50, random_state=7)
    assert first.X.tobytes() == again.X.tobytes()
    assert first.y.tobytes() == again.y.tobytes()
    assert (first.X != cf.datasets.make_quadrants(50, random_state=8).X).any()
    drawn = cf.datasets.make_quadrants(50, random_state=None)
    assert (drawn.X != cf.datasets.make_quadrants(50, random_state=None).X).any()
    other = cf.datasets.make_quadrants(50, n_valid=9, n_test=50, random_state=7)
    assert [len(other.part(part)) for part in ("train", "valid", "test")] == [50, 9, 50]
    np.testing.assert_array_equal(other.part("train").X, first.part("train").X)
    np.testing.assert_array_equal(other.part("test").X, first.part("test").X)
    assert (first.part("train").X != first.part("test").X).any()


def test_it_has_a_name():
    data = cf.datasets.load("quadrants")
    assert (data.name, data.task, data.X.shape) == ("quadrants", "regression", (6000, 6))
    assert data.costs.names == ("sign_x", "sign_z", "y_pp", "y_pm", "y_mp", "y_mm")
    assert data.X.tobytes() == cf.datasets.make_quadrants(2000, random_state=0).X.tobytes()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n_rows": 0}, "n_rows: expected a whole number >= 1, got 0"),
        ({"n_rows": 2.5}, "n_rows: expected a whole number"),
        ({"n_rows": True}, "n_rows: expected a whole number"),
        ({"n_valid": 0}, "n_valid: expected a whole number >= 1"),
        ({"n_test": -1}, "n_test: expected a whole number >= 1"),
        ({"means": (1, 2, 3)}, "means: expected four finite numbers"),
        ({"means": (1, 2, 3, np.nan)}, "means: expected four finite numbers"),
        ({"means": 1.0}, "means: expected four finite numbers"),
        ({"means": "abcd"}, "means: expected four finite numbers"),
        ({"means": [[1, 2], [3]]}, "means: expected four finite numbers"),
        ({"random_state": -1}, "random_state: expected a whole number >= 0"),
        ({"random_state": 1.5}, "random_state: expected a whole number"),
    ],
)
def test_refusals(given, told):
    with pytest.raises(ParameterError, match=told):
        cf.datasets.make_quadrants(**given)
