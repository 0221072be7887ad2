"""Whether one way to make models is better than another: scores at equal budgets, and costs at equal scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cascade_points import Point

BUDGETS, LEVELS = 40, 15
SIGNIFICANT = 2.0  # standard errors
NEGLIGIBLE = 0.05  # per cent of a score
TRADED = 0.8  # levels of score begin this far from the least score to the greatest that both reach


@frozen
class Verdict:
    """The second against the first, on one table: means over splits, with standard errors.

    Attributes
    ----------
    gain, gain_error : float
        Mean difference of test scores at equal budgets, in per cent.
    ahead : float
        Share of budgets at which the second's score is higher, ties half.
    ratio, ratio_error : float
        The second's cost over the first's at equal valid scores, on test: geometric mean, and its relative error.
    kept : float
        Mean difference of the test scores of these pairs, in per cent.
    """

    gain: float
    gain_error: float
    ahead: float
    ratio: float
    ratio_error: float
    kept: float

    def __str__(self) -> str:
        gain, ratio = f"{self.gain:+.2f}", f"{self.ratio:.2f}"
        if not np.isnan(self.gain_error):
            gain, ratio = f"{gain} ± {self.gain_error:.2f}", f"{ratio} (± {self.ratio_error:.0%})"
        return (
            f"{self.word} {gain} % at equal budgets, ahead at {self.ahead:.0%}; "
            f"{ratio} times the cost at equal score, {self.kept:+.2f} % on test"
        )

    @property
    def word(self) -> str:
        """Whether the second is better at equal budgets; of one split alone nobody knows."""
        if np.isnan(self.gain):
            return "constants only:"
        if np.isnan(self.gain_error):
            return "one split:"
        if abs(self.gain) <= max(SIGNIFICANT * self.gain_error, NEGLIGIBLE):
            return "even" if self.gain_error * SIGNIFICANT < 1 else "unclear"
        return "yes" if self.gain > 0 else "no"


def compare(first: Sequence[Sequence[Point]], second: Sequence[Sequence[Point]]) -> Verdict:
    """Compare points of as many splits; both are models chosen on valid."""
    found = np.array([_compare(*pair) for pair in zip(first, second, strict=True)])
    mean = np.nanmean(found, axis=0)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.full(4, np.nan)
    gain, ahead, ratio, kept = mean
    return Verdict(100 * gain, 100 * error[0], ahead, np.exp(ratio), np.expm1(error[2]), 100 * kept)


def _compare(first: Sequence[Point], second: Sequence[Point]) -> tuple[float, float, float, float]:
    if not all(any(point.valid_cost > 0 for point in found) for found in (first, second)):
        return np.nan, np.nan, np.nan, np.nan
    budgets = common_budgets(first, second)
    gains = at_budgets(second, budgets) - at_budgets(first, budgets)
    pairs = [(cheapest(first, level), cheapest(second, level)) for level in _levels(first, second)]
    ratio = [np.log(two.test_cost / one.test_cost) for one, two in pairs if one.test_cost and two.test_cost]
    kept = [two.test_score - one.test_score for one, two in pairs]
    ahead = float(np.mean((gains > 0) + 0.5 * (gains == 0)))
    return float(gains.mean()), ahead, float(np.mean(ratio)), float(np.mean(kept))


def common_budgets(*several: Sequence[Point]) -> np.ndarray:
    """Return a geometric row of budgets: from the least at which all have a model to where none has another."""
    costs = [[point.valid_cost for point in found if point.valid_cost > 0] for found in several]
    return np.geomspace(max(map(min, costs)), max(map(max, costs)), BUDGETS) * (1 + 1e-9)


def at_budgets(found: Sequence[Point], budgets: np.ndarray) -> np.ndarray:
    """Return the test score of the best model on valid within each budget on valid, NaN where there is none."""
    ranked = sorted(found, key=lambda point: (-point.valid_score, point.valid_cost))
    return np.array([next((p.test_score for p in ranked if p.valid_cost <= most), np.nan) for most in budgets])


def cheapest(found: Sequence[Point], level: float) -> Point:
    """Return the cheapest model on valid that scores as much there."""
    return min((p for p in found if p.valid_score >= level), key=lambda p: p.valid_cost)


def _levels(first: Sequence[Point], second: Sequence[Point]) -> np.ndarray:
    scores = [np.array([p.valid_score for p in found]) for found in (first, second)]
    top, low = min(one.max() for one in scores), max(one.min() for one in scores)
    return np.linspace(low + TRADED * (top - low), top, LEVELS)
