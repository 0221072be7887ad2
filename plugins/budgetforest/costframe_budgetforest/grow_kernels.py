"""Compiled growing of one tree by the split with the least price per drop of the impurity."""

from typing import NamedTuple

import numpy as np

from costframe.plugin import B1, F8, I4, I8, U1, kernel
from costframe_budgetforest.impurity_kernels import PAIRS, from_powers, impurity, power
from costframe_budgetforest.node_kernels import GrowingTree, Rule, SplitPrice, draw_feature, mark_bought, price_split

MISSING = 255
SMALLEST = 1e-10  # drop, as a share of the node's impurity
MANY = 40  # bins that are not sorted one by one


@kernel
def _drop(rule: Rule, whole: float, left: F8, right: F8, sums: F8, classes: I8, n_classes: int) -> float:
    """Return the drop of the impurity; `sums` are the weights of both sides and the sums of their terms."""
    if rule.kind == PAIRS and rule.alpha > 0.0:
        below = impurity(rule.kind, rule.alpha, left, classes, n_classes)
        above = impurity(rule.kind, rule.alpha, right, classes, n_classes)
    else:
        below, above = from_powers(rule.kind, sums[0], sums[2]), from_powers(rule.kind, sums[1], sums[3])
    return float(whole - max(below, above)) if rule.minimax else float(whole - below - above)


@kernel
def _move(rule: Rule, from_: F8, to: F8, k: int, weight: float, sums: F8, down: int) -> None:
    """Move weight of class k from one side to the other; `down` is the number of the side that grows."""
    up = 1 - down
    sums[2 + up] -= power(rule.kind, from_[k])
    sums[2 + down] -= power(rule.kind, to[k])
    from_[k] -= weight
    to[k] += weight
    sums[2 + up] += power(rule.kind, from_[k])
    sums[2 + down] += power(rule.kind, to[k])
    sums[up] -= weight
    sums[down] += weight


@kernel
def _scan(
    rule: Rule, whole: float, counts: F8, table: F8, bins: I8, n_seen: int, missing_left: bool, classes: I8,
    n_classes: int, room: F8,
) -> tuple[float, int]:  # fmt: skip
    """Return the largest drop over the thresholds of a feature, and its bin, with missing values on one side."""
    left, right, sums = room[0], room[1], np.zeros(4)
    for a in range(n_classes):
        k = classes[a]
        left[k] = 0.0
        right[k] = counts[k]
        sums[1] += counts[k]
        sums[3] += power(rule.kind, counts[k])
    if missing_left:
        for a in range(n_classes):
            _move(rule, right, left, classes[a], table[MISSING, classes[a]], sums, 0)
    best, best_bin = 0.0, -1
    for at in range(n_seen):
        b = bins[at]
        for a in range(n_classes):
            if table[b, classes[a]] > 0.0:
                _move(rule, right, left, classes[a], table[b, classes[a]], sums, 0)
        if sums[0] >= rule.min_leaf and sums[1] >= rule.min_leaf:
            drop = _drop(rule, whole, left, right, sums, classes, n_classes)
            if drop > best * (1.0 + SMALLEST):
                best, best_bin = drop, b
    return best, best_bin


@kernel
def _fill(column: U1, rows: I4, y: I8, weight: F8, table: F8, bins: I8) -> int:
    """Sum up weights by bin and class, set the bins with values in ascending order, and return their number."""
    seen, total = 0, table.shape[1] - 1
    for at in range(rows.shape[0]):
        i = rows[at]
        b = int(column[i])
        if table[b, total] == 0.0 and b != MISSING:
            bins[seen] = b
            seen += 1
        table[b, y[i]] += weight[i]
        table[b, total] += weight[i]
    if seen > MANY:
        seen = 0
        for b in range(MISSING):
            if table[b, total] > 0.0:
                bins[seen] = b
                seen += 1
        return seen
    for at in range(1, seen):
        last, place = bins[at], at
        while place > 0 and bins[place - 1] > last:
            bins[place] = bins[place - 1]
            place -= 1
        bins[place] = last
    return seen


@kernel
def _search(
    column: U1, rows: I4, y: I8, weight: F8, rule: Rule, whole: float, counts: F8, classes: I8, n_classes: int,
    table: F8, room: F8, bins: I8,
) -> tuple[float, int, bool]:  # fmt: skip
    """Return the largest drop of one feature over some rows, its bin, and whether missing values go left."""
    total = table.shape[1] - 1
    n_seen = _fill(column, rows, y, weight, table, bins)
    missing = table[MISSING, total] > 0.0
    drop, where, to_left = 0.0, -1, False
    if n_seen > 1 or missing:
        drop, where = _scan(rule, whole, counts, table, bins, n_seen, False, classes, n_classes, room)
    if missing:
        other, place = _scan(rule, whole, counts, table, bins, n_seen, True, classes, n_classes, room)
        if other > drop:
            drop, where, to_left = other, place, True
    elif where >= 0:  # a row without the value goes the way of most rows
        below, all_rows = 0.0, 0.0
        for at in range(n_seen):
            all_rows += table[bins[at], total]
            below += table[bins[at], total] if bins[at] <= where else 0.0
        to_left = 2.0 * below >= all_rows
    for at in range(n_seen):
        for a in range(n_classes):
            table[bins[at], classes[a]] = 0.0
        table[bins[at], total] = 0.0
    if missing:
        table[MISSING] = 0.0
    return drop, where, to_left


