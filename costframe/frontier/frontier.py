"""Fitted models with their scores and costs, and choices among them."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from costframe.core.checks import as_path
from costframe.core.errors import CostframeError, ParameterError, StorageError, quote_names, shown, suggestion
from costframe.core.files import write_atomically, write_together
from costframe.frontier.budgets import affordable, places_in_time
from costframe.frontier.checks import check_share
from costframe.frontier.estimates import correct_choice, correct_choice_of_algorithm, difference_error
from costframe.frontier.finished import MODELS, Fitted, SavedModel, pack_fits, save_model, unpack_fits
from costframe.frontier.intervals import NINE_OF_TEN, compare_points, score_interval
from costframe.frontier.making import FrontierFits
from costframe.frontier.notebook import describe_frontier, frontier_html, points_frame
from costframe.frontier.points import (
    Point,
    best_first,
    cheapest_near_best,
    name_points,
    points_above_constant,
    points_csv,
)
from costframe.frontier.runs import FRONTIER
from costframe.training.model_path import keep_non_dominated
from costframe.training.scoring import best_value

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Self

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    import costframe
    from costframe.frontier.intervals import Difference

__all__ = ["Frontier"]


@frozen(eq=False, repr=False)
class Frontier(FrontierFits):
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
    models: tuple[Any, ...] = ()
    influences: tuple[NDArray[np.float64] | None, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not self.points:
            raise ParameterError("points: expected at least one point, got none")
        for name, given in (("models", self.models), ("influences", self.influences)):
            if given and len(given) != len(self.points):
                raise ParameterError(f"{name}: expected {len(self.points)}, one a point, got {len(given)}")

    @classmethod
    def of(cls, found: Sequence[Fitted], score: str, unit: str, full_cost: float) -> Self:
        """Make the frontier of fitted models: correct scores for choices, and name the points."""
        algorithms = dict.fromkeys(fitted.point.algorithm for fitted in found)
        each = [correct_choice([one for one in found if one.point.algorithm == name]) for name in algorithms]
        kept = name_points(correct_choice_of_algorithm(list(itertools.chain(*each))))
        points, models, influences = zip(*((each.point, each.model, each.influence) for each in kept), strict=True)
        return cls(points, score, unit, full_cost, models, influences)

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
        return frozenset(points_above_constant(self))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write points and models to a folder; `load` reads it, and `cf.load` each `models/NAME.model` in it.

        Models of kinds that cannot be saved are left out.

        Raises
        ------
        StorageError
            If a file cannot be written.
        """
        folder = as_path(directory, "directory")
        try:
            self._save(folder)
        except CostframeError:
            raise
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            raise StorageError(f"{folder}: cannot be written: {getattr(error, 'strerror', None) or error}") from error

    def _save(self, folder: Path) -> None:
        (folder / MODELS).mkdir(parents=True, exist_ok=True)
        models = self.models or (None,) * len(self.points)
        saved = [
            save_model(model, folder / MODELS, point.name) for model, point in zip(models, self.points, strict=True)
        ]
        influences = self.influences or (None,) * len(self.points)
        found = [Fitted(*each) for each in zip(self.points, saved, influences, strict=True)]
        header = {"score_name": self.score_name, "unit": self.unit, "full_cost": self.full_cost}
        write_atomically(folder / FRONTIER, pack_fits(found, header))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Frontier:
        """Read the folder of `save`, or of `costframe compare`; models are loaded when `model` asks for them.

        Raises
        ------
        StorageError
            If it has no frontier, or one that is truncated or altered.
        """
        folder = as_path(directory, "directory")
        found, header = unpack_fits(folder / FRONTIER, folder / MODELS)
        points, models, influences = zip(*((each.point, each.model, each.influence) for each in found), strict=True)
        return cls(points, header["score_name"], header["unit"], header["full_cost"], models, influences)

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points without another of higher rank at no higher cost, by ascending cost."""
        return tuple(keep_non_dominated(self.points, lambda point: (point.cost, self.rank(point)[0])))

    def rank(self, point: Point | str) -> tuple[float, float]:
        """Return the sort key of a point: the lower end of its score's interval, then its cost, the lowest last."""
        return self.score_interval(point)[0], -self[point].cost

    @property
    def has_times(self) -> bool:
        """Whether points have latencies, because prices have times."""
        return any(point.latency_p95 is not None for point in self.points)

    def best(self, budget: float | None = None, *, time_budget: float | None = None) -> Point:
        """Return the point whose score is best by the lower end of its interval, of those within both budgets.

        Parameters
        ----------
        budget : float, optional
            Upper bound on the mean cost per row.
        time_budget : float, optional
            Upper bound in milliseconds on the latency of 95 % of the rows, `Point.latency_p95`.

        Raises
        ------
        ParameterError
            If no point is within them; the text names the nearest one.
        """
        return max(affordable(self, budget, time_budget), key=self.rank)

    def recommended(self, budget: float | None = None, *, time_budget: float | None = None) -> Point:
        """Return the cheapest point as good as the best, of those within both budgets; see `best`.

        It is within one standard error of the best, by the lower ends of intervals, or surely within 0.5 % of it.
        It is a constant only if no affordable point beats that by more than the error.
        """
        return cheapest_near_best(self, affordable(self, budget, time_budget))

    def within_time(self, time_budget: float | None) -> Frontier:
        """Return the frontier of the points within a time budget; errors as for `best`, None changes nothing."""
        if time_budget is None:
            return self
        kept = places_in_time(self, time_budget)

        def keep(given: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(given[place] for place in kept) if given else ()

        return evolve(self, points=keep(self.points), models=keep(self.models), influences=keep(self.influences))

    def cheapest(self, within: float = 0.01) -> Point:
        """Return the cheapest point whose score is within a share, at least 0 and below 1, of the best score.

        Scores are estimates: the test score of the point may be further from that of the best; see `interval`.
        """
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
        """Return the difference of the scores of two points, with its standard error and interval."""
        return compare_points(self, self[one], self[other])

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

    def file(self, point: Point | str) -> Path | None:
        """Return the file of a point's model, if it is in one."""
        model = self.models[self._place(point)] if self.models else None
        return model.path if isinstance(model, SavedModel) else None

    def has_model(self, point: Point | str) -> bool:
        """Return whether `model` has one of a point; there are kinds of models that cannot be saved."""
        return bool(self.models) and self.models[self._place(point)] is not None

    def model(self, point: Point | str) -> Any:
        """Return the fitted estimator of a point, given the point or its name."""
        place = self._place(point)
        if not self.models:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        if (model := self.models[place]) is None:
            point = self.points[place]
            raise ParameterError(f"point: models of {point.algorithm} cannot be saved, so {point.name} has none here")
        return model.load() if isinstance(model, SavedModel) else model

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the points as CSV, floats to the last bit; if `path` is given, also write it, whole or not at all."""
        text = points_csv(self)
        if path is not None:
            write_together({as_path(path): text.encode()})
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return the columns of `to_csv` as a data frame of pandas, indexed by the names of points."""
        return points_frame(self)

    def __repr__(self) -> str:
        return describe_frontier(self)

    def _repr_html_(self) -> str:
        return frontier_html(self)

    def plot(self, ax: Axes | None = None, **options: Any) -> costframe.plot.FrontierDisplay:
        """Draw score against mean cost per row; options are the parameters of `FrontierDisplay`."""
        import costframe  # displays are above this room; the package loads them by name

        return costframe.plot.FrontierDisplay.from_frontier(self, ax=ax, **options)
