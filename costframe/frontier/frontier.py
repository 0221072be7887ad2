"""Fitted models with their scores and costs, and choices among them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from costframe.core.checks import as_path
from costframe.core.errors import CostframeError, ParameterError, printable
from costframe.core.files import write_together
from costframe.core.threads import thread_count
from costframe.frontier.checks import check_algorithms, check_amounts, check_score, joint_error, skipped_algorithms
from costframe.frontier.estimates import correct_choice_of_algorithm, difference_error
from costframe.frontier.points import (
    best_first,
    cheapest_near_best,
    points_above_constant,
    points_csv,
)
from costframe.frontier.sweeping import Sweep, fit_each, process_count
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from costframe.datasets import Dataset
    from costframe.frontier.points import Point
    from costframe.frontier.trial import Fitted, Progress

__all__ = ["Frontier"]

NINE_OF_TEN = 1.645  # standard errors on both sides


@frozen(eq=False)
class Frontier:
    """Fitted models with their scores and costs; choices among them use estimates, never test rows.

    Attributes
    ----------
    points : tuple of Point
    score_name : str
        A name in `costframe.training.scoring.SCORES`.
    unit : str
        Unit of costs.
    full_cost : float
        Price of all features for one row.
    models : tuple
        The fitted estimator of each point; may be empty.
    influences : tuple of float64 (rows,) or None
        Influence of each row on the score of each point (`costframe.training.scoring`); may be empty.
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
        """Make the frontier of fitted models, with scores corrected for the choice between algorithms."""
        kept = correct_choice_of_algorithm(found)
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
        n_jobs: int | None = 1,
    ) -> Frontier:
        """Fit algorithms at many tradeoffs, and estimate their scores on held-out rows.

        It fits models on train, and estimates scores on valid, minus the optimism of the best. If valid is small, it
        estimates scores on folds of train and valid, with further fits for each fold; docs/choosing.md explains it.

        Parameters
        ----------
        data : Dataset, or the name of one
            Fits use train; early stopping and choices use valid.
        algorithms : iterable of str, optional
            By default all with the data's task and number of classes.
        tradeoffs : sequence of float, optional
            One fit for each. By default an algorithm with `fit_path` trains all its models in one fit, and points are
            chosen from its non-dominated ones; other algorithms are fitted at 0 and on a geometric grid in units of
            (loss of the best constant) / (cost of all features), which covers the frontier at any scale of losses and
            prices.
        points : int, optional
            Without `tradeoffs`: the largest number of points of a path, 24 by default, chosen with little loss at any
            budget, the model trained without prices first; for other algorithms the number of tradeoffs, 12 by default.
            At most three fits within sets of features may follow; docs/choosing.md explains when.
        score : str, optional
            As `scoring` of `BudgetSearch`. By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
        budget : float, optional
            Mean cost per row on valid; adds the best point of a path within it, or fits with a cost just below it.
        folds : int, optional
            Number of folds, 0 or at least 3. By default 5 where valid has fewer than 1,000 rows (a ranking's, 100
            queries) and each class has 5 rows, else 0.
        parameters : mapping, optional
            Further parameters of every estimator.
        progress : callable, optional
            Called with `(done, total, text)` before and after each fit.
        failed : callable, optional
            Called with `(algorithm, error)` if an algorithm cannot be fitted, and the others go on; also for algorithms
            for two classes that `algorithms` does not name, if there are more classes. Without it, the first error of a
            fit is raised.
        n_jobs : int or None
            Processes that fit algorithms side by side; the results are the same. A script that asks for more than one
            needs the guard `if __name__ == "__main__":`, as these start by importing it. None chooses as the command
            line does: one for each core, if the table is small and the algorithms are those of costframe.

        Raises
        ------
        CostframeError
            If an argument is wrong, or an algorithm refuses the data or its parameters.
        PluginError
            If an algorithm raises another exception, which is the cause; the text names the algorithm and its plugin.
        """
        if isinstance(data, str):
            from costframe.datasets import load

            data = load(data)
        check_amounts(tradeoffs, budget)
        score = check_score(data, score)
        names = check_algorithms(data.task, algorithms, len(data.classes))
        if algorithms is None and failed is not None:
            for name, unfit in skipped_algorithms(data.task, len(data.classes)).items():
                failed(name, unfit)
        sweep = Sweep(data, score, tradeoffs, points, budget, folds, parameters or {})
        found: dict[str, list[Fitted]] = {}
        errors: dict[str, CostframeError] = {}
        processes = process_count(data, names) if n_jobs is None else thread_count(n_jobs)
        for name, fitted in fit_each(sweep, names, progress, processes):
            if isinstance(fitted, list):
                found[name] = fitted
                continue
            if failed is None:
                raise fitted
            errors[name] = fitted
            failed(name, fitted)
        if errors and not found:
            raise joint_error(errors)
        ordered = [fitted for name in names for fitted in found.get(name, ())]
        return cls.of(ordered, score, data.costs.unit, data.full_cost)

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points without another of higher score at no higher cost, by ascending cost."""
        return tuple(keep_non_dominated(self.points, lambda point: (point.cost, point.score)))

    def best(self) -> Point:
        """Return the point with the best score, the cheapest of equal ones."""
        return max(self.points, key=best_first)

    def recommended(self) -> Point:
        """Return the cheapest point whose score is within one standard error of the best."""
        return cheapest_near_best(self, self.points)

    def within(self, budget: float) -> Point:
        """Return the cheapest point within one standard error of the best one whose cost per row is at most `budget`.

        Raises
        ------
        ParameterError
            If all cost more; the text names the cheapest.
        """
        affordable = [point for point in self.points if point.cost <= budget]
        if not affordable:
            least = min(self.points, key=lambda point: point.cost)
            raise ParameterError(
                f"budget: no model costs at most {budget:g} {printable(self.unit)} per row; the cheapest found costs "
                f"{least.cost:g} ({least.algorithm} at tradeoff {least.tradeoff:.3g})"
            )
        return cheapest_near_best(self, affordable)

    def useful(self) -> Point | None:
        """Return the cheapest point that beats the constant by more than one standard error, if there is one."""
        return min(points_above_constant(self, self.points), key=lambda point: (point.cost, -point.score), default=None)

    def difference_error(self, one: Point, other: Point) -> float:
        """Return the standard error of the difference of two scores; without influences, the better one's error."""
        first, second = (self.influences[self.points.index(p)] if self.influences else None for p in (one, other))
        if first is None or second is None:
            return max(one, other, key=best_first).score_error
        return difference_error(first, second)

    def interval(self, point: Point) -> tuple[float, float]:
        """Return an interval that has the score on test in nine of ten cases; without test rows, on many rows.

        It is score +- 1.645 * sqrt(score_error^2 + test_error^2). If the score is from models of fewer rows, the
        distance to the best value (1, or 0 of negative errors) may shrink by the share of the missing rows, so the
        upper end rises by rows_lacked * (best - score). The upper end is at most the best value.
        """
        margin, best = NINE_OF_TEN * math.hypot(point.score_error, point.test_error or 0.0), best_value(self.score_name)
        learned = point.rows_lacked * max(best - point.score, 0.0)
        return point.score - margin, min(point.score + learned + margin, best)

    def model(self, point: Point) -> Any:
        """Return the fitted estimator of a point."""
        if not self.models or point not in self.points:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return self.models[self.points.index(point)]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the points as CSV, floats to the last bit; if `path` is given, also write it, whole or not at all."""
        text = points_csv(self)
        if path is not None:
            write_together({as_path(path): text.encode()})
        return text

    def plot(
        self,
        path_png: str | os.PathLike[str] | None = None,
        path_svg: str | os.PathLike[str] | None = None,
        *,
        chosen: Point | None = None,
        title: str | None = None,
    ) -> dict[str, bytes]:
        """Draw test score against mean cost per row; equal points give equal bytes.

        Parameters
        ----------
        path_png, path_svg : path, optional
            Files to write, whole or not at all.
        chosen : Point, optional
            Point to mark.
        title : str, optional

        Returns
        -------
        dict
            Bytes of the picture as "png" and "svg".
        """
        from costframe.frontier.display import plot_frontier  # which loads matplotlib

        pictures = plot_frontier(self, chosen=chosen, title=title)
        wanted = {"path_png": (path_png, pictures["png"]), "path_svg": (path_svg, pictures["svg"])}
        write_together({as_path(path, name): data for name, (path, data) in wanted.items() if path is not None})
        return pictures
