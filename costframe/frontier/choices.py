"""Estimates of scores and costs on fresh rows, and choices that rest on them: under a budget, or for the least bill.

An estimate comes from the validation rows (`estimate_on_rows`), from folds of all rows that are not test rows
(`join_folds`), or from the algorithm itself. It keeps the influence of each row, to compare two estimates on the same
rows.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.core.errors import DataError, ParameterError, printable, quote_names, shown, suggestion
from costframe.frontier.checks import check_budget, check_share
from costframe.frontier.points import Point, at_tradeoff, best_first
from costframe.frontier.rows import LEAST
from costframe.training.error_costs import ERROR_COST
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value, influence, score_named, standard_error, with_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe.frontier.rows import Rows
    from costframe.training.library_scores import LibraryScore

NINE_OF_TEN = 1.645  # standard errors on both sides


@frozen(eq=False)
class Estimate:
    """An estimated score with its standard error."""

    score: float
    error: float
    influence: NDArray[np.float64] | None = field(default=None, repr=False)  # of each row; the last are those of valid
    rows_lacked: float = 0.0  # share of the final model's training rows that the models of the estimate did not have


def estimate_on_rows(name: str | LibraryScore, rows: Rows, model: Any, predictions: NDArray[np.float64]) -> Estimate:
    """Estimate a score from predictions of held-out rows; refuse rows on which the score is undefined."""
    y, name = rows.codes(model), with_labels(name, getattr(model, "classes_", None), rows.X)
    score = score_named(name)(y, predictions, rows.weight, rows.qid)
    if math.isnan(score):
        raise DataError(f"score: there is no {name} on {len(rows.y)} rows that lack a class or variation")
    units = None if rows.groups is None else np.asarray(rows.units)
    moved = influence(name, y, predictions, rows.weight, rows.qid, units)
    moved = sum_by_unit(moved, units)
    return Estimate(float(score), standard_error(moved), moved)


def sum_by_unit(moved: NDArray[np.float64], units: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the influences of rows, (n,), where their groups vary: the first row of a group has the group's."""
    if units is None:
        return moved
    found = np.zeros(len(moved))
    found[np.unique(units, return_index=True)[1]] = np.bincount(units, moved)
    return found


