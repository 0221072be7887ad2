"""Slow, obvious plans for problems of few states: the optimum found by trying everything, and the open-loop plan.

A `Problem` is a finite joint distribution of features and label, with a list of stops (sets of features) and prices.
The model of a stop is the exact conditional probability of the classes given the stop's features. A row begins at
stop 0, whose features it has bought. At each stop it either answers with the stop's model, or goes to a later stop and
buys what it lacks of that stop's features; so it may know more than the model that answers.

A situation is `(stop, bought, seen)`: the stop's number, a frozenset of feature numbers, and their values in ascending
order of the features. A policy is a function of a situation, `policy(stop, bought, seen) -> stop`, that returns the
same stop to answer or a later one to go there. Losses are log losses; what is minimized is loss + tradeoff * cost.

    problem = Problem(values, weights, classes, stops=[(), (0,), (0, 1)], costs=cost_model)
    best = optimal_plan(problem, tradeoff=0.1)           # no policy has a lower best.value
    best.value, best.loss, best.cost                     # expectations per row, value = loss + tradeoff * cost
    best.actions[1, frozenset({0}), (1.0,)]              # 1 to answer there, 2 to go on; only situations that occur
    best.answered, best.paid                             # (states,): the last stop of each state, what it pays
    asked_again = open_loop_plan(problem, tradeoff=0.1)  # likewise, for the plan that believes each purchase the last
    follow(problem, any_policy, tradeoff=0.1)            # likewise, for any other policy
    probabilities(problem, 2), loss_to_go(problem, 1, 2) # (states, classes) and (states,): the exact models
    X, y = exact_rows(problem, 200)                      # rows in which each state and class has its exact share
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from naive_costs import full_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import costframe as cf

    Situation = tuple[int, frozenset[int], tuple[float, ...]]
    Policy = Callable[[int, frozenset[int], tuple[float, ...]], int]


@frozen(eq=False)
class Problem:
    """A distribution, stops and prices.

    Attributes
    ----------
    values : float64 (states, features)
        The features of each state; no two rows alike.
    weights : float64 (states,)
        Probabilities of the states; they sum to one.
    classes : float64 (states, classes)
        Probability of each class in each state; rows sum to one.
    stops : sequence of tuple of int
        The features of each stop. Stop 0 is where all begin; these features are bought first.
    costs : CostModel
        Prices of features and resources, features in the order of the columns.
    """

    values: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    stops: Sequence[tuple[int, ...]]
    costs: cf.CostModel


@frozen(eq=False)
class Plan:
    """What a policy does, and what comes of it.

    Attributes
    ----------
    value, loss, cost : float
        Expectations per row; value = loss + tradeoff * cost.
    actions : dict of situation to int
        In every situation that occurs: the same stop to answer, a later one to go there.
    answered : int64 (states,)
        The stop whose model answers.
    paid : float64 (states,)
    """

    value: float
    loss: float
    cost: float
    actions: dict[Situation, int]
    answered: np.ndarray
    paid: np.ndarray


def probabilities(problem: Problem, stop: int) -> np.ndarray:
    """Return the exact conditional probabilities of the classes given a stop's features: (states, classes)."""
    return _given(problem, problem.stops[stop], problem.classes)


def losses(problem: Problem, stop: int) -> np.ndarray:
    """Return the expected log loss of a stop's model in each state, over the label alone: (states,)."""
    predicted = probabilities(problem, stop)
    # A class of probability zero adds nothing, though its logarithm is infinite.
    terms = np.where(problem.classes > 0, -problem.classes * np.log(np.where(predicted > 0, predicted, 1.0)), 0.0)
    return terms.sum(axis=1)


def loss_to_go(problem: Problem, stop: int, later: int) -> np.ndarray:
    """Return by how much the later stop's expected loss exceeds this one's, given this one's features: (states,).

    Negative where the later stop is better; no price is in it.
    """
    difference = losses(problem, later) - losses(problem, stop)
    return _given(problem, problem.stops[stop], difference[:, np.newaxis])[:, 0]


def price(problem: Problem, bought: frozenset[int]) -> float:
    """Return what features cost with all resources that they need."""
    return full_cost(problem.costs, {problem.costs.names[feature] for feature in bought})


