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


def written(number):
    """The decimal number that people write for a double."""
    return Fraction(repr(float(number)))


def exact_price(names, costs):
    """What features and resources cost together."""
    amounts = {each.name: each.cost for each in (*costs.features, *costs.resources)}
    return sum((written(amounts[name]) for name in names), Fraction(0))


def price(names, costs):
    """What features and resources cost together: the least double not below it."""
    whole = exact_price(names, costs)
    return float(whole) if written(float(whole)) >= whole else math.nextafter(float(whole), math.inf)


def left_out(predictor, rest, costs, max_cost, barred, paid):
    """What a row does without, as its cap pays for no stop's features: all but those of stand-ins."""
    names = predictor.feature_names
    sets = [{names[f] for f in stop.features} - barred for stop in predictor.stops]
    if predictor.spare is None or max_cost is None or not any(sets):
        return set()
    if any(exact_price(items(each, costs) - paid, costs) <= written(max_cost) for each in sets if each):
        return set()
    there = [stop.features for stop, stands_in in zip(rest.layout.stops, rest.stands_in, strict=True) if stands_in]
    return set().union(*sets) - {names[f] for features in there for f in features}


def begin(predictor, costs, max_cost, barred, without, paid):
    """What a row has at stop 0, and what of it is missing and why."""
    had, reasons = [], {"complete"}
    for f in predictor.stops[0].features:
        name = predictor.feature_names[f]
        if name in barred:
            reasons.add("unavailable")
        elif name in without or (
            max_cost is not None and exact_price(items([*had, name], costs) - paid, costs) > written(max_cost)
        ):
            reasons.add("max_cost")
        else:
            had.append(name)
    return had, reasons


def least(values):
    """The first of the least numbers; NaN is none."""
    best = None
    for j, value in values.items():
        if not math.isnan(value) and (best is None or value < values[best]):
            best = j
    return best


def choose(at, gains, planned, value_of, left, can_have, can_pay):
    """Where a row goes from a stop, and what kept it from elsewhere; `planned` are None where no plan is followed.

    `left` is the tradeoff of rows that leave their plan.
    """
    value = value_of(gains, left)
    had = {j: v for j, v in value.items() if j == at or can_have(j)}
    paid = {j: v for j, v in had.items() if j == at or can_pay(j)}
    kept = set()
    if planned is not None:
        wanted = value_of(planned)
        there = {j: v for j, v in wanted.items() if j == at or can_have(j)}
        to, best = least({j: v for j, v in there.items() if j == at or can_pay(j)}), least(paid)
        kept = {"unavailable"} if least(wanted) != least(there) else set()
        if to == least(there) and (at in (to, best) or can_pay(to, best)):
            return to, kept
        kept.add("max_cost")
    if least(value) != least(had):
        kept.add("unavailable")
    if least(had) != least(paid):
        kept.add("max_cost")
    return least(paid), kept


def relied_on(stops, sets, tradeoff, costs):
    """Names of features of the stops to which a plan sends all rows alike; of all, if values decide."""
    at, way = 0, set(sets[0])
    while at < len(stops) - 1:
        plan = stops[at].planned
        if plan is None or len(plan.learners):
            return set().union(*sets)
        paid = items(way, costs)
        total = {at: 0.0} | {
            j: gain + tradeoff * price(items(sets[j], costs) - paid, costs)
            for j, gain in enumerate(plan.intercept.tolist(), at + 1)
        }
        if (to := least(total)) == at:
            break
        at, way = to, way | sets[to]
    return way


def keeps_plan(predictor, rest, barred):
    """Whether what is left gains at least half of what all stops do."""
    names, losses = predictor.feature_names, predictor.spare.losses
    parts = zip(rest.layout.stops, rest.losses if rest.losses is not None else losses, strict=True)
    left = [loss for stop, loss in parts if not {names[f] for f in stop.features} & barred]
    return losses[0] - min([*left, np.inf]) >= 0.5 * (losses[0] - min(losses))


