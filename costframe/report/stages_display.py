"""Pictures of stage trees and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define

from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.fitted import as_predictor, what_is
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.stages.stages import Route
from costframe.core.tables.rows import as_rows
from costframe.report.display import ModelDisplay, as_labels
from costframe.report.stage_statistics import see_stages, see_stops, summarize_stages, summarize_stops
from costframe.report.stages_boxes import Line, Panels, StageBox, decision, money, percent
from costframe.report.stages_drawing import GAP, Picture, Way, height_of, place_stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.stages.stages import Stage
    from costframe.report.stage_statistics import StageSeen

__all__ = ["StagesDisplay", "tree_boxes"]


@define(eq=False)
class StagesDisplay(ModelDisplay):
    """A stage tree: the features that each stage acquires, its next stages, and its scores or predictions.

    The root is at the left; rows whose score exceeds a stage's threshold go up, the others down. Each box lists the
    features that its stage acquires first on its path, most expensive first, and resources in italics. With rows, the
    width of a line between boxes is the share of rows that go there, each box shows the scores or predictions of its
    rows, and answers show the mean cost of their rows. Texts are as large as the axes allow; a new figure has the size
    for texts that are easy to read.
    """

    picture: Picture

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        costs: object = None,
        *,
        acquisition: str = "path",
        title: str | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Lay out the stages, with rows if there are any.

        Parameters
        ----------
        estimator : StageTree or PlannedPredictor, or a fitted estimator whose `predictor_` is one
            Of a model over prepared columns, the picture shows the inner model.
        X : float64 (n, d), or data frame, optional
            Rows to send through. Without them the picture shows all features that learners may read.
        y : (n,), optional
            Labels: at most six different ones get colors; more labels, if they are numbers, are an axis for predictions
            of one output.
        costs : CostModel, or anything `CostModel.of` accepts, optional
            By default the model's own prices, or no prices if it has none.
        acquisition : {"path", "learner"}
            Whether the rows' trees acquire features split by split, or all of them before one is evaluated.
        title : str, optional
        n_jobs : int, optional
            Threads; None uses all cores.

        Raises
        ------
        ParameterError
            If the estimator has no stages or stops, or a setting is not allowed.
        DataError
            If the columns of X are not those of the model, or y does not fit X.
        """
        predictor = _drawable(estimator)
        check_acquisition(acquisition)
        model = predictor.costs if costs is None else CostModel.of(costs, predictor.feature_names)
        if X is None and y is not None:
            raise ParameterError("y: has no effect without X")
        rows = None if X is None else as_rows(X, predictor.feature_names, predictor.categories, predictor.used_features)
        if isinstance(predictor, PreparedPredictor):
            rows = None if rows is None else predictor.preparation.transform(rows)
            predictor = predictor.with_costs(model).priced
            model = None if model is None else predictor.costs
        if rows is not None and not len(rows):
            raise DataError("X: expected at least one row, got none")
        labels = None if rows is None else as_labels(y, len(rows))
        if isinstance(predictor, PlannedPredictor):
            return cls(_plan_picture(predictor, rows, labels, model, title, n_jobs))
        return cls(_tree_picture(predictor, rows, labels, model, acquisition, title, n_jobs))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return self.picture.size

    @property
    def dpi(self) -> float:
        """Resolution of a figure of its own."""
        return self.picture.dpi

    def draw(self, ax: Axes) -> None:
        """Draw on axes."""
        self.picture.draw(ax)


def _tree_picture(
    tree: StageTree,
    rows: NDArray[np.float64] | None,
    labels: NDArray[Any] | None,
    model: CostModel | None,
    acquisition: str,
    title: str | None,
    n_jobs: int | None,
) -> Picture:
    prices = CostModel.of(model, tree.feature_names).select(tree.feature_names)
    per_row, panels = None, None
    if rows is None:
        seen = summarize_stages(tree, prices)
    else:
        seen = see_stages(tree, prices, rows, acquisition, n_jobs)
        per_row = None if model is None else tree.cost(rows, model, acquisition=acquisition).per_row
        panels = Panels.of(tree.stages, seen, labels)
    boxes = tree_boxes(tree.stages, seen, per_row, None if model is None else prices.unit)
    place = place_stages(tree.stages, [height_of(box) for box in boxes], GAP)
    ways = [
        Way(number, child, boxes[child].share, side)
        for number, stage in enumerate(tree.stages)
        if isinstance(stage, Route)
        for child, side in ((stage.below, -1), (stage.above, 1))
    ]
    shown = "What each stage acquires" if title is None else title
    return Picture(boxes, place, ways, panels, shown, _notes_of_tree(boxes, panels))


def tree_boxes(
    stages: Sequence[Stage], seen: Sequence[StageSeen], per_row: NDArray[np.float64] | None, unit: str | None
) -> list[StageBox]:
    """Make the boxes of stages; `per_row` is the cost of each row, if known, and no `unit` shows no prices."""
    boxes, every = [], seen[0].rows
    for number, (stage, mine) in enumerate(zip(stages, seen, strict=True)):
        share = None if every is None or mine.rows is None else len(mine.rows) / len(every)
        paid = _mean_cost("mean cost of these rows", None if isinstance(stage, Route) else per_row, mine, unit)
        boxes.append(StageBox.of(f"stage {number}", stage, mine, share, unit, [decision(stage, mine)], paid))
    return boxes