def optimal_plan(problem: Problem, tradeoff: float, max_cost: float = np.inf) -> Plan:
    """Return the plan of least value by trying every action in every situation; no row pays more than max_cost.

    Of equally good actions it takes the one with the lowest stop, answering first.
    """
    loss = [losses(problem, stop) for stop in range(len(problem.stops))]
    actions: dict[Situation, int] = {}

    def least(stop: int, bought: frozenset[int], states: np.ndarray) -> float:
        """Return the least sum, over states that look alike, of weight * (loss + tradeoff * what is still paid)."""
        best, chosen = float(problem.weights[states] @ loss[stop][states]), stop
        for later in _within(problem, stop, bought, max_cost):
            more = bought | set(problem.stops[later])
            extra = tradeoff * (price(problem, more) - price(problem, bought)) * float(problem.weights[states].sum())
            total = extra + sum(least(later, more, part) for part in _alike(problem, more, states))
            if total < best - 1e-12:
                best, chosen = total, later
        actions[stop, bought, _seen(problem, bought, states)] = chosen
        return best

    begin = frozenset(problem.stops[0])
    for part in _alike(problem, begin, np.arange(len(problem.values))):
        least(0, begin, part)
    return follow(problem, lambda stop, bought, seen: actions[stop, bought, seen], tradeoff)


def open_loop_plan(problem: Problem, tradeoff: float, max_cost: float = np.inf) -> Plan:
    """Return the plan that goes where expected loss plus price is least, as if it answered there, and asks again there.

    Everything bought so far is known, and free. Of equally good stops it takes the first.
    """
    loss = [losses(problem, stop) for stop in range(len(problem.stops))]

    def choose(stop: int, bought: frozenset[int], seen: tuple[float, ...]) -> int:
        alike = (problem.values[:, sorted(bought)] == np.array(seen)).all(axis=1)
        weights = problem.weights * alike / problem.weights[alike].sum()
        best, chosen = float(weights @ loss[stop]), stop
        for later in _within(problem, stop, bought, max_cost):
            extra = price(problem, bought | set(problem.stops[later])) - price(problem, bought)
            total = float(weights @ loss[later]) + tradeoff * extra
            if total < best - 1e-12:
                best, chosen = total, later
        return chosen

    return follow(problem, choose, tradeoff)


def follow(problem: Problem, policy: Policy, tradeoff: float) -> Plan:
    """Return what a policy does in every state, and its expected loss and cost."""
    n_states, loss = len(problem.values), [losses(problem, stop) for stop in range(len(problem.stops))]
    answered, paid, actions = np.zeros(n_states, np.int64), np.zeros(n_states), {}
    for state in range(n_states):
        stop, bought = 0, frozenset(problem.stops[0])
        while True:
            seen = _seen(problem, bought, np.array([state]))
            chosen = policy(stop, bought, seen)
            actions[stop, bought, seen] = chosen
            if chosen == stop:
                break
            if chosen < stop:
                raise ValueError(f"a policy goes to later stops only, not from {stop} to {chosen}")
            stop, bought = chosen, bought | set(problem.stops[chosen])
        answered[state], paid[state] = stop, price(problem, bought)
    mean_loss = float(sum(problem.weights[state] * loss[answered[state]][state] for state in range(n_states)))
    cost = float(problem.weights @ paid)
    return Plan(mean_loss + tradeoff * cost, mean_loss, cost, actions, answered, paid)


def exact_rows(problem: Problem, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows X (n, features) and labels y (n,) where every state and class has exactly its share.

    ValueError if n times some share is not a whole number.
    """
    exact = n * problem.weights[:, np.newaxis] * problem.classes
    count = np.rint(exact).astype(int)
    if np.abs(count - exact).max() > 1e-6:
        raise ValueError(f"{n} rows cannot have each state and class in its exact share")
    state, label = np.divmod(np.repeat(np.arange(count.size), count.ravel()), count.shape[1])
    return problem.values[state], label


def _within(problem: Problem, stop: int, bought: frozenset[int], max_cost: float) -> list[int]:
    """Return the later stops that can be gone to without paying more than max_cost in all."""
    later = range(stop + 1, len(problem.stops))
    return [j for j in later if price(problem, bought | set(problem.stops[j])) <= max_cost + 1e-9]


def _alike(problem: Problem, bought: frozenset[int], states: np.ndarray) -> list[np.ndarray]:
    """Divide states by the values of the bought features."""
    parts: dict[tuple[float, ...], list[int]] = {}
    for state in states:
        parts.setdefault(_seen(problem, bought, np.array([state])), []).append(state)
    return [np.array(part) for part in parts.values()]


def _seen(problem: Problem, bought: frozenset[int], states: np.ndarray) -> tuple[float, ...]:
    """Return the values of the bought features of states that agree in them."""
    return tuple(float(problem.values[states[0], feature]) for feature in sorted(bought))


def _given(problem: Problem, features: tuple[int, ...], numbers: np.ndarray) -> np.ndarray:
    """Return the conditional expectation of numbers (states, m) given features: (states, m)."""
    out = np.empty_like(numbers, dtype=np.float64)
    for part in _alike(problem, frozenset(features), np.arange(len(problem.values))):
        out[part] = problem.weights[part] @ numbers[part] / problem.weights[part].sum()
    return out
