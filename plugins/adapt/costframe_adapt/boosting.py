"""ADAPT-GBRT: Algorithm 2, a cheap model and a gate boosted in turns, as printed and as one stage does by default.

Rows that stay pay for the cheap model. All rows pay for the gate's features, except rows that go on if the expensive
model reads the feature anyway, and rows that stay if the cheap model reads it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from costframe.gates import Candidate, GatedPair, Scores
from costframe.plugin import F8, exact_sum
from costframe.trees import OncePrices
from costframe_adapt.cheap_model import boost_cheap
from costframe_adapt.growing_pair import GrowingPair
from costframe_adapt.judge import Judge
from costframe_adapt.settings import AdaptTrees

MOST_TURNS = 10  # of the alternation
_STEADY = 1e-4  # change of a row's share at which the alternation has converged


def boost_pair(judge: Judge, trees: AdaptTrees) -> tuple[Candidate, list[float]]:
    """Run Algorithm 2: from Greedy Miser's model and a gate of zero, alternate q and all trees, until q converges.

    Returns
    -------
    Candidate, list of float
        The models of the last round; bound + tradeoff * prices of all features bought, after each round.
    """
    data, tradeoff = judge.data, judge.settings.tradeoff
    start = boost_cheap(data, judge.binned, trees, tradeoff, None)[0].finish(data.feature_names)
    pair = GatedPair.of(start)
    scores, held = (Scores.without_gate(start.decision_function(rows.X)) for rows in (judge.rows, judge.held))
    objective: list[float] = []
    if judge.settings.full_share == 0:  # no gate
        return judge.candidate(pair, scores, held), objective
    q = judge.shares(pair, scores)
    while True:
        # One table of u_f: the first tree of either model that uses a feature buys it for both.
        prices = OncePrices.of(data.prices, judge.rows, tradeoff=tradeoff)
        growing = GrowingPair.begin(judge, trees, q, prices, prices)
        for _ in range(trees.n_estimators):
            if not growing.add_round():
                break
        pair, (scores, held) = growing.pair(data.feature_names), growing.scores()
        objective.append(_bound(judge, q, scores) + _price_of(judge, pair))
        before, q = q, judge.shares(pair, scores)
        if converged(judge, before, q) or len(objective) == MOST_TURNS:
            return judge.candidate(pair, scores, held, growing.accounts()), objective


def converged(judge: Judge, before: F8, q: F8) -> bool:
    """Return whether the shares of an alternation have settled."""
    rows = judge.rows
    return exact_sum(np.abs(q - before) * rows.weight) < _STEADY * rows.total_weight


def _bound(judge: Judge, q: F8, train: Scores) -> float:
    """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] on the training rows."""
    below, above = judge.losses(train)
    return judge.rows.mean((1 - q) * below + q * above - entr(q) - entr(1 - q))


def _price_of(judge: Judge, pair: GatedPair) -> float:
    """Return tradeoff * the prices of all features and resources that a pair reads."""
    read = np.flatnonzero(np.diff(pair.bank.F.indptr))
    return judge.settings.tradeoff * judge.data.prices.of_set(read)
