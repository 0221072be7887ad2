"""Choices among points by their estimated scores and costs: under a budget, near the best, for the least bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from attrs import frozen

from costframe.choices.intervals import Difference, interval_of_counts, score_interval
from costframe.choices.promised import certify
from costframe.core.arrays import F8
from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, printable, quote_names, shown, suggestion
from costframe.promises import Certified
from costframe.study.estimates import NINE_OF_TEN, difference_error, of_bill, paired_error, product
from costframe.study.points import Point, at_tradeoff, best_first
from costframe.study.references import is_reference
from costframe.study.settings import check_budget, check_share, is_real_number
from costframe.training.error_costs import ERROR_COST
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value

NEGLIGIBLE = 0.005  # loss of score, as a share of the best score


@frozen(eq=False, repr=False)
class Choices:
    """Points with their scores and costs, their models, and choices among them; see `Frontier`, which also fits."""

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = ()
    influences: tuple[F8 | None, ...] = ()
    spent: tuple[F8 | None, ...] = ()

    def __attrs_post_init__(self) -> None:
        points = as_items(self.points)
        if points is None or not all(isinstance(point, Point) for point in points):
            raise ParameterError(f"points: expected a list of Point, got {shown(self.points)}")
        if not points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("models", self.models), ("influences", self.influences), ("spent", self.spent)):
            if not isinstance(given, tuple | list):
                raise ParameterError(f"{name}: expected a tuple, one a point, got {shown(given)}")
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
        return frozenset(p for p in self.points if (more := self.difference(p, constant)).value > more.error)

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

        Where prices have errors, it is the cheapest whose bill is within one standard error of the least, by the upper
        ends of intervals; of several at that cost, a reference of the study, if there is one.
        """
        affordable = self._affordable(budget)
        return (self._cheapest_near_least_bill if self.has_bills else self._cheapest_near_best)(affordable)

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

    def bill_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has a point's bill on many fresh rows nine times of ten.

        It joins the interval of the errors' cost, whose law knows counts (see `score_interval`), with that of the cost:
        each end is as far from the bill as those are together, with their correlation (Zou and Donner, 2008).
        """
        point, bill = self[point], self.bill(point)
        best, worst = (-end for end in self.score_interval(point)[::-1])
        paid, own = NINE_OF_TEN * point.cost_error, self.errors(point)
        both = self.bill_error(point) ** 2 - point.cost_error**2 - point.score_error**2
        spread = 2 * point.cost_error * point.score_error
        shared = float(np.clip(both / spread, -1.0, 1.0)) if spread > 0 else 0.0

        def reach(away: float) -> float:
            return math.sqrt(max(away**2 + paid**2 + 2 * shared * away * paid, 0.0))

        return bill - reach(own - best), bill + reach(worst - own)

    @cached_property
    def _dearest(self) -> dict[int, float]:
        """What one more of the dearest wrong answers that any point made adds to the mean over a number of rows."""
        found: dict[int, float] = {}
        for each in self.influences:
            if each is not None:
                found[len(each)] = max(found.get(len(each), 0.0), float(np.abs(each).max(initial=0.0)))
        return found

    def _bill_influence(self, point: Point) -> F8 | None:
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
            errors = [self.bill_error(point) for point in (one, other)]
            error = paired_error(known, errors, _shared_errors(one, other))
        else:
            error = math.hypot(found.error, one.cost_error, other.cost_error)
        return Difference(found.value + other.cost - one.cost, error)

    def constant(self) -> Point | None:
        """Return the best point that reads no feature, if there is one."""
        return max((point for point in self.points if not point.n_features), key=best_first, default=None)

    @overload
    def cheapest(self, within: float | None = None) -> Point: ...

    @overload
    def cheapest(self, within: None = None, *, promise: object, **rows: Any) -> Certified: ...

    def cheapest(self, within: float | None = None, *, promise: object = None, **rows: Any) -> Point | Certified:
        """Return the cheapest point whose score is within a share of the best score.

        Where prices have errors, the recommended one. Else `within` is at least 0 and below 1, by default 0.01.
        Scores are estimates: the test score of the point may be further from that of the best; see `interval`.

        With a `promise`, return the cheapest model that is certified to keep it on labelled rows that nothing chose by;
        docs/promises.md explains how.

        Parameters
        ----------
        within : float, optional
        promise : Promise, text, or list of them, optional
            What must hold on fresh rows, all together, with the promise's confidence; see `costframe.Promise`.
        X, y : (n, d), (n,)
            Labelled rows that neither trained nor chose anything.
        groups : (n,), optional
            Group of each row, such as the patient, which counts as one; a promise is of the mean over groups.
        plan : (X, y) or (X, y, groups), optional
            Further labelled rows, such as the validation rows, that fix the order of tests; they may have chosen.
        plan_share : float
            Without `plan`: the share of the rows that fix the order and certify nothing, 0.2 by default. With 0, points
            are tested by descending cost, and there are no cascades.
        cascades : bool
            Whether cascades of a cheap and a safe model may be chosen too, by default; see `Certified.model`.

        Raises
        ------
        CostframeError
            If no model is certified; the text says the best that can be promised on these rows.
        """
        if promise is not None:
            if within is not None:
                raise ParameterError("within: has no effect with a promise; leave one of them out")
            return certify(self, promise, **rows)
        if rows:
            raise ParameterError(f"{min(rows)}: has no effect without a promise")
        if self.has_bills:
            if within is not None:
                raise ParameterError("within: has no effect where points have bills; see recommended")
            return self.recommended()
        within = 0.01 if within is None else within
        if not (is_real_number(within) and within == 0):
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
        beyond their rows, as the variance of models between folds, but not what points of one search share. Without
        influences, its error is that of the better point.
        """
        one, other = self[one], self[other]
        if one == other:
            return Difference(0.0, 0.0)
        first, second = self.influence(one), self.influence(other)
        if first is None or second is None:
            error = self.difference_error(one, other)
        else:
            errors = (one.score_error, other.score_error)
            error = paired_error((first, second), errors, _shared_errors(one, other))
        return Difference(one.score - other.score, error)

    def influence(self, point: Point | str) -> F8 | None:
        """Return the influence of each row on the score of a point, float64 (rows,), or None if it is unknown."""
        return self.influences[self._place(point)] if self.influences else None

    def score_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on many fresh rows nine times of ten; it ends before the best value.

        That of minus the cost of errors is of a law that knows counts: see `interval_of_counts`.
        """
        point = self[point]
        if not self.has_bills:
            return score_interval(point, best_value(self.score_name))
        moved = self.influence(point)
        dearest = 0.0 if moved is None else self._dearest[len(moved)]
        low, high = interval_of_counts(-point.score, point.score_error, dearest)
        return -high, -low

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

    def _cheapest_near_least_bill(self, points: Sequence[Point]) -> Point:
        """Return the cheapest point whose bill is within one standard error, of their difference, of the least.

        Bills count by the upper ends of their intervals, so that a less certain one counts more. Of several at that
        cost, a reference comes first: it wins where nothing surely beats it.
        """
        least = min(points, key=lambda point: (self._high_bill(point), point.cost))
        most = self._high_bill(least)
        near = [point for point in points if self._high_bill(point) - most <= self.gain(least, point).error]
        return min(near, key=lambda point: (point.cost, not is_reference(point), self._high_bill(point)))

    def _high_bill(self, point: Point) -> float:
        return self.bill_interval(point)[1]

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


def _shared_errors(one: Point, other: Point) -> tuple[float, float]:
    """Return the parts of two errors of scores that are of one cause: the optimism of the search that made both."""
    return (one.shared_error, other.shared_error) if one.algorithm == other.algorithm else (0.0, 0.0)


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
