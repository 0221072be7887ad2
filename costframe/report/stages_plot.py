"""A tree of stages as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.costs import CostModel
from costframe.core.errors import DataError, ParameterError
from costframe.core.reading import check_acquisition
from costframe.core.stage_tree import StageTree
from costframe.core.stages import Route
from costframe.core.tables import as_rows
from costframe.core.training import check_target
from costframe.report.fitting_text import fitted, width_of, wrapped
from costframe.report.pictures import COLORS, INK, PALE, STYLE, both_files
from costframe.report.stages_boxes import boxes_of
from costframe.report.stages_layout import place_stages
from costframe.report.stages_panels import PANEL_HEIGHT, Panels
from costframe.report.stages_seen import see_stages, seen_without_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from costframe.report.stages_boxes import Line, StageBox

__all__ = ["plot_stages"]

# Inches.
_WIDTH, _BETWEEN, _GAP, _MARGIN, _INSET = 2.5, 0.65, 0.18, 0.25, 0.09
_TITLE, _LINE, _LEAST_WIDTH = 0.25, 0.165, 6.2
_HEAD_SIZE, _LINE_SIZE, _NOTE_SIZE = 9.0, 8.0, 8.0  # points
_DPI, _MOST_DOTS, _LONGEST = 150, 4e7, 3e4
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {}, "resource": {"fontstyle": "italic"}, "faint": {"color": "#666666"}
}  # fmt: skip


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
    """Draw a tree of stages: what each newly acquires, where it sends rows, and what it makes of them.

    The root is at the left; rows whose score exceeds a stage's threshold go up, the others down. Each box lists what
    its stage is the first on its way to acquire, most expensive first, resources in italics. With rows, the lines
    between boxes are as wide as the share of rows that go there, each box shows the scores or predictions of the rows
    that come there, and answers say what these rows cost.

    Parameters
    ----------
    tree : StageTree, or a fitted estimator whose `predictor_` is one
    X : float64 (n, d), or data frame, optional
        Rows to send through. Without them a stage is said to acquire whatever its learners may read.
    y : (n,), optional
        Labels: up to six different ones are colors, more of them, if numbers, an axis that predictions of one output
        are drawn against.
    costs : CostModel, or what makes one, optional
        The tree's own prices by default; where it has none, either, no prices are shown.
    acquisition : {"path", "learner"}
        Whether the rows' trees acquire features split by split, or all of them before one is evaluated.
    title : str, optional
    n_jobs : int, optional
        Threads; None takes all there are.

    Returns
    -------
    dict of str to bytes
        The picture as "png" and "svg"; the same arguments give the same bytes.

    Raises
    ------
    ParameterError
        If the tree is none, or a setting is not allowed.
    DataError
        If the columns of X are not those of the tree, or y does not fit X.
    """
    tree = _stage_tree(tree)
    check_acquisition(acquisition)
    model = tree.costs if costs is None else CostModel.of(costs, tree.feature_names)
    prices = CostModel.of(model, tree.feature_names).select(tree.feature_names)
    unit = None if model is None else prices.unit
    if X is None:
        if y is not None:
            raise ParameterError("y: has no effect without X")
        seen, per_row, panels = seen_without_rows(tree, prices), None, None
    else:
        rows = as_rows(X, tree.feature_names, tree.categories)
        labels = _labels(y, len(rows))
        seen = see_stages(tree, prices, rows, acquisition, n_jobs)
        per_row = None if model is None else tree.cost(rows, model, acquisition=acquisition).per_row
        panels = Panels.of(tree.stages, seen, labels)
    boxes = boxes_of(tree.stages, seen, per_row, unit)
    return _picture(boxes, panels, "What each stage acquires" if title is None else title)


def _stage_tree(given: Any) -> StageTree:
    tree = getattr(given, "predictor_", given)
    if not isinstance(tree, StageTree):
        whose = "" if tree is given else f" as the predictor_ of {type(given).__name__}"
        raise ParameterError(
            "tree: expected a StageTree, or a fitted estimator whose predictor_ is one, "
            f"got {type(tree).__name__}{whose}"
        )
    return tree


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


def _picture(boxes: Sequence[StageBox], panels: Panels | None, title: str) -> dict[str, bytes]:
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(STYLE):
        drawing = _Drawing(boxes, panels, title)
        width, height = drawing.size
        dpi = min(_DPI, _LONGEST / max(width, height), math.sqrt(_MOST_DOTS / (width * height)))
        figure = Figure(figsize=(width, height), dpi=dpi)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        drawing.draw(axes)
        axes.set(xlim=(0, width), ylim=(0, height), autoscale_on=False)  # inches
        return both_files(figure)


class _Drawing:
    """One picture in the making; all measures are in inches."""

    def __init__(self, boxes: Sequence[StageBox], panels: Panels | None, title: str) -> None:
        self.boxes, self.panels = boxes, panels
        self.heights = [_height(box) for box in boxes]
        column, center = place_stages([box.stage for box in boxes], self.heights, _GAP)
        inner = max((column.max() + 1) * (_WIDTH + _BETWEEN) - _BETWEEN, _LEAST_WIDTH)
        self.title = fitted(title, inner, 12, "bold")
        self.notes = wrapped(_notes(boxes, panels), inner, _NOTE_SIZE)
        self.legend = [] if panels is None else [str(label) for label in panels.labels]
        self.floor = _MARGIN + _LINE * (len(self.notes) + bool(self.legend)) + 0.15
        self.left, self.center = _MARGIN + column * (_WIDTH + _BETWEEN), center + self.floor
        top = max(middle + height / 2 for middle, height in zip(self.center, self.heights, strict=True))
        self.size = inner + 2 * _MARGIN, float(top) + 0.42 + _MARGIN

    def draw(self, axes: Axes) -> None:
        """Draw everything."""
        axes.text(_MARGIN, self.size[1] - _MARGIN, self.title, fontsize=12, fontweight="bold", va="top",
                  parse_math=False)  # fmt: skip
        for number, box in enumerate(self.boxes):
            if isinstance(box.stage, Route):
                self._way(axes, number, box.stage.below, -1)
                self._way(axes, number, box.stage.above, 1)
        for number in range(len(self.boxes)):
            self._box(axes, number)
        self._below(axes)

    def _way(self, axes: Axes, parent: int, child: int, side: int) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        share, end = self.boxes[child].share, self.center[child]
        level = math.isclose(end, self.center[parent], abs_tol=1e-9)
        start = self.center[parent] + (0 if level else side * 0.1)
        first, last = self.left[parent] + _WIDTH, self.left[child]
        middle = (first + last) / 2
        path = Path([(first, start), (middle, start), (middle, end), (last, end)], [1, 4, 4, 4])
        wide = {"lw": 1.2} if share is None else {"lw": 0.8 + 7 * share, "ls": "-" if share else ":"}
        axes.add_patch(PathPatch(path, fc="none", ec=PALE, alpha=0.7, capstyle="butt", zorder=1, **wide))

    def _box(self, axes: Axes, number: int) -> None:
        from matplotlib.patches import FancyBboxPatch

        box, height = self.boxes[number], self.heights[number]
        left, top = float(self.left[number]), float(self.center[number]) + height / 2
        unused = box.share == 0
        color = PALE if unused else COLORS[0] if isinstance(box.stage, Route) else COLORS[2]
        axes.add_patch(FancyBboxPatch(
            (left, top - height), _WIDTH, height, boxstyle="round,pad=0,rounding_size=0.06", fc="white", ec=color,
            lw=1.3, ls="--" if unused else "-", zorder=2,
        ))  # fmt: skip
        self._line(axes, left, top - 0.06, box.title, _HEAD_SIZE, {"fontweight": "bold", "color": color})
        for i, line in enumerate(box.lines):
            self._line(axes, left, top - 0.06 - _TITLE + 0.03 - i * _LINE, line, _LINE_SIZE, _KINDS[line.kind])
        if self.panels is not None and box.has_panel:
            corner = left + _INSET, top - height + 0.04
            self.panels.draw(axes, corner, _WIDTH - 2 * _INSET, box.stage, box.seen)

    @staticmethod
    def _line(axes: Axes, left: float, top: float, line: Line, size: float, style: dict[str, Any]) -> None:
        weight, room = str(style.get("fontweight", "normal")), _WIDTH - 2 * _INSET
        right = fitted(line.right, 0.6 * room, size)
        room -= width_of(right, size) + 0.12 if right else 0
        left_text = fitted(line.left, room, size, weight)
        shared: Any = {"va": "top", "fontsize": size, "parse_math": False, "zorder": 3}
        axes.text(left + _INSET, top, left_text, **shared, **style)
        color = style.get("color", INK)
        axes.text(left + _WIDTH - _INSET, top, right, ha="right", color=color, **shared)

    def _below(self, axes: Axes) -> None:
        """Say how the picture reads."""
        style: Any = {"fontsize": _NOTE_SIZE, "parse_math": False, "va": "top"}
        y = self.floor - 0.15
        left, room = _MARGIN, (self.size[0] - 2 * _MARGIN) / max(len(self.legend), 1) - 0.3
        for label, color in zip(self.legend, COLORS, strict=False):
            shown = fitted(label, room, _NOTE_SIZE)
            axes.fill(
                left + np.array([0, 0.1, 0.1, 0]),
                y - np.array([0.02, 0.02, 0.12, 0.12]),
                color=color,
                lw=0,
                alpha=0.75,
            )
            axes.text(left + 0.15, y, shown, **style)
            left += width_of(shown, _NOTE_SIZE) + 0.35
        for i, note in enumerate(self.notes):
            axes.text(_MARGIN, y - (i + bool(self.legend)) * _LINE, note, color="#666666", **style)


def _height(box: StageBox) -> float:
    return _TITLE + _LINE * len(box.lines) + (PANEL_HEIGHT + 0.1 if box.has_panel else 0.06) + 0.03


def _notes(boxes: Sequence[StageBox], panels: Panels | None) -> str:
    """Return what must be known to read the picture, and no more."""
    acquired = [one for box in boxes for one in box.seen.acquired]
    routes = [box for box in boxes if isinstance(box.stage, Route)]
    said = ["Blue stages send rows on, those above the threshold upward; green stages answer."] if routes else []
    if panels is not None and routes:
        said.append("Lines are as wide as the share of rows that go there.")
    if panels is None:
        said.append("A stage acquires what its learners may read and those before it on its way may not.")
    elif routes:
        said.append("A stage acquires what none before it on its way did.")
    if any(one.is_resource for one in acquired):
        said.append("Resources are in italics.")
    if any(one.share < 1 for one in acquired):
        said.append("In brackets: share of a stage's rows that acquire it there.")
    if panels is not None:
        drawn = "a score or prediction against its label" if panels.target is not None else "how often a value occurs"
        said.append(f"Drawn: {drawn}" + (", thresholds dashed." if routes else "."))
    return " ".join(said)
