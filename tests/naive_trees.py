"""Slow, obvious twins of the CART engine: loops over rows, no bins summed twice, nothing remembered."""

from itertools import pairwise
from math import inf, isnan

MISSING = 255


def thresholds(values, weights, max_bins):
    """Cuts between all values if they are few, else after the k-th share of the weight, heavy values clipped."""
    mass = {}
    for value, weight in zip(values, weights, strict=True):
        if not isnan(value) and weight > 0:
            mass[value] = mass.get(value, 0) + int(weight)
    ordered = sorted(mass)
    if len(ordered) <= max_bins:
        return [middle(a, b) for a, b in pairwise(ordered)] + [inf]
    masses = [mass[value] for value in ordered]
    for _ in range(3):
        whole = sum(masses)
        if all(each * max_bins <= whole for each in masses):
            break
        masses = [min(each * max_bins, whole) for each in masses]
    cuts = set()
    for k in range(1, max_bins):
        at = 0
        while sum(masses[: at + 1]) * max_bins < k * sum(masses):
            at += 1
        cuts.add(at)
    return [middle(ordered[at], ordered[at + 1]) for at in sorted(cuts) if at + 1 < len(ordered)] + [inf]


def middle(below, above):
    """A number t with below <= t < above."""
    guess = below / 2 + above / 2
    found = guess if below <= guess < above else below
    assert below <= found < above
    return found


def bin_of(x, cuts):
    """How many thresholds x exceeds."""
    return MISSING if isnan(x) else sum(x > cut for cut in cuts)


def goes_left(cell, bin_, missing_left):
    """bin_ is the highest bin that goes left, or the set of those that do."""
    if isinstance(bin_, frozenset):
        return cell in bin_
    return missing_left if cell == MISSING else cell <= bin_


def taken_off(G, W, low, high):
    """Twice what the best value from low to high takes off the loss."""
    if low * W <= -G <= high * W:
        return G * G / W
    return max(-(2 * G * value + W * value * value) for value in (low, high) if abs(value) < inf)


def prefixes(cells, n_bins, g, h, smoothing=10.0):
    """What may go left, without the missing rows: (key, bins), all thresholds, or sets of categories in their order."""
    if n_bins is not None:
        return [(bin_, range(bin_ + 1)) for bin_ in range(n_bins)]

    def order(cell):
        inside = [i for i, each in enumerate(cells) if each == cell]
        return sum(g[i] for i in inside) / (sum(h[i] for i in inside) + smoothing), cell

    known = sorted({cell for cell in cells if cell != MISSING}, key=order)
    return [(known, known[:length]) for length in range(1, len(known) + 1)]


def best_split(cells, n_bins, g, h, *, l2, min_rows, min_hessian, low=-inf, high=inf, sign=0):
    """(gain, bin or set of bins, missing left) of one column over a leaf's rows, or None; n_bins None: categories."""
    rows = range(len(cells))
    G, H = sum(g), sum(h)
    parent = taken_off(G, H + l2, low, high) if H + l2 > 0 else 0.0
    best = None
    for key, inside in prefixes(cells, n_bins, g, h):
        for missing_left in (False, True) if MISSING in cells else (False,):
            chosen = {*inside, MISSING} if missing_left else {*inside}
            left = [i for i in rows if cells[i] in chosen]
            right = [i for i in rows if cells[i] not in chosen]
            if min(len(left), len(right)) < min_rows:
                continue
            Gl, Hl, Gr, Hr = (sum(of[i] for i in side) for side in (left, right) for of in (g, h))
            if min(Hl, Hr) < min_hessian or min(Hl, Hr) + l2 <= 0:
                continue
            values = [min(max(-sum_ / (weight + l2), low), high) for sum_, weight in ((Gl, Hl), (Gr, Hr))]
            if sign * (values[1] - values[0]) < 0 and key != n_bins - 1:  # where missing rows alone go right, any way
                continue
            score = taken_off(Gl, Hl + l2, low, high) + taken_off(Gr, Hr + l2, low, high)
            if score > parent and (best is None or score > best[0]):
                best = score, key, inside, missing_left if MISSING in cells else Hl >= Hr
    if best is None or not 0.5 * (best[0] - parent) > 1e-12 * abs(parent):
        return None
    score, key, inside, missing_left = best
    if n_bins is None:  # all bins but the other known ones, if missing rows go left
        key = frozenset(range(256)) - (set(key) - set(inside)) if missing_left else frozenset(inside)
    return 0.5 * (score - parent), key, missing_left


