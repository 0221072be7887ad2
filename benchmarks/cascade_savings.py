"""What a cascade saves against the very model that it is over, at a score that is as good on valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cascade_banks import Source
    from cascade_points import Point

CLOSE = 0.002  # as good on valid: at most this much less


@frozen
class Savings:
    """Of the cheapest cascade over a model that is as good on valid, on test: means over splits, standard errors.

    Where no cascade is as good, nothing is saved, and the score is the same.

    Attributes
    ----------
    tradeoff : float
        Of the model, in units of the constant's loss per cost of all features.
    score, cost : float
        Of the model, on test.
    ratio, ratio_error : float
        The cascade's cost over the model's: geometric mean, and its relative error.
    kept, kept_error : float
        Difference of test scores, in per cent.
    found : int
        Splits that have such a cascade.
    splits : int
    """

    tradeoff: float
    score: float
    cost: float
    ratio: float
    ratio_error: float
    kept: float
    kept_error: float
    found: int
    splits: int

    def __str__(self) -> str:
        ratio, kept = f"{self.ratio:.2f} (± {self.ratio_error:.0%})", f"{self.kept:+.2f} ± {self.kept_error:.2f} %"
        model = f"{self.tradeoff:.2g} | {self.score:.4f}, {self.cost:.3g}"
        return f"{model} | {ratio} times the cost, {kept}, in {self.found} of {self.splits} splits"


def savings(models: Sequence[Sequence[Point]], cascades: Sequence[Sequence[Point]]) -> Iterator[Savings]:
    """Yield one for each model that has cascades over it, and for a split buys something."""
    sources = dict.fromkeys(point.source for points in cascades for point in points if point.source.rows == "all")
    for source in sources:
        pairs = [_pair(source, *both) for both in zip(models, cascades, strict=True)]
        pairs = [pair for pair in pairs if pair[0].test_cost > 0]
        if not pairs:
            continue
        ratio = np.array([np.log(max(two.test_cost, 1e-3 * one.test_cost) / one.test_cost) for one, two in pairs])
        kept = np.array([100 * (two.test_score - one.test_score) for one, two in pairs])
        yield Savings(
            source.tradeoff,
            float(np.mean([one.test_score for one, _ in pairs])),
            float(np.mean([one.test_cost for one, _ in pairs])),
            float(np.exp(ratio.mean())),
            float(np.expm1(_error(ratio))),
            float(kept.mean()),
            _error(kept),
            sum(one is not two for one, two in pairs),
            len(pairs),
        )


def _pair(source: Source, models: Sequence[Point], cascades: Sequence[Point]) -> tuple[Point, Point]:
    """Return a whole model, and the cheapest cascade over it that is as good on valid, or the model again."""
    model = max((point for point in models if point.source == source), key=lambda point: point.trees)
    good = [p for p in cascades if p.source == source and p.valid_score >= model.valid_score - CLOSE]
    return model, min([model, *good], key=lambda point: point.valid_cost)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
