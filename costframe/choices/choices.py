"""Choices among points by their estimated scores and costs: under a budget, near the best, for the least bill."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from attrs import evolve
from numpy.typing import ArrayLike

from costframe.choices.bill_criterion import BillCriterion
from costframe.choices.criterion import Criterion
from costframe.choices.how_wrong import HowWrong
from costframe.choices.intervals import Difference, interval_on_test
from costframe.choices.outages import find_outages
from costframe.choices.paired_points import PairedPoints
from costframe.choices.promised import certify
from costframe.choices.read_records import find_how_wrong
from costframe.choices.score_criterion import ScoreCriterion
from costframe.core.arrays import F8
from costframe.core.errors import ParameterError, printable
from costframe.core.terms.outages import Outages
from costframe.promises import Certified
from costframe.study.points import Point, at_tradeoff
from costframe.study.rows import StudyRows
from costframe.study.settings import check_budget
from costframe.training.error_costs import ERROR_COST
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value


class Choices(ABC):
    """What sentences and tables ask of points; `Frontier` has the attributes, fits models, and saves them.

    A method that takes a point takes its name too.
    """

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    influences: tuple[F8 | None, ...]
    spent: tuple[F8 | None, ...]
    notes: tuple[str, ...]

    @cached_property
    def _paired(self) -> PairedPoints:
        return PairedPoints(self.points, self.influences, self.spent)

    @cached_property
    def _criterion(self) -> Criterion:
        if self.has_bills:
            return BillCriterion(self._paired)
        return ScoreCriterion(self._paired, best_value(self.score_name))

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, point: Point | str) -> Point:
        """Return the point with a name."""
        return self._paired.named(point)

    @property
    def has_bills(self) -> bool:
        """Whether prices have errors: the score is minus their cost, and points have bills."""
        return self.score_name == ERROR_COST

    @property
    def above_constant(self) -> frozenset[Point]:
        """The points that beat the constant by more than one standard error; all points without a constant."""
        return self._paired.above_constant

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points without another of higher rank at no higher cost, by ascending cost."""
        return tuple(keep_non_dominated(self.points, lambda point: (point.cost, self.rank(point)[0])))

    def rank(self, point: Point | str) -> tuple[float, float]:
        """Return the sort key of a point: the lower end of its score's interval, then its cost, the lowest last."""
        return self._criterion.rank(self[point])

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
        return self._criterion.recommend(self._affordable(budget))

    def constant(self) -> Point | None:
        """Return the best point that reads no feature, if there is one."""
        return self._paired.constant()

    def useful(self) -> Point | None:
        """Return the cheapest point that beats the constant by more than one standard error, if there is one."""
        useful = (point for point in self.points if point in self.above_constant)
        return min(useful, key=lambda point: (point.cost, -point.score), default=None)

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
        made : bool (n, d), data frame of bool, or True, optional
            Which cells were asked for, in place of what prices say by `absent`. Rows that lack a test which a model
            reads certify nothing, and are refused; True says that all tests were made.
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
        return self._criterion.cheapest(within)

    def errors(self, point: Point | str) -> float:
        """Return the estimated mean cost of errors per row of a point; refuse a frontier without prices of errors."""
        return self._criterion.errors(self[point])

    def bill(self, point: Point | str) -> float:
        """Return the estimated mean bill per row of a point: its cost and that of its errors."""
        return self[point].cost + self.errors(point)

    def bill_error(self, point: Point | str) -> float:
        """Return the standard error of a point's bill.

        Cost and errors vary together as the same rows show; without influences on both, as if they were independent.
        """
        return self._paired.bill_error(self[point])

    def bill_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has a point's bill on many fresh rows nine times of ten.

        It joins the interval of the errors' cost, whose law knows counts (see `score_interval`), with that of the cost.
        """
        return self._criterion.bill_interval(self[point])

    def worth(self, point: Point | str) -> float:
        """Return what choices compare: minus the bill, where prices have errors, else the score."""
        return self._criterion.worth(self[point])

    def gain(self, one: Point | str, other: Point | str) -> Difference:
        """Return the difference in `worth` of two points, with its standard error, as `difference` does."""
        return self._criterion.gain(self[one], self[other])

    def influence(self, point: Point | str) -> F8 | None:
        """Return the influence of each row on the score of a point, float64 (rows,), or None if it is unknown."""
        return self._paired.influence(self[point])

    def difference_error(self, one: Point | str, other: Point | str) -> float:
        """Return the standard error of the difference of two scores; without influences, the better one's error."""
        return self._paired.difference_error(self[one], self[other])

    def difference(self, one: Point | str, other: Point | str) -> Difference:
        """Return the difference of the scores of two points, with its standard error and interval.

        Its variance is that of the difference of the influences of rows, plus what the errors of both points have
        beyond their rows, as the variance of models between folds, but not what points of one search share. Without
        influences, its error is that of the better point.
        """
        return self._paired.difference(self[one], self[other])

    def score_interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on many fresh rows nine times of ten; it ends before the best value.

        That of minus the cost of errors is of a law that knows counts: see `interval_of_counts`.
        """
        return self._criterion.score_interval(self[point])

    def interval(self, point: Point | str) -> tuple[float, float]:
        """Return an interval that has the score on test in nine of ten cases; without test rows, on many rows.

        It is score +- 1.645 * sqrt(score_error^2 + test_error^2). If the score is from models of fewer rows, the
        distance to the best value (1, or 0 of negative errors) may shrink by the share of the missing rows, so the
        upper end rises by rows_lacked * (best - score). The upper end is at most the best value.
        """
        return interval_on_test(self[point], best_value(self.score_name))

    def is_within_error(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, by the lower ends of intervals."""
        return self._criterion.is_within_error(point, best)

    def is_near(self, point: Point, best: Point) -> bool:
        """Return whether a point is within one standard error of the best, or surely within a negligible loss."""
        return self._criterion.is_near(point, best)

    def how_wrong(
        self,
        X: Any,
        y: ArrayLike,
        point: Point | str | None = None,
        *,
        made: Any = None,
        scoring: Any = None,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> HowWrong:
        """Return how wrong the figures of the recommended point, or of another, may be, where tests were not made.

        Parameters
        ----------
        X, y, sample_weight, qid
            Records that no model was trained on.
        point : Point or str, optional
        made : bool (n, d), data frame of bool, optional
            Which cells were asked for, in place of what prices say by `absent`.
        scoring : callable, optional
            The score, if it is a caller's own.

        Raises
        ------
        CostframeError
            If all tests were made, or an argument is wrong.
        """
        rows = evolve(StudyRows.of(X, y, sample_weight, qid), made=made)
        return find_how_wrong(self, point, rows, scoring)

    def outages(
        self,
        X: Any,
        y: ArrayLike,
        point: Point | str | None = None,
        *,
        sources: Any = None,
        scoring: Any = None,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        made: Any = None,
    ) -> Outages:
        """Return what outages cost the recommended model, or that of another point, in its score and cost.

        Parameters
        ----------
        X, y, sample_weight, qid, groups, made, sources
            As for `cf.outages`.
        point : Point or str, optional
        scoring : callable, optional
            The score, if it is a caller's own.

        Raises
        ------
        CostframeError
            If an argument is wrong, or the model answers nothing where something is unavailable.
        """
        rows = StudyRows.of(X, y, sample_weight, qid, groups=groups, made=made)
        return find_outages(self, point, rows, scoring, sources)

    def _affordable(self, budget: float | None) -> Sequence[Point]:
        """Return the points within a budget; refuse one that no point keeps."""
        check_budget(budget)
        if budget is None:
            return self.points
        if affordable := [point for point in self.points if point.cost <= budget]:
            return affordable
        least = min(self.points, key=lambda point: point.cost)
        raise ParameterError(
            f"budget: no model costs at most {budget:g} {printable(self.unit)} per row; the cheapest found costs "
            f"{least.cost:g} ({at_tradeoff(least)})"
        )
