"""Hidden suspicion, as in a marginal sensitivity model: bounds of means, and drawn problems whose strength is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit, log_expit
from scipy.stats import norm

from costframe.core.errors import ParameterError
from costframe.records.completion import fill, find_donors
from costframe.records.made import Records
from costframe.records.suspicion import HiddenSuspicion


def least_by_program(values: np.ndarray, odds: float) -> float:
    """Return the least sum of weighted means, row by row, from a linear program."""
    copies = values.shape[1]
    bounds, ones = [(1 / odds, odds)] * copies, np.ones((1, copies))
    return float(sum(linprog(row / copies, A_eq=ones, b_eq=[copies], bounds=bounds).fun or 0.0 for row in values))


@pytest.mark.parametrize("odds", [1.0, 1.3, 2.0, 7.5])
@pytest.mark.parametrize("copies", [1, 2, 5, 20])
def test_bounds_are_those_of_a_linear_program(odds: float, copies: int) -> None:
    values = np.random.default_rng(copies).normal(size=(6, copies))
    low, high = HiddenSuspicion(values).interval(odds)
    assert low == pytest.approx(least_by_program(values, odds))
    assert high == pytest.approx(-least_by_program(-values, odds))


def test_without_suspicion_both_ends_are_the_mean() -> None:
    hidden = HiddenSuspicion(np.random.default_rng(0).normal(size=(50, 4)))
    assert hidden.interval(1.0) == pytest.approx((hidden.expected, hidden.expected))


def test_rows_whose_tests_were_made_do_not_move() -> None:
    tested = np.repeat(np.random.default_rng(0).normal(size=(50, 1)), 4, axis=1)
    assert HiddenSuspicion(tested).interval(5.0) == pytest.approx((tested[:, 0].sum(), tested[:, 0].sum()))


def test_a_threshold_is_reached_at_the_odds_that_are_told() -> None:
    hidden = HiddenSuspicion(np.random.default_rng(0).normal(0.5, 1.0, size=(50, 20)))
    odds = hidden.odds_until(0.0)
    assert 1.0 < odds < 10.0
    assert hidden.lowest(odds) == pytest.approx(0.0, abs=1e-9)
    assert hidden.lowest(0.99 * odds) > 0.0
    assert hidden.odds_until(hidden.expected) == 1.0
    assert math.isinf(hidden.odds_until(hidden.lowest(10.0) - 1e-9))


def test_odds_below_one_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"odds: expected a number >= 1\.0, got 0\.5"):
        HiddenSuspicion(np.zeros((1, 1))).lowest(0.5)


def test_an_interval_holds_the_truth_of_a_hidden_selection_of_its_strength() -> None:
    """Somebody knew which results mislead a model, and left out these tests: the worst that the strength allows.

    Among rows without the test, the misleading tail, a share 1 / (odds + 1) of results, is `odds` times as frequent as
    among rows with it, and all other results are 1 / odds as frequent.
    """
    odds, n, rng = 3.0, 4000, np.random.default_rng(0)
    a = rng.normal(size=n)
    y = (rng.random(n) < expit(a)).astype(np.int64)
    made = rng.random(n) < expit(0.5 * a + y - 0.5)
    tail = 1 / (odds + 1)
    share = np.where(rng.random(n) < np.where(made, tail, odds * tail), tail * rng.random(n), rng.uniform(tail, 1.0, n))
    b = 0.5 * a + (2 * y - 1) * (1.0 + norm.ppf(share))  # the lowest shares mislead

    def lose(b: np.ndarray) -> np.ndarray:
        return -log_expit((2 * y - 1) * (b + 0.5 * a))

    X = np.column_stack([a, np.where(made, b, np.nan)])
    records = Records.of_cells(~np.isnan(X), ["a", "b"])
    assert records is not None
    copies = find_donors(X, y, records, by_class=True, copies=20)
    hidden = HiddenSuspicion(np.column_stack([lose(fill(X, donors, records)[:, 1]) for donors in copies]) / n)
    truth, error = lose(b).mean(), 0.01  # of rows and donors
    low, high = hidden.interval(odds)
    assert low < truth < high + 4 * error  # few donors a row cut extremes off
    assert truth > hidden.interval(2.0)[1] + 2 * error  # it is as bad as this strength allows, not a lower one
    assert truth > hidden.expected + 8 * error
