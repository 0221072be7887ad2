"""Blends of scores: by formula, the same in tables, inquiries and saved files, and refused where they do not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

import costframe as cf
from costframe.core.errors import StageError, StorageError
from costframe.core.stages.blend import Blend, Part

NAMES = ("a", "b", "c")
KNOTS = ((-1.0, 0.0, 2.0), (0.0, 0.5, 1.0))
BLEND = Blend(
    (Part("sigmoid", 1, 2.0), Part("softmax", 2), Part("knots", knots=KNOTS)),
    [[1.0, 0.0], [2.0, -1.0], [0.5, 0.0], [0.0, 3.0]],
    [0.25, -1.0],
)
SHARES = Blend((Part("exp"), Part("softplus")), np.eye(2), np.zeros(2))


def model(*blends, link="identity", temperature=1.0, n_scores=4):
    bank = cf.WeakLearnerBank.columns(NAMES)
    weights = np.array([[1.0, 0.5, 0.0, -1.0], [0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.5]])[:, :n_scores]
    return cf.StageTree(
        bank, (cf.Answer([0, 1, 2], weights, np.arange(n_scores) / 8, link, 0.0, temperature, blends=blends),)
    )


def scores_of(X):
    return model().decision_function(X)


def formula(s):
    first = np.column_stack([expit(s[:, 0] / 2), softmax(s[:, 1:3], axis=1), np.interp(s[:, 3], *KNOTS)])
    return first @ BLEND.weights + BLEND.intercept


rows = st.lists(st.tuples(*[st.floats(-5, 5)] * 3), min_size=1, max_size=6).map(np.array)


@given(rows)
def test_a_blend_is_the_sum_of_its_links(X):
    tree = model(BLEND)
    assert (tree.n_outputs, tree.n_predictions) == (4, 2)
    np.testing.assert_allclose(tree.predict(X), formula(scores_of(X)), atol=1e-13)
    np.testing.assert_array_equal(tree.decision_function(X), tree.predict(X))
    twice = model(BLEND, SHARES, link="softmax", temperature=3.0)
    value = formula(scores_of(X))
    value = np.column_stack([np.exp(value[:, 0]), np.logaddexp(0, value[:, 1])])
    np.testing.assert_allclose(twice.decision_function(X), value, rtol=1e-12)
    np.testing.assert_allclose(twice.predict(X), softmax(value / 3, axis=1), rtol=1e-12)


@given(rows)
def test_inquiries_reports_and_files_give_the_same_bits(tmp_path_factory, X):
    tree = model(BLEND, SHARES, link="softmax", temperature=3.0)
    path = tmp_path_factory.getbasetemp() / "blended.cf"
    cf.save(tree, path)
    again = cf.load(path)
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    for row, expected in zip(X, tree.predict(X), strict=True):
        inquiry = again.inquire()
        while inquiry.needs:
            inquiry.supply({name: row[NAMES.index(name)] for name in inquiry.needs})
        np.testing.assert_array_equal(inquiry.answer.value, expected)
        assert inquiry.answer.cost == 3.0
    np.testing.assert_array_equal(tree.cost(X).per_row, 3.0)


@given(rows, st.integers(0, 3))
def test_limits_cut_the_scores_before_the_blend(X, cap):
    for tree in (model(BLEND), model(BLEND).with_fallbacks(X)):
        together = tree.predict(X, max_cost=cap)
        for row, expected in zip(X, together, strict=True):
            inquiry = tree.inquire(max_cost=cap)
            while inquiry.needs:
                inquiry.supply({name: row[NAMES.index(name)] for name in inquiry.needs})
            np.testing.assert_allclose(inquiry.answer.value, expected, rtol=1e-12)
        if cap == 3:
            np.testing.assert_array_equal(together, tree.predict(X))


def test_shares_of_nothing():
    values = np.array([[1.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(Part("normalized", 2).outputs(values), [[0.25, 0.75], [0.5, 0.5]])


def test_a_weight_of_zero_leaves_nan_out():
    blend = Blend((Part("identity", 2),), [[1.0], [0.0]], [0.0])
    np.testing.assert_array_equal(blend.outputs(np.array([[2.0, np.nan], [np.nan, 1.0]])), [[2.0], [np.nan]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Part("ranked"), "link of a blend: expected one of"),
        (lambda: Part("sigmoid", 0), "width: expected a positive whole number"),
        (lambda: Part("sigmoid", 1, 0.0), "temperature: expected a positive number"),
        (lambda: Part("sigmoid", knots=KNOTS), "knots: are not for the link 'sigmoid'"),
        (lambda: Part("knots"), "knots: expected ascending arguments"),
        (lambda: Part("knots", knots=((1.0, 1.0), (0.0, 1.0))), "knots: expected ascending arguments"),
        (lambda: Part("knots", 2, knots=KNOTS), "knots: are for a single value"),
        (lambda: Blend((), [[1.0]], [0.0]), "parts: expected a list of Part"),
        (lambda: Blend((Part("exp"),), [[1.0], [1.0]], [0.0]), r"parts have 1 value\(s\), it has 2 weights"),
        (lambda: Blend((Part("exp"),), [[1.0, 1.0]], [0.0]), r"weights are for 2 output\(s\)"),
        (lambda: model(SHARES), r"blend 0: takes 2 value\(s\), there are 4"),
        (lambda: model(BLEND, BLEND), r"blend 1: takes 4 value\(s\), there are 2"),
        (lambda: model(3), "blends: expected Blend, got 3"),
        (lambda: model(Blend((Part("exp"),), [[1.0]], [0.0]), link="ranked", n_scores=1), "not for ranked"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(StageError, match=message):
        make()


def test_only_a_model_of_one_answer_has_blends():
    answer = model(BLEND).stages[0]
    route = cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2)
    with pytest.raises(StageError, match=r"answers: one with blends, .* is a model's only answer"):
        cf.StageTree(cf.WeakLearnerBank.columns(NAMES), (route, answer, answer))


def test_answers_of_different_temperatures_keep_their_own():
    answers = [cf.Answer([0], [1.0], 0.0, "sigmoid", temperature=each) for each in (1.0, 4.0)]
    route = cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2)
    tree = cf.StageTree(cf.WeakLearnerBank.columns(("a",)), (route, *answers))
    np.testing.assert_allclose(tree.predict([[-2.0], [2.0]]), expit([-2.0, 0.5]))


def test_a_file_without_a_part_of_a_blend_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("costframe.core.storage.stored_parts._BLEND", {"weights": "<f8"})
    cf.save(model(BLEND), tmp_path / "short.cf")
    monkeypatch.undo()
    with pytest.raises(StorageError, match=r"no array 'stage\.0\.blend\.0\.intercept'"):
        cf.load(tmp_path / "short.cf")
