"""Naive twins: the pruning program as a matrix, and greedy growing, one row and one node at a time."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def way(trees, t, row):
    """Return the nodes of a row in tree t, as places among all nodes."""
    node, first, nodes = 0, trees.first[t], []
    while True:
        at = first + node
        nodes.append(at)
        f = trees.feature[at]
        if f < 0:
            return nodes
        left = trees.missing_left[at] if np.isnan(row[f]) else row[f] <= trees.threshold[at]
        node = trees.left[at] if left else trees.right[at]


def items_of(prices, f):
    """Return a feature and its resources as items."""
    return [f, *(len(prices.cost) + r for r in np.flatnonzero(prices.needs[f]))]


class Matrix:
    """min c x, with equalities A x = b and inequalities G x <= 0, over x in [0, 1]: z_h, w_kit, w_ki."""

    def __init__(self, forest, X, y, weight, prices, tradeoff, loss):
        self.names, self.cost, self.equal, self.less = {}, [], [], []
        trees, total = forest.trees, weight.sum()
        for t in range(len(trees)):
            for i, row in enumerate(X):
                self.add_row(forest, t, i, row, y[i], weight[i] / total, prices, tradeoff, loss)

    def variable(self, *name):
        if name not in self.names:
            self.names[name] = len(self.cost)
            self.cost.append(0.0)
        return self.names[name]

    def add_row(self, forest, t, i, row, label, weight, prices, tradeoff, loss):
        trees = forest.trees
        nodes = way(trees, t, row)
        z = [self.variable("z", h) for h in nodes]
        spent, used = 0.0, set()
        for h, at in zip(nodes, z, strict=True):
            own = forest.shares[h]
            lost = float(own.argmax() != label) if loss == "error" else ((own - np.eye(len(own))[label]) ** 2).sum() / 2
            learner = prices.learner if h != nodes[0] else 0.0
            reuse = prices.reuse * len(used)
            self.cost[at] += weight * (lost / len(trees) + tradeoff * (spent + learner + reuse))
            if (f := trees.feature[h]) >= 0:
                spent += prices.split[f]
                used.add(f)
        self.equal.append((dict.fromkeys(z, 1.0), 1.0))
        seen = set()
        for place, h in enumerate(nodes):
            for k in items_of(prices, trees.feature[h]) if trees.feature[h] >= 0 else ():
                if k in seen:
                    continue
                seen.add(k)
                mine = self.variable("wt", k, i, t)
                self.equal.append(({mine: 1.0} | dict.fromkeys(z[: place + 1], 1.0), 1.0))
                shared = self.variable("w", k, i)
                each = (
                    prices.cost[k] - prices.reuse
                    if k < len(prices.cost)
                    else prices.resource_cost[k - len(prices.cost)]
                )
                self.cost[shared] = tradeoff * weight * each
                self.less.append({mine: 1.0, shared: -1.0})

    def dense(self, rows):
        found = np.zeros((len(rows), len(self.cost)))
        for at, row in enumerate(rows):
            found[at, list(row)] = list(row.values())
        return found

    def solve(self):
        """Return the optima of the 0-1 program and of its relaxation."""
        A, b = self.dense([row for row, _ in self.equal]), np.array([right for _, right in self.equal])
        G, c = self.dense(self.less), np.array(self.cost)
        limits = [LinearConstraint(A, b, b)]
        if len(G):
            limits.append(LinearConstraint(G, -np.inf, 0.0))
        whole = milp(
            c, integrality=np.ones(len(c)), bounds=Bounds(0, 1), constraints=limits, options={"mip_rel_gap": 0}
        )
        given = {"A_ub": G, "b_ub": np.zeros(len(G))} if len(G) else {}
        relaxed = linprog(c, A_eq=A, b_eq=b, bounds=(0, 1), **given)
        return whole.fun, relaxed.fun


def impurity(kind, alpha, counts):
    """Return an impurity of class counts."""
    n = counts.sum()
    if kind == "pairs":
        above = np.maximum(counts - alpha, 0)
        table = np.maximum(np.outer(above, above) - alpha**2, 0)
        return table.sum() - np.trace(table)
    p = counts[counts > 0] / n
    return n * (1 - (p**2).sum()) if kind == "gini" else -n * (p * np.log(p)).sum()


def grow(  # noqa: C901 - the whole rule in one place
    bins, y, weight, prices, kind, alpha, minimax, base, bought=frozenset(), paid=frozenset()
):
    """Return (feature, bin, missing left, left, right), or the class counts of a leaf; bins are (n, d), 255 missing."""
    counts = np.bincount(y, weight, int(y.max(initial=0)) + 1)
    whole = impurity(kind, alpha, counts)
    if whole <= (0.0 if kind == "pairs" else alpha):
        return counts
    best = None
    for f in range(bins.shape[1]):
        needed = set(np.flatnonzero(prices.needs[f])) - paid
        price = prices.split[f] + base
        if f not in bought:
            price += prices.cost[f] + sum(prices.resource_cost[r] for r in needed)
        choices = []
        gone = bins[:, f] == 255
        for cut in np.unique(bins[~gone, f]).tolist():
            for missing_left in (False, True) if gone.any() else (None,):
                left = np.where(gone, bool(missing_left), bins[:, f] <= cut)
                if not 0 < left.sum() < len(left):
                    continue
                sides = [impurity(kind, alpha, np.bincount(y[s], weight[s], len(counts))) for s in (left, ~left)]
                drop = whole - (max(sides) if minimax else sum(sides))
                choices.append((drop, -int(bool(missing_left)), -cut, left))
        if choices:
            drop, left_first, cut, left = max(choices, key=lambda one: (round(one[0], 9), *one[1:3]))
            if drop > 1e-9 * whole:
                key = (price / drop, -drop, f)
                if best is None or key < best[0]:
                    best = key, f, -cut, gone.any() and left_first == -1, left
    if best is None:
        return counts
    _, f, cut, missing_left, left = best
    rest = bought | {f}, paid | set(np.flatnonzero(prices.needs[f]))
    sides = [grow(bins[s], y[s], weight[s], prices, kind, alpha, minimax, base, *rest) for s in (left, ~left)]
    return f, cut, missing_left, *sides
