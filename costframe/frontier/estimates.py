"""Estimates of scores on held-out rows, their errors and intervals, and the correction for the choice of the best.

An estimate comes from the validation rows (`estimate_on_rows`), from folds of all rows that are not test rows
(`join_folds`), or from the algorithm itself. It keeps the influence of each row, to compare two estimates on the same
rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import DataError
from costframe.frontier.rows import LEAST
from costframe.training.scoring import influence, score_named, standard_error, with_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.frontier.points import Point
    from costframe.frontier.rows import Rows
    from costframe.frontier.store import Fitted
    from costframe.training.library_scores import LibraryScore

__all__ = [
    "NINE_OF_TEN",
    "Difference",
    "Estimate",
    "correct_choice",
    "correct_choice_of_algorithm",
    "difference_error",
    "estimate_on_rows",
    "join_folds",
    "mix_estimates",
    "model_variance",
    "product",
    "score_interval",
]

NINE_OF_TEN = 1.645  # standard errors on both sides
DRAWS = 200  # bootstrap samples
_MOST_UNITS = 5_000  # that a bootstrap sample draws: of more rows, groups of them


@frozen(eq=False)
class Estimate:
    """An estimated score with its standard error."""

    score: float
    error: float
    influence: NDArray[np.float64] | None = field(default=None, repr=False)  # of each row; the last are those of valid
    rows_lacked: float = 0.0  # share of the final model's training rows that the models of the estimate did not have


def estimate_on_rows(name: str | LibraryScore, rows: Rows, model: Any, predictions: NDArray[np.float64]) -> Estimate:
    """Estimate a score from predictions of held-out rows; refuse rows on which the score is undefined."""
    y, name = rows.codes(model), with_labels(name, getattr(model, "classes_", None))
    score = score_named(name)(y, predictions, rows.weight, rows.qid)
    if math.isnan(score):
        raise DataError(f"score: there is no {name} on {len(rows.y)} rows that lack a class or variation")
    units = None if rows.groups is None else np.asarray(rows.units)
    moved = influence(name, y, predictions, rows.weight, rows.qid, units)
    if units is not None:  # these vary, not rows: the first row of a group has the group's influence
        by_row, moved = moved, np.zeros(len(moved))
        moved[np.unique(units, return_index=True)[1]] = np.bincount(units, by_row)
    return Estimate(float(score), standard_error(moved), moved)


def mix_estimates(one: Estimate, other: Estimate, share: float) -> Estimate:
    """Estimate the score of a random choice between two models that takes the other one with probability `share`."""
    assert one.influence is not None  # noqa: S101 - both come from `estimate_on_rows`
    assert other.influence is not None  # noqa: S101
    moved = (1 - share) * one.influence + share * other.influence
    return Estimate((1 - share) * one.score + share * other.score, standard_error(moved), moved)


def model_variance(folds: Sequence[Estimate]) -> float:
    """Return the variance of the scores of folds beyond that of their rows; it may be negative.

    It is 0 for halves of valid: their models share the training rows, and two scores do not tell a variance.
    """
    if len(folds) < LEAST:
        return 0.0
    return float(np.var([fold.score for fold in folds], ddof=1) - np.mean([fold.error**2 for fold in folds]))


def join_folds(folds: Sequence[Estimate], places: Sequence[NDArray[np.int64]], variance: float) -> Estimate:
    """Join estimates of the same kind of model, each from the rows of one held-out fold.

    `places`, int64, are the positions of each fold's rows among all rows; `variance` is of the true scores of models
    trained in the same way on other rows, as the final model is.
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

    If one has fewer rows, its rows are the last ones of the other.
    """
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    shared = product(longer[len(longer) - len(shorter) :], shorter)
    return math.sqrt(max(product(one, one) + product(other, other) - 2 * shared, 0.0))


def product(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the scalar product of two float64 (n,), without BLAS, whose threads wait on a busy machine."""
    return float(np.einsum("i,i", one, other))


def correct_choice(found: Sequence[Fitted]) -> list[Fitted]:
    """Subtract the optimism of the best score at each cost, which comes from choosing on the rows that estimate it.

    It draws rows with replacement many times. Among models of no higher cost, the best one on the rows drawn is scored
    on the rows not drawn; the mean decrease of its score is the optimism (the bootstrap bias-corrected choice of
    Tsamardinos et al., 2018, with influences instead of scores). It corrects only models with influences on the same
    rows.
    """
    return [_lower(each, amount) for each, amount in zip(found, _optimism_by_cost(found).tolist(), strict=True)]


