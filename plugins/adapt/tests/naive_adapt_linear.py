"""Linear models of Adapt in the obvious way: sums over rows, splitting methods of many steps, smoothed norms."""

from types import SimpleNamespace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from costframe.plugin import PricedGroups


def priced(groups, n_columns):
    """Make groups of (columns, price)."""
    member = np.zeros((len(groups), n_columns))
    for g, (held, _) in enumerate(groups):
        member[g, list(held)] = 1
    return PricedGroups(sparse.csr_array(member), np.array([price for _, price in groups], float))


def some_groups(rng, n_columns, prices):
    """Draw one group for each column, some that overlap anyhow, and nested ones."""
    held = [(c,) for c in range(n_columns)]
    held += [tuple(np.flatnonzero(rng.random(n_columns) < 0.5)) for _ in range(2)]
    held += [tuple(range(k)) for k in (2, n_columns)]
    return [(columns, float(rng.choice(prices))) for columns in held if columns]


def norms(weights, groups):
    """Return the sum of price * norm over groups, (columns, price), for weights (M, C)."""
    return sum(price * np.sqrt((weights[:, list(held)] ** 2).sum()) for held, price in groups)


def proximal(a, metric, groups, steps=2000):
    """Minimize sum metric/2 (u - a)^2 + norms(u) by ADMM, with a copy of u for each group; return zero columns too."""
    rho = float(np.median(metric))
    copies = [a[:, list(held)] * 0 for held, _ in groups]
    duals = [copy.copy() for copy in copies]
    u = a.copy()
    for _ in range(steps):
        top, bottom = metric * a, metric.copy()
        for (held, _), copy, dual in zip(groups, copies, duals, strict=True):
            top[:, list(held)] += rho * (copy - dual)
            bottom[:, list(held)] += rho
        u = top / bottom
        for j, (held, price) in enumerate(groups):
            moved = u[:, list(held)] + duals[j]
            size = np.sqrt((moved**2).sum())
            copies[j] = moved * max(0.0, 1 - price / rho / size) if size > 0 else moved
            duals[j] = moved - copies[j]
    zero = np.zeros(a.shape[1], bool)
    for (held, _), copy in zip(groups, copies, strict=True):
        zero[list(held)] |= not copy.any()
    return u, zero


def loss(scores, label):
    """Return -log of the probability of a label: of one score, the log odds of label 1, or of a score per label."""
    scores = np.array([0.0, scores[0]]) if len(scores) == 1 else scores
    return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[label])


def parts(model):
    """Return the weights of a gate, (C,), and a cheap model, (C, K), and their constants."""
    (gate, *cheap), (constant, *constants) = model.weights[:, :-1], model.weights[:, -1]
    return SimpleNamespace(
        gate=gate, gate_intercept=constant, cheap=np.stack(cheap, axis=1), cheap_intercept=np.array(constants)
    )


def bound(H, problem, groups, model, *, spread, ridge=1e-6):
    """Return J of a model: row by row."""
    value, own = 0.0, parts(model)
    for i, q in enumerate(model.q):
        gate = H[i] @ own.gate + own.gate_intercept
        cheap = loss(H[i] @ own.cheap + own.cheap_intercept, problem.y[i])
        row = (1 - q) * cheap + q * problem.loss0[i] + q * np.log(q) + (1 - q) * np.log(1 - q)
        row += (1 - q) * np.log1p(np.exp(gate)) + q * np.log1p(np.exp(-gate))
        value += problem.weight[i] * row
    weights = np.column_stack([own.gate, own.cheap]).T
    share = problem.weight / problem.weight.sum()
    centers = np.append(own.gate_intercept, own.cheap_intercept) + weights @ (share @ H)
    squares = ((weights * spread) ** 2).sum() + (centers**2).sum()
    return value / len(H) + norms(weights, groups) + ridge / 2 * squares


def smallest(function, start, tries=3):
    """Minimize a smooth function by quasi-Newton steps with differences for derivatives; return the lowest value."""
    x = start
    for _ in range(tries):
        x = minimize(function, x, method="BFGS", options={"gtol": 1e-9}).x
    return function(x)
