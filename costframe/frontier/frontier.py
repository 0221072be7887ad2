"""Fitted models, which of them are worth having, and choices among them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from costframe.core.errors import ParameterError
from costframe.core.files import write_together
from costframe.frontier.choice import beating_constant, best_first, cheapest_as_good
from costframe.frontier.estimates import difference_error, less_chance_of_union
from costframe.frontier.points import not_dominated
from costframe.frontier.points_csv import points_csv
from costframe.frontier.sweep import sweep

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.errors import CostframeError
    from costframe.datasets import Dataset
    from costframe.frontier.points import Point
    from costframe.frontier.trial import Fitted, Progress

__all__ = ["Frontier"]

NINE_OF_TEN = 1.645  # standard errors, both ways


@frozen(eq=False)
class Frontier:
    """Fitted models, and which of them are worth having. Whatever is chosen is chosen by estimates, never on test.

    Attributes
    ----------
    points : tuple of Point
    score_name : str
        As in `costframe.training.scoring.SCORES`.
    unit : str
        What costs count.
    full_cost : float
        What one row pays that acquires every feature.
    models : tuple
        The fitted estimator of each point; may be empty.
    influences : tuple of float64 (rows,) or None
        How far each row moves the score of each point (`costframe.training.influence`); may be empty.
    """

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = field(default=(), repr=False)
    influences: tuple[NDArray[np.float64] | None, ...] = field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("models", self.models), ("influences", self.influences)):
            if given and len(given) != len(self.points):
                raise ParameterError(f"{name}: expected {len(self.points)}, one a point, got {len(given)}")

    @classmethod
    def of(cls, found: Sequence[Fitted], score: str, unit: str, full_cost: float) -> Frontier:
        """Make the frontier of fitted models; their scores lose what chance adds to the best of several algorithms."""
        kept = less_chance_of_union(found)
        points, models, influences = (
            tuple(getattr(fitted, name) for fitted in kept) for name in ("point", "model", "influence")
        )
        return cls(points, score, unit, full_cost, models, influences)

    @classmethod
    def sweep(
        cls,
        data: Dataset | str,
        algorithms: Iterable[str] | None = None,
        tradeoffs: Sequence[float] | None = None,
        *,
        points: int | None = None,
        score: str | None = None,
        budget: float | None = None,
        folds: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
    ) -> Frontier:
        """Fit algorithms at many tradeoffs, and estimate their scores on rows that they did not see.

        Models are fitted on train. Scores are estimated on valid, less what chance adds to the best; where valid is
        small, on folds of train and valid, for each of which all is fitted once more; docs/choosing.md says how.

        Parameters
        ----------
        data : Dataset, or the name of one
            Fits see train; early stopping and choices see valid.
        algorithms : iterable of str, optional
            All that have the data's task, and take as many classes, by default.
        tradeoffs : sequence of float, optional
            Where given, each is a fit. By default an algorithm that has `fit_path` gives all its models in one fit, and
            points are chosen of those that none on the path dominates; others are fitted at 0 and at a geometric grid
            in units of (loss of the best constant) / (cost of all features), so that it covers the frontier whatever
            the scales of losses and prices.
        points : int, optional
            Where no tradeoffs are given: of a path at most so many, 24 by default, chosen so that little is lost at any
            budget, the model that knows no prices first; else how many tradeoffs, 12 by default. Up to three within
            sets of features are added where these promise more; docs/choosing.md says when.
        score : str, optional
            By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
        budget : float, optional
            Adds the best point of a path within this mean cost per row on valid, or fits that come close to it from
            below.
        folds : int, optional
            How many folds, 0 or at least 3. By default 5 where valid has fewer than 1,000 rows (a ranking's, 100
            queries) and each class has 5 rows, else 0.
        parameters : mapping, optional
            Further parameters of every estimator.
        progress : callable, optional
            Called with `(done, total, text)` before and after each fit.
        failed : callable, optional
            Called with `(algorithm, error)` if an algorithm cannot be fitted, and the others go on; also for those that
            were not named and are for two classes only, where there are more. Without it, the first such error is
            raised.

        Raises
        ------
        CostframeError
            What is wrong with the arguments, or what an algorithm says that it refuses.
        PluginError
            If an algorithm raises anything else; the text names it and its plugin, the cause is what it raised.
        """
        found, score, rows = sweep(
            data,
            algorithms,
            tradeoffs,
            points=points,
            score=score,
            budget=budget,
            folds=folds,
            parameters=parameters or {},
            progress=progress,
            failed=failed,
        )
        return cls.of(found, score, rows.costs.unit, rows.full_cost)

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points such that no other has a higher score at no more cost; by ascending cost."""
        return not_dominated(self.points)

    def best(self) -> Point:
        """Return the point with the best score; of several, the cheapest."""
        return max(self.points, key=best_first)

    def recommended(self) -> Point:
        """Return the cheapest point whose score is within one standard error of the best."""
        return cheapest_as_good(self, self.points)

    def within(self, budget: float) -> Point:
        """Return the cheapest point within one standard error of the best that costs at most `budget` per row.

        Raises
        ------
        ParameterError
            If all cost more; the text names the cheapest.
        """
        affordable = [point for point in self.points if point.cost <= budget]
        if not affordable:
            least = min(self.points, key=lambda point: point.cost)
            raise ParameterError(
                f"budget: no model costs at most {budget:g} {self.unit} per row; the cheapest found costs "
                f"{least.cost:g} ({least.algorithm} at tradeoff {least.tradeoff:.3g})"
            )
        return cheapest_as_good(self, affordable)

    def useful(self) -> Point | None:
        """Return the cheapest point that beats the constant by more than one standard error, if there is one."""
        return min(beating_constant(self, self.points), key=lambda point: (point.cost, -point.score), default=None)

    def difference_error(self, one: Point, other: Point) -> float:
        """Return the standard error of the difference of two scores; where rows are unknown, the better one's error."""
        first, second = (self.influences[self.points.index(p)] if self.influences else None for p in (one, other))
        if first is None or second is None:
            return max(one, other, key=best_first).score_error
        return difference_error(first, second)

    def interval(self, point: Point) -> tuple[float, float]:
        """Return where the score on test should be in nine of ten cases; without test rows, on very many rows.

        It is score +- 1.645 * sqrt(score_error^2 + test_error^2). Where the score comes from models of fewer rows, what
        it lacks to 1 may fall by as large a share as the rows grow, rows_lacked * (1 - score), and the upper end is
        higher by that. It ends at 1, which no score is above.
        """
        margin = NINE_OF_TEN * math.hypot(point.score_error, point.test_error or 0.0)
        learned = point.rows_lacked * max(1.0 - point.score, 0.0)
        return point.score - margin, min(point.score + learned + margin, 1.0)

    def model(self, point: Point) -> Any:
        """Return the fitted estimator of a point."""
        if not self.models or point not in self.points:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return self.models[self.points.index(point)]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the points as CSV, floats to the last bit, and write it to `path` if given, wholly or not at all."""
        text = points_csv(self)
        if path is not None:
            write_together({Path(path): text.encode()})
        return text

    def plot(
        self,
        path_png: str | os.PathLike[str] | None = None,
        path_svg: str | os.PathLike[str] | None = None,
        *,
        chosen: Point | None = None,
        title: str | None = None,
    ) -> dict[str, bytes]:
        """Draw test score against mean cost per row; the same points give the same bytes.

        Parameters
        ----------
        path_png, path_svg : path, optional
            Where to write it, wholly or not at all.
        chosen : Point, optional
            Is marked.
        title : str, optional

        Returns
        -------
        dict
            The picture as "png" and "svg".
        """
        from costframe.frontier.plot import plot_frontier  # which loads matplotlib

        pictures = plot_frontier(self, chosen=chosen, title=title)
        wanted = ((path_png, pictures["png"]), (path_svg, pictures["svg"]))
        write_together({Path(path): picture for path, picture in wanted if path is not None})
        return pictures
