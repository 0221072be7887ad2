"""Scores and exact costs of fitted models, and those worth having."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from costframe.core.errors import ParameterError
from costframe.core.files import write_together

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from costframe.core.errors import CostframeError
    from costframe.datasets import Dataset
    from costframe.frontier.trial import Progress

__all__ = ["Frontier", "Point", "not_dominated"]


@frozen
class Point:
    """One fitted model on the plane of cost and score.

    Attributes
    ----------
    algorithm : str
    tradeoff : float
        Loss accepted per unit of cost per row; 0 is the model that knows no prices. On a path, where the tradeoff falls
        while the model grows, that of its last round, and the first point of an algorithm knows no prices.
    valid_score, test_score : float
        Higher is better; None where there are no test rows.
    valid_cost, test_cost : float
        Exact mean cost per row, in the cost model's unit; once-per-batch prices are not in it.
    fixed : float
        Once-per-batch prices paid on test (on valid where there are no test rows).
    n_features : int
        Features that the model reads.
    n_learners : int
        Weak learners that it evaluates, over all stages.
    rounds : float
        Mean trips to the sources that a row takes, over a few of the test (else valid) rows.
    seconds : float
        Time to fit; on a path, an equal share of the time of all its points.
    """

    algorithm: str
    tradeoff: float
    valid_score: float
    valid_cost: float
    test_score: float | None
    test_cost: float | None
    fixed: float
    n_features: int
    n_learners: int
    rounds: float
    seconds: float


@frozen(eq=False)
class Frontier:
    """Fitted models, and which of them are worth having. Whatever is chosen is chosen on validation rows.

    Attributes
    ----------
    points : tuple of Point
    score_name : str
        As in `costframe.core.scoring.SCORES`.
    unit : str
        What costs count.
    full_cost : float
        What one row pays that acquires every feature.
    models : tuple
        The fitted estimator of each point; may be empty.
    """

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.points:
            raise ParameterError("points: expected at least one point, got none")
        if self.models and len(self.models) != len(self.points):
            raise ParameterError(f"models: expected {len(self.points)}, one a point, got {len(self.models)}")

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
        parameters: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
    ) -> Frontier:
        """Fit algorithms at many tradeoffs.

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
            budget, the model that knows no prices first; else how many tradeoffs, 12 by default.
        score : str, optional
            By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
        budget : float, optional
            Adds the best point of a path within this mean cost per row on valid, or fits that come close to it from
            below.
        parameters : mapping, optional
            Further parameters of every estimator.
        progress : callable, optional
            Is told `(done, total, text)` before and after each fit.
        failed : callable, optional
            Is told `(algorithm, error)` of an algorithm that cannot be fitted, and the others go on; also of those that
            were not named and are for two classes only, where there are more. Without it, the first such error is
            raised.

        Raises
        ------
        CostframeError
            What is wrong with the arguments, or what an algorithm says that it refuses.
        PluginError
            If an algorithm raises anything else; the text names it and its plugin, the cause is what it raised.
        """
        from costframe.frontier.sweep import sweep

        return sweep(
            data,
            algorithms,
            tradeoffs,
            points=points,
            score=score,
            budget=budget,
            parameters=parameters or {},
            progress=progress,
            failed=failed,
        )

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points such that no other has, on valid, a higher score at no more cost; by ascending cost."""
        return not_dominated(self.points)

    def best(self) -> Point:
        """Return the point with the best score on valid; of several, the cheapest."""
        return max(self.points, key=lambda point: (point.valid_score, -point.valid_cost))

    def within(self, budget: float) -> Point:
        """Return the best point on valid among those whose mean cost per row on valid is at most `budget`."""
        affordable = [point for point in self.points if point.valid_cost <= budget]
        if not affordable:
            least = min(self.points, key=lambda point: point.valid_cost)
            raise ParameterError(
                f"budget: no model costs at most {budget:g} {self.unit} per row; the cheapest found costs "
                f"{least.valid_cost:g} ({least.algorithm} at tradeoff {least.tradeoff:.3g})"
            )
        return max(affordable, key=lambda point: (point.valid_score, -point.valid_cost))

    def cheapest_within(self, share: float = 0.01) -> Point:
        """Return the cheapest point on valid that loses at most `share` of the best score on valid."""
        if not 0 <= share <= 1:
            raise ParameterError(f"share: expected a number from 0 to 1, got {share!r}")
        best = self.best().valid_score
        good = [point for point in self.points if point.valid_score >= best - share * abs(best)]
        return min(good, key=lambda point: (point.valid_cost, -point.valid_score))

    def model(self, point: Point) -> Any:
        """Return the fitted estimator of a point."""
        if not self.models or point not in self.points:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        return self.models[self.points.index(point)]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the points as CSV, floats to the last bit, and write it to `path` if given, wholly or not at all."""
        from costframe.report.points_csv import points_csv

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
        from costframe.report.plot import plot_frontier

        pictures = plot_frontier(self, chosen=chosen, title=title)
        wanted = ((path_png, pictures["png"]), (path_svg, pictures["svg"]))
        write_together({Path(path): picture for path, picture in wanted if path is not None})
        return pictures


def not_dominated(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points such that no other has, on valid, a higher score at no more cost; by ascending cost."""
    chosen: list[Point] = []
    for point in sorted(points, key=lambda point: (point.valid_cost, -point.valid_score)):
        if not chosen or point.valid_score > chosen[-1].valid_score:
            chosen.append(point)
    return tuple(chosen)
