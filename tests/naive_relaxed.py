"""Slow, obvious twins of the relaxed cost: loops over ways, learners, features and resources, as the equations read."""

import math

import numpy as np


def sets_of(bank, costs, n_rows=math.inf, comparisons=None):
    """Each priced thing, with the learners that make it due."""
    prices = costs.select(bank.feature_names)
    reads = [{f for f in range(len(bank.feature_names)) if bank.F.toarray()[f, t]} for t in range(len(bank))]
    found = []
    for t in range(len(bank)):
        price = prices.learner * bank.evaluation[t] + prices.reuse * len(reads[t])
        found.append((price + (0 if comparisons is None else comparisons[t]), {t}))
    for f in range(len(bank.feature_names)):
        price = max(prices.cost[f] - prices.reuse, 0) + prices.once[f] / n_rows
        found.append((price, {t for t in range(len(bank)) if f in reads[t]}))
    for r in range(len(prices.resource_names)):
        needing = {t for t in range(len(bank)) if any(prices.needs[f, r] for f in reads[t])}
        found.append((prices.resource_cost[r], needing))
    return found


def columns_of(bank):
    """The learner that each output belongs to."""
    return [t for t in range(len(bank)) for _ in range(bank.widths[t])]


def relaxed(bank, costs, weights, paths, reach, share, floor, **more):
    total, owner = 0.0, columns_of(bank)
    for way, p in zip(paths, share, strict=True):
        for price, learners in sets_of(bank, costs, **more):
            g = 0.0
            for k, on in enumerate(way):
                for c, t in enumerate(owner):
                    if on and t in learners:
                        g += sum((reach[k] * b) ** 2 for b in weights[k][c])
            root = math.sqrt(g)
            total += p * price * (root if root >= floor else (g / floor + floor) / 2)
    return total


def charged(bank, costs, weights, paths, reach, share, **more):
    """Each way pays for a thing at the first stage on it that uses it."""
    total, owner = 0.0, columns_of(bank)
    for way, p in zip(paths, share, strict=True):
        for price, learners in sets_of(bank, costs, **more):
            for k, on in enumerate(way):
                if on and any(t in learners and any(weights[k][c]) for c, t in enumerate(owner)):
                    total += p * price * reach[k]
                    break
    return total


def differences(function, at, step=1e-6):
    """Central differences of a function of one array."""
    slopes = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[index] += step
        down[index] -= step
        slopes[index] = (function(up) - function(down)) / (2 * step)
    return slopes
