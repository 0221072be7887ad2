"""Estimates of scores from rows that the model did not see, their standard errors, and what chance adds to the best.

An estimate comes from the validation rows (`on_rows`), from folds of all rows that are not test rows (`over_folds`), or
from the algorithm itself. What each row adds to an estimate is kept, so that two are compared on the same rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import DataError
from costframe.training.influence import influence, standard_error
from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.frontier.rows import Rows
    from costframe.frontier.trial import Fitted

__all__ = [
    "Estimate",
    "between",
    "difference_error",
    "less_chance",
    "less_chance_of_union",
    "model_variance",
    "on_rows",
    "over_folds",
]

DRAWS = 200  # bootstrap samples; what chance adds is a mean over them


@frozen(eq=False)
class Estimate:
    """A score, and how far it may be off.

    Attributes
    ----------
    score : float
    error : float
        Standard error.
    influence : float64 (n,) or None
        How far each row moves the score; the last rows are those of valid.
    rows_lacked : float
        Share of the kept model's rows that the models behind the estimate were not trained on.
    """

    score: float
    error: float
    influence: NDArray[np.float64] | None = field(default=None, repr=False)
    rows_lacked: float = 0.0


def on_rows(name: str, rows: Rows, model: Any, predictions: NDArray[np.float64]) -> Estimate:
    """Score predictions of rows that the model did not see; refuse rows on which there is no such score."""
    y = rows.codes(model)
    score = score_named(name)(y, predictions, rows.weight, rows.qid)
    if math.isnan(score):
        raise DataError(f"score: there is no {name} on {len(rows.y)} rows that lack a class or vary in nothing")
    moved = influence(name, y, predictions, rows.weight, rows.qid)
    return Estimate(float(score), standard_error(moved), moved)


def between(one: Estimate, other: Estimate, share: float) -> Estimate:
    """Estimate a draw between two models on the same rows, of which the other is taken in such a share of draws."""
    assert one.influence is not None  # noqa: S101 - both come from `on_rows`
    assert other.influence is not None  # noqa: S101
    moved = (1 - share) * one.influence + share * other.influence
    return Estimate((1 - share) * one.score + share * other.score, standard_error(moved), moved)


def model_variance(folds: Sequence[Estimate]) -> float:
    """Return how much more the scores of folds vary than their rows explain; it may come out below zero."""
    return float(np.var([fold.score for fold in folds], ddof=1) - np.mean([fold.error**2 for fold in folds]))


def over_folds(folds: Sequence[Estimate], places: Sequence[NDArray[np.int64]], variance: float) -> Estimate:
    """Join estimates of the same kind of model, each from a fold of rows that it did not see.

    Parameters
    ----------
    folds : sequence of Estimate
    places : sequence of int64 (rows of the fold,)
        Where the rows of each fold stand among all.
    variance : float
        Variance of the true scores of models that are trained alike on other rows: the model that is kept differs from
        those of the folds by as much.
    """
    share = np.array([len(place) for place in places]) / sum(len(place) for place in places)
    moved = np.zeros(sum(len(place) for place in places))
    for part, place, fold in zip(share, places, folds, strict=True):
        if fold.influence is not None:
            moved[place] = part * fold.influence
    error = np.sqrt(standard_error(moved) ** 2 + max(variance, 0.0) * (1 + 1 / len(folds)))
    return Estimate(float(share @ [fold.score for fold in folds]), float(error), moved)


def difference_error(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the standard error of the difference of two scores, from the influences of their rows.

    Of two that rest on different rows, the shorter's are the last of the longer's.
    """
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    shared = longer[len(longer) - len(shorter) :] @ shorter
    return math.sqrt(max(float(one @ one + other @ other - 2 * shared), 0.0))


def less_chance(found: Sequence[Fitted]) -> list[Fitted]:
    """Take off what chance adds to the score of the best at each cost, which is chosen by the rows that judge it.

    Rows are drawn again with replacement many times. The model that is best on the rows drawn, among those of no higher
    cost, is judged on the rows that were not drawn; how much less its score is there, on average, is what chance adds
    (the bootstrap bias-corrected choice of Tsamardinos et al., 2018, by influences instead of scores). Only models
    whose influences are known, and rest on the same rows, are corrected.
    """
    return [_lowered(each, amount) for each, amount in zip(found, _excess(found).tolist(), strict=True)]


def less_chance_of_union(found: Sequence[Fitted]) -> list[Fitted]:
    """Take off what chance adds to the best of several algorithms more than to the best of each, as `less_chance`."""
    more = _excess(found)
    for name in {each.point.algorithm for each in found}:
        places = [place for place, each in enumerate(found) if each.point.algorithm == name]
        more[places] -= _excess([found[place] for place in places])
    return [_lowered(each, max(amount, 0.0)) for each, amount in zip(found, more.tolist(), strict=True)]


def _lowered(fitted: Fitted, amount: float) -> Fitted:
    return evolve(fitted, point=evolve(fitted.point, score=fitted.point.score - float(amount)))


def _excess(found: Sequence[Fitted]) -> NDArray[np.float64]:
    """float64 (found,): what chance adds to the best at the cost of each; 0 where influences are not known."""
    excess = np.zeros(len(found))
    known = {place: each.influence for place, each in enumerate(found) if each.influence is not None}
    for length in sorted({len(moved) for moved in known.values()}):
        alike = [place for place, moved in known.items() if len(moved) == length]
        alike.sort(key=lambda place: (found[place].point.cost, -found[place].point.score))
        scores = np.array([found[place].point.score for place in alike])
        excess[alike] = _added_by_chance(scores, np.stack([known[place] for place in alike]))
    return excess


def _added_by_chance(scores: NDArray[np.float64], moved: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """float64 (models,): by how much each scores too high if it was chosen as the best of all up to some cost.

    That is counted up to the highest cost at which the best is the same as at its own.

    Parameters
    ----------
    scores : float64 (models,)
        By ascending cost.
    moved : float64 (models, rows)
    seed : int
    """
    units = moved.any(axis=0)  # of a query only the first row
    n, rng = int(units.sum()), np.random.default_rng(seed)
    if n < 2 or len(scores) < 2:
        return np.zeros(len(scores))
    each, sums = moved[:, units].T, []
    for _ in range(DRAWS):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        absent = drawn == 0
        if absent.any():  # of a few rows, all may be drawn
            sums.append(((drawn - 1.0) @ each, (absent * (n / absent.sum())) @ each))
    inside, outside = scores + np.stack(sums, axis=1)
    outside += scores - outside.mean(axis=0)  # what a model that is fixed loses or gains by the luck of the draws
    judged = np.take_along_axis(outside, _leaders(inside), axis=1).mean(axis=0)
    excess = np.maximum(np.maximum.accumulate(scores) - judged, 0.0)
    leader = _leaders(scores[np.newaxis])[0]
    return np.asarray(excess[np.searchsorted(leader, leader, "right") - 1], np.float64)


def _leaders(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """int64 (draws, models): the place of the best of this and all models before it."""
    best = np.maximum.accumulate(scores, axis=1)
    return np.maximum.accumulate(np.where(scores >= best, np.arange(scores.shape[1]), 0), axis=1)
