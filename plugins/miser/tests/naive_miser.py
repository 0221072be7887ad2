"""Greedy Miser by the book: plain loops, every threshold tried, no bins and no histograms."""

from itertools import pairwise

import numpy as np


class Purse:
    """phi and psi: what is still to be paid."""

    def __init__(self, costs, names):
        self.prices = costs.select(names)
        self.features, self.resources = set(), set()

    def price(self, f, n):
        total = 0.0 if f in self.features else self.prices.cost[f] + self.prices.once[f] / n
        for r in np.flatnonzero(self.prices.needs[f]):
            total += 0.0 if r in self.resources else self.prices.resource_cost[r]
        return total

    def buy(self, f):
        self.features.add(f)
        self.resources |= set(np.flatnonzero(self.prices.needs[f]).tolist())


def best_split(X, r, w, rows, purse, lam):
    """Largest penalised reduction of 1/2 sum w (r - h)^2 over all features, cuts and sides of the missing."""
    n = w.sum()

    def part(mask):
        return (w[mask] @ r[mask]) ** 2 / w[mask].sum() if mask.any() else None

    best = (0.0, None)
    for f in range(X.shape[1]):
        x = X[:, f]
        values = np.unique(x[rows & ~np.isnan(x)])
        cuts = [a + (b - a) / 2 for a, b in pairwise(values)]
        missing = rows & np.isnan(x)
        options = (
            [(cut, left) for left in (False, True) for cut in cuts] if missing.any() else [(c, None) for c in cuts]
        )
        if missing.any() and len(values):
            options.append((np.inf, False))
        found = (0.0, None)
        for cut, left in options:
            below = rows & ((x <= cut) | (missing if left else False))
            above = rows & ~below
            if not below.any() or not above.any():
                continue
            gain = 0.5 * (part(below) + part(above) - part(rows))
            if gain > found[0] + 1e-9:
                found = (gain, (f, cut, below, above))
        gain = found[0] - lam * n * purse.price(f, n)
        if found[1] is not None and gain > best[0] + 1e-9:
            best = (gain, found[1])
    return best[1]


def grow(X, r, w, purse, lam, depth):
    """One tree, breadth-first; returns its values for the training rows and the features it splits on, in order."""
    h, order = np.zeros(len(r)), []
    level = [np.ones(len(r), bool)]
    for d in range(depth + 1):
        following = []
        for rows in level:
            split = best_split(X, r, w, rows, purse, lam) if d < depth else None
            if split is None:
                h[rows] = w[rows] @ r[rows] / w[rows].sum()
            else:
                f, _, below, above = split
                purse.buy(f)
                order.append(f)
                following += [below, above]
        level = following
    return h, order


def residuals(y, H, n_classes):
    if n_classes == 0:
        return y[:, None] - H
    if n_classes == 2:
        return y[:, None] - 1 / (1 + np.exp(-H))
    e = np.exp(H - H.max(axis=1, keepdims=True))
    return np.eye(n_classes)[y] - e / e.sum(axis=1, keepdims=True)


def baseline(y, w, n_classes):
    if n_classes == 0:
        return np.array([w @ y / w.sum()])
    share = np.array([w[y == k].sum() for k in range(n_classes)]) / w.sum()
    return np.array([np.log(share[1] / share[0])]) if n_classes == 2 else np.log(share)


def miser(X, y, w, costs, names, lam, eta, rounds, depth, n_classes=0):
    """Scores of the training rows, and the features split on, tree by tree."""
    purse, H = Purse(costs, names), np.tile(baseline(y, w, n_classes), (len(y), 1))
    trees = []
    for _ in range(rounds):
        r, splits = residuals(y, H, n_classes), 0
        for k in range(H.shape[1]):
            h, order = grow(X, r[:, k], w, purse, lam, depth)
            if order:  # a constant is no learner
                H[:, k] += eta * h
                trees.append(order)
                splits += len(order)
        if not splits:
            break
    return H, trees
