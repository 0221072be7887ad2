"""Derivatives and means of ranking losses, query by query; rows are sorted by query."""

import numpy as np
from numpy.typing import NDArray

from costframe.core.jit import kernel

__all__ = ["discounted_gains", "lambda_gradients", "pair_gradients", "pair_losses"]

_NEAR = 0.01  # keeps the weight of pairs with equal scores finite


@kernel
def pair_gradients(
    scores: NDArray[np.float64],
    grades: NDArray[np.float64],
    counts: NDArray[np.float64],
    starts: NDArray[np.int64],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
) -> None:
    """Derive, by each score, the mean of log(1 + exp(low - high)) over the pairs of each query, per unit of count.

    Parameters
    ----------
    scores, grades, counts : float64 (n,)
        Sorted by query; the weight of a pair is the product of its rows' counts.
    starts : int64 (queries + 1,)
        First place of each query's rows.
    gradient, hessian : float64 (n,)
        Written; zero in queries without two different grades.
    """
    for q in range(starts.shape[0] - 1):
        begin, end = starts[q], starts[q + 1]
        gradient[begin:end] = 0.0
        hessian[begin:end] = 0.0
        pairs = 0.0
        for a in range(begin, end):
            for b in range(begin, a):
                if grades[a] == grades[b]:
                    continue
                high, low = (a, b) if grades[a] > grades[b] else (b, a)
                margin = scores[high] - scores[low]
                small = np.exp(-abs(margin))  # never overflows
                share = (small if margin > 0 else 1.0) / (1.0 + small)
                curve = small / (1.0 + small) ** 2
                gradient[high] -= counts[low] * share
                gradient[low] += counts[high] * share
                hessian[high] += counts[low] * curve
                hessian[low] += counts[high] * curve
                pairs += counts[high] * counts[low]
        if pairs > 0:
            gradient[begin:end] /= pairs
            hessian[begin:end] /= pairs


@kernel
def pair_losses(
    scores: NDArray[np.float64],
    grades: NDArray[np.float64],
    counts: NDArray[np.float64],
    starts: NDArray[np.int64],
    losses: NDArray[np.float64],
) -> None:
    """Write the mean of log(1 + exp(low - high)) over the pairs of each query; arguments as for `pair_gradients`."""
    for q in range(starts.shape[0] - 1):
        total, pairs = 0.0, 0.0
        for a in range(starts[q], starts[q + 1]):
            for b in range(starts[q], a):
                if grades[a] != grades[b]:
                    margin = scores[a] - scores[b] if grades[a] > grades[b] else scores[b] - scores[a]
                    both = counts[a] * counts[b]
                    total += both * (np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0))
                    pairs += both
        losses[q] = total / pairs if pairs > 0 else 0.0


@kernel
def _group(
    scores: NDArray[np.float64],
    spans: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    begin: float,
    discounts: NDArray[np.float64],
) -> tuple[int, float, float, float]:
    """Describe the tied rows from place `first` on.

    It returns the place and the position after them, the mean discount of their positions, and the mean distance of the
    discounts of two of their positions.
    """
    last, width = first, 0.0
    while last < order.shape[0] and scores[order[last]] == scores[order[first]]:
        width += spans[order[last]]
        last += 1
    deepest = np.float64(discounts.shape[0])
    near, far = np.int64(min(begin, deepest)), np.int64(min(begin + width, deepest))
    total, apart = 0.0, 0.0
    for at in range(near, far):
        total += discounts[at]
        apart += discounts[at] * (width - 1.0 - 2.0 * (np.float64(at) - begin))  # minus near discounts, plus far ones
    return last, begin + width, total / width, apart / (0.5 * width * (width - 1.0)) if width > 1 else 0.0


@kernel
def discounted_gains(
    scores: NDArray[np.float64],
    gains: NDArray[np.float64],
    spans: NDArray[np.float64],
    starts: NDArray[np.int64],
    discounts: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Write the discounted sum of gains of each query; all orders of tied rows are equally likely.

    Parameters
    ----------
    scores : float64 (n,)
        Sorted by query.
    gains : float64 (n,)
        Of each row.
    spans : float64 (n,)
        Positions of each row.
    starts : int64 (queries + 1,)
        First place of each query's rows.
    discounts : float64 (positions,)
        Of the first positions; lower ones have none.
    found : float64 (queries,)
        Written.
    """
    for q in range(starts.shape[0] - 1):
        rows = slice(starts[q], starts[q + 1])
        score, gain, span = scores[rows], gains[rows], spans[rows]
        order = np.argsort(-score, kind="mergesort")
        first, begin, total = 0, 0.0, 0.0
        while first < order.shape[0] and begin < discounts.shape[0]:
            last, begin, mean, _ = _group(score, span, order, first, begin, discounts)
            for place in range(first, last):
                total += span[order[place]] * gain[order[place]] * mean
            first = last
        found[q] = total


@kernel
def lambda_gradients(
    scores: NDArray[np.float64],
    gains: NDArray[np.float64],
    counts: NDArray[np.float64],
    spans: NDArray[np.float64],
    starts: NDArray[np.int64],
    discounts: NDArray[np.float64],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
) -> None:
    """Write LambdaRank's derivatives, normalized, per unit of count.

    The weight of a pair is the change of NDCG if it changed places, over 0.01 + its distance in score unless all scores
    are equal; for tied rows it is the mean over their orders. A query's derivatives are multiplied by log2(1 + S)/S,
    where S is the sum of absolute slopes. Gains are shares of the query's largest discounted sum; arguments as for
    `discounted_gains` and `pair_gradients`.
    """
    for q in range(starts.shape[0] - 1):
        rows = slice(starts[q], starts[q + 1])
        score, gain, count, span = scores[rows], gains[rows], counts[rows], spans[rows]
        g, h = gradient[rows], hessian[rows]
        g[:] = 0.0
        h[:] = 0.0
        n = score.shape[0]
        order = np.argsort(-score, kind="mergesort")
        mean, apart, group = np.empty(n), np.empty(n), np.empty(n, np.int64)
        first, begin = 0, 0.0
        while first < n:
            last, begin, middle, distance = _group(score, span, order, first, begin, discounts)
            mean[first:last], apart[first:last], group[first:last] = middle, distance, first
            first = last
        spread, total = group[n - 1] > 0, 0.0
        for place in range(n):
            if mean[place] == 0.0:
                break  # later positions do not count
            a = order[place]
            for below in range(place + 1, n):
                b = order[below]
                change = apart[place] if group[place] == group[below] else mean[place] - mean[below]
                weight = (gain[a] - gain[b]) * change
                if weight == 0.0:
                    continue
                margin = score[a] - score[b]  # not negative
                if spread:
                    weight /= _NEAR + margin
                small = np.exp(-margin)
                slope = weight * (small if weight > 0 else 1.0) / (1.0 + small)
                curve = abs(weight) * small / (1.0 + small) ** 2
                g[a] -= count[b] * slope
                g[b] += count[a] * slope
                h[a] += count[b] * curve
                h[b] += count[a] * curve
                total += 2.0 * count[a] * count[b] * abs(slope)
        if total > 0:
            g *= np.log2(1.0 + total) / total
            h *= np.log2(1.0 + total) / total
