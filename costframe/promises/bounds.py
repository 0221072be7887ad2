"""Tests of the mean of a loss, from independent draws: p-values of "the mean is above a limit", and upper bounds.

A p-value is at most delta with a probability of at most delta if the mean loss is above the limit. For losses of 0 and
1 it is that of the binomial law, which is exact; for losses of -1, 0 and 1 that of the trinomial law. For other losses
in [0, 1] it is that of betting (Waudby-Smith and Ramdas, Journal of the Royal Statistical Society B 86, 2024), with
bets that aim at being decisive by the last draw (Browne, Advances in Applied Probability 31, 1999).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from costframe.core.arrays import F8, I8

_NORMAL, _ROOT = NormalDist(), math.sqrt(2 * math.pi)
_STEPS = 30  # of bisection
_BOLD = 0.99  # share of the largest bet that cannot lose everything
_NEARLY = 0.98  # the goal is aimed at from a little above, or it is approached and not reached
_DECISIONS = 1000  # about how often the bet is chosen anew while half of the losses come
_TRUST = 50  # number of draws for which a given variance counts
_APART = 1e-3  # probability that the share of rows that differ is outside its interval
_SHARES, _BETWEEN = 24, 1.01  # shares that are tried, and by how much probabilities may rise between two of them
_TAIL = 1e-7  # probability that is left out on each side


def binomial_p(count: int, n: int, limit: float) -> float:
    """Return the probability of at most `count` ones among n if each is one with the probability `limit`."""
    from scipy.stats import binom

    return 1.0 if not n else float(binom.cdf(count, n, min(max(limit, 0.0), 1.0)))


def paired_p(worse: int, better: int, n: int, limit: float) -> float:
    """Return the p-value of "the share of rows with loss 1, less that with loss -1, is at least the limit".

    `worse` of n rows have loss 1, `better` loss -1, the others 0. It is the probability, at the limit, of a difference
    at least as far below it, in standard errors, as the one seen; the largest over the share q of both, within its own
    interval (Berger and Boos, JASA 89, 1994; Suissa and Shuster, Biometrics 47, 1991).
    """
    from scipy.special import bdtr
    from scipy.stats import beta, binom

    both, low = worse + better, abs(limit)
    seen = worse - better - n * limit
    if not n or seen >= 0 or low >= 1:
        return 0.0 if n and limit >= 1 else 1.0

    def distance(difference: Any, both: Any) -> Any:
        """Return by how many standard errors, at the limit, a difference is above it; it grows with the difference."""
        return (difference - n * limit) / np.sqrt(np.maximum(np.maximum(both, n * low) - n * limit**2, 1e-9))

    at = float(distance(worse - better, both)) + 1e-9
    first = float(beta.ppf(_APART / 2, both, n - both + 1)) if both else 0.0
    last = float(beta.ppf(1 - _APART / 2, both + 1, n - both)) if both < n else 1.0
    shares = np.linspace(max(first, low), max(last, low), _SHARES)
    some = np.arange(int(binom.ppf(_TAIL, n, shares[0])), int(binom.ppf(1 - _TAIL, n, shares[-1])) + 1)
    room = np.sqrt(np.maximum(np.maximum(some, n * low) - n * limit**2, 1e-9))  # of `distance`, whose bound is solved
    most = np.clip(np.floor((some + n * limit + at * room) / 2), -1, some)
    odds = np.where(shares > 0, (1 + limit / np.maximum(shares, 1e-300)) / 2, 0.5)
    chances = np.exp(_log_pmf(some, n, shares[:, None])) * np.where(most < 0, 0.0, bdtr(most, some, odds[:, None]))
    return min(1.0, float(chances.sum(axis=1).max()) * _BETWEEN + _APART + 2 * _TAIL)


def _log_pmf(count: I8, n: int, p: F8) -> F8:
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
    return np.asarray(ways + xlogy(count, p) + xlog1py(n - count, -p))


def bets_on(losses: F8, limit: float, delta: float, variance: float | None = None) -> F8:
    """Return bets, float64 (n,), on losses in [0, 1], float64 (n,), being below a limit above 0 and below 1.

    A bet b turns a wealth w into w (1 + b (limit - loss)); it rests on the losses before it alone. All aim at a wealth
    of 1 / delta after n losses, and at no more: at each the wealth is the price of an option that pays 1 / delta if the
    sum of normal losses ends below the quantile, and the bet hedges it (Browne, Advances in Applied Probability 31,
    1999). So the goal is reached about as often as a normal test of known variance rejects, and where losses are far
    from normal it is less often, but never more often than delta if their mean is above the limit.

    `variance` is one that other draws tell; it counts as some draws do.
    """
    n = len(losses)
    bets = np.zeros(n)
    if not 0 < limit < 1:
        return bets
    below = limit - losses
    gains = below.tolist()
    variance, trust = (limit * (1 - limit), 1) if variance is None else (variance, _TRUST)
    squares, wealth, start, goal, most = trust * variance, 1.0, 0, 1 / delta, _BOLD / (1 - limit)
    while start < n and wealth < goal:
        left = n - start
        chance = min(max(_NEARLY * wealth / goal, 1e-300), 1 - 1e-9)
        z = _NORMAL.inv_cdf(chance)
        hedge = math.exp(-z * z / 2) / _ROOT / (chance * math.sqrt(max(squares / (trust + start), 1e-12) * left))
        bet = min(hedge, most)
        if left < 2 * _DECISIONS:
            bets[start] = bet
            wealth *= 1 + bet * gains[start]
            squares += gains[start] ** 2
            start += 1
            continue
        block = slice(start, start + left // _DECISIONS)
        bets[block] = bet
        path = wealth * np.cumprod(1 + bet * below[block])
        wealth = float(path.max() if path.max() >= goal else path[-1])
        squares += float(below[block] @ below[block])
        start = block.stop
    return bets


def betting_p(losses: F8, limit: float, bets: F8) -> float:
    """Return the p-value of bets on losses in [0, 1], float64 (n,), being below the limit; it falls with the limit.

    It is one over the largest wealth (Waudby-Smith and Ramdas, JRSS B 86, 2024). The order of the losses must not
    depend on them.
    """
    if not len(losses) or not 0 < limit < 1:
        return 1.0 if limit <= 0 or not len(losses) else 0.0
    wealth = np.cumsum(np.log1p(np.minimum(bets, _BOLD / (1 - limit)) * (limit - losses)))
    return min(1.0, math.exp(-float(wealth.max())))


def draws_alike(loss: float, limit: float, delta: float) -> float:
    """Return how many draws of the same loss, below a limit in (0, 1), the largest bets need to reach 1 / delta."""
    return math.log(1 / delta) / math.log1p(_BOLD * (limit - loss) / (1 - limit))


def upper_bound(p_value: Callable[[float], float], delta: float, low: float) -> float:
    """Return the least limit in [low, 1] that a test does not reject less than at delta; 1 if there is none."""
    if p_value(1.0) > delta:
        return 1.0
    high = 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if p_value(middle) <= delta else (middle, high)
    return high
