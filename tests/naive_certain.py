"""Slow, obvious twin of rows that end as soon as their answer is certain: one row, plain Python, all leaves listed."""

import math

import naive
import numpy as np


class Learner:
    """A learner of the sum, and the sums that its leaves add to the scores."""

    def __init__(self, tree, t, weights):
        self.tree, self.t, self.weights = tree, t, weights
        self.is_tree = tree.bank.kind[t] == 0
        self.targets = [k for k in range(weights.shape[1]) if (weights[:, k] != 0).any()]

    def added(self, outputs):
        """What outputs add to each target."""
        sums = []
        for k in self.targets:
            terms = [float(w) * h for w, h in zip(self.weights[:, k], outputs, strict=True) if w != 0]
            total = terms[0]
            for term in terms[1:]:
                total += term
            sums.append(total)
        return sums

    def waits_for(self, values):
        """Unknown features without which it cannot go on; the features tested before, one entry a comparison."""
        if not self.is_tree:
            return sorted(naive.all_features(self.tree.bank, self.t) - set(values)), []
        trees, tree, node, tested = self.tree.bank.trees, int(self.tree.bank.index[self.t]), 0, []
        while (f := int(trees.feature[at := naive.node_at(trees, tree, node)])) in values:
            tested.append(f)
            node = int((trees.left if naive.goes_left(trees, at, values[f]) else trees.right)[at])
        return [f] if f >= 0 else [], tested

    def bounds(self, values):
        """Least and largest addition to each target, for any values of unknown features."""
        if not self.is_tree and self.waits_for(values)[0]:
            return [-math.inf] * len(self.targets), [math.inf] * len(self.targets)
        if not self.is_tree:
            same = self.added(naive.learner_outputs(self.tree.bank, self.t, values)[0])
            return same, same
        trees, tree = self.tree.bank.trees, int(self.tree.bank.index[self.t])
        found = [self.added(outputs) for outputs in leaf_outputs(trees, tree, 0, values)]
        if len(found) > 1:
            found = [[-math.inf if math.isnan(v) else v for v in each] for each in found] + [
                [math.inf if math.isnan(v) else v for v in each] for each in found
            ]
        return [min(v) for v in zip(*found, strict=True)], [max(v) for v in zip(*found, strict=True)]


def leaf_outputs(trees, tree, node, values):
    """Outputs of the leaves that known values leave open, below a node."""
    at = naive.node_at(trees, tree, node)
    f, left, right = int(trees.feature[at]), int(trees.left[at]), int(trees.right[at])
    if f < 0:
        first = int(trees.value[at])
        return [[float(v) for v in trees.values[first : first + int(trees.width[tree])]]]
    below = [naive.goes_left(trees, at, values[f])] if f in values else [True, False]
    return [one for goes in below for one in leaf_outputs(trees, tree, left if goes else right, values)]


def middle(low, high):
    return low if low == high else min(max(0.5 * low + 0.5 * high, low), high)


def open_outputs(until, answer, knows_classes, scores, least, most):
    """Outputs on which the goal depends; none if the row is certain."""
    several, T = len(scores) > 1, answer.temperature
    if until != "class":
        wide = [max(high - s, s - low) for s, low, high in zip(scores, least, most, strict=True)]
        return [k for k, width in enumerate(wide) if not (until > 0 and width <= until)]
    if not several or answer.link == "step" or (answer.link == "sigmoid" and not knows_classes):
        above, below = {"sigmoid": (1e-15, 0.0), "step": (0.0, 0.0), "identity": (0.5, 0.5)}[answer.link]
        return [k for k in range(len(scores)) if not (least[k] / T > above or most[k] / T <= below)]
    margin = 0.0 if answer.link == "identity" else 1e-15
    best = 0
    for k in range(len(scores)):
        best = k if scores[k] > scores[best] else best

    def compared(score):
        return naive.link("sigmoid", [score / T])[0] if answer.link == "sigmoid" else score / T

    found = []
    for k in range(len(scores)):
        lead = compared(least[best]) - compared(most[k])
        ahead = most[best] / T < math.inf and (lead > margin or (lead == margin == 0.0 and best < k))
        if k != best and not ahead:
            found.append(k)
    return sorted([*found, best]) if found else []


