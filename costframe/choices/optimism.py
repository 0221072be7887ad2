"""The optimism of choices among many models, which the rows that estimate them make, and its correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8, I8
from costframe.study.fitted import Fitted
from costframe.study.objective import SCORE, Objective

DRAWS = 200  # bootstrap samples
_MOST_UNITS = 5_000  # that a bootstrap sample draws: of more rows, groups of them


def correct_choice(fits: Sequence[Fitted], objective: Objective = SCORE) -> list[Fitted]:
    """Subtract the optimism of the best score at each cost, which comes from choosing on the rows that estimate it.

    The best is that of the `objective`, and the optimism is that of this.

    It draws rows with replacement many times. Among models of no higher cost, the best one on the rows drawn is scored
    on the rows not drawn; the mean decrease of its score is the optimism (the bootstrap bias-corrected choice of
    Tsamardinos et al., 2018, with influences instead of scores). It corrects only models with influences on the same
    rows. Those of a repeated search are corrected already.
    """
    amounts = _optimism_by_cost(fits, objective).tolist()
    return [fitted if fitted.repeated else _lower(fitted, amount) for fitted, amount in zip(fits, amounts, strict=True)]


def correct_choice_of_algorithm(fits: Sequence[Fitted], objective: Objective = SCORE) -> list[Fitted]:
    """Subtract the further optimism of the choice between several algorithms, like `correct_choice`."""
    more = _optimism_by_cost(fits, objective)
    for name in {fitted.point.algorithm for fitted in fits}:
        places = [place for place, fitted in enumerate(fits) if fitted.point.algorithm == name]
        more[places] -= _optimism_by_cost([fits[place] for place in places], objective)
    return [_lower(fitted, max(amount, 0.0)) for fitted, amount in zip(fits, more.tolist(), strict=True)]


def _lower(fitted: Fitted, amount: float) -> Fitted:
    if not fitted.point.n_features:
        return fitted
    return evolve(fitted, point=evolve(fitted.point, score=fitted.point.score - float(amount)))


def _optimism_by_cost(fits: Sequence[Fitted], objective: Objective) -> F8:
    """Return the optimism of the best at the cost of each model, 0 without influences: float64 (fits,)."""
    excess = np.zeros(len(fits))
    moved_by = [objective.influence(fitted.influence, fitted.spent) for fitted in fits]
    known = {place: moved for place, moved in enumerate(moved_by) if moved is not None}
    for length in sorted({len(moved) for moved in known.values()}):
        alike = [place for place, moved in known.items() if len(moved) == length]
        alike.sort(key=lambda place: (fits[place].point.cost, -fits[place].point.score))
        costs, scores = np.array([(fits[place].point.cost, fits[place].point.score) for place in alike]).T
        excess[alike] = _optimism(objective.worth(costs, scores), np.stack([known[place] for place in alike]))
    return excess


def _optimism(scores: F8, moved: F8, seed: int = 0) -> F8:
    """Return the optimism of each model's score if it was chosen as the best up to some cost: float64 (models,).

    The choice reaches up to the highest cost at which the best model is the same as at its own cost. Scores, (models,),
    and influences, (models, rows), are given by ascending cost. Groups of rows that are far apart stand for many rows.
    """
    units = moved.any(axis=0)  # only the first row of a query
    n, rng = int(units.sum()), np.random.default_rng(seed)
    if n < 2 or len(scores) < 2:
        return np.zeros(len(scores))
    by_unit, sums = np.ascontiguousarray(moved[:, units].T), []
    if n > _MOST_UNITS:
        by_unit, n = np.stack([by_unit[first::_MOST_UNITS].sum(axis=0) for first in range(_MOST_UNITS)]), _MOST_UNITS
    for _ in range(DRAWS):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        absent = drawn == 0
        if absent.any():  # with few rows, a draw may have all
            sums.append(((drawn - 1.0) @ by_unit, (absent * (n / absent.sum())) @ by_unit))
    inside, outside = scores + np.stack(sums, axis=1)
    outside += scores - outside.mean(axis=0)  # removes the chance of the draws for a fixed model
    judged = np.take_along_axis(outside, _leaders(inside), axis=1).mean(axis=0)
    excess = np.maximum(np.maximum.accumulate(scores) - judged, 0.0)
    leader = _leaders(scores[np.newaxis])[0]
    return np.asarray(excess[np.searchsorted(leader, leader, "right") - 1], np.float64)


def _leaders(scores: F8) -> I8:
    """Return the place of the best of each model and all before it: int64 (draws, models)."""
    best = np.maximum.accumulate(scores, axis=1)
    return np.maximum.accumulate(np.where(scores >= best, np.arange(scores.shape[1]), 0), axis=1)
