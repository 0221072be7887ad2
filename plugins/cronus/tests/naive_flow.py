"""Slow, obvious twins of a chain's flow and of what is minimized over it: one row, stage and group at a time."""

import itertools
import math


def sigma(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def scores(H, chain):
    return [
        [
            chain.intercept[k, 0] + sum(b * h for b, h in zip(beta, row, strict=True))
            for k, beta in enumerate(chain.weights[:, :, 0])
        ]
        for row in H
    ]


def flow(row, thresholds, steepness):
    """p and q of one row's scores."""
    p, q = [1.0], []
    for s, theta in zip(row, thresholds, strict=False):
        on = sigma(steepness * (s - theta))
        q.append(p[-1] * (1 - on))
        p.append(p[-1] * on)
    return p, [*q, p[-1]]


def loss(H, rows, chain, steepness):
    """1/2 sum_i w_i sum_k q_i^k (y_i - s_i^k)^2, weights of sum one."""
    total = 0.0
    for i, row in enumerate(scores(H, chain)):
        _, q = flow(row, chain.threshold[:-1], steepness)
        total += rows.loss_weight[i] * sum(
            0.5 * (rows.target[i, 0] - s) ** 2 * part for s, part in zip(row, q, strict=True)
        )
    return total


def reach(H, rows, chain, steepness):
    """d_k, the share of the rows that come to each stage."""
    total = [0.0] * len(chain.weights)
    for i, row in enumerate(scores(H, chain)):
        p, _ = flow(row, chain.threshold[:-1], steepness)
        for k, part in enumerate(p):
            total[k] += rows.weight[i] / sum(rows.weight) * part
    return total


def root(square, floor):
    z = math.sqrt(square)
    return z if z >= floor else 0.5 * (square / floor + floor)


def eq_8(H, rows, groups, chain, l1, steepness, floor):
    """The relaxed objective, roots floored."""
    d, total = reach(H, rows, chain, steepness), loss(H, rows, chain, steepness)
    for rho, beta in zip(l1, chain.weights[:, :, 0], strict=True):
        total += rho * sum(root(b**2, floor) for b in beta)
    for price, members in zip(groups.price, groups.member.toarray(), strict=True):
        inside = sum(
            (d[k] * b) ** 2
            for k, beta in enumerate(chain.weights[:, :, 0])
            for b, on in zip(beta, members, strict=True)
            if on
        )
        total += price * root(inside, floor)
    return total


def expected_cost(H, rows, costs, chain, steepness):
    """sum_i sum_k p_i^k a_ik, rows counting by their weight."""
    total = 0.0
    for i, row in enumerate(scores(H, chain)):
        p, _ = flow(row, chain.threshold[:-1], steepness)
        total += rows.weight[i] / sum(rows.weight) * sum(part * a for part, a in zip(p, costs[i], strict=True))
    return total


def hard_objective(scores, at_exit, on_arrival, threshold):
    """What is paid on arrival at each stage that a row comes to, and where it leaves."""
    total = 0.0
    for i, row in enumerate(scores):
        k = 0
        total += on_arrival[i][0]
        while k < len(threshold) and not row[k] < threshold[k]:
            k += 1
            total += on_arrival[i][k]
        total += at_exit[i][k]
    return total


def cuts(column):
    """One threshold for every way to divide scores without dividing ties."""
    values = sorted(set(column))
    return [-math.inf, *[(a + b) / 2 for a, b in itertools.pairwise(values)], math.inf]
