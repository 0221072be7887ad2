"""Boosting with priced stumps: each round adds the one comparison that lowers loss by more than it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import log_softmax, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.plugin import PriceArrays

__all__ = ["Labels", "Stump", "added_cost", "best_stump", "boost"]

TIE = 1 + 1e-9  # of what differs by rounding only, the first is taken


@frozen(eq=False)
class Labels:
    """What scores, float64 (n, K), are held against: numbers, or 0/1 indicators of classes."""

    targets: NDArray[np.float64]
    weight: NDArray[np.float64]
    classes: bool

    @property
    def start(self) -> NDArray[np.float64]:
        """The best constant scores, float64 (K,)."""
        mean = np.average(self.targets, axis=0, weights=self.weight)
        return np.log(mean) if self.classes else mean

    @property
    def curvature(self) -> float:
        """A bound on the second derivative of the loss."""
        return 0.5 if self.classes else 1.0

    def residual(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Negative gradient of the loss, float64 (n, K)."""
        return self.targets - (softmax(scores, axis=1) if self.classes else scores)

    def mean_loss(self, scores: NDArray[np.float64]) -> float:
        """Mean over rows of softmax cross-entropy, or of 1/2 (f - y)^2."""
        log_loss = -self.targets * log_softmax(scores, axis=1)
        loss = log_loss if self.classes else 0.5 * (scores - self.targets) ** 2
        return float(np.average(loss.sum(axis=1), weights=self.weight))


@frozen(eq=False)
class Stump:
    """One comparison, `x[feature] <= threshold`; a missing value counts as above.

    `below` and `above`, float64 (K,), are added to the scores of the rows on either side.
    """

    feature: int
    threshold: float
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def outputs(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64 (rows, K)."""
        return np.where(X[:, [self.feature]] <= self.threshold, self.below, self.above)


def added_cost(prices: PriceArrays, bought: NDArray[np.bool_], feature: int, batch: float) -> float:
    """Return the cost that a further stump adds to a row that has paid for the features `bought`, bool (d,).

    Every row comes to every stump, so these are the terms of costframe's cost one by one. A once-per-batch price is
    shared by a batch of `batch` rows.
    """
    cost = prices.learner + prices.split[feature]
    if bought[feature]:
        return float(cost + prices.reuse)
    resources = prices.needs[feature] & ~prices.needs[bought].any(axis=0)
    return float(cost + prices.cost[feature] + prices.resource_cost[resources].sum() + prices.once[feature] / batch)


def best_stump(
    X: NDArray[np.float64],
    feature: int,
    order: NDArray[np.int64],
    residual: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> tuple[float, Stump] | None:
    """Find the threshold with which a stump on the feature fits residuals, float64 (n, K), best.

    `order` sorts the column, NaN last. Returns how far the stump lowers the mean of 1/2 |residual - stump|^2 below what
    a constant reaches, and the stump; None if all values are the same.
    """
    values = X[order, feature]
    sums, weights = np.cumsum((weight[:, None] * residual)[order], axis=0), np.cumsum(weight[order])[:, None]
    cuts = np.flatnonzero((values[:-1] < values[1:]) | (np.isnan(values[1:]) & ~np.isnan(values[:-1])))
    if not len(cuts):
        return None
    left, n_left = sums[cuts], weights[cuts]
    right, n_right = sums[-1] - left, weights[-1] - n_left
    gains = (left**2 / n_left + right**2 / n_right - sums[-1] ** 2 / weights[-1]).sum(axis=1)
    cut = int(np.argmax(gains >= gains.max() / TIE))
    stump = Stump(feature, float(values[cuts[cut]]), left[cut] / n_left[cut], right[cut] / n_right[cut])
    return float(gains[cut] / (2 * weights[-1, 0])), stump


def boost(
    X: NDArray[np.float64], labels: Labels, prices: PriceArrays, tradeoff: float, rounds: int, step: float
) -> tuple[list[Stump], list[float]]:
    """Add stumps while one lowers `mean loss + tradeoff * mean cost per row`.

    Returns the stumps, and the cost of a row for the first 0, 1, 2, ... of them.
    """
    order = np.argsort(X, axis=0, kind="stable")
    scores = np.tile(labels.start, (len(X), 1))
    bought, batch = np.zeros(X.shape[1], np.bool_), float(labels.weight.sum())
    stumps: list[Stump] = []
    paid = [0.0]
    scale = step / labels.curvature
    for _ in range(rounds):
        residual = labels.residual(scores)
        best, best_worth, cost = None, 0.0, 0.0
        for feature in range(X.shape[1]):
            found = best_stump(X, feature, order[:, feature], residual, labels.weight)
            if found is None:
                continue
            added = added_cost(prices, bought, feature, batch)
            # A step of size s towards the minimum of a parabola takes s (2 - s) of its depth.
            worth = scale * (2 - step) * found[0] - tradeoff * added
            if worth > TIE * best_worth:
                best, best_worth, cost = found[1], worth, added
        if best is None:
            break
        stumps.append(Stump(best.feature, best.threshold, scale * best.below, scale * best.above))
        bought[best.feature] = True
        paid.append(paid[-1] + cost)
        scores += stumps[-1].outputs(X)
    return stumps, paid
