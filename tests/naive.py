"""Slow, obvious twins of the core: one row, plain Python, no masks, no arrays of prices."""

import math

import numpy as np

from costframe import Route
from costframe.core.stages.exponentials import exponentials


def node_at(trees, tree, node):
    return int(trees.first[tree]) + node


def read(x, reading):
    """A value as a node reads it: zero as missing, whole numbers, or whole numbers after float32."""
    if reading == 1:
        return math.nan if -1.0000000180025095e-35 <= x <= 1.0000000180025095e-35 else x
    if reading == 3 and abs(x) < 1e38:
        x = float(np.float32(x))
    if reading == 0 or not math.isfinite(x):
        return x
    return -math.inf if reading == 3 and x < 0 else float(int(x))


def goes_left(trees, at, value):
    """Whether a value goes left at a node."""
    x = read(value, int(trees.reading[at]))
    begin = int(sum(trees.category_count[:at]))
    categories = [float(c) for c in trees.categories[begin : begin + int(trees.category_count[at])]]
    if categories:
        against = any(x == c or (math.isnan(x) and math.isnan(c)) for c in categories)
        return not trees.missing_left[at] if against else bool(trees.missing_left[at])
    return bool(trees.missing_left[at]) if math.isnan(x) else x <= trees.threshold[at]


def tree_walk(trees, tree, row):
    """Leaf (counted from the root) and the features tested on the way, one entry a comparison."""
    node, tested = 0, []
    while trees.feature[at := node_at(trees, tree, node)] >= 0:
        f = int(trees.feature[at])
        tested.append(f)
        node = int(trees.left[at]) if goes_left(trees, at, row[f]) else int(trees.right[at])
    return node, tested


def certain(trees, tree, row, barred=(), node=0):
    """Unknown features tested on every path from a node to a leaf or a barred feature; a row has known values only."""
    f = int(trees.feature[at := node_at(trees, tree, node)])
    if f < 0 or (f in barred and f not in row):
        return set()
    ways = int(trees.left[at]), int(trees.right[at])
    if f in row:
        return certain(trees, tree, row, barred, ways[0] if goes_left(trees, at, row[f]) else ways[1])
    return {f} | (certain(trees, tree, row, barred, ways[0]) & certain(trees, tree, row, barred, ways[1]))


def learner_outputs(bank, t, row):
    """Outputs, features read, and features compared (one entry a comparison) of learner t."""
    kind, index = bank.kind[t], int(bank.index[t])
    if kind == 0:
        leaf, tested = tree_walk(bank.trees, index, row)
        first = int(bank.trees.value[node_at(bank.trees, index, leaf)])
        return [float(v) for v in bank.trees.values[first : first + int(bank.trees.width[index])]], set(tested), tested
    if kind == 1:
        f = int(bank.column_feature[index])
        return [float(bank.column_fill[index]) if math.isnan(row[f]) else float(row[f])], {f}, []
    learner = bank.opaques[index]
    return [float(v) for v in learner(np.array([[row[f] for f in learner.features]]))[0]], set(learner.features), []


def all_features(bank, t):
    """Every feature that learner t may read."""
    kind, index = bank.kind[t], int(bank.index[t])
    if kind == 0:
        part = slice(int(bank.trees.first[index]), int(bank.trees.first[index + 1]))
        return {int(f) for f in bank.trees.feature[part] if f >= 0}
    return {int(bank.column_feature[index])} if kind == 1 else set(bank.opaques[index].features)


def active(bank, stage):
    """(learner, its rows of weights) for learners with any weight."""
    out, first = [], 0
    for t in stage.learners:
        width = int(bank.widths[t])
        weights = stage.weights[first : first + width]
        first += width
        if (weights != 0).any():
            out.append((int(t), weights))
    return out


def stage_scores(tree, number, row):
    learners = [t for t, _ in active(tree.bank, tree.stages[number])]
    return weigh(tree, number, {t: learner_outputs(tree.bank, t, row)[0] for t in learners})


