"""Estimates of scores on fresh rows, from held-out rows or folds, joined and compared by the influences of rows.

An estimate comes from the validation rows (`estimate_on_rows`), from folds of all rows that are not test rows
(`join_folds`), or from the algorithm itself. It keeps the influence of each row, to compare two estimates on the same
rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.study.folds import LEAST
from costframe.study.mistakes import count_mistakes
from costframe.study.rows import StudyRows
from costframe.training.influences import influence, standard_error
from costframe.training.library_scores import LibraryScore
from costframe.training.scoring import score_named, with_labels

NINE_OF_TEN = 1.645  # standard errors on both sides
_SURELY = 2.6  # standard errors, once of a hundred times by chance
_NEARLY, _ONE = 1e-6, 1e-3  # how far probabilities, and their sums, may be off: forests sum up in single precision


class UndefinedScoreError(DataError):
    """A score is not a number on held-out rows."""


@frozen(eq=False)
class Estimate:
    """An estimated score with its standard error."""

    score: float
    error: float
    influence: F8 | None = field(default=None, repr=False)  # of each row; the last are those of valid
    rows_lacked: float = 0.0  # share of the final model's training rows that the models of the estimate did not have
    shared: float = 0.0  # part of the error that is the same for all models of a search, as its optimism is
    between: float = 0.0  # variance of the score where it is that of one of two models, and open of which
    mistakes: F8 | None = None  # (K, K), rows by class and answer, where errors have prices
    weight: float = 1.0  # of the rows that it is from, or the number of their queries, as scores count them


@frozen(eq=False)
class CostEstimate:
    """An estimated mean cost of fresh rows with its standard error."""

    mean: float
    error: float
    influence: F8 | None = field(default=None, repr=False)  # of each row of valid


def estimate_on_rows(name: str | LibraryScore, rows: StudyRows, model: Any, predictions: F8) -> Estimate:
    """Estimate a score from predictions of held-out rows; refuse what is no prediction, and rows without the score."""
    _check_predictions(predictions, is_classifier=getattr(model, "classes_", None) is not None)
    y, name = rows.codes(model), with_labels(name, getattr(model, "classes_", None), rows.X)
    score = score_named(name)(y, predictions, rows.weight, rows.qid)
    if math.isnan(score):
        raise UndefinedScoreError(
            f"score: there is no {name} on {len(rows.y)} rows; they may lack a class or variation"
        )
    units = None if rows.groups is None else np.asarray(rows.units)
    moved = influence(name, y, predictions, rows.weight, rows.qid, units)
    moved = sum_by_unit(moved, units)
    mistakes = count_mistakes(name, y, predictions)
    return Estimate(float(score), standard_error(moved), moved, mistakes=mistakes, weight=_weight_of(rows))


def _check_predictions(predictions: F8, *, is_classifier: bool) -> None:
    """Refuse predictions that are no numbers, and those of classes that are no probabilities.

    Scores by order, such as the area under the curve, would take them.
    """
    if not np.isfinite(predictions).all():
        wrong = predictions[~np.isfinite(predictions)]
        raise DataError(f"predictions: expected finite numbers, the model answers {len(wrong):,} times {wrong[0]:g}")
    if not is_classifier:
        return
    wrong = predictions[(predictions < -_NEARLY) | (predictions > 1 + _NEARLY)]
    if len(wrong):
        raise DataError(f"predictions: expected probabilities from 0 to 1, the model answers {wrong[0]:g}")
    sums = predictions.sum(axis=1) if predictions.ndim == 2 else np.ones(1)
    if (np.abs(sums - 1) > _ONE).any():
        raise DataError(f"predictions: expected probabilities that sum to one, got a sum of {sums.max():g}")


def _weight_of(rows: StudyRows) -> float:
    """Return the weight of rows in a score of further ones too: the number of queries, or else the sum of weights."""
    if rows.qid is not None:
        return float(len(np.unique(rows.qid)))
    return float(len(rows.y) if rows.weight is None else np.sum(rows.weight))


def sum_by_unit(moved: F8, units: I8 | None) -> F8:
    """Return the influences of rows, (n,), where their groups vary: the first row of a group has the group's."""
    if units is None:
        return moved
    by_unit = np.zeros(len(moved))
    by_unit[np.unique(units, return_index=True)[1]] = np.bincount(units, moved)
    return by_unit


