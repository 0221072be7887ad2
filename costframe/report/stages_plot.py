"""Picture of a stage tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.stages.stages import Route
from costframe.core.tables.rows import as_rows, check_target
from costframe.report.stages_boxes import make_boxes
from costframe.report.stages_drawing import GAP, Way, draw_picture, height_of
from costframe.report.stages_layout import place_stages
from costframe.report.stages_panels import Panels
from costframe.report.stages_seen import see_stages, summarize_stages
from costframe.report.stops_plot import plot_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.report.stages_boxes import StageBox

__all__ = ["plot_stages"]


def plot_stages(
    tree: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    costs: object = None,
    *,
    acquisition: str = "path",
    title: str | None = None,
    n_jobs: int | None = None,
) -> dict[str, bytes]:
    """Draw a stage tree: the features that each stage acquires, its next stages, and its scores or predictions.

    The root is at the left; rows whose score exceeds a stage's threshold go up, the others down. Each box lists the
    features that its stage acquires first on its path, most expensive first, and resources in italics. With rows, the
    width of a line between boxes is the share of rows that go there, each box shows the scores or predictions of its
    rows, and answers show the mean cost of their rows.

    Parameters
    ----------
    tree : StageTree, or a fitted estimator whose `predictor_` is one
    X : float64 (n, d), or data frame, optional
        Rows to send through. Without them the picture shows all features that learners may read.
    y : (n,), optional
        Labels: at most six different ones get colors; more labels, if they are numbers, are an axis for predictions of
        one output.
    costs : CostModel, or anything `CostModel.of` accepts, optional
        By default the tree's own prices, or no prices if it has none.
    acquisition : {"path", "learner"}
        Whether the rows' trees acquire features split by split, or all of them before one is evaluated.
    title : str, optional
    n_jobs : int, optional
        Threads; None uses all cores.

    Returns
    -------
    dict of str to bytes
        The picture as "png" and "svg"; equal arguments give equal bytes.

    Raises
    ------
    ParameterError
        If `tree` is not a stage tree or plan, or a setting is not allowed.
    DataError
        If the columns of X are not those of the tree, or y does not fit X.
    """
    predictor = _drawable(tree)
    check_acquisition(acquisition)
    model = predictor.costs if costs is None else CostModel.of(costs, predictor.feature_names)
    if X is None and y is not None:
        raise ParameterError("y: has no effect without X")
    rows = None if X is None else as_rows(X, predictor.feature_names, predictor.categories)
    labels = None if rows is None else _labels(y, len(rows))
    if isinstance(predictor, PlannedPredictor):
        return plot_plan(predictor, rows, labels, model, title, n_jobs)
    return _tree_picture(predictor, rows, labels, model, acquisition, title, n_jobs)


def _tree_picture(
    tree: StageTree,
    rows: NDArray[np.float64] | None,
    labels: NDArray[Any] | None,
    model: CostModel | None,
    acquisition: str,
    title: str | None,
    n_jobs: int | None,
) -> dict[str, bytes]:
    prices = CostModel.of(model, tree.feature_names).select(tree.feature_names)
    if rows is None:
        seen, per_row, panels = summarize_stages(tree, prices), None, None
    else:
        seen = see_stages(tree, prices, rows, acquisition, n_jobs)
        per_row = None if model is None else tree.cost(rows, model, acquisition=acquisition).per_row
        panels = Panels.of(tree.stages, seen, labels)
    boxes = make_boxes(tree.stages, seen, per_row, None if model is None else prices.unit)
    place = place_stages(tree.stages, [height_of(box) for box in boxes], GAP)
    ways = [
        Way(number, child, boxes[child].share, side)
        for number, stage in enumerate(tree.stages)
        if isinstance(stage, Route)
        for child, side in ((stage.below, -1), (stage.above, 1))
    ]
    shown = "What each stage acquires" if title is None else title
    return draw_picture(boxes, place, ways, panels, shown, _notes(boxes, panels))


def _drawable(given: Any) -> StageTree | PlannedPredictor:
    found = getattr(given, "predictor_", given)
    if not isinstance(found, StageTree | PlannedPredictor):
        whose = "" if found is given else f" as the predictor_ of {type(given).__name__}"
        raise ParameterError(
            "tree: expected a StageTree or a PlannedPredictor, or a fitted estimator whose predictor_ is one, "
            f"got {type(found).__name__}{whose}"
        )
    return found


def _labels(y: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if n_rows == 0:
        raise DataError("X: expected at least one row, got none")
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.dtype.kind in "iufb":
        check_target(labels, n_rows, "y")
        return labels
    if labels.shape != (n_rows,):
        raise DataError(f"y: expected one label a row, shape ({n_rows},), got {labels.shape}")
    return labels.astype(np.str_)


def _notes(boxes: Sequence[StageBox], panels: Panels | None) -> str:
    """Return the notes that this picture needs."""
    acquired = [one for box in boxes for one in box.seen.acquired]
    routes = [box for box in boxes if isinstance(box.stage, Route)]
    notes = ["Blue stages send rows on, those above the threshold upward; green stages answer."] if routes else []
    if panels is not None and routes:
        notes.append("Lines are as wide as the share of rows that go there.")
    if panels is None:
        notes.append("A stage acquires all features that its learners, and no earlier ones on the path, may read.")
    elif routes:
        notes.append("A stage acquires features that no earlier stage on the path acquired.")
    if any(one.is_resource for one in acquired):
        notes.append("Resources are in italics.")
    if any(one.share < 1 for one in acquired):
        notes.append("In brackets: share of a stage's rows that acquire it there.")
    if panels is not None:
        drawn = "a score or prediction against its label" if panels.target is not None else "how often a value occurs"
        notes.append(f"Drawn: {drawn}" + (", thresholds dashed." if routes else "."))
    return " ".join(notes)