def walk(predictor, row, costs, tradeoff, max_cost=None, unavailable=(), known=(), own=False):
    """Follow a row: exit, scores, names bought, cost, trips, reason, stops visited; with ladder at its `own` prices."""
    names, planned, left = predictor.feature_names, False, tradeoff
    rest = predictor.rest(
        predictor.terms(costs, unavailable=tuple(unavailable), known=known, max_cost=max_cost, tradeoff=tradeoff)
    )
    stops, bank = rest.layout.stops, rest.layout.bank  # with stand-ins where something is unavailable or left out
    if own and predictor.ladder:
        rung = [each for each in predictor.ladder if each.least <= tradeoff][-1]
        tradeoff, planned, left = rung.tradeoff, rung.planned, left if rung.planned else rung.tradeoff
    sets = [{names[f] for f in stop.features} for stop in stops]
    given = set(known) & set(names) if isinstance(known, dict) else set()
    before = items([name for name in known if name in names], costs)
    for name in set(known) - set(names):
        before |= {name} | needed_resources(costs, name)
    barred = {name for name in names if items([name], costs) & set(unavailable)} - given
    without = left_out(predictor, rest, costs, max_cost, barred, before)
    is_barred = any(barred & wanted for wanted in sets)
    by_values = any(stop.planned is not None and len(stop.planned.learners) for stop in predictor.stops)
    if planned and not without and is_barred and max_cost is None and not known:
        is_barred = bool(barred & relied_on(stops, sets, tradeoff, costs))
    goes_on = not is_barred and (by_values or not known)
    if is_barred and by_values and predictor.spare is not None:
        goes_on = keeps_plan(predictor, rest, barred)
    planned = planned and goes_on and not without
    tradeoff = tradeoff if planned else left
    at = next((k for k in rest.best_first if sets[k] and sets[k] <= given), 0)
    had, reasons = begin(predictor, costs, max_cost, barred, without, before) if at == 0 else ([], {"complete"})
    have, trips, visited = given | set(had), int(bool(set(had) - given)), [at]
    paid = before | items(had, costs)

    def can_pay(*way):
        bought = paid.union(*(items(sets[j], costs) for j in way))
        return max_cost is None or exact_price(bought - before, costs) <= written(max_cost)

    def value_of(answer, factor=tradeoff):
        gain = scores(answer, predictor.gains_bank, [*seen, *mine])
        steps = [factor * price(items(wanted, costs) - paid, costs) for wanted in sets[at + 1 :]]
        return {at: 0.0} | {at + 1 + i: gain[i] + step for i, step in enumerate(steps)}

    while True:
        seen = [x if name in have else math.nan for name, x in zip(names, row, strict=True)]
        mine = scores(stops[at].answer, bank, seen)
        if at == len(stops) - 1:
            break
        follows = planned and "max_cost" not in reasons
        plan = stops[at].planned if follows else None
        to, kept = choose(at, stops[at].gains, plan, value_of, left, lambda j: not sets[j] & barred, can_pay)
        reasons |= kept
        if to == at:
            break
        trips += bool(sets[to] - have)
        have |= sets[to]
        paid |= items(sets[to], costs)
        at = to
        visited.append(at)
    reasons |= {"unavailable" if is_barred else "max_cost"} if rest.stands_in[at] else set()
    bought = paid - before
    cost = price(bought, costs)
    return {
        "exit": rest.own[at],
        "scores": mine,
        "value": np.squeeze(naive.link(stops[at].answer.link, mine, stops[at].answer.level)),
        "acquired": {name for name in bought if name in names},
        "asked": have - given,
        "cost": cost,
        "rounds": trips,
        "reason": next(each for each in ("unavailable", "max_cost", "complete") if each in reasons),
        "visited": rest.own[visited].tolist(),
    }