def of_bill(moved: F8 | None, spent: F8 | None) -> F8 | None:
    """Return the influence of rows on minus the bill, given those on minus the cost of errors, and on the cost.

    The latter are those of the last rows; None without both.
    """
    if moved is None or spent is None:
        return None
    joint = moved.copy()
    joint[len(moved) - len(spent) :] -= spent
    return joint


def mix_estimates(first: Estimate, second: Estimate, share: float) -> Estimate:
    """Estimate the score of one of two models, which is the other one with probability `share`."""
    assert first.influence is not None  # noqa: S101 - both come from `estimate_on_rows`
    assert second.influence is not None  # noqa: S101
    moved = (1 - share) * first.influence + share * second.influence
    between = share * (1 - share) * (second.score - first.score) ** 2
    score = (1 - share) * first.score + share * second.score
    mistakes = None
    if first.mistakes is not None and second.mistakes is not None:
        mistakes = (1 - share) * first.mistakes + share * second.mistakes
    error, weight = standard_error(moved), first.weight
    return Estimate(score, error, moved, between=between, mistakes=mistakes, weight=weight)


def model_variance(folds: Sequence[Estimate]) -> float:
    """Return the variance of the scores of folds beyond that of their rows; it may be negative.

    It is 0 for halves of valid: their models share the training rows, and two scores do not tell a variance.
    """
    if len(folds) < LEAST:
        return 0.0
    return float(np.var([fold.score for fold in folds], ddof=1) - np.mean([fold.error**2 for fold in folds]))


def join_folds(
    folds: Sequence[Estimate], places: Sequence[I8], variance: float, *, rows_lacked: float = 0.0
) -> Estimate:
    """Join estimates of the same kind of model, each from the rows of one held-out fold.

    `places`, int64, are the positions of each fold's rows among all rows; `variance` is of the true scores of models
    trained in the same way on other rows, as the final model is. What is `between` two models is so in all folds alike.
    """
    share = np.array([fold.weight for fold in folds]) / sum(fold.weight for fold in folds)
    moved = np.zeros(sum(len(place) for place in places))
    for part, place, fold in zip(share, places, folds, strict=True):
        if fold.influence is not None:
            moved[place] = part * fold.influence
    between = float(np.mean([fold.between for fold in folds]))
    error = np.sqrt(standard_error(moved) ** 2 + max(variance, 0.0) * (1 + 1 / len(folds)) + between)
    score = float(share @ [fold.score for fold in folds])
    known = [fold.mistakes for fold in folds if fold.mistakes is not None]
    mistakes = np.sum(known, axis=0) if len(known) == len(folds) else None
    return Estimate(score, float(error), moved, rows_lacked=rows_lacked, mistakes=mistakes)


def difference_error(first: F8, second: F8) -> float:
    """Return the standard error of the difference of two scores, from the influences of their rows.

    If one has fewer rows, its rows are the last ones of the other.
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    shared = dot(longer[len(longer) - len(shorter) :], shorter)
    return math.sqrt(max(dot(first, first) + dot(second, second) - 2 * shared, 0.0))


def paired_error(moved: Sequence[F8], errors: Sequence[float], shared: tuple[float, float] = (0.0, 0.0)) -> float:
    """Return the standard error of a difference, from two influences of rows and what errors have beyond their rows.

    `shared` are parts of the errors that are of one cause, so that their difference counts.
    """
    beyond = sum(_beyond(error, of_rows, same) for of_rows, error, same in zip(moved, errors, shared, strict=True))
    return math.sqrt(difference_error(*moved) ** 2 + beyond + (shared[1] - shared[0]) ** 2)


def surely_differ(first: Estimate, second: Estimate) -> bool:
    """Return whether two estimates are of different models; the rows of one are the last ones of the other."""
    if first.influence is None or second.influence is None:
        return False
    error = paired_error((first.influence, second.influence), (first.error, second.error))
    return abs(first.score - second.score) > _SURELY * error


def beyond_rows(known: Estimate) -> float:
    """Return the variance of an estimate of its own, beyond that of its rows, as that of models between folds."""
    return 0.0 if known.influence is None else _beyond(known.error, known.influence, known.shared)


def _beyond(error: float, moved: F8, shared: float) -> float:
    return max(error**2 - dot(moved, moved) - shared**2, 0.0)


def dot(first: F8, second: F8) -> float:
    """Return the scalar product of two float64 (n,), without BLAS, whose threads wait on a busy machine."""
    return float(np.einsum("i,i", first, second))
