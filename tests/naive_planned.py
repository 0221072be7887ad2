"""A slow, obvious twin of planned predictors: one row, names and sets, plain Python."""

import math
from fractions import Fraction

import naive
import numpy as np
from naive_costs import needed_resources


def scores(answer, bank, row):
    """Scores of an answer for a row, a list of floats."""
    total = [float(b) for b in answer.intercept]
    for t, weights in naive.active(bank, answer):
        outputs = naive.learner_outputs(bank, t, row)[0]
        for k in range(len(total)):
            terms = [float(weights[j, k]) * outputs[j] for j in range(len(outputs)) if weights[j, k] != 0]
            if terms:
                part = terms[0]
                for term in terms[1:]:
                    part += term
                total[k] += part
    return total


def items(names, costs):
    """Features and all resources that they need."""
    return set(names).union(*(needed_resources(costs, name) for name in names))


def price(names, costs):
    """What features and resources cost together, rounded once."""
    amounts = {each.name: each.cost for each in (*costs.features, *costs.resources)}
    return float(sum((Fraction(amounts[name]) for name in names), Fraction(0)))


def begin(predictor, costs, max_cost, barred, paid):
    """What a row has at stop 0, and what of it is missing and why."""
    had, reason = [], "complete"
    for f in predictor.stops[0].features:
        name = predictor.feature_names[f]
        if name in barred:
            reason = "unavailable"
        elif max_cost is not None and price(items([*had, name], costs) - paid, costs) > max_cost * (1 + 1e-9):
            reason = "max_cost" if reason == "complete" else reason
        else:
            had.append(name)
    return had, reason


def least(values):
    """The first of the least numbers; NaN is none."""
    best = None
    for j, value in values.items():
        if not math.isnan(value) and (best is None or value < values[best]):
            best = j
    return best


def walk(predictor, row, costs, tradeoff, max_cost=None, unavailable=(), known=(), planned=False):
    """Follow a row: exit, scores, names bought in order of trips, cost, trips, reason, stops visited."""
    names, stops = predictor.feature_names, predictor.stops
    given = set(known) & set(names) if isinstance(known, dict) else set()
    paid = items([name for name in known if name in names], costs)
    for name in known:
        paid |= set() if name in names else {name} | needed_resources(costs, name)
    before = set(paid)
    barred = {name for name in names if items([name], costs) & set(unavailable)} - given
    whole = [k for k, stop in enumerate(stops) if len(stop.features) and {names[f] for f in stop.features} <= given]
    at = max(whole, default=0)
    had, reason = begin(predictor, costs, max_cost, barred, before) if at == 0 else ([], "complete")
    have, trips, visited = set(given) | set(had), int(bool(set(had) - given)), [at]
    paid |= items(had, costs)
    while True:
        seen = [x if name in have else math.nan for name, x in zip(names, row, strict=True)]
        mine = scores(stops[at].answer, predictor.bank, seen)
        if at == len(stops) - 1:
            break
        gains = stops[at].planned if planned and stops[at].planned is not None else stops[at].gains
        gain = scores(gains, predictor.gains_bank, [*seen, *mine])
        wanted = {j: {names[f] for f in stops[j].features} for j in range(at + 1, len(stops))}
        value = {at: 0.0}
        for j, features in wanted.items():
            value[j] = gain[j - at - 1] + tradeoff * price(items(features, costs) - paid, costs)
        reachable = {j: v for j, v in value.items() if j == at or not wanted[j] & barred}
        affordable = {
            j: v
            for j, v in reachable.items()
            if j == at
            or max_cost is None
            or price((paid | items(wanted[j], costs)) - before, costs) <= max_cost * (1 + 1e-9)
        }
        to = least(affordable)
        if least(reachable) != to and reason == "complete":
            reason = "max_cost"
        if least(value) != least(reachable):
            reason = "unavailable"
        if to == at:
            break
        trips += bool(wanted[to] - have)
        have |= wanted[to]
        paid |= items(wanted[to], costs)
        at = to
        visited.append(at)
    bought = paid - before
    return {
        "exit": at,
        "scores": mine,
        "value": np.squeeze(naive.link(stops[at].answer.link, mine, stops[at].answer.level)),
        "acquired": {name for name in bought if name in names},
        "asked": have - given,
        "cost": price(bought, costs) if max_cost is None else min(price(bought, costs), max_cost),
        "rounds": trips,
        "reason": reason,
        "visited": visited,
    }