def of_bill(moved: NDArray[np.float64] | None, spent: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return the influence of rows on minus the bill, given those on minus the cost of errors, and on the cost.

    The latter are those of the last rows; None without both.
    """
    if moved is None or spent is None:
        return None
    found = moved.copy()
    found[len(moved) - len(spent) :] -= spent
    return found


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


def _paired_error(moved: Sequence[NDArray[np.float64]], errors: Sequence[float]) -> float:
    """Return the standard error of a difference, from two influences of rows and what errors have beyond their rows."""
    rows = difference_error(*moved)
    beyond = sum(max(error**2 - product(each, each), 0.0) for each, error in zip(moved, errors, strict=True))
    return math.sqrt(rows**2 + beyond)


def product(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the scalar product of two float64 (n,), without BLAS, whose threads wait on a busy machine."""
    return float(np.einsum("i,i", one, other))


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


NEGLIGIBLE = 0.005  # loss of score, as a share of the best score


@frozen(eq=False, repr=False)
class Choices:
    """Points with their scores and costs, their models, and choices among them; see `Frontier`, which also fits."""

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = ()
    influences: tuple[NDArray[np.float64] | None, ...] = ()
    spent: tuple[NDArray[np.float64] | None, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not self.points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("models", self.models), ("influences", self.influences), ("spent", self.spent)):
            if given and len(given) != len(self.points):
                raise ParameterError(f"{name}: expected {len(self.points)}, one a point, got {len(given)}")

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, point: Point | str) -> Point:
        """Return the point with a name; every method that takes a point takes its name too."""
        if isinstance(point, Point):
            return point
        if isinstance(point, str) and point and point in self._places:
            return self.points[self._places[point]]
        names = [each.name for each in self.points]
        expected = f"point: expected the name of one, such as {quote_names(names)}"
        raise ParameterError(f"{expected}, got {shown(point)}{suggestion(point, names)}")

    @cached_property
    def _places(self) -> dict[Point | str, int]:
        """The place of each point among all, and of each name; of equal ones, the first."""
        places = list(enumerate(self.points))[::-1]
        return {each: place for place, point in places for each in (point, point.name)}

    def _place(self, point: Point | str) -> int:
        """Return the place of a point among all, or refuse one of another frontier."""
        place = self._places.get(self[point])
        if place is None:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return place

    @cached_property
    def above_constant(self) -> frozenset[Point]:
        """The points that beat the constant by more than one standard error; all points without a constant."""
        constant = self.constant()
        if constant is None:
            return frozenset(self.points)
        return frozenset(p for p in self.points if p.score - constant.score > self.difference_error(p, constant))

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points without another of higher rank at no higher cost, by ascending cost."""
        return tuple(keep_non_dominated(self.points, lambda point: (point.cost, self.rank(point)[0])))

    def rank(self, point: Point | str) -> tuple[float, float]:
        """Return the sort key of a point: the lower end of its score's interval, then its cost, the lowest last."""
        return self.score_interval(point)[0], -self[point].cost

    def best(self, budget: float | None = None) -> Point:
        """Return the point whose score is best by the lower end of its interval.

        Parameters
        ----------
        budget : float, optional
            Upper bound on the mean cost per row.

        Raises
        ------
        ParameterError
            If no point is within the budget; the text names the cheapest.
        """
        return max(self._affordable(budget), key=self.rank)

    def recommended(self, budget: float | None = None) -> Point:
        """Return the cheapest point as good as the best, of those within a budget; see `best`.

        It is within one standard error of the best, by the lower ends of intervals, or surely within 0.5 % of it.
        It is a constant only if no affordable point beats that by more than the error.

        Where prices have errors, it is the point with the least bill: what costs nothing more needs no surer proof.
        """
        affordable = self._affordable(budget)
        if self.has_bills:
            return min(affordable, key=lambda point: (self.bill(point), point.cost))
        return self._cheapest_near_best(affordable)

    @property
    def has_bills(self) -> bool:
        """Whether prices have errors: the score is minus their cost, and points have bills."""
        return self.score_name == ERROR_COST

    def bill(self, point: Point | str) -> float:
        """Return the estimated mean bill per row of a point: its cost and that of its errors."""
        return self[point].cost + self.errors(point)

    def errors(self, point: Point | str) -> float:
        """Return the estimated mean cost of errors per row of a point; refuse a frontier without prices of errors."""
        if not self.has_bills:
            raise ParameterError(f"bill: needs prices with errors, and {ERROR_COST!r} as the score")
        return -self[point].score

    def bill_error(self, point: Point | str) -> float:
        """Return the standard error of a point's bill.

        Cost and errors vary together as the same rows show; without influences on both, as if they were independent.
        """
        each, place = self[point], self._place(point)
        variance = each.cost_error**2 + each.score_error**2
        moved, spent = (known[place] if known else None for known in (self.influences, self.spent))
        if moved is not None and spent is not None:
            variance -= 2 * product(moved[len(moved) - len(spent) :], spent)
        return math.sqrt(max(variance, 0.0))

    def _bill_influence(self, point: Point) -> NDArray[np.float64] | None:
        place = self._place(point)
        return of_bill(self.influences[place], self.spent[place]) if self.influences and self.spent else None

    def worth(self, point: Point | str) -> float:
        """Return what choices compare: minus the bill, where prices have errors, else the score."""
        return -self.bill(point) if self.has_bills else self[point].score

    def gain(self, one: Point | str, other: Point | str) -> Difference:
        """Return the difference in `worth` of two points, with its standard error, as `difference` does."""
        found, one, other = self.difference(one, other), self[one], self[other]
        if not self.has_bills or one == other:
            return found
        moved = [self._bill_influence(point) for point in (one, other)]
        known = [each for each in moved if each is not None]
        if len(known) == 2:
            error = _paired_error(known, [self.bill_error(point) for point in (one, other)])
        else:
            error = math.hypot(found.error, one.cost_error, other.cost_error)
        return Difference(found.value + other.cost - one.cost, error)

    def constant(self) -> Point | None:
        """Return the best point that reads no feature, if there is one."""
        return max((point for point in self.points if not point.n_features), key=best_first, default=None)

    def cheapest(self, within: float | None = None) -> Point:
        """Return the cheapest point whose score is within a share of the best score, or that of the least bill.

        Where prices have errors, that of the least bill. Else `within` is at least 0 and below 1, by default 0.01.
        Scores are estimates: the test score of the point may be further from that of the best; see `interval`.
        """
        if self.has_bills:
            if within is not None:
                raise ParameterError("within: has no effect where points have bills, of which the least is cheapest")
            return self.recommended()
        within = 0.01 if within is None else within
        if within != 0:
            check_share("within", within)
        best = self.best().score
        good = [point for point in self.points if point.score >= best - within * abs(best)]
        return min(good, key=lambda point: (point.cost, -point.score))

    def useful(self) -> Point | None:
        """Return the cheapest point that beats the constant by more than one standard error, if there is one."""
        useful = (point for point in self.points if point in self.above_constant)
        return min(useful, key=lambda point: (point.cost, -point.score), default=None)

    def difference_error(self, one: Point | str, other: Point | str) -> float:
        """Return the standard error of the difference of two scores; without influences, the better one's error."""
        first, second = self.influence(one), self.influence(other)
        if first is None or second is None:
            return max(self[one], self[other], key=best_first).score_error
        return difference_error(first, second)

    def difference(self, one: Point | str, other: Point | str) -> Difference:
        """Return the difference of the scores of two points, with its standard error and interval.

        Its variance is that of the difference of the influences of rows, plus what the errors of both points have
        beyond their rows, as the variance of models between folds. Without influences, its error is that of the better
        point.
        """
        one, other = self[one], self[other]
        if one == other:
            return Difference(0.0, 0.0)
        first, second = self.influence(one), self.influence(other)
        if first is None or second is None:
            error = self.difference_error(one, other)
        else:
            error = _paired_error((first, second), (one.score_error, other.score_error))
        return Difference(one.score - other.score, error)

    def influence(self, point: Point | str) -> NDArray[np.float64] | None:
        """Return the influence of each row on the score of a point, float64 (rows,), or None if it is unknown."""
        return self.influences[self._place(point)] if self.influences else None

    def score_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on many fresh rows nine times of ten; it ends before the best value."""
        return score_interval(self[point], best_value(self.score_name))

    def interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on test in nine of ten cases; without test rows, on many rows.

        It is score +- 1.645 * sqrt(score_error^2 + test_error^2). If the score is from models of fewer rows, the
        distance to the best value (1, or 0 of negative errors) may shrink by the share of the missing rows, so the
        upper end rises by rows_lacked * (best - score). The upper end is at most the best value.
        """
        point = self[point]
        margin, best = NINE_OF_TEN * math.hypot(point.score_error, point.test_error or 0.0), best_value(self.score_name)
        learned = point.rows_lacked * max(best - point.score, 0.0) if math.isfinite(best) else 0.0
        return point.score - margin, min(point.score + learned + margin, best)

    def is_within_error(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, by the lower ends of intervals."""
        return self.rank(best)[0] - self.rank(point)[0] <= self.difference_error(best, point)

    def is_near(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, or surely within a negligible loss."""
        surely = self.is_within_error(point, best)
        return surely or self.difference(point, best).low >= -NEGLIGIBLE * abs(best.score)

    def _affordable(self, budget: float | None) -> Sequence[Point]:
        """Return the points within a budget; refuse one that no point keeps."""
        check_budget(budget)
        if budget is None:
            return self.points
        if kept := [point for point in self.points if point.cost <= budget]:
            return kept
        least = min(self.points, key=lambda point: point.cost)
        raise ParameterError(
            f"budget: no model costs at most {budget:g} {printable(self.unit)} per row; the cheapest found costs "
            f"{least.cost:g} ({at_tradeoff(least)})"
        )

    def _cheapest_near_best(self, points: Sequence[Point]) -> Point:
        """Return the cheapest point as good as the best one; a constant only if no point beats it.

        Scores count by the lower ends of their intervals, so that a less certain one counts less. A point is as good if
        it is within one standard error of the paired difference, or if the difference is surely below `NEGLIGIBLE`.
        """
        constants = [point for point in points if not point.n_features]
        if constants:
            if self.above_constant.isdisjoint(points):
                return max(constants, key=best_first)
            points = [point for point in points if point.n_features]
        best = max(points, key=self.rank)
        cheapest_first = sorted([best, *points], key=lambda point: (point.cost, -point.score))
        return next(point for point in cheapest_first if point == best or self.is_near(point, best))


def distinct(frontier: Choices) -> tuple[Point, ...]:
    """Return the points without those of a model that another point has, and with one of the constants.

    Two points have the same model if their costs, numbers of features, and scores or influences are equal to the last
    bit.
    """
    kept: dict[Any, int] = {}
    for place, point in enumerate(frontier.points):
        moved = frontier.influences[place] if frontier.influences else None
        known: Any = (point.score, point.score_error) if moved is None else moved.tobytes()
        alike = (
            (point.cost, point.test_cost, point.test_score, point.n_features, known) if point.n_features else point.cost
        )
        if alike not in kept or point.score > frontier.points[kept[alike]].score:
            kept[alike] = place
    return tuple(frontier.points[place] for place in sorted(kept.values()))


def plain_point(frontier: Choices, algorithm: str) -> Point | None:
    """Return the point of an algorithm that was trained without prices; on a path, only its first one.

    First looks, with few rows, are none: what they lack is not the prices alone.
    """
    own = (point for point in frontier.points if point.algorithm == algorithm and not point.is_first_look)
    return next((point for point in own if point.tradeoff == 0), None)
