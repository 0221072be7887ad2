"""Links: what they give for all sizes of scores, and in what order; and blends of several by formula."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

import costframe as cf
from costframe.core.stages.links import LINKS, Blend, BlendPart
from costframe.errors import StageError
from costframe.plugin import apply_link

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "writing-a-plugin.md"
numbers = st.floats(allow_nan=False) | st.floats(-2, 2) | st.floats(-1e-12, 1e-12)
levels = st.integers(0, 20).map(float)


def ranked(score, level=0.0):
    return float(apply_link("ranked", np.array([[score]]), level)[0, 0])


@given(numbers, numbers, levels)
def test_ranked_answers_are_the_formula_and_in_the_order_of_scores_and_levels(one, other, level):
    low, high = sorted((one, other))
    assert level - 0.5 <= ranked(low, level) <= ranked(high, level) <= level + 0.5
    assert ranked(low, level) <= ranked(math.nextafter(low, math.inf), level)  # neighbors do not change places
    assert ranked(high, level) <= ranked(-np.inf, level + 1)
    assert np.isnan(ranked(np.nan, level))
    if np.isfinite(one):
        s = Fraction(one)
        exact = Fraction(level) + s / (2 * (1 + abs(s)))
        tiny = 0.0 if level else 1e-308  # of numbers that have no reciprocal nothing is left
        assert ranked(one, level) == pytest.approx(float(exact), rel=1e-15, abs=tiny)


def test_the_guide_says_what_every_link_predicts():
    text = GUIDE.read_text(encoding="utf-8")
    assert tuple(re.findall(r'^\| `"([a-z-]+)"` \|', text, re.MULTILINE)) == LINKS


# --- blends ---

NAMES = ("a", "b", "c")
KNOTS = ((-1.0, 0.0, 2.0), (0.0, 0.5, 1.0))
PARTS = (BlendPart("sigmoid", 1, 2.0), BlendPart("softmax", 2), BlendPart("knots", knots=KNOTS))
BLEND = Blend(PARTS, [[1.0, 0.0], [2.0, -1.0], [0.5, 0.0], [0.0, 3.0]], [0.25, -1.0])
SHARES = Blend((BlendPart("exp"), BlendPart("softplus")), np.eye(2), np.zeros(2))


def model(*blends, link="identity", temperature=1.0, n_scores=4):
    weights = np.array([[1.0, 0.5, 0.0, -1.0], [0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.5]])[:, :n_scores]
    answer = cf.Answer([0, 1, 2], weights, np.arange(n_scores) / 8, link, 0.0, temperature, blends=blends)
    return cf.StageTree(cf.WeakLearnerBank.columns(NAMES), (answer,))


rows = st.lists(st.tuples(*[st.floats(-5, 5)] * 3), min_size=1, max_size=6).map(np.array)


@given(rows, st.integers(0, 3))
def test_a_blend_is_the_sum_of_its_links_in_tables_inquiries_and_files(tmp_path_factory, X, cap):
    s = model().decision_function(X)
    first = np.column_stack([expit(s[:, 0] / 2), softmax(s[:, 1:3], axis=1), np.interp(s[:, 3], *KNOTS)])
    value = first @ BLEND.weights + BLEND.intercept
    np.testing.assert_allclose(model(BLEND).predict(X), value, atol=1e-13)
    twice = model(BLEND, SHARES, link="softmax", temperature=3.0)
    value = np.column_stack([np.exp(value[:, 0]), np.logaddexp(0, value[:, 1])])
    np.testing.assert_allclose(twice.decision_function(X), value, rtol=1e-12)
    np.testing.assert_allclose(twice.predict(X), softmax(value / 3, axis=1), rtol=1e-12)
    path = tmp_path_factory.getbasetemp() / "blended.cf"
    cf.save(twice, path)
    for tree in (cf.load(path), twice.with_fallbacks(X)):  # limits cut the scores before the blend
        for limits in ({}, {"max_cost": cap}):
            together = tree.predict(X, **limits)
            for row, expected in zip(X, together, strict=True):
                end = cf.predict_one(tree, row, **limits)
                np.testing.assert_allclose(end.value, expected, rtol=1e-12 if limits else 0.0)
        if cap == 3:
            np.testing.assert_array_equal(together, twice.predict(X))


def in_a_cascade():
    answer, route = model(BLEND).stages[0], cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2)
    return cf.StageTree(cf.WeakLearnerBank.columns(NAMES), (route, answer, answer))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlendPart("sigmoid", 1, 0.0), "temperature: expected a positive number"),
        (lambda: BlendPart("knots", knots=((1.0, 1.0), (0.0, 1.0))), "knots: expected ascending arguments"),
        (lambda: model(Blend((BlendPart("exp"),), [[1.0]], [0.0]), link="ranked", n_scores=1), "not for ranked"),
        (in_a_cascade, r"answers: one with blends, .* is a model's only answer"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(StageError, match=message):
        make()
