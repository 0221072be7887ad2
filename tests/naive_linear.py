"""Slow, obvious twins of the single stage: dense matrices, loops, and a general minimizer."""

import numpy as np


def objective(H, y, w, groups, weights, ridge):
    """Mean loss with the best constants, ridge, and the prices of all groups with a weight that is not zero."""
    w = w / w.sum()
    scores = H @ weights
    scores = scores + w @ (y - scores)
    member = groups.member.toarray() > 0
    paid = sum(price for price, inside in zip(groups.price, member, strict=True) if weights[inside].any())
    return 0.5 * w @ ((y - scores) ** 2).sum(axis=1) + 0.5 * ridge * (weights**2).sum() + paid


def ridge_fit(H, y, w, support, ridge):
    """Weights on a support, constants left free."""
    w = w / w.sum()
    weights = np.zeros((H.shape[1], y.shape[1]))
    part, target = H[:, support] - w @ H[:, support], y - w @ y
    weights[support] = np.linalg.solve(
        part.T @ (w[:, None] * part) + ridge * np.eye(len(support)), part.T @ (w[:, None] * target)
    )
    return weights


def prune(H, y, w, groups, weights, ridge):
    """Try the removal of every group by refitting; take the best while it helps."""
    member = groups.member.toarray() > 0
    while True:
        now = objective(H, y, w, groups, weights, ridge)
        tried = []
        for price, inside in zip(groups.price, member, strict=True):
            if price > 0 and weights[inside].any():
                support = np.flatnonzero(weights.any(axis=1) & ~inside)
                fitted = ridge_fit(H, y, w, support, ridge)
                tried.append((objective(H, y, w, groups, fitted, ridge), fitted))
        best = min(tried, key=lambda one: one[0], default=(np.inf, None))
        if best[0] >= now:
            return weights
        weights = best[1]


def fit_of_sums(matrix, right, support, ridge):
    """Weights on a support from sums over rows, and what loss + ridge is less than that of zero, negative."""
    square = matrix[np.ix_(support, support)] + ridge * np.eye(len(support))
    weights = np.linalg.solve(square, right[support])
    return weights, 0.5 * (weights * (square @ weights)).sum() - (weights * right[support]).sum()


def forward_select(normal, prices, ridge, patience):
    """Add one output at a time, with every number made anew at each step; the best support, bool (C,)."""
    diagonal, n_outputs = np.diag(normal.gram) + ridge, len(normal.right)
    order, value, best, kept = [], 0.0, 0.0, 0
    while len(order) - kept < patience:
        taken = np.isin(np.arange(n_outputs), order)
        weights, _ = fit_of_sums(normal.gram, normal.right, order, ridge)
        explained = np.linalg.solve(normal.gram[np.ix_(order, order)] + ridge * np.eye(len(order)), normal.gram[order])
        left = diagonal - (normal.gram[order] * explained).sum(axis=0)
        offered = np.flatnonzero(~taken & (left > 1e-9 * diagonal))
        slope = normal.right[offered] - normal.gram[np.ix_(offered, order)] @ weights
        gain = 0.5 * (slope**2).sum(axis=1) / left[offered]
        price = np.array([prices.after(taken).cost(np.arange(n_outputs) == c) for c in offered])
        if not (gain > 0).any():
            break
        at = (gain - price).argmax()
        if gain[at] <= price[at]:
            at = (gain / np.maximum(price, np.finfo(float).tiny)).argmax()
        order.append(offered[at])
        value += gain[at] - price[at]
        if value > best:
            best, kept = value, len(order)
    return np.isin(np.arange(n_outputs), order[:kept])
