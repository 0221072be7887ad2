"""Slow, obvious twins of the cascade: dense matrices, loops, and a general minimizer."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def last_stage_optimum(H, y, w, groups, before, d):
    """Minimize eq. 8 over the last stage's weights by a general minimizer, those before it given; one label."""
    w = w / w.sum()
    part, target = H - w @ H, y - w @ y
    member = groups.member.toarray()

    def value(beta):
        squares = sum((d_k * other) ** 2 for d_k, other in zip(d, [*before, beta], strict=True))
        return 0.5 * w @ (target - part @ beta) ** 2 + groups.price @ np.sqrt(member @ squares + 1e-14)

    starts = (np.zeros(H.shape[1]), np.ones(H.shape[1]))
    return min(minimize(value, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}).fun for start in starts)


def passes(scores, thresholds, steepness):
    """The probability of each row to come to each stage, one row and stage at a time."""
    table = [[1.0] for _ in scores]
    for i, row in enumerate(scores):
        for k, theta in enumerate(thresholds):
            table[i].append(table[i][-1] * expit(steepness * (row[k] - theta)))
    return np.array(table)


def targets(grades, relevant):
    """What the scores of a ranking are fitted to, one row at a time."""
    if relevant is not None:
        return np.array([1.0 if grade >= relevant else -1.0 for grade in grades])
    return np.array([2 * grade / max(grades) - 1 for grade in grades])


def emphasis(target, positive):
    """What the loss of each row counts."""
    return np.array([1 + (positive - 1) * (t + 1) / 2 for t in target])


def rank(tree, row):
    """Go down the chain of one row: k + s / (2 (1 + |s|)) at its k-th exit."""
    outputs = tree.bank.outputs(row[None])[0]
    first = np.cumsum(tree.bank.widths) - tree.bank.widths

    def score(stage):
        total = float(stage.intercept[0])
        place = 0
        for t in stage.learners:
            for j in range(tree.bank.widths[t]):
                total += stage.weights[place, 0] * outputs[first[t] + j]
                place += 1
        return total

    stage, exits = tree.stages[0], 0
    while hasattr(stage, "threshold"):
        if not score(stage) > stage.threshold:
            stage = tree.stages[stage.below]
            break
        stage, exits = tree.stages[stage.above], exits + 1
    s = score(stage)
    return exits + s / (2 * (1 + abs(s)))


def relax(normal, groups, l1, rounds, floor, negligible, earlier, d):
    """Alternate, with a new matrix of what is left each round; one chain of stages."""
    member = groups.member.toarray()
    n_weights, n_labels = normal.right.shape
    weights, active = np.ones((n_weights, n_labels)), np.arange(n_weights)
    deviation, unit = np.sqrt(np.diag(normal.gram)), np.sqrt(normal.target_variance)
    for _ in range(rounds):
        squares = sum((d_k * one) ** 2 for d_k, one in zip(d, [*earlier, weights], strict=True)).sum(axis=1)
        z = np.maximum(np.sqrt(member @ squares), floor)
        norms = np.maximum(np.sqrt((weights**2).sum(axis=1)), floor)
        penalty = (d[-1] ** 2 * (groups.price / z) @ member + l1 / norms)[active]
        after = np.zeros_like(weights)
        after[active] = np.linalg.solve(normal.gram[np.ix_(active, active)] + np.diag(penalty), normal.right[active])
        moved = (np.sqrt(((after - weights) ** 2).sum(axis=1)) * deviation)[active].max()
        weights = after
        active = active[(np.sqrt((after**2).sum(axis=1)) * deviation)[active] > negligible * unit]
        if not len(active) or moved <= floor * unit:
            break
    return weights
