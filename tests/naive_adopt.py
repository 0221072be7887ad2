"""A slow, obvious walk through adopted trees, and the rows that are hardest on them."""

from types import SimpleNamespace

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
ALMOST_TOO_LARGE = float(
    np.nextafter(2.0**128 - 2.0**103, 0)
)  # the last double that float32 does not round to infinity


def parts(tree):
    """Table, weights, intercept and link of an adopted model."""
    (answer,) = tree.stages
    return SimpleNamespace(table=tree.bank.trees, weights=answer.weights, intercept=answer.intercept, link=answer.link)


def walk(table, rows):
    """int64 (rows, trees): the leaf of each row, counted from its tree's first node."""
    leaves = np.zeros((len(rows), len(table)), np.int64)
    for tree in range(len(table)):
        first = table.first[tree]
        for number, row in enumerate(rows):
            node = 0
            while table.feature[first + node] >= 0:
                x = row[table.feature[first + node]]
                left = table.missing_left[first + node] if np.isnan(x) else x <= table.threshold[first + node]
                node = (table.left if left else table.right)[first + node]
            leaves[number, tree] = node
    return leaves


def outputs(table, leaves):
    """Per tree float64 (rows, K_t): what its leaves hold."""
    begin = table.value[table.first[:-1] + leaves]
    return [table.values[begin[:, tree, None] + np.arange(table.width[tree])] for tree in range(len(table))]


def scores(adopted, leaves, dtype=np.float64):
    """(rows, K): intercept and weighted outputs, multiplied and added in the given precision, tree by tree."""
    total = np.tile(adopted.intercept.astype(dtype), (len(leaves), 1))
    column = 0
    for values in outputs(adopted.table, leaves):
        for output in values.T.astype(dtype):
            total += output[:, None] * adopted.weights[column].astype(dtype)
            column += 1
    return total


def magnitude(adopted):
    """Largest sum of absolute outputs and intercept that a score can have: what rounding errors are relative to."""
    table = adopted.table
    total = np.abs(adopted.intercept).max()
    for tree in range(len(table)):
        held = table.value[table.first[tree] : table.first[tree + 1]]
        held = held[held >= 0][:, None] + np.arange(table.width[tree])
        total += np.abs(table.values[held]).max()
    return total * max(1.0, np.abs(adopted.weights).max())


def nasty_rows(table, n_features, n_rows, *, missing, infinite, seed=0):
    """float64 (rows, features): thresholds and their float64 neighbors, float32 neighbors, midpoints, extremes."""
    rng = np.random.default_rng(seed)
    extremes = [0.0, -0.0, 1e-45, -1e-45, 5e-324, -5e-324, LARGEST, -LARGEST, ALMOST_TOO_LARGE, -ALMOST_TOO_LARGE]
    extremes += [np.nan] * (5 * missing) + [np.inf, -np.inf] * infinite
    rows = np.empty((n_rows, n_features))
    for column in range(n_features):
        limits = table.threshold[table.feature == column]
        limits = limits[np.abs(limits) < LARGEST]  # leaves out NaN too
        rounded = limits.astype(np.float32)
        upper, lower = (np.nextafter(rounded, np.float32(side)) for side in (np.inf, -np.inf))
        ties = [limits, rounded, upper, lower, (rounded.astype(float) + upper) / 2, (rounded.astype(float) + lower) / 2]
        ties = np.concatenate([tie.astype(np.float64) for tie in ties])
        ties = np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
        pools = [np.array(extremes), rng.normal(size=20), *([ties] * 3 if len(ties) else [])]
        chosen = rng.integers(len(pools), size=n_rows)
        rows[:, column] = [rng.choice(pools[pool]) for pool in chosen]
    return rows
