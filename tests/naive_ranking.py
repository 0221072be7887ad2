"""Slow, obvious twins of the ranking losses: one query of unit weights, loops over pairs and positions."""

from itertools import combinations, permutations
from math import exp, log, log1p, log2


def discount(position, truncation):
    return 1 / log2(2 + position) if position < truncation else 0.0


def ndcg_of_order(order, grades, truncation):
    """Of rows in this order."""

    def gain(some):
        return sum((2.0 ** grades[i] - 1) * discount(at, truncation) for at, i in enumerate(some))

    return gain(order) / gain(sorted(order, key=lambda i: -grades[i]))


def orders(scores):
    """All orders that the scores allow."""
    rows = range(len(scores))
    return [each for each in permutations(rows) if all(scores[a] >= scores[b] for a, b in zip(each, each[1:]))]  # noqa: B905, RUF007 - shorter by one


def lost_ndcg(scores, grades, truncation):
    """1 - NDCG, in the mean over all orders that the scores allow."""
    found = [ndcg_of_order(each, grades, truncation) for each in orders(scores)]
    return 1 - sum(found) / len(found)


def pair_weight(i, j, scores, grades, truncation):
    """What NDCG changes by when i and j change places, in the mean over all orders that the scores allow."""
    changes = []
    for order in orders(scores):
        swapped = [{i: j, j: i}.get(row, row) for row in order]
        changes.append(abs(ndcg_of_order(order, grades, truncation) - ndcg_of_order(swapped, grades, truncation)))
    return sum(changes) / len(changes)


def lambdas(scores, grades, truncation):
    """(first, second derivatives), normalized."""
    n, total = len(scores), 0.0
    first, second = [0.0] * n, [0.0] * n
    for i, j in permutations(range(n), 2):
        if grades[i] <= grades[j]:
            continue
        weight = pair_weight(i, j, scores, grades, truncation)
        if max(scores) > min(scores):
            weight /= 0.01 + abs(scores[i] - scores[j])
        wrong = 1 / (1 + exp(scores[i] - scores[j]))
        first[i] -= weight * wrong
        first[j] += weight * wrong
        second[i] += weight * wrong * (1 - wrong)
        second[j] += weight * wrong * (1 - wrong)
        total += 2 * weight * wrong
    factor = log2(1 + total) / total if total else 0.0
    return [factor * each for each in first], [factor * each for each in second]


def bound_of_constant(grades, truncation):
    """What LambdaRank's bound is for constant scores, normalized."""
    scores = [0.0] * len(grades)
    pairs = [pair for pair in combinations(range(len(grades)), 2) if grades[pair[0]] != grades[pair[1]]]
    return log(1 + sum(pair_weight(i, j, scores, grades, truncation) for i, j in pairs))


def pair_loss(scores, grades):
    """Mean of log(1 + exp(low - high)) over pairs of different grades."""
    pairs = [(i, j) for i, j in permutations(range(len(scores)), 2) if grades[i] > grades[j]]
    return sum(log1p(exp(scores[j] - scores[i])) for i, j in pairs) / len(pairs) if pairs else 0.0
