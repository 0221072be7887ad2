"""Slow, obvious twins of a tree's flow and of what is minimized over it: one row, terminal element and group a time."""

import math


def sigma(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def ways(children, node=0):
    """All terminal elements, each as the nodes before it and which side it takes of them, 1 being above."""
    found = []
    for side, child in enumerate(children[node]):
        rest = [[]] if child < 0 else ways(children, child)
        found += [[(node, side), *way] for way in rest]
    return found


def chance(way, scores, threshold, steepness):
    """The probability of one row to take a way."""
    p = 1.0
    for node, side in way:
        up = sigma(steepness * (scores[node] - threshold[node]))
        p *= up if side else 1 - up
    return p


def passes(children, scores, threshold, steepness):
    """p of one row: the sum over all ways that lead through a node."""
    found = [0.0] * len(children)
    for way in ways(children):
        for node, _ in way:
            found[node] += chance(way, scores, threshold, steepness)
    return found


def exits(children, scores, threshold, steepness):
    """The probabilities of one row that a node is the last it meets."""
    found = [0.0] * len(children)
    for way in ways(children):
        found[way[-1][0]] += chance(way, scores, threshold, steepness)
    return found


def hard_way(children, scores, threshold):
    """The nodes that one row comes to."""
    node, found = 0, []
    while node >= 0:
        found.append(node)
        node = children[node][int(scores[node] > threshold[node])]
    return found


def scores(H, at):
    """One list of M scores for each row and node."""
    width = at.weights.shape[2]
    return [
        [
            [
                at.intercept[k, m] + sum(h * b for h, b in zip(row, at.weights[k, :, m], strict=True))
                for m in range(width)
            ]
            for k in range(len(at.weights))
        ]
        for row in H
    ]


def routing(row, at):
    return [
        sum(s * d for s, d in zip(node, direction, strict=True))
        for node, direction in zip(row, at.direction, strict=True)
    ]


def loss_of(kind, score, target):
    if kind == "squared":
        return sum((y - s) ** 2 for s, y in zip(score, target, strict=True)) / 2
    if kind == "logistic":
        z = -target[0] * score[0]
        return max(z, 0) + math.log1p(math.exp(-abs(z)))
    most = max(score)
    total = most + math.log(sum(math.exp(s - most) for s in score))
    return sum(y * (total - s) for s, y in zip(score, target, strict=True))


def root(square, floor):
    z = math.sqrt(square)
    return z if z >= floor else 0.5 * (square / floor + floor)


def parabola(square, z):
    return 0.5 * (square / z + z)


def members(groups):
    """The price and the outputs of each group."""
    return [
        (price, [c for c, on in enumerate(row) if on])
        for price, row in zip(groups.price, groups.member.toarray(), strict=True)
    ]


def loss(H, objective, kind, at):
    """sum_k sum_i w_i p loss."""
    rows, children, total = objective.rows, at.topology.children.tolist(), 0.0
    for i, row in enumerate(scores(H, at)):
        p = passes(children, routing(row, at), at.threshold, objective.steepness)
        for k, score in enumerate(row):
            total += rows.loss_weight[i] * p[k] * loss_of(kind, score, rows.target[i])
    return total


def way_shares(H, objective, at):
    """Each way, and the share of the rows that take it."""
    children = at.topology.children.tolist()
    found = [[way, 0.0] for way in ways(children)]
    for i, row in enumerate(scores(H, at)):
        share = objective.rows.weight[i] / sum(objective.rows.weight)
        for one in found:
            one[1] += share * chance(one[0], routing(row, at), at.threshold, objective.steepness)
    return found


def square(weights, nodes, outputs):
    return sum(b**2 for k in nodes for c in outputs for b in weights[k][c])


def value(H, objective, kind, at):
    """The relaxed objective, over terminal elements."""
    floor, total = objective.cost.floor, loss(H, objective, kind, at)
    for k, rho in enumerate(objective.l1):
        total += rho * sum(root(square(at.weights, [k], [c]), floor) for c in range(at.weights.shape[1]))
    for way, share in way_shares(H, objective, at):
        for price, outputs in members(objective.cost.groups):
            total += share * price * root(square(at.weights, [k for k, _ in way], outputs), floor)
    return total


def bound(H, objective, kind, at, z):
    """The same with parabolas for roots."""
    total = loss(H, objective, kind, at)
    for k, rho in enumerate(objective.l1):
        for c in range(at.weights.shape[1]):
            total += rho * parabola(square(at.weights, [k], [c]), z.weights[k, c])
    for way, share in way_shares(H, objective, at):
        nodes = [k for k, _ in way]
        for g, (price, outputs) in enumerate(members(objective.cost.groups)):
            total += share * price * parabola(square(at.weights, nodes, outputs), z.groups[nodes[-1], g])
    return total


def charged(H, objective, at, costs):
    """sum_l p^l c^l for columns: the features with a weight on the way, what they need, and the learners, once each."""
    prices, names, total = costs.select(costs.names), list(costs.names), 0.0
    for way, share in way_shares(H, objective, at):
        used = [c for c in range(len(names)) if any(at.weights[k][c].any() for k, _ in way)]
        due = sum(prices.cost[c] + prices.learner for c in used)
        for r, price in enumerate(prices.resource_cost):
            due += price if any(prices.needs[c, r] for c in used) else 0.0
        total += share * due
    return total
