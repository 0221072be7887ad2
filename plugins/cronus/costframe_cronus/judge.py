"""Measures cascades as they will be used: rows routed for good, answers calibrated, costs exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.cost.soft import stage_costs
from costframe.stagewise.calibration import as_counts, calibrate_two
from costframe.stagewise.measured import Measured
from costframe_cronus.flow import Flow
from costframe_cronus.thresholds import best_thresholds, hard_objective
from costframe_cronus.tree import as_stage_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.pricing import Pricing
    from costframe.stagewise.seen import SeenRows
    from costframe_cronus.chain import Chain

__all__ = ["Judge"]

_ALL = slice(None)


@frozen(eq=False)
class Judge:
    """Rows to measure on.

    Attributes
    ----------
    rows : SeenRows
    pricing : Pricing
        Of the same rows.
    codes : int64 (n,), optional
        Classes 0 and 1: the loss is the cross-entropy of calibrated answers. Otherwise it is the mean square that
        scores are fitted by.
    half : bool (n,), optional
        Rows that stand apart from the others, to measure on one part what is fitted on the other.
    tradeoff, steepness : float
    """

    rows: SeenRows
    pricing: Pricing
    codes: NDArray[np.int64] | None
    half: NDArray[np.bool_] | None
    tradeoff: float
    steepness: float

    def measure(self, chain: Chain) -> Measured:
        """Measure a chain, rows routed as they will be."""
        scores, costs = chain.scores(self.rows), self.costs(chain)
        losses = self._losses(scores, self._links(scores, self._flow(scores, chain).exits))
        loss = hard_objective(scores, losses, np.zeros(costs.shape), chain.threshold)
        cost = hard_objective(scores, np.zeros(costs.shape), self._weighed(costs), chain.threshold)
        return Measured(loss, cost, loss + self.tradeoff * cost)

    def across(self, chain: Chain, *, place: bool) -> float:
        """Return loss + lambda * cost of each half of the rows, answers calibrated on the other.

        Many stages have many numbers to fit, and few rows would flatter them. With `place` also thresholds are moved to
        where they are best on the other half.
        """
        scores, arrival = chain.scores(self.rows), self.tradeoff * self._weighed(self.costs(chain))
        everyone = np.ones(len(scores), np.bool_)
        total = 0.0
        for told in (everyone,) if self.half is None else (self.half, ~self.half):
            asked = everyone if self.half is None else ~told
            threshold = self._placed(scores, arrival, chain, told) if place else chain.threshold
            flow = self._flow(scores, chain.with_threshold(threshold))
            losses = self._losses(scores, self._links(scores, flow.exits, told))
            total += hard_objective(scores[asked], losses[asked], arrival[asked], threshold)
        return total

    def costs(self, chain: Chain) -> NDArray[np.float64]:
        """Return what each stage would add to the cost of each row that came to it: float64 (n, K)."""
        tree = as_stage_tree(self.pricing.bank, chain, None, self.steepness)
        of_stage = stage_costs(tree, self.pricing.spread_prices, self.pricing.X, self.pricing.acquisition)
        return of_stage[:, [0] if len(chain.weights) == 1 else 2 * np.arange(len(chain.weights))]

    def place_thresholds(self, chain: Chain) -> Chain:
        """Move thresholds to where loss + lambda * cost is least on these rows; idle stages go."""
        scores, arrival = chain.scores(self.rows), self.tradeoff * self._weighed(self.costs(chain))
        return chain.with_threshold(self._placed(scores, arrival, chain)).without_idle_stages()

    def links(self, chain: Chain) -> list[tuple[float, float]] | None:
        """Return slope and constant of each stage's answer, from rows weighted by the probability to exit there."""
        scores = chain.scores(self.rows)
        return self._links(scores, self._flow(scores, chain).exits)

    def _flow(self, scores: NDArray[np.float64], chain: Chain) -> Flow:
        return Flow.of(scores, chain.threshold, self.steepness)

    def _weighed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.rows.share[:, np.newaxis] * values)

    def _placed(
        self,
        scores: NDArray[np.float64],
        arrival: NDArray[np.float64],
        chain: Chain,
        told: NDArray[np.bool_] | slice = _ALL,
    ) -> NDArray[np.float64]:
        """Return the best thresholds on some of the rows: float64 (K - 1,)."""
        losses = self._losses(scores, self._links(scores, self._flow(scores, chain).passes, told))
        return best_thresholds(scores[told], losses[told], arrival[told], chain.threshold)

    def _links(
        self, scores: NDArray[np.float64], among: NDArray[np.float64], told: NDArray[np.bool_] | slice = _ALL
    ) -> list[tuple[float, float]] | None:
        """Calibrate each stage's answer among some rows, weighted by float64 (n, K), near what is best for all."""
        if self.codes is None:
            return None
        weight = as_counts(self.rows.weight)[told, np.newaxis] * among[told]
        score, codes = scores[told], self.codes[told]
        usual = calibrate_two(score.ravel(), np.repeat(codes, score.shape[1]), weight.ravel())
        return [calibrate_two(s, codes, w, usual) for s, w in zip(score.T, weight.T, strict=True)]

    def _losses(self, scores: NDArray[np.float64], links: list[tuple[float, float]] | None) -> NDArray[np.float64]:
        """Return what an answer at each stage would lose, with the row's weight: float64 (n, K)."""
        if self.codes is None or links is None:
            return self.rows.in_mean[:, np.newaxis] * self.rows.losses(scores)
        slope, constant = np.array(links).T
        wrong = np.logaddexp(0.0, (1.0 - 2.0 * self.codes)[:, np.newaxis] * (slope * scores + constant))
        return self._weighed(wrong)