class Prices:
    """Miser's prices, looked up one by one; all dictionaries and sets."""

    def __init__(self, feature, resource, needs, split, root, reuse, weight):
        self.feature, self.resource, self.needs = feature, resource, needs
        self.split, self.root, self.reuse, self.weight = split, root, reuse, weight
        self.features_bought, self.resources_bought, self.used = set(), set(), set()

    def begin_tree(self):
        self.used = set()

    def price(self, depth, rows, f):
        price = self.split[f] * sum(self.weight[i] for i in rows)
        if f not in self.features_bought:
            price += self.feature[f]
        elif f not in self.used:
            price += self.reuse
        for r in self.needs[f]:
            if r not in self.resources_bought:
                price += self.resource[r]
        return price + (self.root if depth == 0 else 0)

    def buy(self, _depth, _rows, f):
        self.features_bought.add(f)
        self.resources_bought |= self.needs[f]
        self.used.add(f)


class Free:
    def begin_tree(self):
        pass

    def price(self, *_):
        return 0

    def buy(self, *_):
        pass


class Tree:
    """A tree grown with every leaf and feature looked at anew before every split; n_bins None: categories."""

    def __init__(self, bins, n_bins, g, h, prices, *, rows, features, growth, depth, leaves, **limits):
        self.bins, self.n_bins, self.g, self.h, self.prices = bins, n_bins, g, h, prices
        self.features, self.limits = features, limits
        self.max_depth, self.max_leaves = depth, leaves
        self.nodes = [[-1, 0, False, -1, -1]]  # feature, bin, missing left, left, right
        self.open = {0: (0, rows)}  # node: depth, rows
        prices.begin_tree()
        self.best_first() if growth == "best" else self.breadth_first()
        self.outputs = [0.0] * len(self.nodes)
        for node, (_, inside) in self.open.items():
            weight = sum(h[i] for i in inside) + limits["l2"]
            self.outputs[node] = -sum(g[i] for i in inside) / weight if weight > 0 else 0.0
        self.leaf_of_row = [self.leaf(row) for row in range(len(bins))]

    def worth(self, node):
        """Best (gain - price, feature, bin, missing left) of a leaf at current prices, or None."""
        depth, rows = self.open[node]
        best = None
        for f in self.features if depth < self.max_depth else []:
            cells = [self.bins[i][f] for i in rows]
            g, h = [self.g[i] for i in rows], [self.h[i] for i in rows]
            found = best_split(cells, self.n_bins[f], g, h, **self.limits)
            if found is not None:
                worth = found[0] - self.prices.price(depth, rows, f)
                if worth > 0 and (best is None or worth > best[0]):
                    best = worth, f, found[1], found[2]
        return best

    def split(self, node, f, bin_, missing_left):
        depth, rows = self.open.pop(node)
        self.prices.buy(depth, rows, f)
        left = len(self.nodes)
        self.nodes[node] = [f, bin_, missing_left, left, left + 1]
        self.nodes += [[-1, 0, False, -1, -1], [-1, 0, False, -1, -1]]
        sides = [goes_left(self.bins[i][f], bin_, missing_left) for i in rows]
        self.open[left] = depth + 1, [i for i, side in zip(rows, sides, strict=True) if side]
        self.open[left + 1] = depth + 1, [i for i, side in zip(rows, sides, strict=True) if not side]

    def best_first(self):
        while len(self.open) < self.max_leaves:
            best = None
            for node in sorted(self.open):
                found = self.worth(node)
                if found is not None and (best is None or found[0] > best[0][0]):
                    best = found, node
            if best is None:
                return
            self.split(best[1], *best[0][1:])

    def breadth_first(self):
        queue = [0]
        while queue:
            node = queue.pop(0)
            found = self.worth(node) if len(self.open) < self.max_leaves else None
            if found is not None:
                self.split(node, *found[1:])
                queue += self.nodes[node][3:]

    def leaf(self, row):
        node = 0
        while self.nodes[node][0] >= 0:
            f, bin_, missing_left, left, right = self.nodes[node]
            node = left if goes_left(self.bins[row][f], bin_, missing_left) else right
        return node
