"""CEGB by the book: after every split all leaves and features are evaluated from scratch; marks are sets."""

import numpy as np


class Book:
    """C(i, f), C(i, r) and D(f), and what rows pay by them."""

    def __init__(self, costs, names, n):
        self.prices = costs.select(names)
        self.features, self.resources = [set() for _ in range(n)], [set() for _ in range(n)]
        self.once = set()
        self.per_row, self.fixed = np.zeros(n), 0.0

    def row_price(self, i, f, used):
        """What row i pays for a comparison on f; `used` are the features that this tree has used on the row."""
        p = self.prices
        price = p.split[f]
        if f not in self.features[i]:
            price += p.cost[f]
        elif f not in used:
            price += p.reuse
        return price + sum(p.resource_cost[r] for r in np.flatnonzero(p.needs[f]) if r not in self.resources[i])

    def price(self, rows, w, f, used, root):
        total = sum(w[i] * (self.row_price(i, f, used) + (self.prices.learner if root else 0.0)) for i in rows)
        return total + (0.0 if f in self.once else self.prices.once[f])

    def pay(self, rows, f, used, root):
        for i in rows:
            self.per_row[i] += self.row_price(i, f, used) + (self.prices.learner if root else 0.0)
            self.features[i].add(f)
            self.resources[i] |= set(np.flatnonzero(self.prices.needs[f]).tolist())
        if f not in self.once:
            self.once.add(f)
            self.fixed += self.prices.once[f]


def gain_of(X, g, h, rows, f, l2, least):
    """Best unpriced gain of splitting rows on f: (gain, goes left)."""

    def worth(part):
        return g[part].sum() ** 2 / (h[part].sum() + l2)

    x, best = X[rows, f], (0.0, None)
    values = np.unique(x[~np.isnan(x)])
    missing = np.isnan(x)
    options = (
        [(cut, left) for left in (False, True) for cut in values[:-1]]
        if missing.any()
        else [(c, None) for c in values[:-1]]
    )
    if missing.any() and len(values):
        options.append((np.inf, False))
    for cut, left in options:
        goes = (x <= cut) | (missing if left else False)
        if min(goes.sum(), (~goes).sum()) >= least:
            gain = 0.5 * (worth(rows[goes]) + worth(rows[~goes]) - worth(rows))
            if gain > best[0] + 1e-9:
                best = (gain, goes)
    return best


def grow(X, g, h, w, book, lam, max_leaves, l2, least):
    """One tree, best-first: values of all rows, and (feature, rows) of the splits in their order."""
    leaves = [(np.arange(len(X)), frozenset())]
    order = []
    while len(leaves) < max_leaves:
        best = (0.0, None)
        for number, (rows, used) in enumerate(leaves):
            for f in range(X.shape[1]):
                gain, goes = gain_of(X, g, h, rows, f, l2, least)
                value = gain - lam * book.price(rows, w, f, used, not order) if goes is not None else -1.0
                if value > best[0] + 1e-9:
                    best = (value, (number, f, goes))
        if best[1] is None:
            break
        number, f, goes = best[1]
        rows, used = leaves.pop(number)
        book.pay(rows, f, used, not order)
        order.append((f, tuple(rows)))
        leaves += [(rows[goes], used | {f}), (rows[~goes], used | {f})]
    values = np.zeros(len(X))
    for rows, _ in leaves:
        values[rows] = -g[rows].sum() / (h[rows].sum() + l2)
    return values, order


def derivatives(y, F, n_classes):
    if n_classes == 0:
        return F - y[:, None], np.ones_like(F)
    if n_classes == 2:
        p = 1 / (1 + np.exp(-F))
        return p - y[:, None], p * (1 - p)
    e = np.exp(F - F.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return p - np.eye(n_classes)[y], p * (1 - p)


def once_price_case():
    """X, y, costs: with four leaves, a splits all rows, b those with a = 0 at its once-price, c those with a = 1.

    Splitting half of the rows where y differs by delta gains 5 delta^2: b gains 5 less 4 for a = 0. For a = 1, c gains
    0.8, and b 0.2 once it is paid for.
    """
    X = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0) for _ in range(10)])
    y = np.where(X[:, 0] == 0, X[:, 1], 10 + 0.2 * X[:, 1] + 0.4 * X[:, 2])
    return X, y, {"features": {"a": 0.0, "b": {"cost": 0.0, "once": 4.0}, "c": 0.0}}
