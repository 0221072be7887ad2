"""Tests in float32 as tests of doubles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.adoption.thresholds import float32_at_most, float32_less

ANY = st.floats(width=64) | st.floats(width=32)
FLOAT32 = np.finfo(np.float32)
MAGNITUDES = [0.0, 1.0, 0.1, 1 + 2**-24, float(FLOAT32.smallest_subnormal), float(FLOAT32.smallest_subnormal) / 2]
MAGNITUDES += [float(FLOAT32.tiny), 16777217.0, 5e-324, float(FLOAT32.max), 2.0**128, 2.0**128 - 2.0**103, 1e300]
NASTY = np.array([*MAGNITUDES, *(-value for value in MAGNITUDES), np.inf, -np.inf, np.nan])


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
    points = np.concatenate([points, neighbor(points, np.inf), neighbor(points, -np.inf), [np.inf, -np.inf]])
    return points[~np.isnan(points)]


def expect_same(limit, rows):
    assert np.array_equal(rows <= float32_at_most(limit), rounded(rows).astype(np.float64) <= limit)
    assert np.array_equal(rows <= float32_less(rounded(limit)), rounded(rows) < rounded(limit))


@given(ANY, st.lists(st.floats(allow_nan=False), max_size=5))
def test_tests_in_float32_are_the_double_tests_for_every_double(limit, others):
    expect_same(limit, around(np.array([limit, *others])))


@pytest.mark.parametrize("limit", NASTY, ids=repr)
def test_nasty_thresholds_against_nasty_rows(limit):
    expect_same(limit, around(NASTY))
    assert float32_less(np.zeros((2, 3), np.float32)).shape == (2, 3)
