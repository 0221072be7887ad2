"""Compiled impurities of class counts, which add up over classes or over pairs of classes."""

import numpy as np

from costframe.plugin import F8, I8, kernel

PAIRS, GINI, ENTROPY = 0, 1, 2


@kernel
def power(kind: int, count: float) -> float:
    """Return the term of one class: n^2, or n log n for the entropy."""
    if kind == ENTROPY:
        return float(count * np.log(count)) if count > 0.0 else 0.0
    return count * count


@kernel
def from_powers(kind: int, total: float, powers: float) -> float:
    """Return the impurity of rows of weight `total` from the sum of their classes' terms."""
    if total <= 0.0:
        return 0.0
    if kind == ENTROPY:
        return float(max(total * np.log(total) - powers, 0.0))
    if kind == GINI:
        return max(total - powers / total, 0.0)
    return max(total * total - powers, 0.0)


@kernel
def count_pairs(counts: F8, classes: I8, n_classes: int, alpha: float) -> float:
    """Return threshold-Pairs: the sum over i != j of [[n_i - alpha]_+ [n_j - alpha]_+ - alpha^2]_+."""
    found = 0.0
    for a in range(n_classes):
        one = counts[classes[a]] - alpha
        if one <= 0.0:
            continue
        for b in range(a):
            other = counts[classes[b]] - alpha
            if other > 0.0:
                found += max(one * other - alpha * alpha, 0.0)
    return 2.0 * found


@kernel
def impurity(kind: int, alpha: float, counts: F8, classes: I8, n_classes: int) -> float:
    """Return the impurity of class counts, of which `classes[:n_classes]` may differ from zero."""
    if kind == PAIRS and alpha > 0.0:
        return count_pairs(counts, classes, n_classes, alpha)
    total, powers = 0.0, 0.0
    for a in range(n_classes):
        total += counts[classes[a]]
        powers += power(kind, counts[classes[a]])
    return from_powers(kind, total, powers)