def weigh(tree, number, given):
    """Scores of a stage by the outputs of its learners; those without outputs add nothing."""
    stage = tree.stages[number]
    scores = [float(b) for b in stage.intercept]
    for t, weights in active(tree.bank, stage):
        outputs = given.get(t, ())
        for k in range(len(scores)):
            terms = [float(weights[j, k]) * outputs[j] for j in range(len(outputs)) if weights[j, k] != 0]
            if terms:
                total = terms[0]
                for term in terms[1:]:
                    total += term
                scores[k] += total
    return scores


def route_taken(tree, row):
    """Stages visited, and the scores of the last."""
    number, visited = 0, [0]
    while isinstance(stage := tree.stages[number], Route):
        number = stage.above if stage_scores(tree, number, row)[0] > stage.threshold else stage.below
        visited.append(number)
    return visited, stage_scores(tree, number, row)


def path_cost(tree, row, visited, costs, acquisition):
    """Cost of one row that visits these stages, and the names acquired: the formula of the design, term by term."""
    table, names = costs.to_dict(), tree.feature_names
    price = {n: e if isinstance(e, dict) else {"cost": e} for n, e in table["features"].items()}
    resource = {n: e if isinstance(e, dict) else {"cost": e} for n, e in table.get("resources", {}).items()}
    learners = sorted({t for number in visited for t, _ in active(tree.bank, tree.stages[number])})
    acquired, uses, comparisons = set(), 0, []
    for t in learners:
        _, read, tested = learner_outputs(tree.bank, t, row)
        read = all_features(tree.bank, t) if acquisition == "learner" else read
        acquired |= read
        uses += len(read)
        comparisons += tested
    paid, waiting = set(), [r for f in acquired for r in price[names[f]].get("needs", ())]
    while waiting:
        r = waiting.pop()
        if r not in paid:
            paid.add(r)
            waiting += resource[r].get("needs", ())
    cost = sum(price[names[f]]["cost"] for f in acquired) + sum(resource[r]["cost"] for r in paid)
    cost += sum(table["learner"] * float(tree.bank.evaluation[t]) for t in learners)
    for f in comparisons:
        split = price[names[f]].get("split")
        cost += table["split"] if split is None else split
    cost += table["reuse"] * (uses - len(acquired))
    return cost, {names[f] for f in acquired}


def hard_cost(tree, row, costs, acquisition):
    return path_cost(tree, row, route_taken(tree, row)[0], costs, acquisition)


def paths(tree, number=0):
    """All ways from a stage to an exit: lists of (stage, goes above or None at the exit)."""
    stage = tree.stages[number]
    if not isinstance(stage, Route):
        return [[(number, None)]]
    below = [[(number, False), *rest] for rest in paths(tree, stage.below)]
    return below + [[(number, True), *rest] for rest in paths(tree, stage.above)]


def sigma(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def soft_cost(tree, row, costs, acquisition, steepness=None):
    """Expected cost and probability of acquiring each feature: the sum over all ways of probability times cost."""
    total, chance_of = 0.0, dict.fromkeys(tree.feature_names, 0.0)
    for path in paths(tree):
        chance = 1.0
        for number, up in path:
            if up is not None:
                stage = tree.stages[number]
                score = stage_scores(tree, number, row)[0]
                z = (stage.steepness if steepness is None else steepness) * (score - stage.threshold)
                p = 0.0 if math.isnan(z) else sigma(z)
                chance *= p if up else 1 - p
        cost, acquired = path_cost(tree, row, [number for number, _ in path], costs, acquisition)
        total += chance * cost
        for name in acquired:
            chance_of[name] += chance
    return total, chance_of


def link(kind, scores, level=0.0):
    s = np.array(scores)
    if kind == "ranked":
        (one,) = scores
        part = 0.0 if one == 0 or abs(one) < 1e-308 else 0.5 / (1 + 1 / abs(one))
        return np.array([level + (-part if one < 0 else part)])
    if kind == "softmax":
        e = exponentials(s - s.max())
        total = 0.0
        for value in e:
            total += value
        return e / total
    return {
        "identity": lambda: s,
        "sigmoid": lambda: 1 / (1 + exponentials(-s)),
        "exp": lambda: exponentials(s),
        "softplus": lambda: np.logaddexp(0, s),
        "signed-square": lambda: np.where(s < 0, -1, 1) * s * s,
        "step": lambda: np.where(s > 0, 1.0, 0.0),
        "isolation": lambda: -np.exp2(-s),
    }[kind]()
