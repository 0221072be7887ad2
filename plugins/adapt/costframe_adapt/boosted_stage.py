"""A stage of trees: a cheap model, gates for it, and both together."""

from __future__ import annotations

import numpy as np

from costframe.gates import Candidate, Scores
from costframe.plugin import F8, track
from costframe.trees import Boosted, Ensemble
from costframe_adapt.boosting import MOST_TURNS, converged
from costframe_adapt.cheap_model import CheapModel
from costframe_adapt.gate_prices import gate_prices
from costframe_adapt.growing_pair import GrowingPair
from costframe_adapt.judge import Judge
from costframe_adapt.settings import AdaptTrees

_PATIENCE_OF_TURNS = 2  # rounds of the alternation without a better model
_GATES = 3  # most gates for a fixed cheap model, while they get better
_LOOKED_AT = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)  # of all trees
_LOOKS = 3  # without a better model before growth stops


def fit_boosted_stage(
    judge: Judge, trees: AdaptTrees, q: F8 | None = None, given: Ensemble | None = None
) -> tuple[list[Candidate], F8 | None, list[float]]:
    """Fit a cheap model, gates for it, and, with trees paid row by row, also both models together.

    It may begin with the shares, float64 (n,), or the cheap model of a similar fit.

    Returns
    -------
    list of Candidate, float64 (n,) or None, list of float
        All candidates, the last shares of both models together, and loss + tradeoff * cost of each round.
    """
    cheap = CheapModel.best(judge, trees, given)
    candidates, shares = [cheap.candidate], None
    history: list[float] = []
    if judge.settings.full_share != 0:
        more, history = _gates(judge, trees, cheap)
        candidates += more
        if trees.by_row:
            more, shares, values = _jointly(judge, trees, cheap, q)
            candidates, history = candidates + more, history + values
    return candidates, shares, history


def _gates(judge: Judge, trees: AdaptTrees, cheap: CheapModel) -> tuple[list[Candidate], list[float]]:
    """Keep the cheap model, and fit gates to its out-of-fold failures.

    A strong cheap model is too sure on its training rows: its losses there say little about new rows.
    """
    bank, fixed = cheap.candidate.pair.bank, Boosted(cheap.ensemble, cheap.out_of_fold)
    candidates: list[Candidate] = []
    history: list[float] = []
    pair, train = cheap.candidate.pair, Scores.without_gate(cheap.out_of_fold)
    for _ in range(_GATES):
        q = judge.shares(pair, train)
        of_gate = gate_prices(judge, q)
        prices = of_gate.by_row_after(bank) if trees.by_row else of_gate.once_after(bank)
        candidates.append(_best(judge, trees, GrowingPair.behind(judge, trees, q, fixed, cheap.running, prices)))
        history.append(judge.total(candidates[-1]))
        if history[-1] > min(history):
            break
        pair, train = candidates[-1].pair, candidates[-1].train
    return candidates, history


def _jointly(
    judge: Judge, trees: AdaptTrees, cheap: CheapModel, q: F8 | None
) -> tuple[list[Candidate], F8, list[float]]:
    """Boost both models again in each round, for new shares, at row-by-row prices for the rows that pay.

    It begins with the shares of the cheap model alone, or with q, float64 (n,), of a similar fit.

    Returns
    -------
    list of Candidate, float64 (n,), list of float
        The best of each round, the last shares, and loss + tradeoff * cost of each round.
    """
    patience = _PATIENCE_OF_TURNS if q is None else 1
    q = judge.shares(cheap.candidate.pair, cheap.candidate.train) if q is None else q
    candidates: list[Candidate] = []
    history: list[float] = []
    for _ in track(range(MOST_TURNS), "Adapt", verbose=judge.settings.verbose):
        prices = gate_prices(judge, q).by_row()
        staying = prices.with_weight(judge.rows.weight * (1 - q))
        candidates.append(_best(judge, trees, GrowingPair.begin(judge, trees, q, staying, prices)))
        history.append(judge.total(candidates[-1]))
        before, q = q, judge.shares(candidates[-1].pair, candidates[-1].train)
        if converged(judge, before, q) or len(history) - 1 - int(np.argmin(history)) == patience:
            break
    return candidates, q, history


def _best(judge: Judge, trees: AdaptTrees, growing: GrowingPair) -> Candidate:
    """Grow all rounds, and return the best candidate on the way."""
    rounds, names, candidates = trees.n_estimators, judge.data.feature_names, []
    checked = {max(1, int(rounds * share)) for share in _LOOKED_AT}
    for number in range(1, rounds + 1):
        idle = not growing.add_round()
        if number in checked or idle:
            candidates.append(judge.candidate(growing.pair(names), *growing.scores(), growing.accounts()))
            totals = [judge.total(candidate) for candidate in candidates]
            if idle or len(totals) - 1 - int(np.argmin(totals)) >= _LOOKS:
                break
    return min(candidates, key=judge.total)