def _plan_picture(
    plan: PlannedPredictor,
    rows: NDArray[np.float64] | None,
    labels: NDArray[Any] | None,
    model: CostModel | None,
    title: str | None,
    n_jobs: int | None,
) -> Picture:
    terms, answers = plan.terms(model), [stop.answer for stop in plan.stops]
    per_row, panels, moves = None, None, None
    if rows is None:
        seen = summarize_stops(plan, terms.prices)
    else:
        seen, moves = see_stops(plan, terms.prices, plan.walk(rows, terms, n_jobs))
        per_row = plan.cost(rows, model).per_row
        panels = Panels.of(answers, seen, labels)
    unit, boxes = None if model is None else model.unit, []
    for number, (answer, mine) in enumerate(zip(answers, seen, strict=True)):
        share, first = None, []
        if moves is not None:
            came, answered = moves[number].sum(), moves[number, number]
            share = float(came / np.trace(moves))
            if came:
                first = [Line(f"answers {percent(answered / came)} of them" if answered else "answers none")]
        paid = _mean_cost("mean cost of the answered", per_row, mine, unit)
        boxes.append(StageBox.of(f"stop {number}", answer, mine, share, unit, first, paid))
    heights = np.array([height_of(box) for box in boxes])
    place = np.arange(len(boxes)), heights.max() - heights / 2  # aligned at the top
    shown = "What each stop acquires" if title is None else title
    return Picture(boxes, place, _ways(moves), panels, shown, _notes_of_plan(boxes, panels))


def _mean_cost(what: str, per_row: NDArray[np.float64] | None, seen: StageSeen, unit: str | None) -> list[Line]:
    """Return a line with the mean cost of a stage's rows, if it has rows, and costs are known."""
    if per_row is None or unit is None or not len(per_row[seen.rows]):
        return []
    return [Line(what, money(per_row[seen.rows].mean(), unit))]


def _ways(moves: NDArray[np.int64] | None) -> list[Way]:
    if moves is None:
        return []
    shares = moves / np.trace(moves)
    pairs = zip(*np.nonzero(np.triu(moves, 1)), strict=True)
    return [Way(int(a), int(b), shares[a, b], label=percent(shares[a, b])) for a, b in pairs]


def _drawable(given: Any) -> StageTree | PlannedPredictor | PreparedPredictor:
    found = as_predictor(given)
    inner = found.inner if isinstance(found, PreparedPredictor) else found
    if not isinstance(inner, StageTree | PlannedPredictor):
        what = what_is(inner) if hasattr(inner, "fit") else type(inner).__name__
        whose = "" if inner is given else f" as the predictor of {type(given).__name__}"
        raise ParameterError(
            "estimator: expected a StageTree or a PlannedPredictor, or a fitted estimator whose predictor_ is one, "
            f"got {what}{whose}"
        )
    return found  # type: ignore[return-value]


def _notes_of_tree(boxes: Sequence[StageBox], panels: Panels | None) -> str:
    routes = any(isinstance(box.stage, Route) for box in boxes)
    notes = ["Blue stages send rows on, those above the threshold upward; green stages answer."] if routes else []
    if panels is not None and routes:
        notes.append("Lines are as wide as the share of rows that go there.")
    if panels is None:
        notes.append("A stage acquires all features that its learners, and no earlier ones on the path, may read.")
    elif routes:
        notes.append("A stage acquires features that no earlier stage on the path acquired.")
    notes += _notes_on_items(boxes, "a stage's rows")
    if panels is not None:
        drawn = "a score or prediction against its label" if panels.target is not None else "how often a value occurs"
        notes.append(f"Drawn: {drawn}" + (", thresholds dashed." if routes else "."))
    return " ".join(notes)


def _notes_of_plan(boxes: Sequence[StageBox], panels: Panels | None) -> str:
    notes = ["A row goes on to a later stop as long as the expected gain is worth the price."]
    if panels is None:
        notes.append("A stop acquires its set except the features that a row has; here, those of the stop before.")
    else:
        notes.append("Lines are as wide as the share of rows that go there. A stop acquires features that a row lacks.")
    notes += _notes_on_items(boxes, "the rows at a stop")
    if panels is not None:
        drawn = "a prediction against its label" if panels.target is not None else "how often a prediction occurs"
        notes.append(f"Drawn, of the rows answered: {drawn}.")
    return " ".join(notes)


def _notes_on_items(boxes: Sequence[StageBox], rows: str) -> list[str]:
    acquired = [one for box in boxes for one in box.seen.acquired]
    notes = ["Resources are in italics."] if any(one.is_resource for one in acquired) else []
    if any(one.share < 1 for one in acquired):
        notes.append(f"In brackets: share of {rows} that acquire it there.")
    return notes
