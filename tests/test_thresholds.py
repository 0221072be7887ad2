from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.adoption.adopted import float32_at_most, float32_less

DOUBLES = st.floats(allow_nan=False, allow_infinity=True, width=64)
FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=32)
LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
TINY = float(np.finfo(np.float32).tiny)
MAGNITUDES = [0.0, 1.0, 0.1, 1 + 2**-24, 1 + 2**-23, SMALLEST, SMALLEST / 2, TINY, 16777217.0, 5e-324, LARGEST]
MAGNITUDES += [2.0**128, 2.0**128 - 2.0**103, 1e300, np.inf, np.nan]
NASTY = np.array([*MAGNITUDES, *(-value for value in MAGNITUDES)])


def rounded(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float32)


def neighbor(values, toward):
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(toward))


def around(values):
    """Each value, its rounding and float32 neighbors, the midpoints between, and the double neighbors of all."""
    base = rounded(values)
    steps = [base, neighbor(base, np.inf), neighbor(base, -np.inf)]
    finite = [np.clip(step.astype(np.float64), -(2.0**128), 2.0**128) for step in steps]
    middles = [(finite[0] + other) / 2 for other in finite[1:]]
    points = np.concatenate([np.atleast_1d(part).astype(np.float64) for part in (values, *steps, *finite, *middles)])
    points = np.concatenate([points, neighbor(points, np.inf), neighbor(points, -np.inf)])
    return points[~np.isnan(points)]


def assert_same(threshold, original, rows):
    assert np.array_equal(rows <= threshold, original)


@given(FLOATS, st.lists(DOUBLES, max_size=5))
def test_strict_float32_test_is_the_double_test_for_every_double(limit, others):
    rows = np.concatenate([around(np.array([limit, *others])), [np.inf, -np.inf]])
    assert_same(float32_less(limit), rounded(rows) < np.float32(limit), rows)


@given(st.floats(width=64), st.lists(DOUBLES, max_size=5))
def test_float32_test_with_double_threshold_is_the_double_test_for_every_double(limit, others):
    rows = np.concatenate([around(np.array([limit, *others])), [np.inf, -np.inf]])
    assert_same(float32_at_most(limit), rounded(rows).astype(np.float64) <= limit, rows)


@pytest.mark.parametrize("limit", NASTY, ids=repr)
def test_nasty_thresholds_against_nasty_rows(limit):
    rows = around(NASTY)
    assert_same(float32_at_most(limit), rounded(rows).astype(np.float64) <= limit, rows)
    assert_same(float32_less(rounded(limit)), rounded(rows) < rounded(limit), rows)


def test_shapes_are_kept():
    assert float32_less(np.zeros((2, 3), np.float32)).shape == (2, 3)
    assert float32_at_most(np.zeros((0,))).shape == (0,)
    assert float32_at_most(1.0).shape == ()
