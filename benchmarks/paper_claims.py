"""What the paper claims, and whether it holds: differences of scores at equal budgets, over splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from paper_points import Variant, at_budgets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paper_points import Point

BUDGETS = {"low": (0.01, 0.02, 0.05, 0.1), "high": (0.2, 0.5, 1.0)}  # shares of the cost of all features
SIGNIFICANT = 2.0  # standard errors
NEGLIGIBLE, EVEN = 0.05, 1.0  # per cent of a score


@frozen
class Claim:
    """The first is better than the second, or as good as it.

    Attributes
    ----------
    text : str
    first, second : Variant
    better : bool
        Or else equal.
    """

    text: str
    first: Variant
    second: Variant
    better: bool = True

    def verdict(self, splits: Sequence[dict[Variant, list[Point]]], full_cost: float) -> str:
        """Say whether it holds at low and high budgets, and the mean of the first's score less the second's, in %."""
        return "; ".join(
            f"{name}: {self._verdict(splits, np.array(shares) * full_cost)}" for name, shares in BUDGETS.items()
        )

    def _verdict(self, splits: Sequence[dict[Variant, list[Point]]], budgets: np.ndarray) -> str:
        differences = [
            100 * (at_budgets(found[self.first], budgets) - at_budgets(found[self.second], budgets)).mean()
            for found in splits
        ]
        mean = float(np.mean(differences))
        error = float(np.std(differences, ddof=1) / np.sqrt(len(splits)))
        clear = abs(mean) > max(SIGNIFICANT * error, NEGLIGIBLE)
        if clear:
            word = "yes" if self.better and mean > 0 else "no"
        elif abs(mean) + SIGNIFICANT * error < EVEN:
            word = "even" if self.better else "yes"
        else:
            word = "unclear"
        return f"{word} {mean:+.2f} ± {error:.2f}"


def within_one_percent(lines: dict[float, list[Point]]) -> str:
    """Say whether some tradeoff ends within 1 % of the score of tradeoff 0 (on valid) at half of its cost, or less."""
    ends = {tradeoff: points[-1] for tradeoff, points in lines.items()}
    plain = ends[0.0]
    near = [end for end in ends.values() if end.valid_score >= 0.99 * plain.valid_score]
    chosen = min(near, key=lambda end: end.valid_cost)
    share = chosen.test_cost / plain.test_cost if plain.test_cost else 1.0
    said = f"{chosen.test_score:.4f} at {100 * share:.0f} % of the cost of {plain.test_score:.4f}"
    return f"{'yes' if share <= 0.5 else 'no'}: {said}"


def largest_is_worse(lines: dict[float, list[Point]]) -> str:
    """Say whether the largest tradeoff that buys anything ends more than 1 % below tradeoff 0."""
    ends = {tradeoff: points[-1] for tradeoff, points in lines.items() if points[-1].trees}
    last, plain = ends[max(ends)], ends[0.0]
    worse = last.test_score < 0.99 * plain.test_score
    return f"{'yes' if worse else 'no'}: {last.test_score:.4f} against {plain.test_score:.4f}"