def correct_choice_of_algorithm(found: Sequence[Fitted]) -> list[Fitted]:
    """Subtract the further optimism of the choice between several algorithms, like `correct_choice`."""
    more = _optimism_by_cost(found)
    for name in {each.point.algorithm for each in found}:
        places = [place for place, each in enumerate(found) if each.point.algorithm == name]
        more[places] -= _optimism_by_cost([found[place] for place in places])
    return [_lower(each, max(amount, 0.0)) for each, amount in zip(found, more.tolist(), strict=True)]


def _lower(fitted: Fitted, amount: float) -> Fitted:
    return evolve(fitted, point=evolve(fitted.point, score=fitted.point.score - float(amount)))


def _optimism_by_cost(found: Sequence[Fitted]) -> NDArray[np.float64]:
    """Return the optimism of the best at the cost of each model, 0 without influences: float64 (found,)."""
    excess = np.zeros(len(found))
    known = {place: each.influence for place, each in enumerate(found) if each.influence is not None}
    for length in sorted({len(moved) for moved in known.values()}):
        alike = [place for place, moved in known.items() if len(moved) == length]
        alike.sort(key=lambda place: (found[place].point.cost, -found[place].point.score))
        scores = np.array([found[place].point.score for place in alike])
        excess[alike] = _optimism(scores, np.stack([known[place] for place in alike]))
    return excess


def _optimism(scores: NDArray[np.float64], moved: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Return the optimism of each model's score if it was chosen as the best up to some cost: float64 (models,).

    The choice reaches up to the highest cost at which the best model is the same as at its own cost. Scores, (models,),
    and influences, (models, rows), are given by ascending cost. Groups of rows that are far apart stand for many rows.
    """
    units = moved.any(axis=0)  # only the first row of a query
    n, rng = int(units.sum()), np.random.default_rng(seed)
    if n < 2 or len(scores) < 2:
        return np.zeros(len(scores))
    each, sums = np.ascontiguousarray(moved[:, units].T), []
    if n > _MOST_UNITS:
        each, n = np.stack([each[first::_MOST_UNITS].sum(axis=0) for first in range(_MOST_UNITS)]), _MOST_UNITS
    for _ in range(DRAWS):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        absent = drawn == 0
        if absent.any():  # with few rows, a draw may have all
            sums.append(((drawn - 1.0) @ each, (absent * (n / absent.sum())) @ each))
    inside, outside = scores + np.stack(sums, axis=1)
    outside += scores - outside.mean(axis=0)  # removes the chance of the draws for a fixed model
    judged = np.take_along_axis(outside, _leaders(inside), axis=1).mean(axis=0)
    excess = np.maximum(np.maximum.accumulate(scores) - judged, 0.0)
    leader = _leaders(scores[np.newaxis])[0]
    return np.asarray(excess[np.searchsorted(leader, leader, "right") - 1], np.float64)


def _leaders(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of the best of each model and all before it: int64 (draws, models)."""
    best = np.maximum.accumulate(scores, axis=1)
    return np.maximum.accumulate(np.where(scores >= best, np.arange(scores.shape[1]), 0), axis=1)


@frozen
class Difference:
    """The difference of two scores, estimated on common rows.

    Attributes
    ----------
    value : float
        Above zero if the first score is better.
    error : float
        Standard error; 0 between points of the same model.
    low, high : float
        Nine times of ten the difference is between them.
    """

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - NINE_OF_TEN * self.error

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + NINE_OF_TEN * self.error


def score_interval(point: Point, best: float) -> tuple[float, float]:
    """Return an interval that has a point's score on many fresh rows nine times of ten; `best` is the best value.

    The square root of the score's distance to the best value is taken as normal, as for counts of rare mistakes. So the
    interval ends at that value, and reaches further down than up. At the upper end, the distance shrinks by the share
    of rows that the models of the estimate lacked.
    """
    margin = NINE_OF_TEN * point.score_error
    if math.isinf(best) or not margin:
        return point.score - margin, point.score + margin
    away = max(best - point.score, margin / 2)  # else a better score could have an interval that begins lower
    left = max(best - point.score, 0.0) * (1 - point.rows_lacked)
    return best - _shift(away, margin), best - _shift(left, -margin) if 2 * left > margin else best


def _shift(distance: float, margin: float) -> float:
    """Return the square of the square root of a distance plus its margin, given the distance's own."""
    return distance + margin + margin**2 / (4 * distance)
