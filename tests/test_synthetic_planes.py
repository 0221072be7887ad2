"""The synthetic planes, islands and coast: what they are made of, and what gates can save on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import costframe as cf
from costframe.core.errors import DataError, ParameterError

MAKERS = {"synthetic-1": cf.datasets.make_coast, "synthetic-2": cf.datasets.make_islands}
CENTERS = np.array([[0, 1.9], [1, 1.9], [1, 0.9], [1, 0]])
SHARES = {"synthetic-1": (0.4, 0.45, 0.15), "synthetic-2": (0.26, 0.26, 0.24, 0.24)}


def tree(data, *stages):
    """Return a cascade over x and y: (feature, threshold, below, above) routes, and a number answers."""
    made = [
        cf.Answer([], np.empty((0, 1)), [stage])
        if isinstance(stage, int)
        else cf.Route([stage[0]], [1.0], 0.0, stage[1], 1.0, *stage[2:])
        for stage in stages
    ]
    return cf.StageTree(cf.WeakLearnerBank.columns(data.feature_names), made, data.costs)


@pytest.fixture(scope="module")
def islands():
    return cf.datasets.make_islands(20_000, n_valid=1, n_test=1, shares=[0.25] * 4).part("train")


@pytest.fixture(scope="module")
def coast():
    return cf.datasets.make_coast(2000, n_valid=1, n_test=5000)


@pytest.fixture(scope="module")
def expensive(coast):
    train = coast.part("train")
    return SVC(C=10).fit(train.X, train.y)


@pytest.mark.parametrize("name", MAKERS)
def test_they_have_names_and_two_features_of_unit_cost(name):
    data = cf.datasets.load(name)
    assert (data.name, data.task, data.X.shape) == (name, "classification", (6000, 2))
    assert data.costs.names == ("x", "y")
    assert [data.costs.full_cost([feature]) for feature in ("x", "y")] == [1.0, 1.0]
    assert data.full_cost == 2.0
    assert data.y.dtype == np.int64
    assert tuple(data.classes) == (-1, 1)
    assert data.X.tobytes() == MAKERS[name](2000, random_state=0, shares=SHARES[name]).X.tobytes()


@pytest.mark.parametrize("make", MAKERS.values())
def test_the_same_seed_gives_the_same_bytes_and_parts_do_not_depend_on_each_other(make):
    first, again = make(50, random_state=7), make(50, random_state=7)
    assert first.X.tobytes() == again.X.tobytes()
    assert first.y.tobytes() == again.y.tobytes()
    assert (first.X != make(50, random_state=8).X).any()
    assert (make(50, random_state=None).X != make(50, random_state=None).X).any()
    other = make(50, n_valid=9, n_test=50, random_state=7)
    assert [len(other.part(part)) for part in ("train", "valid", "test")] == [50, 9, 50]
    for part in ("train", "test"):
        np.testing.assert_array_equal(other.part(part).X, first.part(part).X)
        np.testing.assert_array_equal(other.part(part).y, first.part(part).y)
    assert (first.part("train").X != first.part("test").X).any()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**40), n_valid=st.integers(1, 30), n_test=st.integers(1, 30))
def test_rows_lie_where_their_labels_say(seed, n_valid, n_test):
    for make in MAKERS.values():
        data = make(80, n_valid=n_valid, n_test=n_test, random_state=seed)
        assert [len(data.part(part)) for part in ("train", "valid", "test")] == [80, n_valid, n_test]
        for (x, y), label in zip(data.X, data.y, strict=True):
            if data.name == "synthetic-1":
                assert label * (x - np.cos(np.pi * y)) >= 0.1 - 1e-12
                assert abs(x) <= 2.1
                assert abs(y) <= 2
            else:
                own = CENTERS[::2] if label == -1 else CENTERS[1::2]
                assert np.hypot(*(own - (x, y)).T).min() < 0.8  # eight deviations


def test_islands_have_their_shares_centers_and_deviation():
    shares = [0.1, 0.2, 0.3, 0.4]
    data = cf.datasets.make_islands(40_000, n_valid=1, n_test=1, shares=shares, random_state=3).part("train")
    own = np.hypot(*(CENTERS[:, np.newaxis] - data.X).transpose(2, 0, 1)).argmin(axis=0)
    assert np.bincount(own) / 40_000 == pytest.approx(shares, abs=0.01)
    for cluster, center in enumerate(CENTERS):
        mine = data.X[own == cluster]
        assert mine.mean(axis=0) == pytest.approx(center, abs=0.01)
        assert np.cov(mine.T) == pytest.approx(0.01 * np.eye(2), abs=0.001)


@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.4, 0.3, 0.2, 0.1)])
def test_on_islands_a_gate_on_y_costs_one_and_the_shares_of_the_upper_two_and_a_gate_on_x_more(shares):
    data = cf.datasets.make_islands(20_000, n_valid=1, n_test=1, shares=shares)
    train = data.part("train")
    by_y = tree(data, (1, 1.4, 1, 2), (1, 0.45, 3, 4), (0, 0.5, 5, 6), 1, -1, -1, 1)
    by_x = tree(data, (0, 0.5, 1, 2), -1, (1, 0.45, 3, 4), 1, (1, 1.4, 5, 6), -1, 1)
    for model, cost in ((by_y, 1 + shares[0] + shares[1]), (by_x, 2 - shares[0])):
        assert (model.predict(train.X) == train.y).mean() > 0.9999
        assert model.cost(train.X).mean == pytest.approx(cost, abs=0.02)


@pytest.mark.parametrize("feature", [0, 1])
def test_on_islands_no_threshold_of_one_feature_is_right(islands, feature):
    column = islands.X[:, feature, np.newaxis]
    right = ((column > np.linspace(-1, 3, 200)) == (islands.y[:, np.newaxis] > 0)).mean(axis=0)
    assert 0.7 < max(right.max(), 1 - right.min()) < 0.8


def test_on_the_coast_a_curved_model_is_right_and_a_line_is_not(coast, expensive):
    train, test = coast.part("train"), coast.part("test")
    assert expensive.score(test.X, test.y) > 0.985
    assert 0.8 < LogisticRegression().fit(train.X, train.y).score(test.X, test.y) < 0.895


@pytest.mark.parametrize(("west", "east", "share"), [(-1.1, 1.1, 0.45), (-1.1, np.inf, 0.6)])
def test_on_the_coast_a_gate_and_a_line_beyond_it_are_as_good_as_the_curved_model(coast, expensive, west, east, share):
    train, test = coast.part("train"), coast.part("test")
    beyond = np.abs(train.X[:, 0]) > 1.1
    line = LogisticRegression().fit(train.X[beyond, :1], train.y[beyond])
    sent = (test.X[:, 0] > west) & (test.X[:, 0] < east)
    answers = np.where(sent, expensive.predict(test.X), line.predict(test.X[:, :1]))
    assert sent.mean() == pytest.approx(share, abs=0.02)
    assert (answers == test.y).mean() > expensive.score(test.X, test.y) - 0.002
    assert (line.predict(test.X[sent, :1]) != test.y[sent]).mean() > 0.15  # these rows need it


def test_the_coast_has_its_shares():
    data = cf.datasets.make_coast(40_000, shares=(0.2, 0.3, 0.5), random_state=3)
    x, label = data.X[:, 0], data.y
    strip = np.digitize(x - 0.1 * label, [-1, 1])
    assert np.bincount(strip) / len(x) == pytest.approx([0.2, 0.3, 0.5], abs=0.01)
    assert (label[strip == 1] == 1).mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n_rows": 0}, "n_rows: expected a whole number >= 1, got 0"),
        ({"n_rows": None}, "n_rows: expected a whole number >= 1, got None"),
        ({"n_rows": 2.5}, "n_rows: expected a whole number"),
        ({"n_valid": 0}, "n_valid: expected a whole number >= 1"),
        ({"n_test": True}, "n_test: expected a whole number >= 1"),
        ({"random_state": -1}, "random_state: expected a whole number >= 0"),
        ({"random_state": 1.5}, "random_state: expected a whole number"),
    ],
)
def test_refusals(name, given, told):
    with pytest.raises(ParameterError, match=told):
        MAKERS[name](**given)


@pytest.mark.parametrize("make", MAKERS.values())
def test_one_row_to_train_on_leaves_a_class_out(make):
    with pytest.raises(DataError, match=r"^class -?1 has no row in 'train'"):
        make(1, n_valid=50, n_test=50)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("change", ["short", "zero", "negative", "nan", "infinite", "sum", "text", "number", "nested"])
def test_refused_shares(name, change):
    shares = list(SHARES[name])
    wrong = {
        "short": shares[:-1],
        "zero": [0.0, shares[0] + shares[1], *shares[2:]],
        "negative": [-0.1, shares[0] + shares[1] + 0.1, *shares[2:]],
        "nan": [np.nan, *shares[1:]],
        "infinite": [np.inf, *shares[1:]],
        "sum": [0.1, *shares[1:]],
        "text": "abcd",
        "number": 1.0,
        "nested": [[0.5], [0.25, 0.25]],
    }[change]
    many = {3: "three", 4: "four"}[len(shares)]
    with pytest.raises(ParameterError, match=f"shares: expected {many} positive numbers that sum to one, for the "):
        MAKERS[name](shares=wrong)
