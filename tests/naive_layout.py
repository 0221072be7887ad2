"""Twins of the engine's layouts: whole arrays in numpy, level by level, as it lays them out in loops."""

import numpy as np

from costframe.core.learners.node_layout import Cuts, GateLayout
from costframe.core.learners.tree_table import TREE, ranges

MOST_STEPS, CUTS_AT_A_TIME = 1024, 1 << 20
MOST_LEAVES, LEVEL, PLACES = 64, 16, 0x077CB531


def lay_out_cuts(first, cut):
    """Make the tables for cuts that begin at `first` in each feature."""
    d, count = len(first) - 1, np.diff(first)
    first_step = np.concatenate([[0], np.cumsum(np.clip(2 * count, 1, MOST_STEPS))])  # one for a feature without cuts
    certain = np.zeros(first_step[-1], np.int32)
    cuts = Cuts(first, cut, np.zeros(d), np.zeros(d), first_step, certain, np.zeros(d, np.int64))
    features = np.flatnonzero(count)
    for some in np.split(features, np.flatnonzero(np.diff(first[features] // CUTS_AT_A_TIME)) + 1):
        if len(some):
            tabulate(cuts, some)
    return cuts


def tabulate(cuts, features):
    """Fill the tables of neighboring features with cuts."""
    begin, end = cuts.first[features], cuts.first[features + 1]
    lowest = cuts.cut[np.minimum(begin + np.isneginf(cuts.cut[begin]), end - 1)]  # finite, if several cuts are
    highest = cuts.cut[np.maximum(end - 1 - np.isposinf(cuts.cut[end - 1]), begin)]
    n_steps = cuts.first_step[features + 1] - cuts.first_step[features]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rising = highest > lowest
        cuts.low[features] = np.where(rising, lowest, 0.0)
        cuts.scale[features] = np.where(rising, n_steps / (highest - lowest), 0.0)
        owner = np.repeat(features, end - begin)
        step = (cuts.cut[begin[0] : end[-1]] - cuts.low[owner]) * cuts.scale[owner]  # as the engine rounds it
    last = np.diff(cuts.first_step)[owner] - 1
    steps = slice(cuts.first_step[features[0]], cuts.first_step[features[-1] + 1])
    at = cuts.first_step[owner] - steps.start + np.clip(np.nan_to_num(step, nan=0.0), 0, last).astype(np.int64)
    inside = np.bincount(at, minlength=steps.stop - steps.start)
    cuts.window[features] = np.maximum.reduceat(inside, cuts.first_step[features] - steps.start)
    every = np.arange(features[0], features[-1] + 1)
    of_step = np.repeat(every, np.diff(cuts.first_step[features[0] : features[-1] + 2]))
    below = np.cumsum(inside) - inside - (cuts.first[of_step] - begin[0])
    # the search stays inside the feature's cuts
    cuts.certain[steps] = np.minimum(below, (np.diff(cuts.first) - cuts.window)[of_step])


def order_nodes(table):
    """The table's node at each place, its parent, the steps to its left child, the depth of trees, and levels."""
    position = table.node_positions
    order, parents, current = [table.first[:-1]], [table.first[:-1]], table.first[:-1]
    while len(current):
        inner = current[table.feature[current] >= 0]
        base = inner - position[inner]
        current = np.stack([base + table.left[inner], base + table.right[inner]], axis=1).ravel()
        order.append(current)
        parents.append(np.repeat(inner, 2))
    by_level, tree = np.concatenate(order), table.tree_of_node
    origin = by_level[np.argsort(tree[by_level], kind="stable")]
    place, parent = np.empty(table.n_nodes, np.int64), np.empty(table.n_nodes, np.int64)
    place[origin] = np.arange(table.n_nodes)
    parent[place[by_level]] = place[np.concatenate(parents)]
    tests = np.flatnonzero(table.feature[origin] >= 0)
    at = origin[tests]
    steps = np.zeros(table.n_nodes, np.int64)
    steps[tests] = place[at - position[at] + table.left[at]] - tests
    depth = np.zeros(len(table), np.int32)
    for level, nodes in enumerate(order):
        depth[tree[nodes]] = level
    return origin, parent, steps, depth, [place[nodes] for nodes in order]


def lay_out_gates(levels, steps, tree, column, rank, depth, walked):
    """The gates of trees; `levels` lists the nodes of each level, `tree` is of each node."""
    inner = np.arange(len(steps))
    left, right = np.where(steps, inner + steps, -1), np.where(steps, inner + steps + 1, -1)
    count, begin = np.ones(len(left), np.int64), np.zeros(len(left), np.int64)  # leaves below, and on the left
    inner = [nodes[left[nodes] >= 0] for nodes in levels]
    for nodes in reversed(inner):
        count[nodes] = count[left[nodes]] + count[right[nodes]]
    for nodes in inner:
        begin[left[nodes]] = begin[nodes]
        begin[right[nodes]] = begin[nodes] + count[left[nodes]]
    node = np.flatnonzero(left >= 0)
    end = begin[node] + count[left[node]]
    bytes_ = (end - 1) // 8 - begin[node] // 8 + 1
    n_gates = np.bincount(tree[node], weights=bytes_, minlength=len(depth)).astype(np.int64)
    n_leaves = np.bincount(tree[left < 0], minlength=len(depth))
    walked = walked | (n_leaves > MOST_LEAVES) | (n_gates > LEVEL * depth)
    chosen = ~walked[tree[node]]
    node, end, bytes_ = node[chosen], end[chosen], bytes_[chosen].astype(np.int32)
    gate, byte = np.repeat(np.arange(len(node)), bytes_), ranges(begin[node] // 8, bytes_)
    low, high = (np.clip(bit[gate] - 8 * byte, 0, 8) for bit in (begin[node], end))
    order = np.lexsort((column[node][gate], byte, tree[node][gate]))
    n_words = np.where(walked, 0, -(-n_leaves // 32))
    exit_first = 32 * (np.cumsum(n_words) - n_words)
    leaf = np.flatnonzero((left < 0) & ~walked[tree])
    exits = np.zeros(32 * int(n_words.sum()), np.uint32)
    place = ((1 << begin[leaf] % 32) * PLACES & 0xFFFFFFFF) >> 27
    exits[exit_first[tree[leaf]] + 32 * (begin[leaf] // 32) + place] = leaf
    return GateLayout(
        n_words=n_words,
        gate_first=np.concatenate([[0], np.cumsum(np.where(walked, 0, n_gates))]),
        column=column[node][gate][order],
        rank=rank[node][gate][order],
        byte=byte[order],
        kept=(255 ^ ((1 << high) - (1 << low))).astype(np.uint8)[order],
        exit_first=exit_first,
        exit=exits,
    )


def lay_out_payload(layout):
    """What uses add to their targets."""
    n_targets, payload = np.diff(layout.target_first), np.zeros(layout.payload_first[-1])
    use, trees = np.repeat(np.arange(len(layout.kind)), n_targets), np.flatnonzero(layout.kind == TREE)
    size = (np.diff(layout.payload_first) // n_targets)[use]
    # An entry for each pair of a use and a target, and each row of its payload: a row of weights, or a node.
    pair = np.repeat(np.arange(len(use)), size)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(size) - size, size)
    first = layout.payload_first[use] + np.arange(len(use)) - layout.target_first[use]
    at, is_tree = first[pair] + within * n_targets[use][pair], (layout.kind[use] == TREE)[pair]
    plain, noded = np.flatnonzero(~is_tree), np.flatnonzero(is_tree)
    row, entry = layout.row[use][pair[plain]], layout.target[pair[plain]]
    payload[at[plain]] = layout.weight_rows[row + within[plain], entry]
    origin, bank, shift = layout.nodes.origin, layout.bank, np.zeros(len(layout.kind), np.int64)
    shift[trees] = bank.trees.first[bank.index[layout.learner[trees]]] - origin[layout.place[trees]]
    of = use[pair[noded]]
    value = layout.value[shift[of] + origin[layout.place[of] + within[noded]]]
    leaf = np.flatnonzero(value >= 0)
    payload[at[noded[leaf]]] = weigh(layout, of[leaf], layout.target[pair[noded[leaf]]], value[leaf])
    return payload


def weigh(layout, use, target, value):
    """What nodes add to targets, summed over a tree's outputs in Answer's order."""
    total, begun, width = np.zeros(len(use)), np.zeros(len(use), np.bool_), layout.width[use]
    for k in range(int(width.max(initial=0))):
        has = np.flatnonzero(width > k)
        weight = layout.weight_rows[layout.row[use[has]] + k, target[has]]
        has, weight = has[weight != 0], weight[weight != 0]
        part = weight * layout.values[value[has] + k]
        total[has] = np.where(begun[has], total[has] + part, part)
        begun[has] = True
    return total


def lay_out_bounds(layout):
    """The fields of `Bounds`: what each leaf may add, and each feature's tests with the leaves that they part."""
    nodes, uses, n_targets = layout.nodes, np.flatnonzero(layout.kind == TREE), np.diff(layout.target_first)
    use_of = np.zeros(len(nodes.root), np.int64)
    use_of[layout.tree[uses]] = uses
    use = np.repeat(use_of, nodes.sizes)  # of each node
    leaf = np.flatnonzero(nodes.feature < 0)
    begin = layout.payload_first[use[leaf]] + (leaf - layout.place[use[leaf]]) * n_targets[use[leaf]]
    leaf = leaf[np.lexsort((layout.payload[begin], use[leaf]))]
    of, n_leaves = use[leaf], np.bincount(use[leaf], minlength=len(layout.kind))
    word_first = np.cumsum([0, *-(-n_leaves // 64)])
    number = np.arange(len(leaf)) - (np.cumsum(n_leaves) - n_leaves)[of]
    word, bit = word_first[of] + number // 64, np.uint64(1) << (number % 64).astype(np.uint64)
    every = np.bitwise_or.reduceat(bit, np.searchsorted(word, np.arange(word_first[-1]))) if len(leaf) else bit
    # the values of each leaf, in order
    size = n_targets[of]
    within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    begin = layout.payload_first[of] + (leaf - layout.place[of]) * size
    values = layout.payload[np.repeat(begin, size) + within]
    unknown = np.isnan(values)  # infinities of both signs met in one leaf
    value_first = np.cumsum(n_leaves * n_targets) - n_leaves * n_targets
    ascends = (n_targets == 1) & (n_leaves > 0)
    ascends[np.repeat(of, size)[unknown]] = False
    # each leaf with all tests before it
    steps = (nodes.word >> np.uint64(41) & np.uint64(2**22 - 1)).astype(np.int64)
    tests = []
    at, above = np.arange(len(leaf)), leaf
    while len(above := above[moves := nodes.parent[above] != above]):
        at, node = at[moves], nodes.parent[above]
        left = node + steps[node]
        tests.append(np.stack([nodes.feature[node], node, word[at], at, above != left]))
        above = node
    feature, node, where, at, right = np.hstack(tests) if tests else np.zeros((5, 0), np.int64)
    order = np.lexsort((where, node, feature))
    feature, node, where, at, right = (each[order] for each in (feature, node, where, at, right))
    first = np.flatnonzero(np.append(True, (np.diff(node) != 0) | (np.diff(where) != 0))[: len(node)])
    sides = [np.bitwise_or.reduceat(np.where(right == side, bit[at], np.uint64(0)), first) for side in (0, 1)]
    parts = use[node[first]], node[first], where[first], *(side.view(np.int64) for side in sides)
    return (
        np.searchsorted(feature[first], np.arange(len(layout.used) + 1)), np.stack(parts, axis=1), every, word_first,
        value_first, np.where(unknown, -np.inf, values), np.where(unknown, np.inf, values), ascends,
    )  # fmt: skip
