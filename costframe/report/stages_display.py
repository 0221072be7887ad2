"""The display of the stages of a tree or the stops of a plan, with notes on how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define
from numpy.typing import ArrayLike

from costframe.core.arrays import I8
from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.fitted import what_is
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.stages.stages import Route
from costframe.core.tables.rows import as_rows
from costframe.report.display import ModelDisplay, as_labels
from costframe.report.drawn_text import percent
from costframe.report.stage_boxes import StageBox, stage_boxes
from costframe.report.stage_panels import Panels
from costframe.report.stages_layout import place_stages
from costframe.report.stages_picture import GAP, Picture, Way, height_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            Labels, of which at most six different ones get colors.
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
        boxes, moves = stage_boxes(predictor, model, rows, acquisition, n_jobs)
        panels = None if rows is None else Panels.of([box.stage for box in boxes], [box.seen for box in boxes], labels)
        return cls((_tree_picture if isinstance(predictor, StageTree) else _plan_picture)(boxes, moves, panels, title))

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


def _drawable(given: Any) -> StageTree | PlannedPredictor | PreparedPredictor:
    predictor = getattr(given, "predictor_", given)
    inner = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    if not isinstance(inner, StageTree | PlannedPredictor):
        what = what_is(inner) if hasattr(inner, "fit") else type(inner).__name__
        whose = "" if inner is given else f" as the predictor of {type(given).__name__}"
        raise ParameterError(
            "estimator: expected a StageTree or a PlannedPredictor, or a fitted estimator whose predictor_ is one, "
            f"got {what}{whose}"
        )
    return predictor  # type: ignore[no-any-return]  # checked above


def _tree_picture(boxes: Sequence[StageBox], _moves: I8 | None, panels: Panels | None, title: str | None) -> Picture:
    place = place_stages([box.stage for box in boxes], [height_of(box) for box in boxes], GAP)
    ways = [
        Way(number, child, boxes[child].share, side)
        for number, box in enumerate(boxes)
        if isinstance(box.stage, Route)
        for child, side in ((box.stage.below, -1), (box.stage.above, 1))
    ]
    shown = "What each stage acquires" if title is None else title
    return Picture(boxes, place, ways, panels, shown, _notes_of_tree(boxes, panels))


def _plan_picture(boxes: Sequence[StageBox], moves: I8 | None, panels: Panels | None, title: str | None) -> Picture:
    heights = np.array([height_of(box) for box in boxes])
    place = np.arange(len(boxes)), heights.max() - heights / 2  # aligned at the top
    ways = []
    if moves is not None:
        shares = moves / np.trace(moves)
        pairs = zip(*np.nonzero(np.triu(moves, 1)), strict=True)
        ways = [Way(int(a), int(b), shares[a, b], label=percent(shares[a, b])) for a, b in pairs]
    shown = "What each stop acquires" if title is None else title
    return Picture(boxes, place, ways, panels, shown, _notes_of_plan(boxes, panels))


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
        notes.append("Drawn: how often a value occurs" + (", thresholds dashed." if routes else "."))
    return " ".join(notes)


def _notes_of_plan(boxes: Sequence[StageBox], panels: Panels | None) -> str:
    notes = ["A row goes on to a later stop as long as the expected gain is worth the price."]
    if panels is None:
        notes.append("A stop acquires its set except the features that a row has; here, those of the stop before.")
    else:
        notes.append("Lines are as wide as the share of rows that go there. A stop acquires features that a row lacks.")
    notes += _notes_on_items(boxes, "the rows at a stop")
    if panels is not None:
        notes.append("Drawn, of the rows answered: how often a prediction occurs.")
    return " ".join(notes)


def _notes_on_items(boxes: Sequence[StageBox], rows: str) -> list[str]:
    acquired = [item for box in boxes for item in box.seen.acquired]
    notes = ["Resources are in italics."] if any(item.is_resource for item in acquired) else []
    if any(item.share < 1 for item in acquired):
        notes.append(f"In brackets: share of {rows} that acquire it there.")
    return notes