@kernel
def _better(price: float, drop: float, best_price: float, best_drop: float) -> bool:
    """Compare two splits by price over drop; of free splits, and of equal ratios, the larger drop is better."""
    ours, theirs = price * best_drop, best_price * drop
    if ours != theirs:
        return ours < theirs
    return drop > best_drop


@kernel
def _part(column: U1, rows: I4, cut: int, missing_left: bool, spare: I4) -> int:
    """Put the rows of the left side first, in order, and return their number."""
    below, above = 0, 0
    for at in range(rows.shape[0]):
        i = rows[at]
        b = int(column[i])
        if (b == MISSING and missing_left) or (b != MISSING and b <= cut):
            rows[below] = i
            below += 1
        else:
            spare[above] = i
            above += 1
    rows[below:] = spare[:above]
    return below


class Room(NamedTuple):
    """Memory for the search of a node's best split."""

    bought: B1
    paid: B1
    table: F8  # (256, K + 1): weights by bin and class, and by bin
    sides: F8  # (2, K)
    bins: I8
    order: I8  # of the features
    classes: I8
    state: I8  # of the draws


@kernel
def _best_split(
    columns: U1, y: I8, weight: F8, prices: SplitPrice, rule: Rule, mine: I4, nodes: GrowingTree, node: int,
    present: int, whole: float, room: Room,
) -> tuple[int, int, bool]:  # fmt: skip
    """Return the feature of a node's best split, -1 if none lowers the impurity, its bin and its missing side."""
    mark_bought(nodes, node, prices, room.bought, room.paid)
    best_price, best_drop, best, best_bin, to_left = 0.0, 0.0, -1, -1, False
    for place in range(columns.shape[0]):
        if place >= rule.max_features and best >= 0:
            break
        f = draw_feature(room.order, place, room.state)
        drop, where, left = _search(
            columns[f], mine, y, weight, rule, whole, nodes.counts[node], room.classes, present, room.table,
            room.sides, room.bins,
        )  # fmt: skip
        if where < 0 or drop <= SMALLEST * whole:
            continue
        price = price_split(f, prices, room.bought, room.paid) + rule.base
        same = price * best_drop == best_price * drop and drop == best_drop and f < best
        if best < 0 or same or _better(price, drop, best_price, best_drop):
            best_price, best_drop, best, best_bin, to_left = price, drop, f, where, left
    return best, best_bin, to_left


@kernel
def _count_classes(rows: I4, y: I8, weight: F8, counts: F8, classes: I8) -> int:
    """Sum up the rows' weights by class, set the classes that occur, and return their number."""
    for at in range(rows.shape[0]):
        counts[y[rows[at]]] += weight[rows[at]]
    present = 0
    for k in range(counts.shape[0]):
        if counts[k] > 0.0:
            classes[present] = k
            present += 1
    return present


@kernel
def grow_tree(
    columns: U1, y: I8, weight: F8, prices: SplitPrice, rule: Rule, rows: I4, nodes: GrowingTree, seed: int
) -> int:
    """Grow a tree on `rows`, which it orders anew, breadth-first, and return the number of nodes."""
    n_features, n_classes = columns.shape[0], nodes.counts.shape[1]
    room = Room(
        np.zeros(n_features, np.bool_), np.zeros(prices.resource.shape[0], np.bool_), np.zeros((256, n_classes + 1)),
        np.zeros((2, n_classes)), np.empty(256, np.int64), np.arange(n_features), np.zeros(n_classes, np.int64),
        np.full(1, seed % 2147483646 + 1),
    )  # fmt: skip
    spare = np.empty(rows.shape[0], np.int32)
    nodes.begin[0], nodes.end[0], nodes.parent[0], nodes.depth[0] = 0, rows.shape[0], -1, 0
    n_nodes, node = 1, 0
    stop = 0.0 if rule.kind == PAIRS else rule.alpha
    while node < n_nodes:
        mine, counts = rows[nodes.begin[node] : nodes.end[node]], nodes.counts[node]
        best, cut, to_left = -1, -1, False
        present = _count_classes(mine, y, weight, counts, room.classes)
        nodes.feature[node], nodes.left[node], nodes.right[node] = -1, -1, -1
        whole = impurity(rule.kind, rule.alpha, counts, room.classes, present)
        if present > 1 and whole > stop and nodes.depth[node] < rule.max_depth:
            best, cut, to_left = _best_split(columns, y, weight, prices, rule, mine, nodes, node, present, whole, room)
        if best >= 0:
            middle = nodes.begin[node] + _part(columns[best], mine, cut, to_left, spare)
            nodes.feature[node], nodes.bin[node], nodes.missing_left[node] = best, cut, to_left
            nodes.left[node], nodes.right[node] = n_nodes, n_nodes + 1
            nodes.begin[n_nodes], nodes.end[n_nodes] = nodes.begin[node], middle
            nodes.begin[n_nodes + 1], nodes.end[n_nodes + 1] = middle, nodes.end[node]
            for child in (n_nodes, n_nodes + 1):
                nodes.parent[child], nodes.depth[child] = node, nodes.depth[node] + 1
            n_nodes += 2
        node += 1
    return n_nodes
