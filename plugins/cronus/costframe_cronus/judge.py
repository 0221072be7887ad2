"""Measures cascades as they will be used: rows routed for good, answers calibrated, costs exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.stage_visits import stage_costs
from costframe_cronus.calibration import as_counts, calibrate_two
from costframe_cronus.flow import Flow
from costframe_cronus.thresholds import best_thresholds, hard_objective
from costframe_cronus.tree import as_stage_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cronus.chain import Chain
    from costframe_cronus.pricing import Pricing
    from costframe_cronus.seen import SeenRows

__all__ = ["Judge", "Measured"]


@frozen
class Measured:
    """Mean loss of the answers, and mean cost; what counts is their sum, the cost times lambda."""

    loss: float
    cost: float
    total: float


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
    tradeoff, steepness : float
    """

    rows: SeenRows
    pricing: Pricing
    codes: NDArray[np.int64] | None
    tradeoff: float
    steepness: float

    def measure(self, chain: Chain) -> Measured:
        """Measure a chain, rows routed as they will be."""
        scores, costs = self.rows.scores(chain), self.costs(chain)
        losses = self._losses(scores, Flow.of(scores, chain.threshold, self.steepness).exits)
        loss = hard_objective(scores, losses, np.zeros(costs.shape), chain.threshold)
        cost = hard_objective(scores, np.zeros(costs.shape), self.rows.share[:, np.newaxis] * costs, chain.threshold)
        return Measured(loss, cost, loss + self.tradeoff * cost)

    def costs(self, chain: Chain) -> NDArray[np.float64]:
        """Return what each stage would add to the cost of each row that came to it: float64 (n, K)."""
        tree = as_stage_tree(self.pricing.bank, chain, None, self.steepness)
        of_stage = stage_costs(tree, self.pricing.spread_prices, self.pricing.X, self.pricing.acquisition)
        return of_stage[:, [0] if len(chain.weights) == 1 else 2 * np.arange(len(chain.weights))]

    def place_thresholds(self, chain: Chain) -> Chain:
        """Move thresholds to where loss + lambda * cost is least on these rows; idle stages go."""
        scores = self.rows.scores(chain)
        losses = self._losses(scores, Flow.of(scores, chain.threshold, self.steepness).passes)
        arrival = self.tradeoff * self.rows.share[:, np.newaxis] * self.costs(chain)
        return chain.with_threshold(best_thresholds(scores, losses, arrival, chain.threshold)).without_idle_stages()

    def links(self, chain: Chain) -> list[tuple[float, float]] | None:
        """Return slope and constant of each stage's answer, from rows weighted by the probability to exit there."""
        if self.codes is None:
            return None
        scores = self.rows.scores(chain)
        return self._links(scores, Flow.of(scores, chain.threshold, self.steepness).exits)

    def _links(self, scores: NDArray[np.float64], among: NDArray[np.float64]) -> list[tuple[float, float]]:
        """Calibrate each stage's answer among rows weighted by float64 (n, K); of classes only."""
        links, codes = [], np.zeros(len(scores), np.int64) if self.codes is None else self.codes
        for score, chance in zip(scores.T, among.T, strict=True):
            weight = as_counts(self.rows.weight) * chance
            links.append(calibrate_two(score, codes, weight) if weight.sum() > 0 else (0.0, 0.0))
        return links

    def _losses(self, scores: NDArray[np.float64], among: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what an answer at each stage would lose, with the row's weight: float64 (n, K)."""
        if self.codes is None:
            return self.rows.in_mean[:, np.newaxis] * self.rows.losses(scores)
        slope, constant = np.array(self._links(scores, among)).T
        wrong = np.logaddexp(0.0, (1.0 - 2.0 * self.codes)[:, np.newaxis] * (slope * scores + constant))
        return np.asarray(self.rows.share[:, np.newaxis] * wrong)