def unpaid(f, prices, paid):
    """Resources that a feature still needs, nearest first."""
    needs = prices.direct_needs
    found = [r for r in needs.need[needs.first[f] : needs.first[f + 1]].tolist() if r not in paid]
    for r in found:
        further = needs.further[needs.further_first[r] : needs.further_first[r + 1]].tolist()
        found += [q for q in further if q not in paid and q not in found]
    return found


def choose(pull, prices, cost, paid):
    """Features to ask for next, given the pull of each that trees wait for."""

    def free(paid):
        return [f for f in sorted(pull) if cost[f] + sum(prices.resource_cost[unpaid(f, prices, paid)]) == 0.0]

    if free(paid):
        return free(paid)
    best, most = None, 0.0
    for f in sorted(pull):
        price = np.float64(cost[f])
        for r in unpaid(f, prices, paid):
            price += prices.resource_cost[r]
        worth = pull[f] * np.sqrt(pull[f]) / price
        if best is None or worth > most:
            best, most = f, worth
    return sorted({best, *free(paid | set(unpaid(best, prices, paid)))})


def add_up(answer, learners, bounds):
    """Scores in the middle of their bounds, and the bounds."""
    sums = [[float(b) for b in answer.intercept] for _ in range(3)]
    for learner, (low, high) in zip(learners, bounds, strict=True):
        for k, a, b in zip(learner.targets, low, high, strict=True):
            for total, term in zip(sums, (middle(a, b), a, b), strict=True):
                total[k] += term
    return sums


def is_exact(answer, least, most):
    """Whether the bounds leave one score only; a sum that begins with -0.0 may end at either zero."""
    return all(
        a == b and not (a == 0 and math.copysign(1.0, c) < 0)
        for a, b, c in zip(least, most, answer.intercept, strict=True)
    )


def pulls(learners, bounds, waiting, left):
    """How much hangs on each feature that trees wait for."""
    found, zero = {}, np.float64(0.0)
    for learner, (low, high), needs in zip(learners, bounds, waiting, strict=True):
        for k, a, b in zip(learner.targets, low, high, strict=True):
            if needs and k in left and a != b:
                found[needs[0]] = found.get(needs[0], zero) + (b - a)
    if not found:
        for needs in filter(None, waiting):
            found[needs[0]] = found.get(needs[0], zero) + 1.0
    return found


def computed(tree, prices, learners, values):
    """Price of learners at their end, comparisons and uses."""
    total, uses, used = 0.0, 0, set()
    for learner in learners:
        waits, tested = learner.waits_for(values)
        read = set(tested) if learner.is_tree else set() if waits else naive.all_features(tree.bank, learner.t)
        total += prices.split[tested].sum() + (0 if waits else prices.learner * tree.bank.evaluation[learner.t])
        uses, used = uses + len(read), used | read
    return float(total + prices.reuse * (uses - len(used)))


@np.errstate(all="ignore")
def certain_row(tree, row, costs, until, known=None, paid_features=(), paid_resources=()):
    """Scores, cost, features acquired, rounds and whether it ended early, of one row."""
    answer, prices = tree.stages[0], costs.select(tree.feature_names)
    learners = [Learner(tree, t, weights) for t, weights in naive.active(tree.bank, answer)]
    values, acquired, paid, rounds = dict(known or {}), set(), set(paid_resources), 0
    cost = [0.0 if f in paid_features else float(c) for f, c in enumerate(prices.cost)]
    while True:
        bounds = [learner.bounds(values) for learner in learners]
        waiting = [learner.waits_for(values)[0] for learner in learners]
        scores, least, most = add_up(answer, learners, bounds)
        left = open_outputs(until, answer, tree.classes is not None, scores, least, most)
        if is_exact(answer, least, most) or not any(waiting) or not left:
            break
        needs = {f for learner, fs in zip(learners, waiting, strict=True) if not learner.is_tree for f in fs}
        needs = needs or choose(pulls(learners, bounds, waiting, left), prices, cost, paid)
        rounds += 1
        for f in needs:
            values[f] = float(row[f])
            acquired.add(f)
            paid |= set(unpaid(f, prices, paid))
    total = sum(cost[f] for f in acquired) + sum(prices.resource_cost[r] for r in paid - set(paid_resources))
    total += computed(tree, prices, learners, values)
    return scores, float(total), {tree.feature_names[f] for f in acquired}, rounds, any(waiting)
