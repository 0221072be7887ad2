"""Slow, obvious twins of what is trained over a bank: dense matrices, and loops over rows, ways and priced groups."""

import math

import numpy as np

# --- fits of one stage ---


def objective(H, y, w, groups, weights, ridge):
    """Mean loss with the best constants, ridge, and the prices of all groups with a weight that is not zero."""
    w, scores = w / w.sum(), H @ weights
    scores = scores + w @ (y - scores)
    paid = sum(price for price, inside in priced(groups) if weights[inside].any())
    return 0.5 * w @ ((y - scores) ** 2).sum(axis=1) + 0.5 * ridge * (weights**2).sum() + paid


def ridge_fit(H, y, w, support, ridge):
    """Weights on a support, constants left free."""
    w, weights = w / w.sum(), np.zeros((H.shape[1], y.shape[1]))
    part, target = H[:, support] - w @ H[:, support], y - w @ y
    square = part.T @ (w[:, None] * part) + ridge * np.eye(len(support))
    weights[support] = np.linalg.solve(square, part.T @ (w[:, None] * target))
    return weights


def prune(H, y, w, groups, weights, ridge):
    """Try the removal of every group by refitting; take the best while it helps."""
    while True:
        now, tried = objective(H, y, w, groups, weights, ridge), []
        for price, inside in priced(groups):
            if price > 0 and weights[inside].any():
                fitted = ridge_fit(H, y, w, np.setdiff1d(np.flatnonzero(weights.any(axis=1)), inside), ridge)
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


# --- soft trees ---


def priced(groups):
    """The price and the outputs of each group."""
    return [(price, np.flatnonzero(row)) for price, row in zip(groups.price, groups.member.toarray(), strict=True)]


def sigma(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def ways(children, node=0):
    """All ways to terminal elements: the nodes on each, and which side it takes of them, 1 being above."""
    found = []
    for side, child in enumerate(children[node]):
        found += [[(node, side), *way] for way in ([[]] if child < 0 else ways(children, child))]
    return found


def chances(children, row, threshold, steepness):
    """The probability of each way, by one row's routing scores, with the nodes on it."""
    for way in ways(children):
        p = 1.0
        for node, side in way:
            up = sigma(steepness * (row[node] - threshold[node]))
            p *= up if side else 1 - up
        yield [node for node, _ in way], p


def hard_way(children, row, threshold):
    """The nodes that one row comes to."""
    node, found = 0, []
    while node >= 0:
        found.append(node)
        node = children[node][int(row[node] > threshold[node])]
    return found


def walk(H, rows, at, steepness):
    """Each row's number, its scores at all nodes, and each way: its nodes and its probability."""
    for i, row in enumerate(H):
        scores = [at.intercept[k] + row @ at.weights[k] for k in range(len(at))]
        routing = [float(s @ direction) for s, direction in zip(scores, at.direction, strict=True)]
        for nodes, p in chances(at.topology.children.tolist(), routing, at.threshold, steepness):
            yield i, rows.weight[i] / sum(rows.weight), scores, nodes, p


def loss_of(kind, score, target):
    if kind == "squared":
        return sum((y - s) ** 2 for s, y in zip(score, target, strict=True)) / 2
    if kind == "logistic":
        z = -target[0] * score[0]
        return max(z, 0) + math.log1p(math.exp(-abs(z)))
    most = max(score)
    total = most + math.log(sum(math.exp(s - most) for s in score))
    return sum(y * (total - s) for s, y in zip(score, target, strict=True))


def root(square, floor, z=None):
    """The root, a parabola below the floor; or the parabola of an auxiliary."""
    z = max(math.sqrt(square), floor) if z is None else z
    return 0.5 * (square / z + z) if z else 0.0


def shares(H, objective, at):
    """The ways that prices are summed over: share, nodes with the factor of their weights, and number."""
    reach, share = np.zeros(len(at)), {}
    for _, weight, _, nodes, p in walk(H, objective.rows, at, objective.steepness):
        reach[nodes] += weight * p
        share[tuple(nodes)] = share.get(tuple(nodes), 0.0) + weight * p
    if objective.cascade:
        return [(1.0, dict(enumerate(reach)), 0)]
    return [(p, dict.fromkeys(nodes, 1.0), nodes[-1]) for nodes, p in share.items()]


def value(H, objective, kind, at, z=None):
    """The relaxed objective, eq. 8 of Cronus or eq. 5 of CSTC; with auxiliaries, its bound of parabolas."""
    rows, floor, total = objective.rows, objective.cost.floor, 0.0
    for i, _, scores, nodes, p in walk(H, rows, at, objective.steepness):
        for k in nodes[-1:] if objective.cascade else nodes:
            total += rows.loss_weight[i] * p * loss_of(kind, scores[k], rows.target[i])
    for k, rho in enumerate(objective.l1):
        for c, row in enumerate(at.weights[k]):
            total += rho * root((row**2).sum(), floor, z and z.weights[k, c])
    for share, nodes, number in shares(H, objective, at):
        for g, (price, outputs) in enumerate(priced(objective.cost.groups)):
            square = sum(((d * at.weights[k][outputs]) ** 2).sum() for k, d in nodes.items())
            total += share * price * root(square, floor, z and z.groups[number, g])
    return total


def charged(H, objective, at):
    """On each way, the first stage that uses a group pays for it."""
    total = 0.0
    for share, nodes, _ in shares(H, objective, at):
        for price, outputs in priced(objective.cost.groups):
            using = [d for k, d in nodes.items() if at.weights[k][outputs].any()]
            total += share * price * using[0] if using else 0.0
    return total


def expected(H, rows, kind, at, steepness, costs):
    """Mean loss where rows leave, and mean cost of the nodes they come to."""
    loss = cost = 0.0
    for i, weight, scores, nodes, p in walk(H, rows, at, steepness):
        loss += rows.loss_weight[i] * p * loss_of(kind, scores[nodes[-1]], rows.target[i])
        cost += weight * p * sum(costs[i, k] for k in nodes)
    return loss, cost


def payments(children, scores, threshold, at_exit, arrival):
    """What rows pay on arrival at each node that they come to, and where they leave."""
    found = [hard_way(children, row, threshold) for row in scores]
    return sum(sum(arrival[i][k] for k in way) + at_exit[i][way[-1]] for i, way in enumerate(found))


def differences(function, at, step=1e-6):
    """Central differences of a function of one array."""
    slopes = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[index] += step
        down[index] -= step
        slopes[index] = (function(up) - function(down)) / (2 * step)
    return slopes
